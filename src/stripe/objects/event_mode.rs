//! Which events are read: those of the mode of the secret key.

use std::sync::atomic::{AtomicBool, Ordering};

/// The mode of the events that are read.
#[derive(Debug)]
pub(in crate::stripe) struct EventMode {
    /// `None` if the key does not tell: then all events are read.
    livemode: Option<bool>,
    /// Whether an event of the other mode was logged.
    has_warned: AtomicBool,
}

impl EventMode {
    /// `livemode` is that of the key.
    pub(in crate::stripe) const fn new(livemode: Option<bool>) -> Self {
        Self { livemode, has_warned: AtomicBool::new(false) }
    }

    /// Whether an event with this `livemode` is read. Endpoints for connected accounts receive the events of both
    /// modes. The first one of the other mode is logged.
    pub(in crate::stripe) fn accepts(&self, of_event: Option<bool>) -> bool {
        let (Some(of_key), Some(of_event)) = (self.livemode, of_event) else { return true };
        if of_key == of_event {
            return true;
        }
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "ticketing::payment",
                live = of_event,
                "Stripe sends notices of the other mode than that of the secret key; they are ignored, and not logged again"
            );
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_the_other_mode_are_not_accepted() {
        for (of_key, accepts_live, accepts_test) in
            [(Some(true), true, false), (Some(false), false, true), (None, true, true)]
        {
            let mode = EventMode::new(of_key);
            assert_eq!(mode.accepts(Some(true)), accepts_live);
            assert_eq!(mode.accepts(Some(false)), accepts_test);
            assert!(mode.accepts(None));
        }
    }
}
