//! What is measured: the tests in their order, the rows each one fills and what is asked of them.
//!
//! The goals are ratios against the original taken in the same session, because absolute figures
//! say more about the machine than about the program.

use clap::ValueEnum;

/// A part of the benchmark that can be chosen by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Section {
    /// start-up time, idle wake-ups, memory
    Resources,
    /// cpg throughput over write sizes
    Cpg,
    /// the classic 100 to 1400 byte series
    Series,
    /// cpg zero-copy buffers
    Zc,
    /// many processes in many groups
    Multi,
    /// round trips, one message outstanding
    Lat,
    /// evs throughput (the original has no evs any more)
    Evs,
    /// the plain loop compiled on the original's headers
    Plain,
}

impl Section {
    /// The key in reports.
    pub fn key(self) -> &'static str {
        match self {
            Section::Resources => "resources",
            Section::Cpg => "cpg",
            Section::Series => "series",
            Section::Zc => "zc",
            Section::Multi => "multi",
            Section::Lat => "lat",
            Section::Evs => "evs",
            Section::Plain => "plain",
        }
    }

    /// The heading in tables.
    pub fn title(self) -> &'static str {
        match self {
            Section::Resources => "Resources",
            Section::Cpg => "cpgbench: one sender that receives its own messages",
            Section::Series => "cpgbench: the 100 to 1400 byte series",
            Section::Zc => "cpgbenchzc: zero-copy buffers",
            Section::Multi => "cpgmulti: many processes, many groups",
            Section::Lat => "cpglat: round trip of 100 bytes, one message outstanding",
            Section::Evs => "evsbench: next to our own cpgbench",
            Section::Plain => "plainloop: compiled on the original's headers",
        }
    }
}

/// Which figure a goal is about, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    None,
    /// ours divided by the reference: at least
    RatioAtLeast {
        must: f64,
        aim: f64,
    },
    /// ours divided by the reference: at most
    RatioAtMost {
        must: f64,
        aim: f64,
    },
    /// our own figure: at least
    ValueAtLeast(f64),
    /// our own figure: at most
    ValueAtMost(f64),
}

/// One figure of a test's JSON line and the row it fills.
#[derive(Clone, Debug)]
pub struct Figure {
    /// key in the program's JSON line
    pub field: &'static str,
    /// the row's name
    pub row: String,
    pub unit: &'static str,
    pub goal: Goal,
}

/// One program call, repeated and alternated.
#[derive(Clone, Debug)]
pub struct Test {
    pub section: Section,
    pub program: &'static str,
    pub arguments: Vec<String>,
    /// about how long one call takes
    pub seconds: f64,
    pub runs: usize,
    pub figures: Vec<Figure>,
    /// what stands beside our figure
    pub reference: Reference,
}

/// What our figure is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Reference {
    /// the original, same program, alternating
    Original,
    /// another program on our own daemon, same arguments
    Ours(&'static str),
}

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub runs: usize,
    pub seconds: f64,
    pub quick: bool,
}

/// write size, must, aim
const CPG: [(usize, f64, f64); 9] = [
    (64, 10.0, 16.0),
    (320, 12.0, 20.0),
    (1000, 18.0, 30.0),
    (1400, 28.0, 45.0),
    (1600, 28.0, 45.0),
    (8000, 25.0, 35.0),
    (40_000, 28.0, 45.0),
    (200_000, 30.0, 50.0),
    (1_000_000, 30.0, 50.0),
];
const ZC: [usize; 4] = [1000, 4000, 8000, 12_000];
const EVS: [usize; 4] = [1, 1001, 2001, 3001];
/// Rates of corosync 1.4.10's evsbench on a machine of the same kind; the last release with evs.
pub const EVS_ORIENTATION: [(usize, f64); 4] = [(1, 25e3), (1001, 38e3), (2001, 36e3), (3001, 29e3)];

