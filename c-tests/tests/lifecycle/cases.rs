//! The table of cases names tests that exist.

use std::path::Path;

use c_tests::stage::root;

/// All Rust sources below a folder, and the list of C programs that are tests.
fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "in") {
            into.push_str(&std::fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

#[test]
fn every_test_in_the_table_of_cases_exists() {
    let mut text = String::new();
    sources(&root().join("c-tests/tests"), &mut text);
    let table = std::fs::read_to_string(root().join("docs/CASES.md")).expect("docs/CASES.md is there");
    let names: Vec<&str> = table.split('`').filter(|word| word.contains("::")).collect();
    assert!(names.len() > 20, "the table was not understood");
    for name in names {
        let function = name.rsplit("::").next().unwrap_or_default();
        let listed = text.lines().any(|line| line.trim() == function);
        assert!(listed || text.contains(&format!("fn {function}()")), "there is no test {name}");
    }
}
