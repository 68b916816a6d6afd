//! Calls the notification handlers of the program.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::maintenance_guard::{MaintenanceGuard, StopSignal};
use super::skipped_rows::SkippedTable;
use crate::environment::Locked;
use crate::error::{FieldErrors, Result};
use crate::model::notifications::notification::Notification;
use crate::model::notifications::notification_types::NotificationTopic;
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::service::TicketingService;
use crate::service::opening::close::WeakTicketingService;
use crate::store::webhooks::handler_queue::{self, Claim, ClaimedNotification};

/// How often a handler's queue is read, for the notifications of other processes and the repetitions that are due.
const POLL: Duration = Duration::from_millis(250);

/// The pause after the queue could not be read or written.
const FAILURE_PAUSE: Duration = Duration::from_millis(500);

/// After how many rounds a handler is registered again, so that the database knows that it is in use: about an hour if
/// there are no notifications.
const ROUNDS_UNTIL_REGISTERED: u32 = 14_400;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Call = dyn Fn(&TicketingService, &Notification) -> Result<(), BoxError> + Send + Sync;

/// A notification handler, as the builder was given it. Its name and topics are registered in the database.
#[derive(Clone)]
pub(in crate::service) struct NotificationHandler {
    pub(in crate::service) name: String,
    pub(in crate::service) topics: Vec<NotificationTopic>,
    pub(in crate::service) call: Arc<Call>,
    /// The organization of the last notification, whose turn is over. Clones share it.
    pub(in crate::service) last: Arc<AtomicI64>,
}

impl fmt::Debug for NotificationHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationHandler").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Checks that the names are usable and different, and that each handler has a topic.
pub(in crate::service) fn check(handlers: &[NotificationHandler], errors: &mut FieldErrors) {
    for (index, handler) in handlers.iter().enumerate() {
        let length = handler.name.chars().count();
        let known = handlers[..index].iter().any(|other| other.name == handler.name);
        let field = |name| format!("on_notification[{index}].{name}");
        errors.check((1..=100).contains(&length), field("name"), "must have 1 to 100 characters");
        errors.check(!handler.name.contains('\0'), field("name"), "must not contain U+0000");
        errors.check(!known, field("name"), "must not be the name of another handler");
        errors.check(!handler.topics.is_empty(), field("topics"), "must not be empty");
    }
}

impl TicketingService {
    /// Registers the handlers in the database, and starts a thread for each if there are to be threads.
    pub(in crate::service) fn start_handlers(&self, handlers: Vec<NotificationHandler>, threads: bool) -> Result<()> {
        let mut guard = MaintenanceGuard::default();
        for handler in &handlers {
            self.register(handler)?;
            if threads {
                let (service, handler) = (self.downgrade(), handler.clone());
                let store = Some(self.store_in_operation());
                guard.start("ticketing-handler", store, move |stop| run(&service, &handler, &stop))?;
            }
        }
        let mut background = self.inner.background.locked();
        background.handlers = handlers;
        background.handler_threads = guard;
        Ok(())
    }

    /// Calls a handler with the next notification that is due. Returns `false` if none is.
    pub(in crate::service) fn call_next(&self, handler: &NotificationHandler) -> Result<bool> {
        let store = self.store_in_operation();
        if !store.read(|tx| handler_queue::any_due(tx, &handler.name))? {
            return Ok(false);
        }
        let name = handler.name.clone();
        let last = OrganizationId::from_raw(handler.last.load(Ordering::Relaxed));
        match store.write(None, move |tx| handler_queue::claim(tx, &name, last))? {
            Claim::Nothing => return Ok(false),
            Claim::Call(claimed) => {
                handler.last.store(claimed.notification.organization_id.raw(), Ordering::Relaxed);
                self.call(handler, claimed)?;
            }
            Claim::Skipped { id, error } => self.skip_row(SkippedTable::Notifications, id.raw(), &error),
            Claim::Removed { id } => give_up(handler, id, "the process ended during the last call"),
        }
        Ok(true)
    }

    /// Records that the handlers of this service are in use.
    pub(in crate::service) fn register_handlers_again(&self) -> Result<()> {
        let handlers = self.inner.background.locked().handlers.clone();
        handlers.iter().try_for_each(|handler| self.register(handler))
    }

    fn register(&self, handler: &NotificationHandler) -> Result<()> {
        let NotificationHandler { name, topics, .. } = handler.clone();
        self.store_in_operation().write(None, move |tx| handler_queue::register(tx, &name, &topics))
    }

    fn call(&self, handler: &NotificationHandler, claimed: ClaimedNotification) -> Result<()> {
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
fn run(service: &WeakTicketingService, handler: &NotificationHandler, stop: &StopSignal) {
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
                // Notifications that are queued do not end it.
                std::thread::sleep(FAILURE_PAUSE);
            }
        }
    }
}

/// Logs a notification that is lost for a handler.
fn give_up(handler: &NotificationHandler, id: NotificationId, problem: &str) {
    tracing::error!(
        target: "ticketing::notifications",
        handler = handler.name,
        notification = %id,
        problem,
        "a notification is given up: its handler was called eight times"
    );
}
