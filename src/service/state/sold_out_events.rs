//! The events that have refused an order a moment ago, because seats ran out.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::model::values::id::EventId;

/// How long an event is remembered after a refusal.
const MAX_AGE: Duration = Duration::from_secs(10);

/// How many events are remembered at most. Orders of others are not checked on a reader.
const MOST: usize = 1024;

/// The events whose next orders are checked on a reader first. When a sale ends, most orders are refused: those cost the
/// writer nothing then.
#[derive(Debug, Default)]
pub(in crate::service) struct SoldOutEvents(Mutex<HashMap<EventId, Duration>>);

impl SoldOutEvents {
    /// Remembers that an order was refused at this monotonic time.
    pub(in crate::service) fn add(&self, event: EventId, now: Duration) {
        let mut refused = self.0.locked();
        if refused.len() >= MOST {
            refused.retain(|_, at| is_recent(*at, now));
        }
        if refused.len() < MOST || refused.contains_key(&event) {
            refused.insert(event, now);
        }
    }

    pub(in crate::service) fn contains(&self, event: EventId, now: Duration) -> bool {
        self.0.locked().get(&event).is_some_and(|at| is_recent(*at, now))
    }
}

fn is_recent(at: Duration, now: Duration) -> bool {
    now.saturating_sub(at) < MAX_AGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_remembered_for_ten_seconds_and_many_events_take_no_more_room() {
        let refused = SoldOutEvents::default();
        let event = |number: usize| EventId::from_raw(i64::try_from(number).unwrap());
        let second = Duration::from_secs(1);
        refused.add(event(0), second);
        assert!(refused.contains(event(0), 10 * second) && !refused.contains(event(1), second));
        assert!(!refused.contains(event(0), 11 * second));
        (1..2 * MOST).for_each(|number| refused.add(event(number), 11 * second));
        assert_eq!(refused.0.locked().len(), MOST);
        refused.add(event(3 * MOST), 30 * second);
        assert_eq!(refused.0.locked().len(), 1);
    }
}
