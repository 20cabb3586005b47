//! Text to tree: the syntax of `corosync.conf` as the reader of corosync 3.1.7 takes it.
//!
//! Line by line: blanks at both ends and one CR before the newline do not count; a line whose
//! first other character is `#` is a comment; a line with `{` opens a section, else one with
//! `:` is a key and its value, else one with `}` alone closes a section; anything else is
//! wrong. So a `#` or quotes within a value belong to the value, and a `{` makes any line a
//! section. A line holds [`LINE_MAX`] bytes at most. Unlike the original this reader goes on
//! after an error, so that all are reported.

use std::path::Path;
use std::sync::Arc;

use super::problem::{Place, Problems};

/// Longest line in bytes, the newline not counted.
pub const LINE_MAX: usize = 510;
/// Longest path of a key or section in bytes (`ICMAP_KEYNAME_MAXLEN` less the NUL).
pub const PATH_MAX: usize = 254;
/// Largest file in bytes.
pub const FILE_MAX: usize = 1024 * 1024;

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key, without its section.
    pub key: String,
    /// The value; may be empty.
    pub value: String,
    /// The line it stands on.
    pub at: Place,
}

/// A section: keys and further sections, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Names of the sections around it and its own, joined by dots; empty for the file.
    pub path: String,
    /// The line that opens it.
    pub at: Place,
    /// Keys directly in it.
    pub entries: Vec<Entry>,
    /// Sections directly in it.
    pub sections: Vec<Section>,
    indent: usize,
}

impl Section {
    /// The section's own name.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// The path of a key of this section.
    pub fn key_path(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// All sections with this path, in the order of the file, wherever they are nested.
    pub fn all<'a>(&'a self, path: &str) -> Vec<&'a Section> {
        let mut found = Vec::new();
        self.collect(path, &mut found);
        found
    }

    fn collect<'a>(&'a self, path: &str, found: &mut Vec<&'a Section>) {
        for section in &self.sections {
            if section.path == path {
                found.push(section);
            } else if path.starts_with(&section.path) {
                section.collect(path, found);
            }
        }
    }

    /// The entry that counts for `key` in the sections with this path: the last one.
    pub fn last<'a>(&'a self, path: &str, key: &str) -> Option<&'a Entry> {
        let sections = self.all(path);
        sections.into_iter().flat_map(|section| &section.entries).rfind(|entry| entry.key == key)
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// A parsed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The file as a section without a name.
    pub root: Section,
    /// Whether brackets were balanced; if not, keys may hang in wrong sections.
    pub balanced: bool,
}

/// Parses a file's bytes. Never fails: what is wrong is in `problems`, the rest in the tree.
pub fn parse(text: &[u8], file: &Arc<Path>, problems: &mut Problems) -> Tree {
    let root = Section {
        path: String::new(),
        at: Place { file: file.clone(), line: 0 },
        entries: Vec::new(),
        sections: Vec::new(),
        indent: 0,
    };
    let mut reader = Reader { open: vec![root], problems, balanced: true, suspect: None, lone_word: None };
    if text.len() > FILE_MAX {
        let at = reader.open[0].at.clone();
        reader.problems.error(&at, "", format!("file has {} bytes, at most {FILE_MAX} are read", text.len()));
        return reader.finish(0);
    }
    let mut line = 0;
    for raw in text.split(|byte| *byte == b'\n') {
        line += 1;
        reader.take(raw, Place { file: file.clone(), line });
    }
    // A newline at the end does not begin another line.
    reader.finish(if text.ends_with(b"\n") { line - 1 } else { line })
}

/// A closing bracket that does not match its section's indentation.
struct Suspect {
    path: String,
    opened: u32,
    closed: u32,
}

struct Reader<'a> {
    /// Sections open now, outermost first; never empty.
    open: Vec<Section>,
    problems: &'a mut Problems,
    balanced: bool,
    /// The first odd closing bracket, to tell where a missing one may belong.
    suspect: Option<Suspect>,
    /// A word alone on the line before: a section whose bracket follows on its own line?
    lone_word: Option<(String, Place)>,
}

