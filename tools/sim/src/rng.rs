//! Chance, from a seed: xoshiro256** (Blackman and Vigna), seeded through splitmix64. Only
//! integers, so that a seed means the same on every machine.

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

/// Mixes a number well; also the step of the seeding generator.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// A generator that `seed` and `purpose` determine.
    pub fn new(seed: u64, purpose: u64) -> Rng {
        let mut at = mix(seed) ^ mix(purpose.wrapping_mul(0x1234_5677));
        let mut next = || {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(at)
        };
        Rng { state: [next(), next(), next(), next() | 1] }
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        debug_assert!(limit > 0);
        ((u128::from(self.draw()) * u128::from(limit)) >> 64) as u64
    }

    /// An index below `limit`, which is not 0.
    pub fn index(&mut self, limit: usize) -> usize {
        self.below(limit as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True so many times in a million.
    pub fn chance(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.below(1_000_000) < u64::from(per_million)
    }

    /// True every `n`-th time.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }

    /// A waiting time around `mean`, from nothing to twice as long.
    pub fn around(&mut self, mean: u64) -> u64 {
        self.below(mean.saturating_mul(2).max(1))
    }

    /// Puts a list into random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.index(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_within_bounds() {
        let (mut a, mut b) = (Rng::new(7, 1), Rng::new(7, 1));
        for _ in 0..1000 {
            assert_eq!(a.draw(), b.draw());
            let n = a.between(3, 5);
            assert!((3..=5).contains(&n));
            assert_eq!(n, b.between(3, 5));
        }
        assert_ne!(Rng::new(7, 1).draw(), Rng::new(7, 2).draw());
        assert_ne!(Rng::new(7, 1).draw(), Rng::new(8, 1).draw());
    }
}
