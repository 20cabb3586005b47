//! Compiles the C programs with the compiler that the cc crate finds.
//!
//! They are linked against the staged libraries, or (`plainloop`) against the original's, and run
//! on both: the soname is the same, LD_LIBRARY_PATH chooses.

use std::fs;
use std::path::{Path, PathBuf};

/// Whose headers and libraries a program is compiled with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Headers<'a> {
    /// a staged tree
    Staged(&'a Path),
    /// the system's
    System,
}

/// Compiles `sources/<name>.c` into `into/<name>`.
pub fn program(source: &Path, into: &Path, headers: Headers) -> Result<PathBuf, String> {
    let target = env!("EVENSONG_TARGET");
    let compiler = cc::Build::new()
        .target(target)
        .host(target)
        .opt_level(2)
        .debug(false)
        .warnings(true)
        .cargo_metadata(false)
        .out_dir(into)
        .try_get_compiler()
        .map_err(|e| format!("no C compiler: {e}"))?;
    let name = source.file_stem().ok_or_else(|| format!("{}: not a C file", source.display()))?;
    let output = into.join(name);
    fs::create_dir_all(into).map_err(|e| format!("{}: {e}", into.display()))?;
    let mut command = compiler.to_command();
    command.arg("-o").arg(&output).arg(source).arg("-Wl,--as-needed");
    if let Some(folder) = source.parent() {
        command.arg("-I").arg(folder);
    }
    match headers {
        Headers::Staged(usr) => {
            command.arg("-I").arg(usr.join("include")).arg("-L").arg(usr.join("lib"));
            command.args(["-lcpg", "-levs", "-lcorosync_common"]);
        }
        Headers::System => {
            command.args(["-lcpg", "-lcorosync_common"]);
        }
    }
    command.args(["-lpthread", "-lm"]);
    let done = command.output().map_err(|e| format!("{}: {e}", compiler.path().display()))?;
    if done.status.success() {
        Ok(output)
    } else {
        Err(format!("{} does not compile:\n{}", source.display(), String::from_utf8_lossy(&done.stderr)))
    }
}
