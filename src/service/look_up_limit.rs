//! How often a customer's return page may ask the payment gateway.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::timestamp::Timestamp;

/// How long a checkout is not looked up again.
pub(super) const PAUSE: Duration = Duration::from_secs(4);

/// How many checkouts are looked up at most in the time of a [pause](PAUSE): ten in a second. Stripe, for example, answers
/// 25 requests of a kind in a second.
const MOST: usize = 40;

/// The checkouts that were just looked up for a page. Anybody who knows the URL of a page can open it as often as they
/// like, while other customers need the gateway to pay.
#[derive(Debug, Default)]
pub(super) struct LookUpLimit(Mutex<HashMap<String, Timestamp>>);

impl LookUpLimit {
    /// Whether a checkout may be looked up now. If so, it may not be looked up again for the time of a pause.
    pub(super) fn allows(&self, reference: &str, now: Timestamp) -> bool {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // After the clock was put back, those in the future count for nothing.
        recent.retain(|_, at| now.duration_since(*at).is_some_and(|age| age < PAUSE));
        if recent.len() >= MOST || recent.contains_key(reference) {
            return false;
        }
        recent.insert(reference.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).expect("in the range")
    }

    #[test]
    fn a_checkout_is_looked_up_once_in_four_seconds() {
        let limit = LookUpLimit::default();
        let allowed = [0, 1, 3999, 4000, 4001, 7999, 8000].map(|now| limit.allows("one", at(now)));
        assert_eq!(allowed, [true, false, false, true, false, false, true]);
        assert!(limit.allows("another", at(8000)));
    }

    #[test]
    fn forty_checkouts_are_looked_up_in_four_seconds() {
        let limit = LookUpLimit::default();
        let allowed = (0..100).filter(|number| limit.allows(&number.to_string(), at(1000))).count();
        assert_eq!(allowed, 40);
        assert!(limit.allows("41", at(5000)));
    }

    #[test]
    fn a_clock_that_was_put_back_blocks_nobody() {
        let limit = LookUpLimit::default();
        assert!(limit.allows("one", at(1_000_000)));
        assert!(limit.allows("one", at(5000)));
    }
}
