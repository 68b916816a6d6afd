//! The background threads of a service: how they wait, and the guard that stops them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::environment::{Clock, SystemClock};
use crate::error::{Result, StoreError};
use crate::store::{CommitListener, CommittedWork, Store};

/// How long dropping the guard waits for a run in progress, or for a call of a notification handler.
const GRACE: Duration = Duration::from_secs(2);

/// How often it looks whether the threads have ended.
const POLL: Duration = Duration::from_millis(2);

/// Keeps the maintenance, or the backups of a schedule, running: dropping the guard stops them.
///
/// A run in progress ends after its current batch of rows, or after the call to the payment gateway that it waits for.
/// Dropping the guard waits for that, but at most for two seconds: the thread then ends by itself.
/// [`Builder::maintenance`](crate::Builder::maintenance) keeps a guard with the service.
#[derive(Debug, Default)]
#[must_use = "dropping the guard stops the maintenance"]
pub struct MaintenanceGuard {
    wakers: Vec<Arc<Waker>>,
    threads: Vec<JoinHandle<()>>,
}

/// Wakes a thread if work was added, and stops it when it is dropped.
#[derive(Debug)]
struct Waker(SyncSender<()>);

impl CommitListener for Waker {
    fn on_commit(&self, work: &CommittedWork) {
        if work.queued {
            // If the channel is full, the thread is about to wake.
            let _ = self.0.try_send(());
        }
    }
}

/// Tells a thread when to stop, and when there is work.
pub(crate) struct StopSignal(Receiver<()>);

impl StopSignal {
    /// Waits for `pause`, until there is work, or until the thread should stop. Returns whether it should.
    pub(crate) fn wait(&self, pause: Duration) -> bool {
        self.0.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected)
    }

    /// Whether the thread should stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.try_recv() == Err(TryRecvError::Disconnected)
    }
}

impl MaintenanceGuard {
    /// Starts a thread. Commits of `store` that add work wake it.
    pub(crate) fn start(
        &mut self,
        name: &str,
        store: Option<&Store>,
        run: impl FnOnce(StopSignal) + Send + 'static,
    ) -> Result<()> {
        let (sender, receiver) = sync_channel(1);
        let waker = Arc::new(Waker(sender));
        if let Some(store) = store {
            let listener: Arc<dyn CommitListener> = Arc::<Waker>::clone(&waker);
            store.add_commit_listener(&listener);
        }
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || run(StopSignal(receiver)));
        self.threads.push(thread.map_err(StoreError::no_thread)?);
        self.wakers.push(waker);
        Ok(())
    }

    /// Tells the threads to end after a run in progress, and does not wait for it.
    pub(crate) fn signal_stop(&mut self) {
        self.wakers.clear();
    }

    /// Lets the threads end after a run in progress.
    pub(crate) fn stop_without_waiting(mut self) {
        self.threads.clear();
    }
}

impl Drop for MaintenanceGuard {
    fn drop(&mut self) {
        self.signal_stop();
        let start = SystemClock.monotonic();
        for thread in self.threads.drain(..) {
            // The last handle of the service may be the one of a run in progress, which is dropped on the thread
            // itself.
            if thread.thread().id() == std::thread::current().id() {
                continue;
            }
            while !thread.is_finished() && SystemClock.monotonic().saturating_sub(start) < GRACE {
                std::thread::sleep(POLL);
            }
            let name = thread.thread().name().unwrap_or_default().to_owned();
            if thread.is_finished() && thread.join().is_err() {
                tracing::error!(target: "ticketing::maintenance", name, "a background thread panicked");
            }
        }
    }
}
