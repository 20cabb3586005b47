//! The node: one deterministic state machine of ring and services. Inputs go in, outputs are
//! taken out; this file only leads them to the layer that handles them.

use std::collections::VecDeque;

use crate::config::NodeConfig;
use crate::ids::ClientId;
use crate::input::{Input, Payload, Placement, Request};
use crate::output::Output;
use crate::time::Instant;

/// One node of a cluster.
#[derive(Debug)]
pub struct Node {
    config: NodeConfig,
    outputs: VecDeque<Output>,
    memory: Vec<u8>,
}

impl Node {
    /// A node that waits for [`Input::Start`].
    pub fn new(config: NodeConfig) -> Node {
        Node { config, outputs: VecDeque::new(), memory: Vec::new() }
    }

    /// Takes one input; afterwards the caller drains the outputs.
    pub fn handle(&mut self, _input: Input, _now: Instant) {}

    /// The next output, in order.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Tick`] is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Where the bytes of the next message have to be.
    pub fn placement(&self) -> Placement {
        if self.config.always_frame {
            Placement::Frame
        } else {
            Placement::Caller
        }
    }

    /// Memory for a message of `len` bytes that the caller fills and names in the next request.
    pub fn reserve(&mut self, len: u32) -> (Payload, &mut [u8]) {
        self.memory.resize(len as usize, 0);
        (Payload::Frame { key: 0, len }, &mut self.memory)
    }

    /// The bytes of a [`Payload::Frame`]; empty for others and for keys no longer held.
    pub fn payload(&self, _payload: Payload) -> &[u8] {
        &self.memory
    }

    /// Local clients that would get the message of `request` now; added to `into`.
    pub fn recipients(&self, _client: ClientId, _request: &Request, into: &mut Vec<ClientId>) {
        into.clear();
    }
}
