//! Many small messages in one frame, one large message in many frames, and back.
//!
//! Payload of a multicast frame, numbers in the sender's byte order (the original's totempg):
//!
//! | offset | width | field |
//! |---|---|---|
//! | 0 | 2 | version, 0 |
//! | 2 | 2 | type, 0 |
//! | 4 | 1 | fragmented: 0 = the last message ends here, else number of this step of a chain |
//! | 5 | 1 | continuation: 0 = the first message starts here, else `fragmented` of the frame before |
//! | 6 | 2 | number n of pieces |
//! | 8 | 2n | their lengths |
//! | 8+2n | | the pieces, back to back |

mod assembler;
mod packed;
mod packer;

pub use assembler::{Assembler, Piece, Unpacked, ASSEMBLY_MAX};
pub use packed::{check_mcast, Packed};
pub use packer::{chain_payload, frames_for, Packer};

/// Size of the fixed part of a packed payload.
pub const PACK_HEADER: usize = 8;
/// What one more piece costs beside its bytes.
pub const PIECE_COST: usize = 2;
/// Smallest payload that frames can be packed into.
pub const PAYLOAD_MIN: usize = 64;
/// Largest payload of a frame: piece lengths are 16 bits wide.
pub const PAYLOAD_MAX: usize = 65446;

#[cfg(test)]
mod tests;
