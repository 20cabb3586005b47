//! A simulator of whole clusters: every node of the core in one thread, on virtual time, with
//! a network and with clients, all determined by one seed.
//!
//! - [`options`]: what a run is like, drawn from its seed
//! - [`world`], [`queue`], [`network`], [`host`]: what there is and what happens
//! - [`faults`]: what goes wrong
//! - [`clients`], [`payload`]: programs and their messages
//! - [`check`]: what must hold, with references
//! - [`run`]: a run from beginning to end, and what became of it
//! - `selftest`: rules of the protocol switched off one by one (feature `mutation`)
//! - [`scenario`]: runs that follow a script instead of chance
//!
//! A run has two phases. In the first, anything may fail and nothing may be wrong. Then the
//! network heals, and all must settle within a bound.

pub mod check;
pub mod clients;
pub mod faults;
pub mod host;
pub mod network;
pub mod options;
pub mod payload;
pub mod queue;
pub mod rng;
pub mod run;
pub mod scenario;
#[cfg(feature = "mutation")]
pub mod selftest;
pub mod trace;
pub mod words;
pub mod world;
