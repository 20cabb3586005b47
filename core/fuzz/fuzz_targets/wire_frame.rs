//! libFuzzer's way in; the target itself is `entries/wire_frame.rs`.
#![no_main]

#[path = "../entries/wire_frame.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    entry::run(data);
});
