//! The daemon as a process: one instance per run directory, going into the background, limits
//! and scheduling, what must survive a restart, telling the service manager.

mod background;
mod instance;
mod privileges;
mod state;

pub use background::{into_background, Background};
pub use instance::{run_dir, Instance};
pub use privileges::prepare;
pub use state::RingState;
