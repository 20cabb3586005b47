//! Soname and symbol versions.

fn main() {
    evensong_abi::link("libevs.so.4", "libevs.versions");
}
