//! The threads that run the maintenance, and the guard that stops them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Result, StoreError};

/// How long dropping the guard waits for a run in progress.
const GRACE: Duration = Duration::from_millis(1500);

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
    stops: Vec<SyncSender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// Tells a thread when to stop.
pub(in crate::service) struct StopSignal(Receiver<()>);

impl StopSignal {
    /// Waits for `pause`, or until the thread should stop. Returns whether it should.
    pub(in crate::service) fn wait(&self, pause: Duration) -> bool {
        self.0.recv_timeout(pause) != Err(RecvTimeoutError::Timeout)
    }

    /// Whether the thread should stop.
    pub(in crate::service) fn is_set(&self) -> bool {
        self.0.try_recv() != Err(TryRecvError::Empty)
    }
}

impl MaintenanceGuard {
    /// Starts a thread.
    pub(in crate::service) fn start(&mut self, run: impl FnOnce(StopSignal) + Send + 'static) -> Result<()> {
        let (stop, stopped) = sync_channel(0);
        let thread = std::thread::Builder::new().name("ticketing-maintenance".to_owned());
        let thread = thread.spawn(move || run(StopSignal(stopped)));
        self.threads.push(thread.map_err(StoreError::no_thread)?);
        self.stops.push(stop);
        Ok(())
    }

    /// Lets the threads end after a run in progress.
    pub(in crate::service) fn stop_without_waiting(mut self) {
        self.stops.clear();
        self.threads.clear();
    }
}

impl Drop for MaintenanceGuard {
    fn drop(&mut self) {
        self.stops.clear();
        let mut waited = Duration::ZERO;
        for thread in std::mem::take(&mut self.threads) {
            // The last handle of the service may be the one of a run in progress, which is dropped on the thread
            // itself.
            if thread.thread().id() == std::thread::current().id() {
                continue;
            }
            while !thread.is_finished() && waited < GRACE {
                std::thread::sleep(POLL);
                waited += POLL;
            }
            if thread.is_finished() && thread.join().is_err() {
                tracing::error!(target: "ticketing::maintenance", "a maintenance thread panicked");
            }
        }
    }
}
