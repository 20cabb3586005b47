//! The tool as a whole, on a staged tree (`make stage`): a report without the comparison fails
//! where one is required, and otherwise is a success with its files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bench(output: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evensong-bench"));
    command.arg("--root").arg(root()).arg("--output").arg(output);
    command.args(["--quick", "--seconds", "0.05", "--vs", "none"]).args(arguments);
    command.output().expect("the tool runs")
}

#[test]
fn an_absent_comparison_is_a_failure_only_where_it_is_required() {
    let daemon = root().join("target/stage/usr/sbin/evensongd");
    assert!(daemon.exists(), "nothing is staged: run make stage");
    let folder = std::env::temp_dir().join(format!("evensong-bench-test-{}", std::process::id()));

    let done = bench(&folder, &["--only", "cpg,lat"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for file in ["bench.json", "bench.md", "bench.svg"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    let report = std::fs::read_to_string(folder.join("bench.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((report["compared"].as_bool(), report["rows"].as_array().map(Vec::len)), (Some(false), Some(17)));

    let done = bench(&folder, &["--only", "cpg,lat", "--require-vs"]);
    std::fs::remove_dir_all(&folder).expect("the folder was made");
    assert_eq!(done.status.code(), Some(3));
    let complaints = String::from_utf8_lossy(&done.stderr);
    assert!(complaints.contains("the comparison with the original"), "{complaints}");
    assert!(complaints.contains("cpg 1000 B: the ratio to corosync"), "{complaints}");
}
