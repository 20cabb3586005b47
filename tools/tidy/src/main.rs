//! Checks on the tree itself.

fn main() {}
