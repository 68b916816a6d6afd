//! When the gateway is asked about a checkout, and how often one can be renewed.

use std::time::Duration;

use crate::model::values::timestamp::Timestamp;

/// How long a process keeps others from asking the gateway for a checkout. While it waits for the
/// gateway, it [renews](CLAIM_RENEWAL) the claim. A claim that is not renewed ends soon: its process has been killed.
pub(crate) const CLAIM_DURATION: Duration = Duration::from_secs(2);

/// How long a process waits for the gateway until it renews its claim. When the gateway answers, the process has the
/// rest of the claim to record the answer.
pub(crate) const CLAIM_RENEWAL: Duration = Duration::from_secs(1);

/// The longest claim, also of earlier versions. One that ends later was made by a clock that was ahead, and counts as
/// ended.
const LONGEST_CLAIM: Duration = Duration::from_mins(1);

/// How long a claim lasts from `now` on. `None` if it has ended, or if there is none.
pub(crate) fn claim_left(ends_at: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    let left = u64::try_from(ends_at?.millis().saturating_sub(now.millis())).ok().map(Duration::from_millis)?;
    (!left.is_zero() && left <= LONGEST_CLAIM).then_some(left)
}

pub(crate) const MAX_RENEWALS: i64 = 10;

/// How long before the end of the hold an unpaid checkout is looked up for the first time, so that a payment whose
/// notice was lost still completes its order.
const BEFORE_THE_END: Duration = Duration::from_mins(1);

/// How long after the end of the hold a checkout is looked up that is not closed.
const AFTER_THE_END: [Duration; 4] =
    [Duration::ZERO, Duration::from_mins(5), Duration::from_hours(1), Duration::from_hours(24)];

/// The longest time until the next look-up, during a hold of days.
const BETWEEN_LOOK_UPS: Duration = Duration::from_hours(24);

/// When a checkout is looked up next, after `now`. `None` if it is not looked up again.
pub(crate) fn next_look_up(hold_until: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let before = hold_until.checked_sub(BEFORE_THE_END);
    let after = AFTER_THE_END.into_iter().map(|delay| hold_until.saturating_add(delay));
    let next = before.into_iter().chain(after).find(|at| *at > now)?;
    Some(next.min(now.saturating_add(BETWEEN_LOOK_UPS)))
}

/// The delay after the failed attempt with this number, counted from 1: 2 seconds, doubled by each further attempt, up
/// to an hour.
pub(crate) fn delay_after(attempt: i64) -> Duration {
    let doublings = u32::try_from(attempt - 1).unwrap_or(0).min(11);
    Duration::from_secs(2 << doublings).min(Duration::from_hours(1))
}

/// After how many attempts that were not executed the account of a checkout counts as lost: it has been asked about for
/// more than an hour, with a rate limit or without a connection for some of the time.
pub(crate) const ATTEMPTS_UNTIL_LOST: i64 = 12;

/// After how many attempts the gateway is asked no more for the refunds of a payment that has gone back, which takes
/// about a week, as with a refund.
pub(crate) const MAX_ATTEMPTS: i64 = 176;

/// The longest time between two attempts, and a minute in which clocks may differ. A due time beyond it comes from a
/// clock that was wrong, and counts as due now.
pub(crate) const LATEST_DUE: Duration = Duration::from_mins(24 * 60 + 1);

/// How long a claim keeps other processes from asking about the same checkout: longer than the calls of an attempt.
pub(crate) const ATTEMPT_LEASE: Duration = Duration::from_mins(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000).unwrap()
    }

    #[test]
    fn a_hold_of_less_than_a_minute_is_looked_up_at_its_end() {
        assert_eq!(next_look_up(seconds(30), seconds(10)), Some(seconds(30)));
    }
}
