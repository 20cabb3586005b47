//! Ctrl-C and termination as a flag that every wait looks at, so that daemons and temporary
//! files are always cleaned up by the ordinary way out.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Whether the user wants to stop.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts to watch.
    pub fn watch() -> std::io::Result<Interrupt> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Interrupt(flag))
    }

    /// An error when the user wants to stop.
    pub fn check(&self) -> Result<(), String> {
        if self.0.load(Ordering::Relaxed) {
            return Err("interrupted".to_owned());
        }
        Ok(())
    }
}
