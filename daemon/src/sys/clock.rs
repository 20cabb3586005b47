//! Local time, broken down, for log lines. The standard library has no time zones.

use std::mem::MaybeUninit;

/// A moment in the local time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Month, 0 to 11.
    pub month: usize,
    /// Day of the month, 1 to 31.
    pub day: u32,
    /// Hour, 0 to 23.
    pub hour: u32,
    /// Minute, 0 to 59.
    pub minute: u32,
    /// Second, 0 to 60.
    pub second: u32,
}

/// The local time at `seconds` since 1970; the start of the epoch when the C library cannot say.
pub fn local_time(seconds: i64) -> LocalTime {
    let seconds = seconds as libc::time_t;
    let mut broken = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are to live objects of the right type; the function writes only
    // through the second and is the re-entrant variant.
    let answer = unsafe { libc::localtime_r(&seconds, broken.as_mut_ptr()) };
    if answer.is_null() {
        return LocalTime { month: 0, day: 1, hour: 0, minute: 0, second: 0 };
    }
    // SAFETY: all-zero bytes are a valid `tm`, and the call above has filled it.
    let broken = unsafe { broken.assume_init() };
    LocalTime {
        month: broken.tm_mon.clamp(0, 11) as usize,
        day: broken.tm_mday.clamp(1, 31) as u32,
        hour: broken.tm_hour.clamp(0, 23) as u32,
        minute: broken.tm_min.clamp(0, 59) as u32,
        second: broken.tm_sec.clamp(0, 60) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_later_the_minute_is_the_same() {
        let (one, two) = (local_time(1_700_000_000), local_time(1_700_003_600));
        assert_eq!((one.minute, one.second), (two.minute, two.second));
        assert_ne!(one.hour, two.hour);
    }

    #[test]
    fn absurd_times_do_not_panic() {
        local_time(i64::MAX);
        local_time(i64::MIN);
    }
}
