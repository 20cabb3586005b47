//! The daemon as real processes see it: start and stop, a daemon or a client that is killed or
//! frozen, who may connect, limits, what the command line and the configuration answer.
//!
//! Cases B01 B03 B05 B07 B11 B85 B87 of the list of field reports; `docs/CASES.md` says which
//! test is which case.

#[path = "../life/mod.rs"]
mod life;

mod access;
mod cases;
mod command;
mod death;
mod limits;
mod start;
mod stop;
