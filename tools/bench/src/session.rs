//! One session: both daemons up, every test called in turn on one side and the other.

use crate::client;
use crate::interrupt::Interrupt;
use crate::others::{self, Watch};
use crate::plan::{Reference, Test};
use crate::process;
use crate::report::{Facts, Report, Row};
use crate::screen::Screen;
use crate::side::{Daemon, Side};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a session has at hand.
pub struct Session {
    pub ours: Side,
    pub original: Option<Side>,
    /// folder with the compiled programs
    pub programs: PathBuf,
    pub interrupt: Interrupt,
    /// how long to wait for a quiet machine before each run
    pub quiet: Duration,
    pub screen: Screen,
}

/// The daemons of a session that are up.
struct Up {
    ours: Daemon,
    original: Option<Daemon>,
}

impl Up {
    fn pids(&self) -> Vec<u32> {
        [Some(&self.ours), self.original.as_ref()].into_iter().flatten().map(|daemon| daemon.process.pid()).collect()
    }
}

impl Session {
    /// A compiled program.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Calls one program once on one side and returns its last JSON line.
    pub fn call(&self, side: &Side, program: &str, arguments: &[String], seconds: f64) -> Result<Value, String> {
        let mut command = side.client(&self.program(program));
        command.args(arguments);
        let limit = Duration::from_secs_f64(seconds * 4.0 + 30.0);
        let mut on_line = |line: &str| self.screen.line(&format!("{:<9}{line}", side.name));
        let values = client::run(&mut command, limit, &self.interrupt, &mut on_line)?;
        values.into_iter().next_back().ok_or_else(|| format!("{program} printed no JSON line"))
    }

    /// Runs all tests; the report gets their rows. Only an interruption or a daemon that does not
    /// start ends it early: a failing call is a note and a missing sample.
    pub fn run(&mut self, tests: &[Test], report: &mut Report) -> Result<(), String> {
        if tests.is_empty() {
            return Ok(());
        }
        let mut up = self.start(report)?;
        let mut heading = None;
        for test in tests {
            if heading != Some(test.section) {
                heading = Some(test.section);
                self.screen.line(&format!("\n{}", test.section.title()));
            }
            let rows = self.run_test(test, &mut up, report)?;
            for row in rows.iter().filter(|row| row.ratio.is_some()) {
                self.screen.line(&format!("         {}", crate::table::summary(row)));
            }
            report.rows.extend(rows);
        }
        self.screen.clear();
        Ok(())
    }

    fn start(&self, report: &mut Report) -> Result<Up, String> {
        let idle = self.program("cpgidle");
        let ours = self.ours.start(&idle, &self.interrupt)?;
        report.daemons.insert(self.ours.name.to_owned(), facts(&self.ours, &ours, &self.program("cpgbench"))?);
        let original = match &self.original {
            Some(side) => {
                let daemon = side.start(&idle, &self.interrupt)?;
                report.daemons.insert(side.name.to_owned(), facts(side, &daemon, &self.program("cpgbench"))?);
                Some(daemon)
            }
            None => None,
        };
        for (name, facts) in &report.daemons {
            self.screen.line(&format!("{name:<9}{}, {}, {}", facts.version, facts.scheduling, facts.library));
        }
        let mut classes: Vec<&str> = report.daemons.values().map(|facts| facts.scheduling.as_str()).collect();
        classes.dedup();
        if classes.len() > 1 {
            report.notes.push(format!("the daemons ran in different scheduling classes: {}", classes.join(", ")));
        }
        Ok(Up { ours, original })
    }

    fn run_test(&mut self, test: &Test, up: &mut Up, report: &mut Report) -> Result<Vec<Row>, String> {
        let reference = match &test.reference {
            Reference::Original => "corosync".to_owned(),
            Reference::Ours(program) => format!("our {program}"),
        };
        let new_row = |figure: &crate::plan::Figure| Row::new(test.section.key(), &figure.row, figure.unit, &reference);
        let mut rows: Vec<Row> = test.figures.iter().map(new_row).collect();
        for run in 1..=test.runs {
            for reference_turn in [false, true] {
                let Some((side, program)) = self.turn(test, reference_turn) else { continue };
                self.screen
                    .now(&format!("{} {program} {}, run {run} of {}", side.name, test.figures[0].row, test.runs));
                let pids = up.pids();
                others::wait_for_quiet(&pids, self.quiet, || self.interrupt.check())?;
                let watch = Watch::start(&pids);
                let result = self.call(side, program, &test.arguments, test.seconds);
                self.interrupt.check()?;
                if watch.share(&pids) > others::DISTURBED {
                    rows.iter_mut().for_each(|row| row.disturbed += 1);
                }
                if let Err(error) = result.and_then(|value| enter(&mut rows, test, &value, reference_turn)) {
                    let note = format!("{} on {}: {error}", test.figures[0].row, side.name);
                    self.screen.line(&note);
                    report.notes.push(note);
                    self.revive(up, report)?;
                }
                self.screen.advance(test.seconds);
            }
        }
        for (row, figure) in rows.iter_mut().zip(&test.figures) {
            row.judge(figure.goal);
        }
        Ok(rows)
    }

    /// Side and program of a turn; none when the reference is not there.
    fn turn<'a>(&'a self, test: &'a Test, reference_turn: bool) -> Option<(&'a Side, &'static str)> {
        match (&test.reference, reference_turn) {
            (_, false) => Some((&self.ours, test.program)),
            (Reference::Ours(program), true) => Some((&self.ours, program)),
            (Reference::Original, true) => self.original.as_ref().map(|side| (side, test.program)),
        }
    }

    /// Starts a daemon again that has ended under the tests, and says so in the report.
    fn revive(&self, up: &mut Up, report: &mut Report) -> Result<(), String> {
        let idle = self.program("cpgidle");
        let original = self.original.as_ref().zip(up.original.as_mut());
        for (side, daemon) in [Some((&self.ours, &mut up.ours)), original].into_iter().flatten() {
            if let Some(status) = daemon.process.ended() {
                report.notes.push(format!(
                    "the {} daemon ended during the tests ({status}){}",
                    side.name,
                    side.log_tail()
                ));
                *daemon = side.start(&idle, &self.interrupt)?;
            }
        }
        Ok(())
    }
}

/// Enters the figures of one call.
fn enter(rows: &mut [Row], test: &Test, value: &Value, reference_turn: bool) -> Result<(), String> {
    for (row, figure) in rows.iter_mut().zip(&test.figures) {
        let number = value[figure.field].as_f64();
        let number = number.ok_or_else(|| format!("{} printed no number {}: {value}", test.program, figure.field))?;
        if reference_turn { &mut row.reference } else { &mut row.ours }.push(number);
    }
    Ok(())
}

fn facts(side: &Side, daemon: &Daemon, program: &Path) -> Result<Facts, String> {
    Ok(Facts {
        version: side.version(),
        scheduling: process::scheduling(daemon.process.pid()).unwrap_or_else(|| "unknown".to_owned()),
        library: side.library(program)?,
    })
}
