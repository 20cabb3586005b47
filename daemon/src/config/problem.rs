//! What is wrong with a configuration, collected rather than stopped at.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// Line number from 1; 0 means the file as a whole.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Most likely a mistake; the file is accepted.
    Warning,
    /// A test rejects the file, a starting daemon goes on without the thing.
    Flaw,
    /// The file is rejected.
    Error,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Flaw | Severity::Error => "error",
        }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is, if it is in a file.
    pub at: Option<Place>,
    /// Path of the section or key (`totem.token`); empty when none is concerned.
    pub key: String,
    /// What is wrong.
    pub text: String,
    /// What may help; may be empty.
    pub hint: String,
}

impl Problem {
    /// Whether it concerns the `logging` section; such errors have an exit status of their own.
    pub fn is_about_logging(&self) -> bool {
        self.key == "logging" || self.key.starts_with("logging.")
    }

    /// The problem without the word for its severity, for a log that has its own.
    pub fn for_log(&self) -> String {
        let mut out = String::new();
        if let Some(at) = &self.at {
            out.push_str(&format!("{at}: "));
        }
        if !self.key.is_empty() {
            out.push_str(&format!("{}: ", self.key));
        }
        out.push_str(&self.text);
        if !self.hint.is_empty() {
            out.push_str(&format!(" ({})", self.hint));
        }
        out
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.at {
            write!(f, "{at}: ")?;
        }
        write!(f, "{}: ", self.severity.word())?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.text)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}

/// The problems found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    /// Adds a problem; a hint may follow with [`Problem::hint`].
    pub fn add(&mut self, severity: Severity, at: Option<&Place>, key: &str, text: impl Into<String>) -> &mut Problem {
        let problem =
            Problem { severity, at: at.cloned(), key: key.to_owned(), text: text.into(), hint: String::new() };
        self.list.push(problem);
        self.list.last_mut().expect("one was pushed just now")
    }

    /// Adds an error.
    pub fn error(&mut self, at: &Place, key: &str, text: impl Into<String>) -> &mut Problem {
        self.add(Severity::Error, Some(at), key, text)
    }

    /// Adds a warning.
    pub fn warning(&mut self, at: &Place, key: &str, text: impl Into<String>) -> &mut Problem {
        self.add(Severity::Warning, Some(at), key, text)
    }

    /// Adds a note.
    pub fn info(&mut self, at: &Place, key: &str, text: impl Into<String>) -> &mut Problem {
        self.add(Severity::Info, Some(at), key, text)
    }

    /// The worst severity among them.
    pub fn worst(&self) -> Option<Severity> {
        self.list.iter().map(|problem| problem.severity).max()
    }

    /// Whether the file must not be used.
    pub fn rejected(&self) -> bool {
        self.worst() == Some(Severity::Error)
    }

    /// Takes all from `other`.
    pub fn append(&mut self, mut other: Problems) {
        self.list.append(&mut other.list);
    }

    /// All of them in the order of files and lines; those without a place come last.
    pub fn into_sorted(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|problem| problem.at.as_ref().map_or(u32::MAX, |at| at.line.wrapping_sub(1)));
        self.list
    }
}

impl Problem {
    /// Sets the hint.
    pub fn hint(&mut self, hint: impl Into<String>) {
        self.hint = hint.into();
    }
}
