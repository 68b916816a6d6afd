//! Sends the notifications that are queued in the outbox.
//!
//! # Threads
//!
//! - The [`scheduler`], one thread, assigns free workers to endpoints and does all writing. Each of its
//!   rounds is one transaction that records the attempts which have finished and claims those which start. It also
//!   [expands](crate::store::webhooks::expansion) the notifications that changes have stored.
//! - The [workers](worker), up to 64 by default, make the [attempts](attempt). They do not touch the database. One is
//!   started when there is a batch that none waits for, and ends when it has waited for ten seconds.
//! - The [`poller`], one thread, finds rows that this process did not queue itself.
//!
//! They share a [`SenderContext`]. The store's commit listener and the poller report stored notifications and endpoints with
//! rows due; the scheduler queues batches of claimed attempts; the workers report finished attempts, and themselves when
//! they are free.
//!
//! # Claims and leases
//!
//! An attempt is claimed in the database before it is made: the row gets a random claim token, and its due time moves
//! to the end of a lease of 18 seconds. That is enough for an attempt (at most 10 seconds) and for recording its
//! result, which is recorded only if the row still carries the token. So one process at a time works on a row.
//!
//! After a crash no clean-up is needed: when the lease expires, the row is due again, and the sender that claims it
//! next counts an interruption. The third interruption of the same attempt counts as a failed attempt. A crash
//! between sending and recording sends the notification again: delivery is at least once.
//!
//! # Fairness
//!
//! Free workers are assigned by [round robin](crate::fair::RoundRobin) over organizations, and within an organization
//! over its endpoints, so an organization with a thousand endpoints is served no more often than one with a single
//! endpoint. An endpoint has a limit of workers (an eighth of all by default). The scheduler claims up to 64 attempts
//! for a worker of a healthy endpoint, as many as fit into a time slice of 100 ms. When the slice is over or the batch
//! is done, the scheduler assigns the worker again.
//!
//! # Health
//!
//! The last attempt decides the [health tier](health) of an endpoint: healthy (success within a second), unproven (no
//! attempt yet, or failed within a second) or slow. Unproven and slow endpoints are throttled: by default, together
//! they get at most half of the workers, and slow ones at most three quarters of that half. So however many of them
//! hang until their timeouts, half of the workers stay free for healthy endpoints, and some of the rest for new ones.
//!
//! # Stopping
//!
//! After the [`WebhookSenderGuard`] is dropped, no further attempt starts. The drop waits up to [`GRACE`] for those in
//! progress, then interrupts the transport and waits once more. An attempt that fails after that does not count. The
//! scheduler records the results, releases the claims of the other attempts, and ends.

mod attempt;
mod deliver_due;
mod health;
mod options;
mod poller;
mod queues;
mod scheduler;
mod state;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::environment::Environment;
use crate::error::{Result, StoreError};
use crate::store::{CommitListener, Store};
use crate::webhook::transport::Transport;
pub(crate) use deliver_due::deliver_due;
pub use options::SenderOptions;
use scheduler::Scheduler;
use state::SenderContext;

/// How long stopping waits for the attempts in progress: once before it interrupts them, and once after.
const GRACE: Duration = Duration::from_secs(2);

/// Keeps a webhook sender running: dropping the guard stops its threads.
///
/// When it is dropped, attempts in progress have two seconds to finish and are then interrupted. The next sender makes
/// interrupted attempts again. [`Builder::webhook_sender`](crate::Builder::webhook_sender) keeps a guard with the
/// service.
#[must_use = "dropping the guard stops the webhook sender"]
pub struct WebhookSenderGuard {
    context: Arc<SenderContext>,
    scheduler: Option<JoinHandle<()>>,
    poller: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for WebhookSenderGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSenderGuard").field("options", &self.context.options).finish_non_exhaustive()
    }
}

impl WebhookSenderGuard {
    pub(crate) fn start(
        store: Arc<Store>,
        environment: Environment,
        transport: Arc<dyn Transport>,
        options: SenderOptions,
    ) -> Result<Self> {
        options.check()?;
        let limits = options.worker_limits();
        let context = Arc::new(SenderContext::new(store, environment, transport, options));
        let mut sender = Self { context: Arc::clone(&context), scheduler: None, poller: None };
        sender.scheduler = Some(spawn("webhook-sched".to_owned(), {
            let context = Arc::clone(&context);
            move || Scheduler::new(&context, limits).run()
        })?);
        let listener: Arc<dyn CommitListener> = Arc::<SenderContext>::clone(&context);
        context.store.add_commit_listener(&listener);
        // After the listener is attached, so that a row queued during the first scan is noticed at once.
        sender.poller = Some(spawn("webhook-poller".to_owned(), move || poller::run(&context))?);
        Ok(sender)
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name).spawn(work);
    thread.map_err(|error| StoreError::no_thread(error).into())
}

impl Drop for WebhookSenderGuard {
    fn drop(&mut self) {
        self.context.stop();
        self.context.wait_for_workers(GRACE);
        self.context.interrupt();
        self.context.wait_for_workers(GRACE);
        self.context.close();
        if self.scheduler.take().is_some_and(|scheduler| scheduler.join().is_err()) {
            tracing::error!(target: "ticketing::webhooks", "the webhook scheduler panicked");
        }
        // A worker is still busy if its transport cannot be interrupted. It ends by itself after the attempt.
        let hanging = self.context.state().busy_workers > 0;
        for thread in self.context.take_workers().into_iter().chain(self.poller.take()) {
            if (!hanging || thread.is_finished()) && thread.join().is_err() {
                tracing::error!(target: "ticketing::webhooks", "a thread of the webhook sender panicked");
            }
        }
    }
}
