//! The thread that runs the maintenance, and the guard that stops it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Result, StoreError};

/// How long dropping the guard waits for a run in progress.
const GRACE: Duration = Duration::from_millis(1500);

/// How often it looks whether the thread has ended.
const POLL: Duration = Duration::from_millis(2);

/// Keeps the maintenance running: dropping the guard stops it.
///
/// A run in progress ends after its current batch of rows, or after the call to the payment gateway that it waits for.
/// Dropping the guard waits for that, but at most for two seconds: the thread then ends by itself.
/// [`Builder::maintenance`](crate::Builder::maintenance) keeps a guard with the service.
#[derive(Debug)]
#[must_use = "dropping the guard stops the maintenance"]
pub struct MaintenanceGuard {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Tells the thread when to stop.
pub(super) struct StopSignal(Receiver<()>);

impl StopSignal {
    /// Waits for `pause`, or until the thread should stop. Returns whether it should.
    pub(super) fn wait(&self, pause: Duration) -> bool {
        self.0.recv_timeout(pause) != Err(RecvTimeoutError::Timeout)
    }

    /// Whether the thread should stop.
    pub(super) fn is_set(&self) -> bool {
        self.0.try_recv() != Err(TryRecvError::Empty)
    }
}

impl MaintenanceGuard {
    pub(super) fn start(run: impl FnOnce(StopSignal) + Send + 'static) -> Result<Self> {
        let (stop, stopped) = sync_channel(0);
        let thread = std::thread::Builder::new().name("ticketing-maintenance".to_owned());
        let thread = thread.spawn(move || run(StopSignal(stopped)));
        let thread = thread.map_err(StoreError::no_thread)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// Lets the thread end after a run in progress.
    pub(super) fn stop_without_waiting(mut self) {
        drop(self.stop.take());
        drop(self.thread.take());
    }
}

impl Drop for MaintenanceGuard {
    fn drop(&mut self) {
        drop(self.stop.take());
        let Some(thread) = self.thread.take() else { return };
        // The last handle of the service may be the one of a run in progress, which is dropped on the thread itself.
        if thread.thread().id() == std::thread::current().id() {
            return;
        }
        let mut waited = Duration::ZERO;
        while !thread.is_finished() {
            if waited >= GRACE {
                return;
            }
            std::thread::sleep(POLL);
            waited += POLL;
        }
        if thread.join().is_err() {
            tracing::error!(target: "ticketing::maintenance", "the maintenance thread panicked");
        }
    }
}
