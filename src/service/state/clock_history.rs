//! How the wall clock moved, and whether maintenance may act on it.
//!
//! A clock that is wrong and far ahead makes every hold, event and idempotency key look old. What maintenance does
//! about these cannot be taken back, so it does nothing while the clock is in doubt. Operations do not depend on it.
//!
//! The clock is in doubt after it moved forwards by more than an hour in addition to the time that passed on the
//! monotonic clock. When the program starts, the time since the last maintenance run counts in the same way. A clock
//! that was stopped for long, together with the machine or the program, looks the same as a wrong one. Only time tells
//! them apart: a clock that is still there after an hour is believed.

/// The largest jump that is believed at once, in milliseconds.
const LARGEST_JUMP: i64 = 60 * 60 * 1000;

/// How long a clock has to go on after a larger jump, in milliseconds of the monotonic clock.
const CONFIRMATION: i64 = 60 * 60 * 1000;

/// How the wall clock moved since the first maintenance run. Offsets are the wall clock minus the monotonic clock, which
/// only a jump changes.
#[derive(Debug)]
pub(in crate::service) struct ClockHistory {
    believed_offset: i64,
    doubt: Option<Doubt>,
    /// The time in the database, in milliseconds.
    pub(in crate::service) stored: Option<i64>,
}

/// A jump that is not confirmed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Doubt {
    offset: i64,
    since_monotonic: i64,
}

/// What a look at the clock found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::service) enum Verdict {
    Believed,
    /// It is believed again: it was put right, or is confirmed.
    BelievedAgain,
    /// It has just jumped, by this many milliseconds.
    Jumped(i64),
    Doubted,
}

impl ClockHistory {
    pub(in crate::service) fn new(stored: Option<i64>, wall: i64, monotonic: i64) -> Self {
        Self { believed_offset: stored.unwrap_or(wall).saturating_sub(monotonic), doubt: None, stored }
    }

    pub(in crate::service) fn look(&mut self, wall: i64, monotonic: i64) -> Verdict {
        let offset = wall.saturating_sub(monotonic);
        let jump = offset.saturating_sub(self.believed_offset);
        let doubt = self.doubt.filter(|doubt| offset.saturating_sub(doubt.offset).saturating_abs() <= LARGEST_JUMP);
        let is_confirmed = doubt.is_some_and(|doubt| monotonic.saturating_sub(doubt.since_monotonic) >= CONFIRMATION);
        if jump <= LARGEST_JUMP || is_confirmed {
            self.believed_offset = offset;
            return match self.doubt.take() {
                None => Verdict::Believed,
                Some(_) => Verdict::BelievedAgain,
            };
        }
        if doubt.is_some() {
            return Verdict::Doubted;
        }
        self.doubt = Some(Doubt { offset, since_monotonic: monotonic });
        Verdict::Jumped(jump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 60 * 60 * 1000;

    /// A history that believes the wall time 0 at the monotonic time 0.
    fn history() -> ClockHistory {
        ClockHistory::new(None, 0, 0)
    }

    #[test]
    fn a_jump_of_an_hour_is_believed_and_one_millisecond_more_is_not() {
        assert_eq!(history().look(HOUR, 0), Verdict::Believed);
        assert_eq!(history().look(HOUR + 1, 0), Verdict::Jumped(HOUR + 1));
    }

    #[test]
    fn a_second_jump_is_confirmed_for_an_hour_of_its_own() {
        let mut history = history();
        assert_eq!(history.look(10 * HOUR, 0), Verdict::Jumped(10 * HOUR));
        // 10 hours to 21 hours within half an hour.
        assert_eq!(history.look(21 * HOUR, HOUR / 2), Verdict::Jumped(20 * HOUR + HOUR / 2));
        assert_eq!(history.look(21 * HOUR + HOUR / 2, HOUR), Verdict::Doubted);
        assert_eq!(history.look(22 * HOUR, HOUR + HOUR / 2), Verdict::BelievedAgain);
    }
}
