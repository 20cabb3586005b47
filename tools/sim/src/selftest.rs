//! Shows that the checkers notice a broken protocol: each rule is switched off alone, and some seed
//! must fail that passes with the rule on.

use evensong_core::ring::mutation::Mutation;

use crate::options::{Options, Profile};
use crate::run::{run, Outcome};

/// How a rule that was off came to light.
#[derive(Clone, Debug)]
pub struct Caught {
    /// Seed that fails without the rule and passes with it.
    pub seed: u64,
    /// Seeds that were tried.
    pub tried: u64,
    /// What failed.
    pub outcome: Outcome,
}

/// Runs up to `most` seeds from `first` on without `rule`. Seeds that fail anyway do not count.
pub fn look_for(rule: Mutation, first: u64, most: u64) -> Option<Caught> {
    // The profiles in turn: a rule may matter under one kind of fault only.
    let profiles = [Profile::Mixed, Profile::Lossy, Profile::Partition, Profile::Crash];
    (0..most).find_map(|n| {
        let seed = first.wrapping_add(n);
        let with = Options::draw(seed, profiles[n as usize % profiles.len()], None);
        let without = Options { rule_off: Some(rule), ..with.clone() };
        let outcome = run(without, 0).outcome;
        let caught = outcome != Outcome::Ok && run(with, 0).outcome == Outcome::Ok;
        caught.then_some(Caught { seed, tried: n + 1, outcome })
    })
}
