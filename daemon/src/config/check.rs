//! Every section and key of the tree against the table of known ones: ranges, words, spelling.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::keys::{kind, rule, Kind, OBSOLETE, RULES};
use super::parse::{quoted, Entry, Section, Tree};
use super::problem::{Problems, Severity};
use super::spelling::nearest;

/// Checks the whole tree.
pub fn check(tree: &Tree, problems: &mut Problems) {
    check_section(&tree.root, tree.balanced, problems);
    repeated(&tree.root, problems);
}

fn check_section(section: &Section, names: bool, problems: &mut Problems) {
    let known = rule(&section.path);
    for entry in &section.entries {
        match kind(&section.path, &entry.key) {
            Some(kind) => check_value(&section.key_path(&entry.key), entry, kind, problems),
            None if names && known.is_some_and(|rule| !rule.free) => unknown_key(section, entry, problems),
            None => {}
        }
    }
    for inner in &section.sections {
        let obsolete = OBSOLETE.iter().find(|(name, _)| *name == inner.path);
        if let Some((_, instead)) = obsolete {
            problems.warning(&inner.at, &inner.path, "section is obsolete and ignored").hint(*instead);
        } else if rule(&inner.path).is_none() && names {
            // What is inside of an unknown section is not reported key by key.
            unknown_section(inner, &section.path, problems);
        } else {
            check_section(inner, names, problems);
        }
    }
}

fn unknown_section(section: &Section, parent: &str, problems: &mut Problems) {
    let prefix = if parent.is_empty() { String::new() } else { format!("{parent}.") };
    let siblings =
        RULES.iter().filter_map(|rule| rule.path.strip_prefix(prefix.as_str())).filter(|name| !name.contains('.'));
    let near = nearest(section.name(), siblings);
    let elsewhere = RULES.iter().find(|rule| rule.path.rsplit('.').next() == Some(section.name()));
    let problem = problems.warning(&section.at, &section.path, "unknown section, ignored");
    if let Some(near) = near {
        problem.hint(format!("did you mean \"{near}\"?"));
    } else if let Some(rule) = elsewhere {
        problem.hint(match rule.path.rsplit_once('.') {
            Some((outer, _)) => format!("it belongs into section {outer}"),
            None => "it belongs outside of other sections".to_owned(),
        });
    }
}

fn unknown_key(section: &Section, entry: &Entry, problems: &mut Problems) {
    let own = rule(&section.path).map_or(&[][..], |rule| rule.keys);
    let near = nearest(&entry.key, own.iter().map(|(name, _)| *name).filter(|name| *name != entry.key));
    let elsewhere = RULES.iter().find(|rule| rule.keys.iter().any(|(name, _)| *name == entry.key));
    // The original takes unknown keys but in these two sections.
    let strict = ["uidgid", "totem.interface.member"].contains(&section.path.as_str());
    let path = section.key_path(&entry.key);
    let problem = if strict {
        let allowed: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
        problems.error(&entry.at, &path, format!("only {} may stand here", allowed.join(" and ")))
    } else {
        problems.warning(&entry.at, &path, "unknown key, ignored")
    };
    if let Some(near) = near {
        problem.hint(format!("did you mean \"{near}\"?"));
    } else if let Some(rule) = elsewhere {
        problem.hint(format!("\"{}\" belongs into section {}", entry.key, rule.path));
    }
}

fn check_value(path: &str, entry: &Entry, kind: Kind, problems: &mut Problems) {
    let value = entry.value.as_str();
    let complaint = match kind {
        Kind::Text => {
            odd_text(path, entry, problems);
            None
        }
        Kind::Int(min, max) => (!parse_int(value).is_some_and(|number| (min..=max).contains(&number)))
            .then(|| format!("a whole number between {min} and {max} is needed, not {}", quoted(value))),
        Kind::Long => value
            .parse::<u64>()
            .is_err()
            .then(|| format!("a whole number between 0 and {} is needed, not {}", u64::MAX, quoted(value))),
        Kind::Size(min, max) => (!parse_size(value).is_some_and(|size| (min..=max).contains(&size))).then(|| {
            format!("a size between {min} and {max} bytes is needed (as 8388608 or 8M), not {}", quoted(value))
        }),
        Kind::Mode => parse_mode(value)
            .is_none()
            .then(|| format!("permissions in octal between 0600 and 0666 are needed, not {}", quoted(value))),
        Kind::Choice(words) => {
            (!words.contains(&value)).then(|| format!("one of {} is needed, not {}", words.join(", "), quoted(value)))
        }
        Kind::Word(words) => {
            if !words.contains(&value) {
                let text = format!("{} is none of {}, the default counts", quoted(value), words.join(", "));
                problems.warning(&entry.at, path, text);
            }
            None
        }
        Kind::Address => {
            (!is_address(value)).then(|| format!("an address or a host name is needed, not {}", quoted(value)))
        }
        Kind::Priority => parse_priority(value)
            .is_none()
            .then(|| format!("max, min or a whole number is needed, not {}", quoted(value))),
        Kind::Identity => value.is_empty().then(|| "a name or a number is needed".to_owned()),
        Kind::Obsolete(instead) => {
            problems.warning(&entry.at, path, "key is obsolete and ignored").hint(instead);
            None
        }
    };
    if let Some(text) = complaint {
        let hint = value_hint(value, kind);
        problems.error(&entry.at, path, text).hint(hint);
    }
}

