//! The pkg-config templates say what a static link really needs, and there is one per library.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What an archive of this compiler needs. Our crates link nothing by themselves, so an empty
/// one tells it.
fn native_static_libs(dir: &Path) -> String {
    let source = dir.join("empty.rs");
    std::fs::write(&source, "").expect("a temporary directory can be written");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--crate-type", "staticlib", "--print", "native-static-libs", "--out-dir"])
        .arg(dir)
        .arg(&source)
        .output()
        .expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let libs = text.lines().find_map(|line| line.split_once("native-static-libs:"));
    let libs = libs.unwrap_or_else(|| panic!("no list in: {text}")).1;
    // The C compiler adds the unwinder by itself, shared or not; there is no archive by this name.
    libs.split_whitespace().filter(|lib| *lib != "-lgcc_s").collect::<Vec<_>>().join(" ")
}

#[test]
fn each_library_has_a_template_that_lists_what_the_archive_needs() {
    let dir = std::env::temp_dir().join(format!("evensong-abi-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory can be made");
    let needed = native_static_libs(&dir);
    std::fs::remove_dir_all(&dir).expect("ours to remove");
    let table = std::fs::read_to_string(root().join("ffi/abi/libraries.tsv")).expect("the table");
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let archive = row.split('\t').next_back().expect("six columns");
        let stem = archive.strip_suffix(".a").expect("an archive");
        let path = root().join("pkgconfig").join(format!("{stem}.pc"));
        let template = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{stem}.pc: {error}"));
        let private = template.lines().find_map(|line| line.strip_prefix("Libs.private:"));
        assert_eq!(private.map(str::trim), Some(needed.as_str()), "{stem}.pc");
    }
}
