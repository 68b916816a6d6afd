//! The threads that do work: one that looks for it, and one for each queue while it has some.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use super::background_threads::StopSignal;
use super::queues::{Queue, Queues};
use crate::environment::{Clock, SystemClock};
use crate::error::{Result, StoreError};
use crate::write::Writes;

/// How often the queues are looked at, for the work that other processes have added and for what is attempted again.
/// What this process has added is found at once.
const POLL: Duration = Duration::from_millis(250);

/// The pause after a queue could not be read or written.
const FAILURE_PAUSE: Duration = Duration::from_millis(500);

/// How often the kinds are registered again.
const REGISTER_AGAIN: Duration = Duration::from_hours(1);

/// How often it is looked whether the threads have ended, when they should stop.
const JOIN_POLL: Duration = Duration::from_millis(2);

/// Looks for work until it is told to stop, or the service or the store is closed. Does not keep them open while it
/// waits.
pub(crate) fn run(writes: &Weak<Writes>, queues: &Queues, stop: &StopSignal) {
    let mut threads = Vec::new();
    let mut registered_at = SystemClock.monotonic();
    let mut pause = Duration::ZERO;
    while !stop.wait(pause) {
        let Some(writes) = writes.upgrade() else { break };
        if is_over(&writes) {
            break;
        }
        threads.retain(|thread: &JoinHandle<()>| !thread.is_finished());
        let registers = SystemClock.monotonic().saturating_sub(registered_at) >= REGISTER_AGAIN;
        if registers {
            registered_at = SystemClock.monotonic();
        }
        let looked: Result<()> = queues.iter().try_for_each(|queue| {
            if registers {
                queue.kind.register(&writes)?;
            }
            if !queue.is_running.load(Ordering::Acquire)
                && queue.any_due(&writes)?
                && let Some(running) = Running::of(queue)
            {
                threads.push(start(running, Arc::downgrade(&writes))?);
            }
            Ok(())
        });
        pause = looked.map_or_else(
            |error| {
                tracing::warn!(target: "ticketing::work", %error, "the queues could not be read; this is tried again");
                FAILURE_PAUSE
            },
            |()| POLL,
        );
    }
    while threads.iter().any(|thread| !thread.is_finished()) {
        sleep(JOIN_POLL);
    }
}

/// Starts a thread that does the work of a queue until none is due.
fn start(running: Running, writes: Weak<Writes>) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name("ticketing-work".to_owned()).spawn(move || {
        let queue = Arc::clone(&running.0);
        let mut running = Some(running);
        while let Some(doing) = running.take() {
            do_all(&queue, &writes);
            drop(doing);
            // Work may have been added while the other thread still saw that this one does it.
            let any_due = |writes: Arc<Writes>| !is_over(&writes) && queue.any_due(&writes).unwrap_or(false);
            if writes.upgrade().is_some_and(any_due) {
                running = Running::of(&queue);
            }
        }
    });
    Ok(thread.map_err(StoreError::no_thread)?)
}

/// Does the work of a queue until none is due, or the service is being closed.
fn do_all(queue: &Arc<Queue>, writes: &Weak<Writes>) {
    // The handle is dropped between two attempts, because it keeps the database open.
    while let Some(writes) = writes.upgrade()
        && !is_over(&writes)
    {
        match queue.attempt_next(&writes) {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) if is_over(&writes) => return,
            Err(error) => {
                tracing::warn!(
                    target: "ticketing::work",
                    kind = queue.kind.name(),
                    %error,
                    "a queue could not be read or written; this is tried again"
                );
                drop(writes);
                return sleep(FAILURE_PAUSE);
            }
        }
    }
}

/// Whether the service is being closed, or its store has stopped.
fn is_over(writes: &Writes) -> bool {
    writes.is_closing() || writes.store_in_operation().stopped().is_some()
}

/// Shows that a thread does the work of a queue, until it is dropped.
struct Running(Arc<Queue>);

impl Running {
    /// `None` if another thread does it.
    fn of(queue: &Arc<Queue>) -> Option<Self> {
        (!queue.is_running.swap(true, Ordering::AcqRel)).then(|| Self(Arc::clone(queue)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}
