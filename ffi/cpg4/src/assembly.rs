//! Large messages, put together again from their pieces.
//!
//! Memory grows with the pieces that arrive, never by the announced total alone. A first piece
//! drops what its sender left unfinished; a sender that leaves the group takes its pieces along.

use std::collections::BTreeMap;

use evensong_core::input::Part;

/// Node and process of a sender.
pub type Sender = (u32, u32);

struct Assembly {
    bytes: Vec<u8>,
    total: usize,
}

/// What a piece led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// More has to come, or the piece belongs to nothing.
    Kept,
    /// The message is whole.
    Whole(Vec<u8>),
    /// There is no memory for it.
    NoMemory,
}

/// Messages under way to one handle.
#[derive(Default)]
pub struct Assemblies(BTreeMap<Sender, Assembly>);

impl Assemblies {
    /// Takes a piece of a message of `total` bytes.
    pub fn piece(&mut self, sender: Sender, part: Part, total: u32, piece: &[u8]) -> Piece {
        let total = total as usize;
        if part == Part::First {
            self.0.insert(sender, Assembly { bytes: Vec::new(), total });
        }
        let Some(assembly) = self.0.get_mut(&sender) else { return Piece::Kept };
        let len = assembly.bytes.len() + piece.len();
        if assembly.total != total || len > total || (part == Part::Last && len != total) {
            self.0.remove(&sender);
            return Piece::Kept;
        }
        if len > assembly.bytes.capacity() {
            let wanted = assembly.bytes.capacity().saturating_mul(2).clamp(len, total);
            if assembly.bytes.try_reserve_exact(wanted - assembly.bytes.len()).is_err() {
                self.0.remove(&sender);
                return Piece::NoMemory;
            }
        }
        assembly.bytes.extend_from_slice(piece);
        if part != Part::Last {
            return Piece::Kept;
        }
        self.0.remove(&sender).map_or(Piece::Kept, |assembly| Piece::Whole(assembly.bytes))
    }

    /// A sender is gone.
    pub fn drop_sender(&mut self, sender: Sender) {
        self.0.remove(&sender);
    }

    /// This handle joined anew: what began before does not concern it.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Sender = (1, 10);
    const B: Sender = (1, 11);

    #[test]
    fn pieces_of_two_senders_mix() {
        let mut all = Assemblies::default();
        assert_eq!(all.piece(A, Part::First, 5, b"ab"), Piece::Kept);
        assert_eq!(all.piece(B, Part::First, 4, b"12"), Piece::Kept);
        assert_eq!(all.piece(A, Part::Continued, 5, b"cd"), Piece::Kept);
        assert_eq!(all.piece(B, Part::Last, 4, b"34"), Piece::Whole(b"1234".to_vec()));
        assert_eq!(all.piece(A, Part::Last, 5, b"e"), Piece::Whole(b"abcde".to_vec()));
        assert!(all.0.is_empty());
    }

    #[test]
    fn what_does_not_fit_is_dropped() {
        let mut all = Assemblies::default();
        assert_eq!(all.piece(A, Part::Last, 2, b"ab"), Piece::Kept);
        all.piece(A, Part::First, 3, b"ab");
        assert_eq!(all.piece(A, Part::Continued, 3, b"cd"), Piece::Kept);
        assert_eq!(all.piece(A, Part::Last, 3, b"c"), Piece::Kept);
        all.piece(A, Part::First, 3, b"ab");
        assert_eq!(all.piece(A, Part::Last, 4, b"cd"), Piece::Kept);
        all.piece(A, Part::First, 9, b"ab");
        all.piece(A, Part::First, 2, b"x");
        assert_eq!(all.piece(A, Part::Last, 2, b"y"), Piece::Whole(b"xy".to_vec()));
    }

    #[test]
    fn a_sender_that_left_is_forgotten() {
        let mut all = Assemblies::default();
        all.piece(A, Part::First, 3, b"ab");
        all.drop_sender(A);
        assert_eq!(all.piece(A, Part::Last, 3, b"c"), Piece::Kept);
    }

    #[test]
    fn an_announced_total_reserves_nothing() {
        let mut all = Assemblies::default();
        all.piece(A, Part::First, u32::MAX, b"ab");
        assert!(all.0[&A].bytes.capacity() < 4096);
    }
}
