//! The few system calls that need `unsafe`, each behind a safe function.

pub mod clock;
pub mod fork;
pub mod scheduling;
pub mod socket;
pub mod wait;
