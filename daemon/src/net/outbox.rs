//! Frames on their way out, in the order in which the node asked for them.

use bytes::Bytes;
use evensong_core::ids::NodeId;

/// What one turn wants sent. Emptied by the transport; the memory is used again.
#[derive(Debug, Default)]
pub struct Outbox {
    frames: Vec<(NodeId, Bytes)>,
}

impl Outbox {
    /// Puts a frame at the end; `to` 0 means every configured peer.
    pub fn push(&mut self, to: NodeId, frame: Bytes) {
        self.frames.push((to, frame));
    }

    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frames.
    pub fn frames(&self) -> &[(NodeId, Bytes)] {
        &self.frames
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.frames.clear();
    }
}
