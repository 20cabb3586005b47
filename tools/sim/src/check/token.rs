//! One token a ring: every hop of it is made by one node, to one node, with one content; what
//! goes out again is the same frame.

use evensong_core::ids::NodeId;

use super::{wrong, Checked, Property};
use crate::trace::hash;

/// Rings that are watched at the same time.
const RINGS: usize = 64;
/// Offset of the hop counter and of the ring id in a token, and the token's type.
const HOPS: usize = 17;
const RING: usize = 29;
const TOKEN: u8 = 0;

#[derive(Clone, Copy, Debug)]
struct Hop {
    number: u32,
    from: NodeId,
    to: NodeId,
    frame: u64,
}

#[derive(Debug)]
struct Ring {
    id: [u8; 12],
    /// Whether it was watched from its first hop on. Otherwise what was seen of it is forgotten,
    /// may be sent again, and nothing can be said of the order.
    whole: bool,
    /// The last hops, oldest first.
    hops: std::collections::VecDeque<Hop>,
}

/// Tokens of the rings that were seen last.
#[derive(Debug)]
pub struct Tokens {
    rings: Vec<Ring>,
    keep: usize,
    forgot: bool,
}

impl Tokens {
    /// Watches tokens among so many nodes.
    pub fn new(nodes: usize) -> Tokens {
        Tokens { rings: Vec::new(), keep: 4 * nodes + 16, forgot: false }
    }

    /// Ring numbers may come again.
    pub fn forget(&mut self) {
        self.rings.clear();
        self.forgot = true;
    }

    /// A frame goes out.
    pub fn on_frame(&mut self, from: NodeId, to: NodeId, frame: &[u8]) -> Checked {
        if frame.get(3) != Some(&TOKEN) || frame.len() < RING + 12 {
            return Ok(());
        }
        let field = |at: usize| [frame[at], frame[at + 1], frame[at + 2], frame[at + 3]];
        let number = u32::from_ne_bytes(field(HOPS));
        let hop = Hop { number, from, to, frame: hash(frame) };
        let mut id = [0; 12];
        id.copy_from_slice(&frame[RING..RING + 12]);
        let at = self.rings.iter().rposition(|ring| ring.id == id);
        let Some(at) = at else {
            if self.rings.len() == RINGS {
                self.rings.remove(0);
            }
            self.rings.push(Ring { id, whole: !self.forgot || number == 0, hops: [hop].into() });
            return Ok(());
        };
        let Ring { hops, whole, .. } = &mut self.rings[at];
        if let Some(same) = hops.iter().rev().find(|other| other.number == number) {
            if (same.from, same.to, same.frame) != (hop.from, hop.to, hop.frame) {
                return wrong(
                    Property::OneToken,
                    format!(
                        "hop {number} of the token goes from {} to {}, and again, otherwise, from {} to {}",
                        same.from.0, same.to.0, from.0, to.0
                    ),
                );
            }
            return Ok(());
        }
        let last = hops.back().map_or(number, |hop| hop.number);
        if *whole && number.wrapping_sub(last) > 1 << 31 {
            let text = format!("hop {number} of a token from {} comes behind hop {last}", from.0);
            return wrong(Property::OneToken, text);
        }
        hops.push_back(hop);
        if hops.len() > self.keep {
            hops.pop_front();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(hops: u32, aru: u8) -> Vec<u8> {
        let mut frame = vec![0; 57];
        frame[HOPS..HOPS + 4].copy_from_slice(&hops.to_ne_bytes());
        frame[21] = aru;
        frame[RING] = 1;
        frame
    }

    #[test]
    fn sent_again_is_fine_and_another_token_is_not() {
        let mut tokens = Tokens::new(3);
        let mut send = |from: u32, to: u32, frame: &[u8]| tokens.on_frame(NodeId(from), NodeId(to), frame).is_ok();
        assert!(send(1, 2, &token(u32::MAX, 0)));
        assert!(send(2, 3, &token(0, 0)));
        assert!(send(1, 2, &token(u32::MAX, 0)), "the same again");
        assert!(send(3, 1, &token(1, 0)));
        assert!(!send(3, 1, &token(1, 9)), "other content");
        assert!(!send(2, 3, &token(1, 0)), "another holder");
        assert!(!send(1, 2, &token(u32::MAX - 7, 0)), "long gone");
    }

    #[test]
    fn before_the_watch_began_there_were_hops_too() {
        let mut tokens = Tokens::new(3);
        tokens.forget();
        assert!(tokens.on_frame(NodeId(5), NodeId(1), &token(265, 0)).is_ok());
        assert!(tokens.on_frame(NodeId(1), NodeId(5), &token(264, 0)).is_ok(), "sent again");
        assert!(tokens.on_frame(NodeId(1), NodeId(5), &token(267, 0)).is_ok());
        assert!(tokens.on_frame(NodeId(1), NodeId(5), &token(266, 0)).is_ok());
        assert!(tokens.on_frame(NodeId(5), NodeId(1), &token(266, 0)).is_err());
    }
}
