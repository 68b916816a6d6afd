//! The functions of the program that are called with notifications: a kind of work for each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::environment::Locked;
use crate::error::{Error, Result};
use crate::model::values::timestamp::Timestamp;
use crate::rules::delivery::{LATEST_DUE, MAX_ATTEMPTS, delay_after};
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::service::state::notification_handler::NotificationHandler;
use crate::store::webhooks::handlers;
use crate::store::work::{ClaimedWork, WorkId};
use crate::work::background_threads::MaintenanceGuard;
use crate::work::queues::{Kind, Outcome, Queue, Queues, Room, Schedule};
use crate::work::workers;
use crate::write::Writes;

/// How long a claim lasts. If the process ends during a call, the function is called again after this time.
const LEASE: Duration = Duration::from_mins(1);

impl TicketingService {
    /// Registers the functions in the database, and starts the thread that looks for work, if there are to be threads.
    pub(in crate::service) fn start_handlers(
        &self,
        functions: Vec<NotificationHandler<Self>>,
        threads: bool,
    ) -> Result<()> {
        let queue = |function: NotificationHandler<Self>| {
            let kind = handlers::kind_of(&function.name);
            Arc::new(Queue::new(Box::new(FunctionCalls { kind, service: self.downgrade(), function })))
        };
        let queues: Queues = functions.into_iter().map(queue).collect();
        self.inner.queues.locked().clone_from(&queues);
        self.register_handlers()?;
        if threads && !queues.is_empty() {
            let writes = Arc::downgrade(&self.inner.writes);
            let mut guard = MaintenanceGuard::default();
            let store = Some(&**self.store_in_operation());
            guard.start("ticketing-work-finder", store, move |stop| workers::run(&writes, &queues, &stop))?;
            self.inner.background.locked().workers = guard;
        }
        Ok(())
    }

    /// Records that the functions of this service are in use.
    pub(in crate::service) fn register_handlers(&self) -> Result<()> {
        self.queues().iter().try_for_each(|queue| queue.kind.register(self.writes()))
    }

    /// The work of this process.
    pub(in crate::service) fn queues(&self) -> Queues {
        self.inner.queues.locked().clone()
    }
}

/// The calls of a function.
struct FunctionCalls {
    kind: String,
    service: WeakTicketingService,
    function: NotificationHandler<TicketingService>,
}

impl Kind for FunctionCalls {
    fn name(&self) -> &str {
        &self.kind
    }

    fn schedule(&self) -> Schedule {
        Schedule { lease: LEASE, max_attempts: MAX_ATTEMPTS, latest_due: LATEST_DUE }
    }

    fn room(&self) -> Room {
        Room { attempts: 1, of_organization: usize::MAX }
    }

    fn attempt(&self, claimed: &ClaimedWork) -> Outcome {
        let notification = match handlers::notification(&claimed.work) {
            Ok(notification) => notification,
            Err(error) => return Outcome::Damaged(Error::Internal(error.to_string())),
        };
        let Some(service) = self.service.upgrade() else { return Outcome::NotNow };
        let call = || (self.function.call)(&service.ignoring_suspension(), &notification);
        let problem = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => return Outcome::Done,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        Outcome::Failed { problem, again: delay_after(claimed.work.attempts + 1) }
    }

    fn failed(&self, notification: WorkId, attempts: i64, problem: &str, next: Option<Timestamp>) {
        let handler = &self.function.name;
        match next {
            Some(next) => tracing::warn!(
                target: "ticketing::notifications",
                handler,
                %notification,
                attempt = attempts,
                problem,
                %next,
                "a notification handler failed; it is called again"
            ),
            None => tracing::error!(
                target: "ticketing::notifications",
                handler,
                %notification,
                problem,
                "a notification is given up: its handler was called eight times"
            ),
        }
    }

    fn register(&self, writes: &Writes) -> Result<()> {
        let (name, topics) = (self.function.name.clone(), self.function.topics.clone());
        writes.store_in_operation().write(None, move |tx| handlers::register(tx, &name, &topics))
    }
}
