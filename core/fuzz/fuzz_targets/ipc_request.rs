//! libFuzzer's way in; the target itself is `entries/ipc_request.rs`.
#![no_main]

#[path = "../entries/ipc_request.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    entry::run(data);
});
