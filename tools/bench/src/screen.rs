//! What the user sees while it runs: classic lines as they come, and one line of progress below
//! them where standard error is a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

/// The terminal.
pub struct Screen {
    terminal: bool,
    started: Instant,
    /// seconds of measuring in the whole session
    total: f64,
    done: f64,
}

impl Screen {
    /// `total`: about how many seconds of measuring lie ahead.
    pub fn new(total: f64) -> Screen {
        Screen { terminal: io::stderr().is_terminal(), started: Instant::now(), total, done: 0.0 }
    }

    /// A line that stays.
    pub fn line(&self, text: &str) {
        self.clear();
        // a closed pipe ends the display, not the measurement
        writeln!(io::stdout(), "{text}").ok();
        io::stdout().flush().ok();
    }

    /// What goes on right now.
    pub fn now(&self, text: &str) {
        if !self.terminal {
            return;
        }
        let elapsed = self.started.elapsed().as_secs_f64();
        // what was measured took longer than its bare seconds; what comes will as well
        let stretch = if self.done > 0.0 { elapsed / self.done } else { 1.1 };
        let left = ((self.total - self.done).max(0.0) * stretch).round();
        let percent = (100.0 * self.done / self.total.max(0.1)).min(100.0);
        let left = if left >= 90.0 { format!("{:.0} min", left / 60.0) } else { format!("{left:.0} s") };
        write!(io::stderr(), "\r\x1b[2K[{percent:3.0} %, {left} left] {text}").ok();
        io::stderr().flush().ok();
    }

    /// So many seconds of measuring are done.
    pub fn advance(&mut self, seconds: f64) {
        self.done += seconds;
    }

    /// Takes the progress line away.
    pub fn clear(&self) {
        if self.terminal {
            write!(io::stderr(), "\r\x1b[2K").ok();
        }
    }
}
