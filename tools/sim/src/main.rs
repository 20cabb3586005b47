//! Runs seeds and says what became of them.
//!
//! Exit codes: 0 all was well, 10 a promise was broken, 11 a run did not settle, 12 something
//! panicked, 13 a seed gave two different runs, 2 the command line is wrong.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use evensong_sim::options::{Options, Profile};
use evensong_sim::run::{self, Outcome, Report};

/// Exit code when a seed gave two different runs.
const NOT_THE_SAME: u8 = 13;

/// Runs clusters of nodes with faults, all from a seed, and checks what they promise.
#[derive(Debug, Parser)]
struct Args {
    /// First seed; a text that is no number is hashed.
    #[arg(long, default_value = "1")]
    seed: String,
    /// How many seeds.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Seconds after which no new seed is begun.
    #[arg(long)]
    time: Option<u64>,
    /// Number of nodes instead of a number from the seed.
    #[arg(long)]
    nodes: Option<usize>,
    /// Which faults.
    #[arg(long, value_enum, default_value = "mixed")]
    profile: Profile,
    /// Events after which the faults end early, instead of the profile's number.
    #[arg(long)]
    events: Option<u64>,
    /// Print the last lines of what happened when a run fails, and how many.
    #[arg(long, num_args = 0..=1, default_missing_value = "400")]
    trace: Option<usize>,
    /// Run each seed twice and compare.
    #[arg(long)]
    twice: bool,
    /// Go on after a failure and count.
    #[arg(long)]
    keep_going: bool,
    /// Switch the protocol's rules off one by one; each must be noticed within so many seeds.
    #[cfg(feature = "mutation")]
    #[arg(long, num_args = 0..=1, default_missing_value = "2000")]
    mutations: Option<u64>,
    /// Print the options of every seed.
    #[arg(long)]
    verbose: bool,
}

/// Sums over all seeds.
#[derive(Debug, Default)]
struct Sums {
    seeds: u64,
    events: u64,
    delivered: u64,
    configs: u64,
    lives: u64,
    failed: u64,
    /// Seconds in virtual time.
    time: u64,
}

impl Sums {
    fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.events += report.events;
        self.delivered += report.delivered;
        self.configs += report.configs;
        self.lives += report.lives;
        self.time += report.time / 1_000_000_000;
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    run::catch_panics();
    let first = args.seed.parse().unwrap_or_else(|_| hash_of(&args.seed));
    #[cfg(feature = "mutation")]
    if let Some(most) = args.mutations {
        return mutations(first, most);
    }
    let begun = Instant::now();
    let mut sums = Sums::default();
    let mut code = 0;
    for seed in (0..args.seeds).map(|n| first.wrapping_add(n)) {
        if args.time.is_some_and(|seconds| begun.elapsed() >= Duration::from_secs(seconds)) {
            break;
        }
        let failed = one(&args, seed, &mut sums);
        if failed != 0 {
            code = failed;
            sums.failed += 1;
            if !args.keep_going {
                break;
            }
        }
    }
    let wall = begun.elapsed().as_secs_f64();
    println!(
        "{} seeds, {} failed: {} events, {} deliveries ({:.0} a second), {} configurations, {} starts, {} s of virtual time in {wall:.1} s",
        sums.seeds,
        sums.failed,
        sums.events,
        sums.delivered,
        sums.delivered as f64 / wall,
        sums.configs,
        sums.lives,
        sums.time
    );
    ExitCode::from(code)
}

/// Says of each rule how its absence was noticed; fails if one was not.
#[cfg(feature = "mutation")]
fn mutations(first: u64, most: u64) -> ExitCode {
    let mut missed = 0;
    for rule in evensong_core::ring::mutation::Mutation::ALL {
        match evensong_sim::selftest::look_for(rule, first, most) {
            Some(caught) => {
                println!("{rule:?}: noticed by seed {} ({} tried): {:?}", caught.seed, caught.tried, caught.outcome);
            }
            None => {
                missed += 1;
                println!("{rule:?}: NOT NOTICED in {most} seeds");
            }
        }
    }
    ExitCode::from(u8::from(missed > 0))
}

fn hash_of(text: &str) -> u64 {
    evensong_sim::trace::hash(text.as_bytes()) >> 16
}

/// Runs one seed; returns the exit code it asks for.
fn one(args: &Args, seed: u64, sums: &mut Sums) -> u8 {
    let mut options = Options::draw(seed, args.profile, args.nodes);
    options.events_max = args.events.unwrap_or(options.events_max);
    if args.verbose || args.seeds == 1 {
        println!("{options:?}");
    }
    let lines = args.trace.unwrap_or(0);
    let report = run::run(options.clone(), lines);
    sums.add(&report);
    if args.twice && report.outcome == Outcome::Ok {
        let again = run::run(options, lines);
        if (again.hash, again.events, again.time) != (report.hash, report.events, report.time) {
            let what = format!("two runs differ: {:x} and {:x}", report.hash, again.hash);
            tell(args, seed, "DIFFERENT", &what, &report);
            return NOT_THE_SAME;
        }
    }
    match &report.outcome {
        Outcome::Ok => {
            if args.verbose {
                println!("seed {seed}: ok, {} events, {} deliveries", report.events, report.delivered);
            }
        }
        Outcome::Wrong(wrong) => tell(args, seed, "WRONG", &format!("{:?}: {}", wrong.property, wrong.text), &report),
        Outcome::Stuck(text) => tell(args, seed, "STUCK", text, &report),
        Outcome::Crash(text) => tell(args, seed, "CRASH", text, &report),
    }
    report.outcome.code()
}

/// One line that says what failed and how to see it again; before it the trace, if wanted.
fn tell(args: &Args, seed: u64, word: &str, what: &str, report: &Report) {
    for line in &report.lines {
        println!("{line}");
    }
    let mut command = format!("evensong-sim --seed {seed}");
    if let Some(nodes) = args.nodes {
        command += &format!(" --nodes {nodes}");
    }
    if let Some(profile) = clap::ValueEnum::to_possible_value(&args.profile) {
        command += &format!(" --profile {}", profile.get_name());
    }
    if let Some(events) = args.events {
        command += &format!(" --events {events}");
    }
    println!("{word} at {} ms: {what} [{command}]", report.time / 1_000_000);
}
