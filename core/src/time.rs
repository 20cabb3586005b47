//! Core time: nanoseconds on a clock of the caller.
//!
//! The core reads no clock. Whoever drives it hands in `now` with every input, so that a
//! recorded run replays bit for bit and the simulator owns time.

/// A point in time: nanoseconds since an epoch that the caller chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Span {
    /// A span of whole milliseconds; saturates.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms.saturating_mul(1_000_000))
    }
}

impl Instant {
    /// The instant `span` later; saturates at the end of time.
    #[must_use]
    pub const fn after(self, span: Span) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }

    /// Time that has passed since `earlier`; zero when `earlier` is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}
