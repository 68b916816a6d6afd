//! The work that causes reminders of orders that are not paid yet.

use std::time::Duration;

use super::mail_pace::LEASE;
use crate::sales::orders::payment_reminders;
use crate::service::opening::close::WeakTicketingService;
use crate::store::order::mails::REMIND;
use crate::store::work::ClaimedWork;
use crate::work::queues::{Kind, Outcome, Room, Schedule};

/// The kind of work that causes reminders.
pub(super) struct Reminders {
    service: WeakTicketingService,
}

impl Reminders {
    pub(super) const fn new(service: WeakTicketingService) -> Self {
        Self { service }
    }
}

impl Kind for Reminders {
    fn name(&self) -> &str {
        REMIND
    }

    fn schedule(&self) -> Schedule {
        Schedule { lease: LEASE, max_attempts: i64::MAX, latest_due: Duration::MAX }
    }

    fn room(&self) -> Room {
        Room { attempts: 1, of_organization: 1 }
    }

    fn attempt(&self, claimed: &ClaimedWork) -> Outcome {
        let Some(service) = self.service.upgrade() else { return Outcome::NotNow };
        let work = claimed.clone();
        let reminded = claimed.work.event().and_then(|event| {
            let store = service.store_in_operation();
            store
                .write_event(claimed.work.organization_id, event.into(), move |tx| payment_reminders::remind(tx, &work))
        });
        match reminded {
            Ok(()) => Outcome::Recorded { answered: true },
            Err(error) if error.concerns_all_rows() => Outcome::Interrupted(error),
            Err(error) => Outcome::Damaged(error),
        }
    }
}
