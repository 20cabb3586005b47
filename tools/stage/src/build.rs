//! Calls cargo for the daemon, the shared objects and the archives, and asks it where they are.
//!
//! The archives are a build of their own: another profile (two archives with link-time
//! optimization clash in one program) and without symbol versions.

use crate::plan::Library;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The daemon's package and binary.
pub const DAEMON: &str = "evensongd";

/// What cargo built: file name to path.
pub type Built = BTreeMap<String, PathBuf>;

/// Builds all of it in release mode.
pub fn everything(root: &Path, libraries: &[Library]) -> Result<Built, String> {
    let mut built = Built::new();
    let mut packages = vec!["build", "--release", "-p", DAEMON];
    for library in libraries {
        packages.extend(["-p", &library.package]);
    }
    cargo(root, &packages, &mut built)?;
    for library in libraries {
        let archive = [
            "rustc",
            "-p",
            &library.package,
            "--lib",
            "--profile",
            "staticlib",
            "--crate-type",
            "staticlib",
            "--features",
            "unversioned",
        ];
        cargo(root, &archive, &mut built)?;
    }
    Ok(built)
}

/// Runs one cargo command; its diagnostics go to the terminal as usual.
fn cargo(root: &Path, arguments: &[&str], built: &mut Built) -> Result<(), String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(program)
        .current_dir(root)
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cargo: {e}"))?;
    let output = child.stdout.take().ok_or("cargo: no output")?;
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|e| format!("cargo: {e}"))?;
        let Ok(message) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
        if message["reason"] != "compiler-artifact" {
            continue;
        }
        for path in message["filenames"].as_array().into_iter().flatten().filter_map(|f| f.as_str()) {
            let path = PathBuf::from(path);
            if let Some(name) = path.file_name().and_then(|n| n.to_str()) {
                built.insert(name.to_owned(), path.clone());
            }
        }
    }
    let status = child.wait().map_err(|e| format!("cargo: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cargo {} failed", arguments.join(" ")))
    }
}