impl Reader<'_> {
    fn take(&mut self, raw: &[u8], at: Place) {
        if raw.len() > LINE_MAX {
            self.problems.error(&at, "", format!("line has {} bytes, at most {LINE_MAX} are allowed", raw.len()));
            return;
        }
        if raw.contains(&0) {
            self.problems.error(&at, "", "line contains a NUL byte");
            return;
        }
        let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        let text = String::from_utf8_lossy(raw);
        let line = blank_trim(&text);
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.problems.warning(
                &at,
                "",
                format!("line is not valid UTF-8, odd bytes are replaced: \"{}\"", raw.escape_ascii()),
            );
        }
        let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
        let word = self.lone_word.take();
        if let Some((before, after)) = line.split_once('{') {
            self.open_section(before, after, indent, &at, word);
            return;
        }
        if let Some((word, word_at)) = word {
            self.neither(&word, &word_at);
        }
        if let Some((key, value)) = line.split_once(':') {
            self.entry(blank_trim(key), blank_trim(value), at);
        } else if line.contains('}') {
            self.close_section(line, indent, &at);
        } else if is_name(line) {
            self.lone_word = Some((line.to_owned(), at));
        } else {
            self.neither(line, &at);
        }
    }

    fn neither(&mut self, line: &str, at: &Place) {
        let problem =
            self.problems.error(at, "", format!("line {} is neither a section nor a key with a value", quoted(line)));
        if let Some((key, value)) = line.split_once('=') {
            problem.hint(format!("a value follows a colon: \"{}: {}\"", key.trim(), value.trim()));
        } else {
            problem.hint("a section is opened by \"name {\", a key is \"name: value\"");
        }
    }

    fn open_section(&mut self, before: &str, after: &str, indent: usize, at: &Place, word: Option<(String, Place)>) {
        let mut name = before.trim_end_matches([' ', '\t', ':']).to_owned();
        let after = blank_trim(after);
        let mut opened = at.clone();
        if name.is_empty() {
            match word {
                Some((word, word_at)) => {
                    self.problems
                        .error(&word_at, &word, format!("section {word} is opened on a line of its own"))
                        .hint("the bracket must stand on the same line as the name: \"name {\"");
                    (name, opened) = (word, word_at);
                }
                None => {
                    self.problems.error(at, "", "section name missing before \"{\"");
                    name = "?".to_owned();
                }
            }
        } else if let Some((word, word_at)) = word {
            self.neither(&word, &word_at);
        }
        if !after.is_empty() {
            let problem = self.problems.error(at, &name, format!("text after \"{{\": {}", quoted(after)));
            if name.contains(':') {
                problem.hint("a bracket in a value cannot be written: any line with \"{\" opens a section");
            } else {
                problem.hint("each key needs a line of its own");
            }
            if after.ends_with('}') || name.contains(':') {
                // All on one line: there is no bracket to wait for.
                return;
            }
        }
        let path = join(&self.top().path, &name);
        if path.len() > PATH_MAX {
            self.problems.error(at, "", format!("path of the section has {} bytes, at most {PATH_MAX}", path.len()));
            // Still opened, under a short name, so that its bracket finds it.
            name = "?".to_owned();
        }
        let path = join(&self.top().path, &name);
        if path.len() > PATH_MAX {
            self.balanced = false;
            return;
        }
        self.open.push(Section { path, at: opened, entries: Vec::new(), sections: Vec::new(), indent });
    }

    fn entry(&mut self, key: &str, value: &str, at: Place) {
        let path = self.top().key_path(key);
        if path.len() > PATH_MAX {
            self.problems.error(&at, "", format!("path of the key has {} bytes, at most {PATH_MAX}", path.len()));
            return;
        }
        if key.is_empty() {
            let path = self.top().path.clone();
            self.problems.error(&at, &path, "key missing before \":\"");
            return;
        }
        if !is_name(key) {
            self.problems
                .error(&at, "", format!("{} cannot be a key", quoted(key)))
                .hint("letters, digits and . _ - / are allowed");
            return;
        }
        if path.len() < 3 {
            self.problems.error(&at, &path, "key outside of a section is shorter than 3 characters");
            return;
        }
        let entry = Entry { key: key.to_owned(), value: value.to_owned(), at };
        self.top().entries.push(entry);
    }

    fn close_section(&mut self, line: &str, indent: usize, at: &Place) {
        if line != "}" {
            self.problems
                .error(at, "", format!("text around the closing bracket: {}", quoted(line)))
                .hint("\"}\" must stand alone on its line");
        }
        if self.open.len() == 1 {
            self.problems.error(at, "", "closing bracket without an open section");
            self.balanced = false;
            return;
        }
        let section = self.open.pop().expect("checked above");
        if indent < section.indent && self.suspect.is_none() {
            self.suspect = Some(Suspect { path: section.path.clone(), opened: section.at.line, closed: at.line });
        }
        self.top().sections.push(section);
    }

    fn top(&mut self) -> &mut Section {
        self.open.last_mut().expect("the file itself is always open")
    }

    fn finish(mut self, last_line: u32) -> Tree {
        if let Some((word, at)) = self.lone_word.take() {
            self.neither(&word, &at);
        }
        while self.open.len() > 1 {
            let section = self.open.pop().expect("checked above");
            self.balanced = false;
            let at = Place { file: section.at.file.clone(), line: last_line };
            let problem = self.problems.error(
                &at,
                &section.path,
                format!("closing bracket missing for the section opened on line {}", section.at.line),
            );
            if let Some(suspect) = &self.suspect {
                problem.hint(format!(
                    "by its indentation, the bracket on line {} is not the one of {} opened on line {}; \
                     one may be missing before it",
                    suspect.closed, suspect.path, suspect.opened
                ));
            }
            self.top().sections.push(section);
        }
        Tree { root: self.open.pop().expect("the file itself is always open"), balanced: self.balanced }
    }
}

/// Takes blanks and tabs off both ends, no other white space.
fn blank_trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// Whether the configuration map takes this as a key.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
}

/// The text in quotes, with everything invisible or beyond ASCII's letters made visible.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            c if c.is_alphanumeric() => out.push(c),
            c => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            }
        }
    }
    out.push('"');
    out
}
