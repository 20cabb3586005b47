//! Soname and symbol versions.

fn main() {
    evensong_abi::link("libcpg.so.4", "libcpg.versions");
}
