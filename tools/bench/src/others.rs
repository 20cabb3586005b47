//! How much of the processors other programs use while something is measured: two figures from a
//! busy machine cannot be compared, and the report has to say so.

use std::fs;
use std::time::{Duration, Instant};

/// Above this share of all processors a run counts as disturbed.
pub const DISTURBED: f64 = 0.10;
/// How long the machine is watched to decide whether it is quiet.
const WATCH: Duration = Duration::from_millis(400);

/// Counters at the start of something.
pub struct Watch {
    started: Instant,
    busy: f64,
    own: f64,
}

impl Watch {
    /// Begins; `pids` are processes whose work is not foreign.
    pub fn start(pids: &[u32]) -> Watch {
        Watch { started: Instant::now(), busy: busy_ticks(), own: own_ticks(pids) }
    }

    /// The share of all processors that others used since, 0 to 1. Processes that were started
    /// and waited for in between count as our own.
    pub fn share(&self, pids: &[u32]) -> f64 {
        let foreign = (busy_ticks() - self.busy) - (own_ticks(pids) - self.own);
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let ticks = self.started.elapsed().as_secs_f64() * 100.0 * processors;
        (foreign / ticks.max(1.0)).clamp(0.0, 1.0)
    }
}

/// Waits until others use little, at most `patience`. `go_on` ends it early with an error.
pub fn wait_for_quiet(
    pids: &[u32],
    patience: Duration,
    mut go_on: impl FnMut() -> Result<(), String>,
) -> Result<(), String> {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        go_on()?;
        let watch = Watch::start(pids);
        std::thread::sleep(WATCH);
        if watch.share(pids) < DISTURBED {
            break;
        }
    }
    Ok(())
}

/// Ticks (a hundredth of a second each) in which a processor of this machine was not idle, those
/// that the host took away included.
fn busy_ticks() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let Some(line) = text.lines().next() else { return 0.0 };
    let fields: Vec<f64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal
    [0, 1, 2, 5, 6, 7].iter().filter_map(|at| fields.get(*at)).sum()
}

/// Ticks of this process, its ended children, and the processes named.
fn own_ticks(pids: &[u32]) -> f64 {
    let of = |pid: &str, fields: &[usize]| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // fields are counted behind the name, which may hold anything
        let rest = stat.rfind(')').and_then(|end| stat.get(end + 2..)).unwrap_or_default();
        let values: Vec<&str> = rest.split(' ').collect();
        fields.iter().filter_map(|at| values.get(*at)?.parse::<f64>().ok()).sum::<f64>()
    };
    of("self", &[11, 12, 13, 14]) + pids.iter().map(|pid| of(&pid.to_string(), &[11, 12])).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_not_foreign() {
        let watch = Watch::start(&[]);
        let before = own_ticks(&[]);
        let deadline = Instant::now() + Duration::from_secs(5);
        while own_ticks(&[]) < before + 10.0 {
            assert!(Instant::now() < deadline, "a tenth of a second of work");
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
        assert!((0.0..=1.0).contains(&watch.share(&[])));
        assert!(busy_ticks() - watch.busy >= 5.0);
    }

    #[test]
    fn waiting_for_quiet_ends() {
        let start = Instant::now();
        assert!(wait_for_quiet(&[], Duration::from_millis(1), || Ok(())).is_ok());
        assert!(wait_for_quiet(&[], Duration::from_secs(9), || Err("stop".to_owned())).is_err());
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
