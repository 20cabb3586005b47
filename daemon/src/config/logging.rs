//! The `logging` section into the log's settings.

use std::path::{Path, PathBuf};

use super::keys::FACILITIES;
use super::parse::{Entry, Section};
use super::problem::{Problems, Severity};
use crate::log::{Debug, Level, LogConfig, Subsystem, Target, Timestamp};

/// Builds the settings; wrong words have been reported by the key check and count as absent.
pub fn build(root: &Section, ident: &str, problems: &mut Problems) -> LogConfig {
    let mut config = LogConfig { ident: ident.to_owned(), ..LogConfig::default() };
    for section in root.all("logging") {
        for entry in &section.entries {
            match (entry.key.as_str(), entry.value.as_str()) {
                ("timestamp", "on") => config.timestamp = Timestamp::On,
                ("timestamp", "off") => config.timestamp = Timestamp::Off,
                ("timestamp", "hires") => config.timestamp = Timestamp::HighResolution,
                ("fileline", word) => config.fileline = word == "on",
                ("function_name", word) => config.function_name = word == "on",
                _ => set(&mut config.general, "logging", entry, problems),
            }
        }
    }
    for section in root.all("logging.logger_subsys") {
        subsystem(&mut config, section, problems);
    }
    for section in root.all("logging.logging_daemon") {
        problems.info(&section.at, &section.path, "read, and without effect: it is for daemons other than this");
    }
    check_files(root, &config, problems);
    config
}

fn subsystem(config: &mut LogConfig, section: &Section, problems: &mut Problems) {
    let Some(name) = section.entries.iter().rfind(|entry| entry.key == "subsys" && !entry.value.is_empty()) else {
        problems.error(&section.at, "logging.logger_subsys.subsys", "missing: which subsystem is meant?");
        return;
    };
    let known = name.value.to_ascii_uppercase();
    let mut target = config.subsystems.get(&known).unwrap_or(&config.general).clone();
    for entry in section.entries.iter().filter(|entry| entry.key != "subsys") {
        set(&mut target, "logging.logger_subsys", entry, problems);
    }
    if !Subsystem::ALL.iter().any(|subsystem| subsystem.name() == known) {
        let names: Vec<&str> = Subsystem::ALL.iter().map(|subsystem| subsystem.name()).collect();
        problems
            .info(&name.at, "logging.logger_subsys.subsys", format!("{} does not exist in this build", name.value))
            .hint(format!("there are {}", names.join(", ")));
    }
    config.subsystems.insert(known, target);
}

fn set(target: &mut Target, section: &str, entry: &Entry, problems: &mut Problems) {
    let word = entry.value.as_str();
    let on = match word {
        "yes" | "on" => Some(true),
        "no" | "off" => Some(false),
        _ => None,
    };
    let old_name = |now: &str, problems: &mut Problems| {
        let path = format!("{section}.{}", entry.key);
        problems.warning(&entry.at, &path, "old name").hint(format!("it is called {now} now"));
    };
    match entry.key.as_str() {
        "to_stderr" => target.to_stderr = on.unwrap_or(target.to_stderr),
        "to_syslog" => target.to_syslog = on.unwrap_or(target.to_syslog),
        "to_logfile" => target.to_logfile = on.unwrap_or(target.to_logfile),
        "to_file" => {
            old_name("to_logfile", problems);
            target.to_logfile = on.unwrap_or(target.to_logfile);
        }
        // A relative name starts in the directory that the daemon is started in.
        "logfile" if !word.is_empty() => {
            target.logfile = Some(std::path::absolute(word).unwrap_or_else(|_| PathBuf::from(word)));
        }
        "logfile_priority" => target.logfile_priority = Level::from_word(word).unwrap_or(target.logfile_priority),
        "syslog_priority" => target.syslog_priority = Level::from_word(word).unwrap_or(target.syslog_priority),
        "syslog_level" => {
            old_name("syslog_priority", problems);
            target.syslog_priority = Level::from_word(word).unwrap_or(target.syslog_priority);
        }
        "syslog_facility" => target.syslog_facility = facility(word).unwrap_or(target.syslog_facility),
        "debug" => {
            target.debug = match word {
                "on" => Debug::On,
                "trace" => Debug::Trace,
                _ => Debug::Off,
            }
        }
        _ => {}
    }
}

/// The number of a facility (`syslog.h`).
fn facility(word: &str) -> Option<u8> {
    if let Some(local) = word.strip_prefix("local").and_then(|digit| digit.parse::<u8>().ok()) {
        return (local < 8).then_some(16 + local);
    }
    FACILITIES.contains(&word).then_some(match word {
        "kern" => 0,
        "user" => 1,
        "mail" => 2,
        "daemon" => 3,
        "auth" => 4,
        "syslog" => 5,
        "lpr" => 6,
        "news" => 7,
        "uucp" => 8,
        "cron" => 9,
        "authpriv" => 10,
        _ => 11,
    })
}

/// Files that are wanted must be in a directory that exists. The daemon starts without them,
/// a test of the file rejects it.
fn check_files(root: &Section, config: &LogConfig, problems: &mut Problems) {
    let mut sections = root.all("logging");
    sections.extend(root.all("logging.logger_subsys"));
    let entries = sections.into_iter().flat_map(|section| section.entries.iter().map(move |entry| (section, entry)));
    for (section, entry) in entries.filter(|(_, entry)| entry.key == "logfile" && !entry.value.is_empty()) {
        let path = std::path::absolute(&entry.value).unwrap_or_else(|_| PathBuf::from(&entry.value));
        let wanted = |target: &Target| target.to_logfile && target.logfile.as_deref() == Some(path.as_path());
        if !config.subsystems.values().chain([&config.general]).any(wanted) {
            continue;
        }
        let dir = path.parent().unwrap_or(Path::new("/"));
        let trouble = if path.is_dir() {
            Some(format!("{} is a directory", path.display()))
        } else {
            std::fs::read_dir(dir).err().map(|error| format!("cannot write {}: {error}", path.display()))
        };
        if let Some(trouble) = trouble {
            problems
                .add(Severity::Flaw, Some(&entry.at), &section.key_path("logfile"), trouble)
                .hint("a starting daemon goes on without the file");
        }
    }
    if config.general.to_logfile && config.general.logfile.is_none() {
        if let Some(entry) = root.last("logging", "to_logfile") {
            problems.warning(&entry.at, "logging.to_logfile", "no logfile is named, so there is none");
        }
    }
}
