//! C programs, compiled with the compiler that the cc crate finds and all warnings as errors.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use crate::stage;

/// Whose headers and libraries a program is compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Ours, shared objects.
    Staged,
    /// Ours, archives: the program needs no library of ours to run.
    Archives,
    /// The system's packages (Debian's libcpg-dev). There is no evs among them.
    System,
}

impl Against {
    fn folder(self) -> &'static str {
        match self {
            Against::Staged => "staged",
            Against::Archives => "archives",
            Against::System => "system",
        }
    }

    fn arguments(self, command: &mut Command) {
        match self {
            Against::Staged => {
                command.arg("-I").arg(stage::include()).arg("-L").arg(stage::lib());
                command.args(["-Wl,--as-needed", "-lcpg", "-levs", "-lcorosync_common", "-lpthread"]);
            }
            Against::Archives => {
                command.arg("-I").arg(stage::include()).arg("-L").arg(stage::lib());
                command.args(["-Wl,-Bstatic", "-lcpg", "-levs", "-lcorosync_common", "-Wl,-Bdynamic"]);
                command.args(["-lutil", "-lrt", "-lpthread", "-lm", "-ldl"]);
            }
            Against::System => {
                command.args(["-Wl,--as-needed", "-lcpg", "-lcorosync_common", "-lqb", "-lpthread"]);
            }
        }
    }
}

/// The C compiler, with the options that the cc crate gives it for this target.
pub fn compiler(cpp: bool) -> Command {
    let target = env!("EVENSONG_TARGET");
    let mut build = cc::Build::new();
    build.target(target).host(target).opt_level(1).debug(true).warnings(false).cargo_metadata(false).cpp(cpp);
    let out = stage::scratch();
    build.out_dir(&out).try_get_compiler().unwrap_or_else(|e| panic!("no compiler: {e}")).to_command()
}

/// Compiles one C file into a program of the same name, unless that was done already. Headers
/// beside the source are found. Panics with what the compiler says when it does not compile.
pub fn compile(source: &Path, against: Against) -> PathBuf {
    let folder = stage::scratch().join(against.folder());
    let family = source.parent().and_then(Path::file_name).unwrap_or(OsStr::new(""));
    let name = source.file_stem().unwrap_or_else(|| panic!("{}: not a C file", source.display()));
    let folder = folder.join(family);
    let output = folder.join(name);
    if is_fresh(&output, source) {
        return output;
    }
    fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    // Another test may compile the same: each writes its own file and renames it.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let own = folder.join(format!("{}.{}.{number}", name.to_string_lossy(), std::process::id()));
    let mut command = compiler(false);
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&own).arg(source);
    against.arguments(&mut command);
    run(command, source);
    fs::rename(&own, &output).unwrap_or_else(|e| panic!("{}: {e}", output.display()));
    output
}

/// Runs a compiler; panics with its messages when it fails.
pub fn run(mut command: Command, what: &Path) {
    let done = command.output().unwrap_or_else(|e| panic!("{:?}: {e}", command.get_program()));
    assert!(
        done.status.success(),
        "{} does not compile:\n{:?} {:?}\n{}",
        what.display(),
        command.get_program(),
        command.get_args().collect::<Vec<_>>(),
        String::from_utf8_lossy(&done.stderr)
    );
}

/// Newer than everything that goes in: the source, the headers, and what is staged.
fn is_fresh(output: &Path, source: &Path) -> bool {
    let Some(made) = modified(output) else { return false };
    let beside = source.parent().map(Path::to_owned).unwrap_or_default();
    let newer = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| modified(&entry.path())).any(|time| time >= made)
    };
    !newer(&beside)
        && !newer(&source_folder("behaviour"))
        && !newer(&stage::lib())
        && !newer(&stage::include().join("corosync"))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// The C files of a folder below `c-tests/c`, in order of their names.
pub fn sources(folder: &str) -> Vec<PathBuf> {
    let folder = source_folder(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut sources: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    sources.retain(|path| path.extension() == Some(OsStr::new("c")));
    sources.sort();
    sources
}

fn source_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(name)
}

/// One C file below `c-tests/c`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(name)
}
