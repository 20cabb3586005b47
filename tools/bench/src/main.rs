//! `make bench`: the classic benchmarks, against evensong and, where it is installed, against the
//! original in the same session with the same client programs.
//!
//! The programs that measure are C programs (`c-tests/c/bench`), linked as any application is. This
//! tool compiles them, starts daemons, calls them in turn on both sides and reports: the classic
//! lines as they come, then medians and ratios, a JSON file and a plot.

mod client;
mod compile;
mod interrupt;
mod others;
mod plan;
mod plot;
mod process;
mod report;
mod resources;
mod screen;
mod session;
mod side;
mod table;

use clap::{Parser, ValueEnum};
use compile::Headers;
use interrupt::Interrupt;
use plan::{Extent, Section};
use report::Report;
use session::Session;
use side::Side;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where a `--require-vs` run found something missing, the exit code says so.
const INCOMPLETE: u8 = 3;

#[derive(Parser)]
#[command(name = "evensong-bench", about = "Runs the classic benchmarks", version)]
struct Cli {
    /// What to compare with
    #[arg(long, value_enum, default_value = "auto")]
    vs: Versus,
    /// Fail when the comparison or a ratio is absent from the report
    #[arg(long)]
    require_vs: bool,
    /// Only these sections
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Section>,
    /// One short run of each test: shows that it works, not how fast it is
    #[arg(long)]
    quick: bool,
    /// Alternating runs of each test
    #[arg(long)]
    runs: Option<usize>,
    /// Seconds per write size
    #[arg(long)]
    seconds: Option<f64>,
    /// Before each run, wait up to so many seconds until other programs leave the machine alone
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait_quiet: u64,
    /// Scheduling class of both daemons
    #[arg(long, value_enum, default_value = "rr")]
    sched: Class,
    /// Folder for the JSON file and the plot
    #[arg(long, default_value = "target/bench")]
    output: PathBuf,
    /// The source tree
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// Print a report as a Markdown table and do nothing else
    #[arg(long, value_name = "JSON")]
    table: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Versus {
    /// the original where it can run
    Auto,
    /// the original, or fail
    Corosync,
    /// nothing
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Class {
    /// SCHED_RR, the default of both
    Rr,
    /// SCHED_OTHER, as in a container without the privilege
    Other,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("evensong-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, String> {
    if let Some(path) = &cli.table {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let report: Report = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        print!("{}", table::markdown(&report));
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = Interrupt::watch().map_err(|e| format!("signals: {e}"))?;
    let work = WorkFolder::new()?;
    let mut report = new_report(cli);
    let mut session = prepare(cli, &work.0, interrupt, &mut report)?;
    let outcome = measure(cli, &mut session, &mut report);
    drop(session);
    println!("\n{}", table::markdown(&report));
    // a broken session does not replace the files of a whole one
    outcome?;
    write_report(cli, &report)?;
    let missing = report.missing(&planned(cli));
    if cli.require_vs && !missing.is_empty() {
        eprintln!("evensong-bench: absent from the report:\n  {}", missing.join("\n  "));
        return Ok(ExitCode::from(INCOMPLETE));
    }
    // without a comparison our own figures must still be there
    let ours = report.rows.iter().all(|row| row.ours.median.is_some());
    Ok(if ours { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(cli: &Cli, session: &mut Session, report: &mut Report) -> Result<(), String> {
    let (sections, extent) = (sections(cli), extent(cli));
    if sections.contains(&Section::Resources) {
        resources::measure(session, extent, report)?;
    }
    session.run(&runnable(&sections, extent), report)
}

/// Section and name of every row that a complete report has.
fn planned(cli: &Cli) -> Vec<(&'static str, String)> {
    let tests = plan::tests(&sections(cli), extent(cli));
    let rows = tests.iter().flat_map(|test| test.figures.iter().map(|figure| (test.section.key(), figure.row.clone())));
    rows.collect()
}

/// Tests whose program could be compiled on this machine.
fn runnable(sections: &[Section], extent: Extent) -> Vec<plan::Test> {
    let mut tests = plan::tests(sections, extent);
    tests.retain(|test| test.section != Section::Plain || has_original_headers());
    tests
}

fn has_original_headers() -> bool {
    Path::new("/usr/include/corosync/cpg.h").exists()
}

fn sections(cli: &Cli) -> Vec<Section> {
    if cli.only.is_empty() {
        return Section::value_variants().to_vec();
    }
    let mut sections = cli.only.clone();
    sections.sort();
    sections.dedup();
    sections
}

fn extent(cli: &Cli) -> Extent {
    let (runs, seconds) = if cli.quick { (1, 0.5) } else { (5, 3.0) };
    Extent { runs: cli.runs.unwrap_or(runs).max(1), seconds: cli.seconds.unwrap_or(seconds), quick: cli.quick }
}

/// Sides, programs and the screen.
fn prepare(cli: &Cli, work: &Path, interrupt: Interrupt, report: &mut Report) -> Result<Session, String> {
    let root = cli.root.canonicalize().map_err(|e| format!("{}: {e}", cli.root.display()))?;
    let usr = root.join("target/stage/usr");
    let realtime = cli.sched == Class::Rr;
    let ours = Side::ours(&usr, work, realtime)?;
    let original = match cli.vs {
        Versus::None => Err("not asked for".to_owned()),
        _ => Side::original(work, realtime),
    };
    let original = match original {
        Ok(side) => Some(side),
        Err(error) if cli.vs == Versus::Corosync => return Err(error),
        Err(error) => {
            println!("No comparison with the original: {error}");
            report.notes.push(format!("no comparison: {error}"));
            None
        }
    };
    report.compared = original.is_some();
    let programs = work.join("programs");
    let tests = runnable(&sections(cli), extent(cli));
    compile_programs(&root, &usr, &programs, &tests)?;
    let sides = if original.is_some() { 2.0 } else { 1.0 };
    let mut total: f64 = tests
        .iter()
        .map(|test| {
            test.runs as f64
                * test.seconds
                * if matches!(test.reference, plan::Reference::Ours(_)) { 2.0 } else { sides }
        })
        .sum();
    if sections(cli).contains(&Section::Resources) {
        total += resources::seconds(extent(cli), sides as usize);
    }
    println!("About {:.1} minutes to go; --quick is short, --only chooses sections.", total * 1.1 / 60.0);
    if !has_original_headers() && sections(cli).contains(&Section::Plain) {
        report.notes.push("no plain loop: the original's headers are not installed".to_owned());
    }
    let quiet = Duration::from_secs(cli.wait_quiet);
    Ok(Session { ours, original, programs, interrupt, quiet, screen: screen::Screen::new(total) })
}

fn compile_programs(root: &Path, usr: &Path, programs: &Path, tests: &[plan::Test]) -> Result<(), String> {
    let mut names = vec!["cpgbench"];
    for test in tests {
        names.push(test.program);
        if let plan::Reference::Ours(program) = test.reference {
            names.push(program);
        }
    }
    names.sort_unstable();
    names.dedup();
    for name in names {
        let headers = if name == "plainloop" { Headers::System } else { Headers::Staged(usr) };
        compile::program(&root.join("c-tests/c/bench").join(format!("{name}.c")), programs, headers)?;
    }
    compile::program(&root.join("tools/bench/c/cpgidle.c"), programs, Headers::Staged(usr))?;
    Ok(())
}

fn new_report(cli: &Cli) -> Report {
    let extent = extent(cli);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let mut report = Report {
        format: 1,
        time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
        commit: commit(&cli.root),
        runs: extent.runs,
        seconds_per_size: extent.seconds,
        quick: extent.quick,
        ..Report::default()
    };
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    report.machine.insert("cpu".to_owned(), cpu.trim_start_matches([' ', '\t', ':']).to_owned());
    report.machine.insert("processors".to_owned(), processors.to_string());
    report.machine.insert("kernel".to_owned(), read("/proc/sys/kernel/osrelease"));
    report.machine.insert("load_before".to_owned(), read("/proc/loadavg"));
    report
}

fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if !changes.is_empty() => format!("{commit} with changes"),
        _ => commit,
    }
}

fn write_report(cli: &Cli, report: &Report) -> Result<(), String> {
    let folder = if cli.output.is_absolute() { cli.output.clone() } else { cli.root.join(&cli.output) };
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("wrote {}", path.display());
        Ok::<(), String>(())
    };
    write("bench.json", &serde_json::to_string_pretty(report).map_err(|e| e.to_string())?)?;
    write("bench.md", &table::markdown(report))?;
    match plot::svg(report) {
        Some(svg) => write("bench.svg", &svg),
        None => Ok(()),
    }
}

/// A temporary folder that goes away with its owner.
struct WorkFolder(PathBuf);

impl WorkFolder {
    fn new() -> Result<WorkFolder, String> {
        let path = std::env::temp_dir().join(format!("evensong-bench-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(WorkFolder(path))
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // nothing more can be done about a folder that stays
        fs::remove_dir_all(&self.0).ok();
    }
}
