//! The threads of notification handlers: how they wait, and how they are stopped.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::environment::Locked;
use crate::error::{Result, StoreError};
use crate::model::notifications::notification_types::NotificationTopic;
use crate::store::{CommitListener, CommittedWork, Store};

/// How long dropping a [`HandlerThread`] waits for a call of the handler that is in progress.
const GRACE: Duration = Duration::from_secs(2);

/// How often dropping a [`HandlerThread`] checks whether the thread has ended.
const POLL: Duration = Duration::from_millis(2);

/// Wakes the thread of a handler.
#[derive(Default)]
pub(in crate::service) struct Wakeup {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    notified: bool,
    stopping: bool,
}

impl Wakeup {
    /// Waits until a notification is queued or the thread should stop, at most for `timeout`.
    pub(in crate::service) fn wait(&self, timeout: Duration) {
        let idle = |state: &mut State| !state.notified && !state.stopping;
        let waited = self.changed.wait_timeout_while(self.state.locked(), timeout, idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.notified = false;
    }

    /// Waits for `pause`, or until the thread should stop. Queued notifications do not end the wait.
    pub(in crate::service) fn pause(&self, pause: Duration) {
        drop(self.changed.wait_timeout_while(self.state.locked(), pause, |state| !state.stopping));
    }

    pub(in crate::service) fn is_stopping(&self) -> bool {
        self.state.locked().stopping
    }
}

impl CommitListener for Wakeup {
    fn on_commit(&self, work: &CommittedWork) {
        if work.handlers {
            self.state.locked().notified = true;
            self.changed.notify_all();
        }
    }
}

/// The name of a handler and the topics that it receives, as registered in the database.
#[derive(Debug, Clone)]
pub(in crate::service) struct Registration {
    pub(in crate::service) name: String,
    pub(in crate::service) topics: Vec<NotificationTopic>,
}

/// Calls a handler with the next notification that is due. Returns `false` if none is, or if the service is closed.
pub(in crate::service) type CallNext = dyn Fn() -> Result<bool> + Send + Sync;

pub(in crate::service) struct RegisteredHandler {
    pub(in crate::service) registration: Registration,
    pub(in crate::service) call_next: Arc<CallNext>,
    /// `None` if the program has no threads for handlers, and calls
    /// [`deliver_due_notifications`](crate::TicketingService::deliver_due_notifications) instead.
    pub(in crate::service) thread: Option<HandlerThread>,
}

/// The thread of a handler. Dropping this stops it, and waits up to two seconds for a call that is in progress.
pub(in crate::service) struct HandlerThread {
    wakeup: Arc<Wakeup>,
    thread: Option<JoinHandle<()>>,
}

impl HandlerThread {
    pub(in crate::service) fn start(store: &Store, run: impl FnOnce(&Wakeup) + Send + 'static) -> Result<Self> {
        let wakeup = Arc::new(Wakeup::default());
        let listener: Arc<dyn CommitListener> = Arc::<Wakeup>::clone(&wakeup);
        store.add_commit_listener(&listener);
        let thread = std::thread::Builder::new().name("ticketing-handler".to_owned());
        let thread = thread.spawn({
            let wakeup = Arc::clone(&wakeup);
            move || run(&wakeup)
        });
        let thread = thread.map_err(StoreError::no_thread)?;
        Ok(Self { wakeup, thread: Some(thread) })
    }

    /// Tells the thread to end after the call in progress, and does not wait for it.
    pub(in crate::service) fn signal_stop(&self) {
        self.wakeup.state.locked().stopping = true;
        self.wakeup.changed.notify_all();
    }
}

impl Drop for HandlerThread {
    fn drop(&mut self) {
        self.signal_stop();
        let Some(thread) = self.thread.take() else { return };
        // A handler call may drop the last handle of the service. This then runs on the thread, which cannot join
        // itself.
        if thread.thread().id() == std::thread::current().id() {
            return;
        }
        let mut remaining = GRACE;
        while !thread.is_finished() && !remaining.is_zero() {
            std::thread::sleep(POLL);
            remaining = remaining.saturating_sub(POLL);
        }
        if thread.is_finished() && thread.join().is_err() {
            tracing::error!(target: "ticketing::notifications", "the thread of a notification handler panicked");
        }
    }
}
