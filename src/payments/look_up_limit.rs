//! How often requests may ask the payment gateway for the outcome of checkouts.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::fair::is_fair;
use crate::model::payments::checkout::CheckoutState;
use crate::model::values::id::OrganizationId;
use crate::model::values::timestamp::Timestamp;

/// How long a checkout is not looked up again.
pub(crate) const PAUSE: Duration = Duration::from_secs(4);

/// How many checkouts are looked up for pages in the time of a [pause](PAUSE): twenty in a second. One organization
/// alone gets half of them. Stripe, for example, answers 25 requests of a kind in a second.
const FOR_PAGES: usize = 80;

/// How many checkouts are looked up in the time of a [pause](PAUSE) in order to renew them. An organization alone gets
/// twenty in a second, which is also what an API key may request.
const FOR_RENEWALS: usize = 160;

/// The checkouts that were just looked up. Organizations share the limit as they share [permits](crate::fair).
#[derive(Debug)]
pub(crate) struct LookUpLimit {
    most: usize,
    recent: Mutex<HashMap<String, RecentLookUp>>,
}

#[derive(Debug)]
struct RecentLookUp {
    organization: OrganizationId,
    at: Timestamp,
    answer: Option<CheckoutState>,
}

/// Whether a checkout may be looked up now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LookUpPermission {
    /// It may. Until the time of a pause is over, it may not be looked up again.
    Granted,
    /// It is just being looked up.
    InProgress,
    /// It was just looked up, and this is the [answer](LookUpLimit::record_answer).
    Answered(CheckoutState),
    /// The organization has looked up as many as are left to others.
    TooMany,
}

impl LookUpLimit {
    /// For the pages to which customers come back. Anybody who knows the URL of a page can open it as often as they
    /// like, while other customers need the gateway to pay.
    pub(crate) fn for_pages() -> Self {
        Self { most: FOR_PAGES, recent: Mutex::default() }
    }

    pub(crate) fn for_renewals() -> Self {
        Self { most: FOR_RENEWALS, recent: Mutex::default() }
    }

    /// Asks for permission to look up a checkout of an organization.
    pub(crate) fn request(&self, organization: OrganizationId, checkout: &str, now: Timestamp) -> LookUpPermission {
        let mut recent = self.recent.locked();
        // After the clock was put back, those in the future count for nothing.
        recent.retain(|_, look_up| now.duration_since(look_up.at).is_some_and(|age| age < PAUSE));
        if let Some(look_up) = recent.get(checkout) {
            return look_up.answer.clone().map_or(LookUpPermission::InProgress, LookUpPermission::Answered);
        }
        let own = recent.values().filter(|look_up| look_up.organization == organization).count();
        if !is_fair(own, recent.len(), self.most) {
            return LookUpPermission::TooMany;
        }
        recent.insert(checkout.to_owned(), RecentLookUp { organization, at: now, answer: None });
        LookUpPermission::Granted
    }

    /// Records what the gateway has answered, for those who ask until the time of a pause is over.
    pub(crate) fn record_answer(&self, checkout: &str, answer: CheckoutState) {
        if let Some(look_up) = self.recent.locked().get_mut(checkout) {
            look_up.answer = Some(answer);
        }
    }

    /// Lets a checkout be looked up again at once.
    pub(crate) fn forget(&self, checkout: &str) {
        self.recent.locked().remove(checkout);
    }
}

#[cfg(test)]
mod tests {
    use super::LookUpPermission::Granted;
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).expect("in the range")
    }

    fn organization(number: i64) -> OrganizationId {
        OrganizationId::from_raw(number)
    }

    #[test]
    fn a_clock_that_was_put_back_blocks_nobody() {
        let limit = LookUpLimit::for_pages();
        assert_eq!(limit.request(organization(1), "one", at(1_000_000)), Granted);
        assert_eq!(limit.request(organization(1), "one", at(5000)), Granted);
    }
}
