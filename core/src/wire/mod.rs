//! Bytes to values and back: the cursors that all codecs read and write through, and the frames
//! and messages of the ring. Nothing here keeps state.

pub mod commit;
pub mod cursor;
pub mod frame;
pub mod join;
pub mod token;

#[cfg(test)]
mod tests;
