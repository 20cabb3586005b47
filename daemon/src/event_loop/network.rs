//! The loop's part about other nodes: frames in, and what the transport wants done.

use std::time::{Duration, Instant};

use bytes::Bytes;
use evensong_core::ids::LinkId;
use evensong_core::input::Input;
use evensong_core::output::LogLevel;
use evensong_ring::Body;

use super::{EventLoop, Surroundings};
use crate::net::Net;

/// Most reads from the sockets in one turn; clients wait meanwhile.
const READS_PER_TURN: usize = 4;
/// For how long after a frame the ring counts as busy, so that waiting for the next by spinning
/// may pay off.
const BUSY: Duration = Duration::from_micros(500);

/// The transport, and what came from it that the node has not seen yet.
#[derive(Debug)]
pub struct Network {
    /// The transport.
    pub net: Net,
    frames: Vec<Bytes>,
    heard: Option<Instant>,
}

impl Network {
    /// Nothing heard so far.
    pub fn new(net: Net) -> Network {
        Network { net, frames: Vec::new(), heard: None }
    }

    /// How long the transport can do without being called.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.net.deadline().map(|deadline| deadline.saturating_duration_since(now))
    }
}

impl<S: Surroundings> EventLoop<S> {
    /// Feeds the node with what other nodes sent; whether there was anything.
    pub(super) fn hear(&mut self) -> bool {
        let mut heard = false;
        for _ in 0..READS_PER_TURN {
            if !self.anything_heard() {
                break;
            }
            heard = true;
            let now = self.now();
            let Some(network) = &mut self.network else { break };
            network.heard = Some(now.system);
            let mut frames = std::mem::take(&mut network.frames);
            for bytes in frames.drain(..) {
                self.node.handle(Input::Packet { link: LinkId(0), bytes }, now.core);
                self.clients.carry_out(&mut self.node, Body::of_slice(&[]), &mut self.scratch.effects);
            }
            // Other nodes wait for the token; local clients are rung after it is on its way.
            self.settle();
            if let Some(network) = &mut self.network {
                network.frames = frames;
            }
        }
        if heard {
            self.clients.flush();
        }
        heard
    }

    /// Whether frames are there to be taken.
    pub(super) fn anything_heard(&mut self) -> bool {
        let Some(network) = &mut self.network else { return false };
        if network.frames.is_empty() {
            network.net.receive(&mut network.frames);
        }
        !network.frames.is_empty()
    }

    /// Whether frames came a moment ago.
    pub(super) fn is_ring_busy(&self) -> bool {
        self.network.as_ref().and_then(|network| network.heard).is_some_and(|heard| heard.elapsed() < BUSY)
    }

    /// Lets the transport see to what is not frames.
    pub(super) fn attend(&mut self) {
        if let Some(network) = &mut self.network {
            network.net.attend(Instant::now());
        }
    }

    /// Lets the transport do what is due, and writes what it has to say.
    pub(super) fn network_clock(&mut self) {
        let Some(network) = &mut self.network else { return };
        if network.net.deadline().is_some() {
            network.net.tick(Instant::now());
        }
        for (level, text) in network.net.take_log() {
            self.around.log(level, "TOTEM", &text);
        }
    }

    /// One line about the network for the log.
    pub(super) fn tell_network_counters(&mut self) {
        let Some(network) = &self.network else { return };
        let counters = network.net.counters();
        let text = format!(
            "Network since start: {} frames received ({} reads brought several), {} sent ({} sends carried several, \
             {} refused); dropped {} of unlisted addresses, {} of our own; lost {} for full queues, {} without a way, \
             {} otherwise; {} reads failed",
            counters.received,
            counters.merged,
            counters.sent,
            counters.runs,
            counters.refused,
            counters.unlisted,
            counters.own,
            counters.lost_full,
            counters.lost_unreachable,
            counters.lost_other,
            counters.read_errors
        );
        self.around.log(LogLevel::Notice, "TOTEM", &text);
    }
}
