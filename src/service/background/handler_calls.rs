//! Calls the notification handlers of the program: registers them, and runs a thread for each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::environment::Locked;
use crate::error::Result;
use crate::model::notifications::notification::Notification;
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::service::state::maintenance_guard::{MaintenanceGuard, StopSignal};
use crate::service::state::notification_handler::NotificationHandler;
use crate::store::webhooks::handler_queue::{self, Claim, ClaimedNotification};
use crate::write::skipped_rows::SkippedTable;

/// How often a handler's queue is read, for the notifications of other processes and the repetitions that are due.
const POLL: Duration = Duration::from_millis(250);

/// The pause after the queue could not be read or written.
const FAILURE_PAUSE: Duration = Duration::from_millis(500);

/// After how many rounds a handler is registered again, so that the database knows that it is in use: about an hour if
/// there are no notifications.
const ROUNDS_UNTIL_REGISTERED: u32 = 14_400;

impl TicketingService {
    /// Registers the handlers in the database, and starts a thread for each if there are to be threads.
    pub(in crate::service) fn start_handlers(&self, threads: bool) -> Result<()> {
        self.register_handlers()?;
        let mut guard = MaintenanceGuard::default();
        for handler in self.handlers().into_iter().filter(|_| threads) {
            let service = self.downgrade();
            let store = Some(&**self.store_in_operation());
            guard.start("ticketing-handler", store, move |stop| run(&service, &handler, &stop))?;
        }
        self.inner.background.locked().handlers = guard;
        Ok(())
    }

    /// Calls a handler with the next notification that is due. Returns `false` if none is.
    pub(in crate::service) fn call_next(&self, handler: &NotificationHandler<Self>) -> Result<bool> {
        let store = self.store_in_operation();
        if !store.read(|tx| handler_queue::any_due(tx, &handler.name))? {
            return Ok(false);
        }
        let name = handler.name.clone();
        let last = OrganizationId::from_raw(handler.last.load(Ordering::Relaxed));
        match store.write(None, move |tx| handler_queue::claim(tx, &name, last))? {
            Claim::Nothing => return Ok(false),
            Claim::Call(claimed) => {
                handler.last.store(claimed.turn.raw(), Ordering::Relaxed);
                self.call(handler, claimed)?;
            }
            Claim::Skipped { id, error } => self.writes().skip_row(SkippedTable::Notifications, id.raw(), &error),
            Claim::Removed { id } => give_up(handler, id, "the process ended during the last call"),
        }
        Ok(true)
    }

    /// Records that the handlers of this service are in use.
    pub(in crate::service) fn register_handlers(&self) -> Result<()> {
        self.handlers().iter().try_for_each(|handler| self.register(handler))
    }

    pub(in crate::service) fn handlers(&self) -> Vec<Arc<NotificationHandler<Self>>> {
        self.inner.handlers.locked().clone()
    }

    fn register(&self, handler: &NotificationHandler<Self>) -> Result<()> {
        let (name, topics) = (handler.name.clone(), handler.topics.clone());
        self.store_in_operation().write(None, move |tx| handler_queue::register(tx, &name, &topics))
    }

    fn call(&self, handler: &NotificationHandler<Self>, claimed: ClaimedNotification) -> Result<()> {
        let store = self.store_in_operation();
        let called = catch_unwind(AssertUnwindSafe(|| (handler.call)(self, &claimed.notification)));
        let problem = match called {
            Ok(Ok(())) => return store.write(None, move |tx| handler_queue::finish(tx, &claimed)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the handler panicked".to_owned(),
        };
        let Notification { id, attempt, .. } = claimed.notification;
        if let Some(next) = store.write(None, move |tx| handler_queue::retry(tx, &claimed))? {
            let name = &handler.name;
            tracing::warn!(
                target: "ticketing::notifications",
                handler = name,
                notification = %id,
                attempt,
                problem,
                %next,
                "a notification handler failed; it is called again"
            );
        } else {
            give_up(handler, id, &problem);
        }
        Ok(())
    }
}

/// Calls a handler whenever a notification is due, until the service is closed.
fn run(service: &WeakTicketingService, handler: &NotificationHandler<TicketingService>, stop: &StopSignal) {
    let mut rounds: u32 = 0;
    let mut pause = Duration::ZERO;
    while !stop.wait(pause) {
        // The handle is dropped before the thread waits, because it keeps the service open.
        let Some(service) = service.upgrade().map(TicketingService::ignoring_suspension) else { return };
        if service.stopped().is_some() {
            return;
        }
        rounds = (rounds + 1) % ROUNDS_UNTIL_REGISTERED;
        let registered = if rounds == 0 { service.register(handler) } else { Ok(()) };
        let called = registered.and_then(|()| service.call_next(handler));
        let stopped = service.stopped().is_some();
        drop(service);
        match called {
            Ok(true) => pause = Duration::ZERO,
            Ok(false) => pause = POLL,
            Err(_) if stopped => return,
            Err(error) => {
                tracing::warn!(
                    target: "ticketing::notifications",
                    handler = handler.name,
                    %error,
                    "the queue of a notification handler could not be read or written; this is tried again"
                );
                if stop.wait_in_full(FAILURE_PAUSE) {
                    return;
                }
                pause = Duration::ZERO;
            }
        }
    }
}

/// Logs a notification that is lost for a handler.
fn give_up(handler: &NotificationHandler<TicketingService>, id: NotificationId, problem: &str) {
    tracing::error!(
        target: "ticketing::notifications",
        handler = handler.name,
        notification = %id,
        problem,
        "a notification is given up: its handler was called eight times"
    );
}