/// All tests of the chosen sections. Resources are measured apart, with daemons of their own.
pub fn tests(sections: &[Section], extent: Extent) -> Vec<Test> {
    let mut tests = Vec::new();
    for section in sections {
        match section {
            Section::Resources => {}
            Section::Cpg => tests.extend(CPG.map(|(size, must, aim)| {
                throughput(Section::Cpg, "cpgbench", size, extent, Goal::RatioAtLeast { must, aim })
            })),
            Section::Series => {
                let extent = Extent { runs: extent.runs.min(3), seconds: extent.seconds.min(1.0), ..extent };
                let step = if extent.quick { 500 } else { 100 };
                tests.extend(
                    (100..=1400)
                        .step_by(step)
                        .map(|size| throughput(Section::Series, "cpgbench", size, extent, Goal::None)),
                );
            }
            Section::Zc => tests.extend(ZC.map(|size| {
                throughput(Section::Zc, "cpgbenchzc", size, extent, Goal::RatioAtLeast { must: 10.0, aim: 30.0 })
            })),
            Section::Multi => {
                tests.extend([multi(64, 10, 10, extent), multi(1400, 10, 10, extent), multi(64, 200, 20, extent)])
            }
            Section::Lat => tests.extend([latency("poll", extent), latency("spin", extent)]),
            Section::Evs => tests.extend(EVS.map(|size| Test {
                reference: Reference::Ours("cpgbench"),
                ..throughput(Section::Evs, "evsbench", size, extent, Goal::RatioAtLeast { must: 0.5, aim: 1.0 })
            })),
            Section::Plain => {
                tests.extend([64, 1400].map(|size| throughput(Section::Plain, "plainloop", size, extent, Goal::None)))
            }
        }
    }
    tests
}

fn throughput(section: Section, program: &'static str, size: usize, extent: Extent, goal: Goal) -> Test {
    Test {
        section,
        program,
        arguments: arguments(&["-t", &extent.seconds.to_string(), "-s", &size.to_string(), "-j"]),
        seconds: extent.seconds,
        runs: extent.runs,
        figures: vec![Figure { field: "per_second", row: format!("{size} B"), unit: "msg/s", goal }],
        reference: Reference::Original,
    }
}

fn multi(size: usize, processes: usize, groups: usize, extent: Extent) -> Test {
    let crowd = processes > 10;
    let of = |row: &str| format!("{processes} processes, {groups} groups, {size} B: {row}");
    let sum_goal = if crowd { Goal::None } else { Goal::RatioAtLeast { must: 15.0, aim: 25.0 } };
    let fairness = if crowd {
        ("min_over_median", "slowest/median client", 0.5)
    } else {
        ("min_over_max", "slowest/fastest client", 0.6)
    };
    Test {
        section: Section::Multi,
        program: "cpgmulti",
        arguments: arguments(&[
            "-t",
            &extent.seconds.to_string(),
            "-s",
            &size.to_string(),
            "-p",
            &processes.to_string(),
            "-g",
            &groups.to_string(),
            "-j",
        ]),
        seconds: extent.seconds + processes as f64 * 0.01,
        runs: if crowd { extent.runs.min(3) } else { extent.runs },
        figures: vec![
            Figure { field: "per_second", row: of("sum"), unit: "msg/s", goal: sum_goal },
            Figure { field: fairness.0, row: of(fairness.1), unit: "", goal: Goal::ValueAtLeast(fairness.2) },
        ],
        reference: Reference::Original,
    }
}

fn latency(mode: &'static str, extent: Extent) -> Test {
    let median = match mode {
        "poll" => Goal::RatioAtMost { must: 0.55, aim: 0.1 },
        _ => Goal::RatioAtMost { must: 0.2, aim: 0.1 },
    };
    let figure = |field, goal| Figure { field, row: format!("{mode} {}", field_name(field)), unit: "us", goal };
    Test {
        section: Section::Lat,
        program: "cpglat",
        arguments: arguments(&["-m", mode, "-t", &extent.seconds.to_string(), "-s", "100", "-j"]),
        seconds: extent.seconds,
        runs: extent.runs,
        figures: vec![
            figure("p50_us", median),
            figure("p90_us", Goal::None),
            figure("p99_us", Goal::RatioAtMost { must: 1.0, aim: 1.0 }),
            figure("max_us", Goal::None),
        ],
        reference: Reference::Original,
    }
}

fn field_name(field: &str) -> &str {
    field.strip_suffix("_us").unwrap_or(field)
}

fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_but_resources_has_tests_with_figures() {
        let extent = Extent { runs: 5, seconds: 3.0, quick: false };
        for section in Section::value_variants() {
            let tests = tests(&[*section], extent);
            assert_eq!(tests.is_empty(), *section == Section::Resources, "{section:?}");
            assert!(tests.iter().all(|test| !test.figures.is_empty() && test.runs >= 1 && test.section == *section));
        }
    }
}
