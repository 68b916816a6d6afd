//! The threads that do work: one that looks for it, and a few for each queue while it has some.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use super::background_threads::StopSignal;
use super::queues::{Attempted, Counts, Queue, QueueThread, Queues};
use crate::environment::{Clock, Locked, SystemClock};
use crate::error::{Result, StoreError};
use crate::store::work::WorkId;
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
    let stopping = Arc::new(AtomicBool::new(false));
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
            if let Some(thread) = queue.thread()
                && queue.any_due(&writes)?
            {
                threads.push(start(thread, Arc::downgrade(&writes), Arc::clone(&stopping))?);
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
    stopping.store(true, Ordering::Release);
    while threads.iter().any(|thread| !thread.is_finished()) {
        sleep(JOIN_POLL);
    }
}

/// Starts a thread that does the work of a queue until none is due.
fn start(place: QueueThread, writes: Weak<Writes>, stopping: Arc<AtomicBool>) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name("ticketing-work".to_owned()).spawn(move || {
        let queue = Arc::clone(&place.0);
        let mut place = Some(place);
        while let Some(taken) = place.take() {
            let is_finished = do_all(&queue, &writes, &stopping);
            drop(taken);
            // Work may have been added while the other thread still saw that this one does it.
            let any_due = |writes: Arc<Writes>| !is_over(&writes) && queue.any_due(&writes).unwrap_or(false);
            if is_finished && !stopping.load(Ordering::Acquire) && writes.upgrade().is_some_and(any_due) {
                place = queue.thread();
            }
        }
    });
    Ok(thread.map_err(StoreError::no_thread)?)
}

/// Does the work of a queue until none is due, or it should stop. Returns whether none was due.
fn do_all(queue: &Arc<Queue>, writes: &Weak<Writes>, stopping: &AtomicBool) -> bool {
    let mut put_back = PutBack::default();
    // The handle is dropped between two attempts, because it keeps the database open.
    while !stopping.load(Ordering::Acquire)
        && let Some(writes) = writes.upgrade()
        && !is_over(&writes)
    {
        match queue.attempt_next(&writes) {
            Ok(Attempted::Nothing) => return true,
            // Not at once again: this thread would do nothing but look.
            Ok(Attempted::Taken) => return false,
            Ok(attempted) if put_back.has_again(attempted) => return false,
            Ok(_) => {}
            Err(_) if is_over(&writes) => return false,
            Err(error) => {
                tracing::warn!(
                    target: "ticketing::work",
                    kind = queue.kind.name(),
                    %error,
                    "a queue could not be read or written; this is tried again"
                );
                drop(writes);
                sleep(FAILURE_PAUSE);
                return false;
            }
        }
    }
    false
}

/// Whether the service is being closed, or its store has stopped.
fn is_over(writes: &Writes) -> bool {
    writes.is_closing() || writes.store_in_operation().stopped().is_some()
}

/// The work that was put back. It is not attempted a third time at once.
#[derive(Default)]
struct PutBack(Vec<WorkId>);

impl PutBack {
    fn has_again(&mut self, attempted: Attempted) -> bool {
        let Attempted::PutBack(id) = attempted else { return false };
        let has = self.0.contains(&id);
        self.0.push(id);
        has
    }
}

/// Does the work of a queue now, until none is due or `stops` returns `true`: on this thread, and on others too if there
/// is more than one row.
pub(crate) fn do_due(queue: &Arc<Queue>, writes: &Writes, stops: &(dyn Fn() -> bool + Sync)) -> Result<Counts> {
    let counts = Mutex::new(Counts::default());
    let attempt = || -> Result<Attempted> {
        let attempted = queue.attempt_next(writes)?;
        let mut counts = counts.locked();
        if let Attempted::Made(made) = attempted {
            counts.answered += made.answered;
            counts.skipped += made.skipped;
        }
        Ok(attempted)
    };
    let attempt_all = || -> Result<()> {
        let mut put_back = PutBack::default();
        while !stops() {
            let attempted = attempt()?;
            if !attempted.is_made() || put_back.has_again(attempted) {
                break;
            }
        }
        Ok(())
    };
    if attempt()?.is_made() && queue.any_due(writes)? {
        std::thread::scope(|scope| {
            let _this = queue.thread();
            let attempt_all = &attempt_all;
            let start = |place| {
                let work = move || {
                    let _place = place;
                    attempt_all()
                };
                std::thread::Builder::new().spawn_scoped(scope, work).ok()
            };
            let others: Vec<_> = std::iter::from_fn(|| queue.thread()).map_while(start).collect();
            let mut result = attempt_all();
            for other in others {
                result = result.and(other.join().unwrap_or(Ok(())));
            }
            result
        })?;
    }
    Ok(*counts.locked())
}
