//! Tells the tests for which target they are built: the cc crate asks for it outside build scripts.

fn main() {
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=EVENSONG_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
}
