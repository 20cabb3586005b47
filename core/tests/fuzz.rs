//! The fuzz targets on a stable compiler, briefly: the same functions, inputs by proptest.
//!
//! `make fuzz` runs them for long. `PROPTEST_CASES` sets another number of cases.

#[path = "../fuzz/entries/ipc_request.rs"]
mod ipc_request;
#[path = "../fuzz/entries/wire_frame.rs"]
mod wire_frame;

use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes that look like the beginning of a frame, so that decoders get past the magic.
fn frame_like() -> impl Strategy<Value = Vec<u8>> {
    let start = prop_oneof![Just([0x70, 0xc0]), Just([0xc0, 0x70])];
    (start, 0_u8..7, vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..400)).prop_map(|(start, kind, rest)| {
        let mut bytes = start.to_vec();
        bytes.extend([3, kind]);
        bytes.extend(rest);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn clients_cannot_upset_a_node(script in vec(any::<u8>(), 0..2000)) {
        ipc_request::run(&script);
    }

    #[test]
    fn any_bytes_go_through_every_decoder(bytes in vec(prop_oneof![Just(0_u8), any::<u8>()], 0..600)) {
        wire_frame::run(&bytes);
    }

    #[test]
    fn frames_survive_being_encoded_again(bytes in frame_like()) {
        wire_frame::run(&bytes);
    }
}

/// The scripts reach what they are for: requests that are served, events, refusals.
#[test]
fn scripts_reach_the_services() {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let script: Vec<u8> = (0..100_000).map(|_| next()).collect();
    let seen = ipc_request::run(&script);
    assert!(seen.requests > 3000 && seen.events > 3000 && seen.refused > 100, "{seen:?}");
}
