//! Soname and symbol versions.

fn main() {
    evensong_abi::link("libcorosync_common.so.4", "libcorosync_common.versions");
}
