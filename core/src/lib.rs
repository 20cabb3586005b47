//! The pure core of evensong.
//!
//! Inputs in, outputs out: no socket, file, clock, thread, environment or unseeded randomness.

#![forbid(unsafe_code)]

pub mod config;
pub mod frames;
pub mod ids;
pub mod input;
pub mod ipc;
pub mod node;
pub mod output;
pub mod pack;
pub mod record;
pub mod ring;
pub mod seq;
pub mod service;
pub mod sync;
pub mod time;
pub mod wire;
