//! The pure core of evensong.
//!
//! Inputs in, outputs out: no socket, file, clock, thread, environment or unseeded randomness.

#![forbid(unsafe_code)]

pub mod config;
pub mod ids;
pub mod input;
pub mod ipc;
pub mod node;
pub mod output;
pub mod time;
pub mod wire;
