//! The `.versions` list of a library: linker-script syntax, without patterns and scopes.
//!
//! ```text
//! COROSYNC_X_1.0 { x_initialize; x_finalize; };
//! COROSYNC_X_1.1 { x_model_initialize; } COROSYNC_X_1.0;
//! ```

/// One version node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name; empty for the functions of a library without versions.
    pub name: String,
    /// Functions that carry it.
    pub functions: Vec<String>,
    /// The node it follows, if any.
    pub parent: Option<String>,
}

/// A whole list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions(pub Vec<Node>);

impl Versions {
    /// Reads a list; `#` starts a comment.
    pub fn parse(text: &str) -> Result<Versions, String> {
        let text: String = text.lines().map(|line| line.split('#').next().unwrap_or("")).collect::<Vec<_>>().join("\n");
        let mut nodes = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('{').ok_or("a node has no opening brace")?;
            let (body, after) = after.split_once('}').ok_or("a node has no closing brace")?;
            let (parent, after) = after.split_once(';').ok_or("a node has no closing semicolon")?;
            nodes.push(node(name.trim(), body, parent.trim())?);
            rest = after.trim_start();
        }
        if nodes.is_empty() {
            return Err("no node".to_owned());
        }
        Ok(Versions(nodes))
    }

    /// Every function of the list.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|node| node.functions.iter().map(String::as_str))
    }

    /// The directives that put the versions on the symbols. `remove` takes the bare name away,
    /// or the library would export both.
    pub fn symver(&self) -> String {
        let mut out = String::new();
        for node in self.0.iter().filter(|node| !node.name.is_empty()) {
            for function in &node.functions {
                let version = &node.name;
                out += &format!("core::arch::global_asm!(\".symver {function}, {function}@@{version}, remove\");\n");
            }
        }
        out
    }

    /// The version script: the nodes with empty bodies and their order; empty without versions.
    pub fn nodes(&self) -> String {
        let mut out = String::new();
        for node in self.0.iter().filter(|node| !node.name.is_empty()) {
            let parent = node.parent.as_deref().map(|parent| format!(" {parent}")).unwrap_or_default();
            out += &format!("{} {{ }}{parent};\n", node.name);
        }
        out
    }
}

fn node(name: &str, body: &str, parent: &str) -> Result<Node, String> {
    let mut functions = Vec::new();
    for function in body.split(';').map(str::trim).filter(|function| !function.is_empty()) {
        if !function.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            return Err(format!("\"{function}\" is no function name"));
        }
        functions.push(function.to_owned());
    }
    let parent = (!parent.is_empty()).then(|| parent.to_owned());
    Ok(Node { name: name.to_owned(), functions, parent })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "# note\nX_1.0 {\n  a;\n  b_c;\n};\nX_1.1 { d; } X_1.0;\n";

    #[test]
    fn nodes_keep_their_order_and_parents() {
        let versions = Versions::parse(TWO).expect("a sound list");
        assert_eq!(versions.nodes(), "X_1.0 { };\nX_1.1 { } X_1.0;\n");
        assert_eq!(versions.functions().collect::<Vec<_>>(), ["a", "b_c", "d"]);
    }

    #[test]
    fn one_directive_per_function() {
        let symver = Versions::parse(TWO).expect("a sound list").symver();
        assert_eq!(symver.lines().count(), 3);
        assert!(symver.contains("\".symver d, d@@X_1.1, remove\""));
    }

    #[test]
    fn a_library_without_versions_gives_nothing_to_the_linker() {
        let versions = Versions::parse("{ a; };").expect("a sound list");
        assert_eq!(versions.symver(), "");
        assert_eq!(versions.nodes(), "");
        assert_eq!(versions.functions().count(), 1);
    }

    #[test]
    fn broken_lists_are_refused() {
        for text in ["", "X", "X {", "X { a;", "X { a; }", "X { a*; };"] {
            assert!(Versions::parse(text).is_err(), "{text}");
        }
    }
}
