//! Builds evensong and installs it: `make stage`, `make install` and `make uninstall`.
//!
//! `stage` builds with cargo and installs into `target/stage/usr`, where every test finds what a
//! user would have. `install` copies from there to the real place, so that it needs neither cargo
//! nor a build directory of root's. What goes where is one list, made in `plan`.

mod build;
mod plan;
mod put;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "evensong-stage", about = "Builds and installs evensong", version)]
struct Cli {
    /// the source tree
    #[arg(long, default_value = ".")]
    root: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build, and install into target/stage/usr
    Stage,
    /// Install what was staged
    Install(Directories),
    /// Remove what install put there
    Uninstall(Directories),
    /// Say whether the original is installed; fails when it is not
    Original,
}

/// Where things go. All are absolute and without DESTDIR, as programs will see them.
#[derive(Args, Clone)]
pub struct Directories {
    #[arg(long, default_value = "")]
    destdir: PathBuf,
    #[arg(long, default_value = "/usr/local")]
    prefix: PathBuf,
    #[arg(long)]
    libdir: Option<PathBuf>,
    #[arg(long)]
    sbindir: Option<PathBuf>,
    #[arg(long)]
    bindir: Option<PathBuf>,
    #[arg(long)]
    includedir: Option<PathBuf>,
    #[arg(long)]
    mandir: Option<PathBuf>,
    #[arg(long)]
    unitdir: Option<PathBuf>,
}

impl Directories {
    /// The staging tree: everything under one prefix, no DESTDIR.
    fn staged(prefix: PathBuf) -> Directories {
        Directories {
            destdir: PathBuf::new(),
            prefix,
            libdir: None,
            sbindir: None,
            bindir: None,
            includedir: None,
            mandir: None,
            unitdir: None,
        }
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evensong-stage: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), String> {
    let root = cli.root.canonicalize().map_err(|e| format!("{}: {e}", cli.root.display()))?;
    let stage = root.join("target/stage");
    let prefix = stage.join("usr");
    match &cli.command {
        Command::Stage => {
            let libraries = plan::libraries(&root)?;
            let built = build::everything(&root, &libraries)?;
            let items = plan::from_build(&root, &libraries, &built)?;
            let report = put::install(&items, &Directories::staged(prefix.clone()))?;
            put::replace_file(
                &stage.join("evensong-stage"),
                &std::env::current_exe().map_err(|e| e.to_string())?,
                0o755,
            )?;
            println!("staged {} files in {} ({} changed)", report.files, prefix.display(), report.changed);
        }
        Command::Install(directories) => {
            let items = plan::from_stage(&root, &plan::libraries(&root)?, &prefix)?;
            let report = put::install(&items, directories)?;
            println!(
                "installed {} files under {} ({} changed)",
                report.files,
                directories.prefix.display(),
                report.changed
            );
        }
        Command::Uninstall(directories) => {
            let removed = put::uninstall(directories)?;
            println!("removed {removed} files");
        }
        Command::Original => original()?,
    }
    Ok(())
}

fn original() -> Result<(), String> {
    for file in ["/usr/sbin/corosync", "/usr/include/corosync/cpg.h"] {
        if !std::path::Path::new(file).exists() {
            return Err(format!("{file} is not there: `make deps ORIGINAL=1` installs the original to compare with"));
        }
    }
    Ok(())
}
