//! The cmap service on the ring (service 0): nodes tell each other the version of their
//! configuration file.

pub mod wire;