/// Why a value that looks right to the eye is not.
fn value_hint(value: &str, kind: Kind) -> String {
    if value.is_empty() {
        return "the value is missing".to_owned();
    }
    if let Some(c) = value.chars().find(|c| !c.is_ascii_graphic() && !matches!(c, ' ' | '\t') && !c.is_alphanumeric()) {
        return format!("it contains the invisible or odd character U+{:04X}", u32::from(c));
    }
    if value.contains('#') {
        return "a comment must stand on a line of its own: # starts one only at the beginning of a line".to_owned();
    }
    if is_quoted(value) {
        return "quotes are part of a value, leave them out".to_owned();
    }
    match kind {
        Kind::Choice(words) => {
            nearest(value, words.iter().copied()).map_or_else(String::new, |word| format!("did you mean \"{word}\"?"))
        }
        Kind::Int(0, 255) if ["yes", "on", "true"].contains(&value) => "1 means yes here".to_owned(),
        Kind::Int(0, 255) if ["no", "off", "false"].contains(&value) => "0 means no here".to_owned(),
        _ => String::new(),
    }
}

fn odd_text(path: &str, entry: &Entry, problems: &mut Problems) {
    let value = entry.value.as_str();
    if value.is_empty() {
        problems.warning(&entry.at, path, "value is empty, it counts as not set");
    } else if value.contains(" #") || value.contains("\t#") {
        problems
            .warning(&entry.at, path, format!("the value is {}", quoted(value)))
            .hint(value_hint(value, Kind::Text));
    } else if is_quoted(value) {
        problems.warning(&entry.at, path, format!("the value keeps its quotes: {value}"));
    } else if value.chars().any(|c| c.is_control() || c == '\u{a0}' || c == '\u{feff}' || c == '\u{200b}') {
        problems
            .warning(&entry.at, path, format!("the value is {}", quoted(value)))
            .hint(value_hint(value, Kind::Text));
    }
}

fn is_quoted(value: &str) -> bool {
    value.len() > 1 && ['"', '\''].iter().any(|quote| value.starts_with(*quote) && value.ends_with(*quote))
}

/// Keys that stand twice where one value counts: the last one does, as in the original.
fn repeated(root: &Section, problems: &mut Problems) {
    let mut seen: BTreeMap<(String, &str), u32> = BTreeMap::new();
    for path in ["totem", "quorum", "logging", "system", "evensong", "pload", "resources", "quorum.device"] {
        for entry in root.all(path).into_iter().flat_map(|section| &section.entries) {
            if let Some(line) = seen.insert((path.to_owned(), &entry.key), entry.at.line) {
                let text = format!("set on line {line} already, this line counts");
                problems.add(Severity::Warning, Some(&entry.at), &format!("{path}.{}", entry.key), text);
            }
        }
    }
    for node in root.all("nodelist.node") {
        for (n, entry) in node.entries.iter().enumerate() {
            if let Some(earlier) = node.entries[..n].iter().rfind(|earlier| earlier.key == entry.key) {
                let text = format!("set on line {} already, this line counts", earlier.at.line);
                problems.warning(&entry.at, &node.key_path(&entry.key), text);
            }
        }
    }
}

/// A whole number as the original reads it: decimal, a sign allowed.
pub fn parse_int(value: &str) -> Option<i64> {
    value.parse().ok()
}

/// A size in bytes, with an optional `k`, `M` or `G`.
pub fn parse_size(value: &str) -> Option<u64> {
    let (digits, shift) = match value.as_bytes().last()? {
        b'k' | b'K' => (&value[..value.len() - 1], 10),
        b'M' => (&value[..value.len() - 1], 20),
        b'G' => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Permissions of a socket, owner at least.
pub fn parse_mode(value: &str) -> Option<u32> {
    let mode = u32::from_str_radix(value, 8).ok()?;
    (mode & !0o666 == 0 && mode & 0o600 == 0o600).then_some(mode)
}

/// Niceness: `max`, `min` or a number, as `system.priority` takes it.
pub fn parse_priority(value: &str) -> Option<i32> {
    match value {
        "max" => Some(i32::MIN),
        "min" => Some(i32::MAX),
        number => number.parse().ok(),
    }
}

/// Whether this can be an address or a host name; nothing is looked up.
pub fn is_address(value: &str) -> bool {
    let name = |c: u8| c.is_ascii_alphanumeric() || b"-._".contains(&c);
    value.parse::<IpAddr>().is_ok()
        || value.split_once('%').is_some_and(|(address, _)| address.parse::<IpAddr>().is_ok())
        || (!value.is_empty()
            && value.len() <= 255
            && value.bytes().all(name)
            && value.bytes().any(|c| c.is_ascii_alphabetic())
            && !value.starts_with('-'))
}
