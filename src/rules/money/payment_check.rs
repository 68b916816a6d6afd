//! When a gateway is asked what it lists of a payment. A refund may fail days after it was made, and a notice of a
//! dispute may get lost.

use std::time::Duration;

use crate::model::values::timestamp::Timestamp;

const DAY: Duration = Duration::from_hours(24);

/// The delay after the gateway did not answer.
const CHECK_AGAIN: Duration = Duration::from_hours(1);

/// How long after the newest fact the gateway is asked no more if it does not answer: a week after the last time
/// that it would be asked.
const LAST_CHECK: Duration = Duration::from_hours(37 * 24);

/// After which time the gateway is first asked about a payment of which a refund was made, or that is disputed.
pub(crate) const FIRST_CHECK: Duration = DAY;

/// The delay until the gateway is asked again, after it has answered `answers` times: it is asked 1, 7 and 30 days
/// after the newest fact. While something of the payment waits, for a bank or for the customer, it is asked every day.
pub(crate) fn next_check(answers: i64, waits: bool) -> Option<Duration> {
    match answers {
        _ if waits => Some(DAY),
        1 => Some(6 * DAY),
        2 => Some(23 * DAY),
        _ => None,
    }
}

/// The longest time between two times, and a minute in which clocks may differ. A due time beyond it comes from a clock
/// that was wrong, and counts as due now.
pub(crate) const LATEST_DUE: Duration = Duration::from_mins(23 * 24 * 60 + 1);

/// When the gateway is asked again, after it has not answered. `None` if it is not asked again. `newest` is when the
/// newest fact was recorded.
pub(crate) fn check_again(newest: Timestamp, waits: bool, now: Timestamp) -> Option<Timestamp> {
    let next = now.saturating_add(if waits { DAY } else { CHECK_AGAIN });
    (waits || next <= newest.saturating_add(LAST_CHECK)).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_bank_or_the_customer_is_looked_up_every_day() {
        assert_eq!([0, 1, 2, 3, 400].map(|answers| next_check(answers, true)), [Some(DAY); 5]);
    }
}
