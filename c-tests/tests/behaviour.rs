//! The C programs of `c/behaviour` and `c/ours` on our daemon: what they print must be what the
//! original printed, but for the listed differences.

use c_tests::compile::{self, compile, Against};
use c_tests::expected::{self, Kind};
use c_tests::Daemon;

fn observe(name: &str, kind: Kind) {
    let program = compile(&compile::source(&format!("{}/{name}.c", kind.folder())), Against::Staged);
    let daemon = Daemon::start();
    expected::ours(name, kind, &daemon.client(&program).run());
}

macro_rules! programs {
    ($kind:ident, $list:ident: $($name:ident)*) => {
        const $list: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { observe(stringify!($name), Kind::$kind); })*
    };
}

include!("programs.in");

#[test]
fn no_program_is_forgotten() {
    for (kind, list) in [(Kind::Both, BOTH), (Kind::Ours, OURS)] {
        let sources = compile::sources(kind.folder());
        let names: Vec<_> = sources.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
        assert_eq!(names, list, "tests/programs.in lists the files of c/{}", kind.folder());
    }
}
