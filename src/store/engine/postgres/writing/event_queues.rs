//! Event queues: the jobs that wait for an event, a queue for each event.
//!
//! A queue has one leader at a time, which runs the jobs of the queue as a group. A caller that finds no leader becomes
//! it. If there are more jobs after its group, the caller of the next job becomes the leader. So no queue needs a
//! thread, and no caller does the work of others for long.
//!
//! All jobs of a queue are of the organization that owns the event.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::environment::Locked;
use crate::error::{Error, Result};
use crate::model::values::id::EventId;
use crate::store::engine::jobs::Job;
use crate::store::engine::lock::EventKey;

/// The queues that have a leader, and the jobs that wait in them.
#[derive(Default)]
pub(in crate::store::engine::postgres) struct EventQueues(Mutex<HashMap<EventId, Queue>>);

type Queue = VecDeque<QueuedJob>;

/// A job in a queue.
pub(in crate::store::engine::postgres) struct QueuedJob {
    pub(in crate::store::engine::postgres) job: Box<dyn Job>,
    /// How the job names the event.
    pub(in crate::store::engine::postgres) key: EventKey,
    /// After the job: a job that is dropped by a panic ends the wait of its caller as well.
    caller: Caller,
}

/// Ends the wait of a caller when it is dropped.
struct Caller(Arc<Waiter>);

/// What the caller of a job waits for.
#[derive(Default)]
struct Waiter {
    state: Mutex<WaiterState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum WaiterState {
    #[default]
    Waiting,
    Leads,
    Answered,
}

/// The wait of a caller.
pub(in crate::store::engine::postgres) struct Wait<'q> {
    queues: &'q EventQueues,
    event: EventId,
    waiter: Arc<Waiter>,
}

/// The right to run the jobs of a queue. When it is dropped, also by a panic, the caller of the next job gets it.
pub(in crate::store::engine::postgres) struct Leader<'q> {
    queues: &'q EventQueues,
    pub(in crate::store::engine::postgres) event: EventId,
}

impl EventQueues {
    /// Adds a job to the queue of the event.
    pub(in crate::store::engine::postgres) fn add(&self, event: EventId, key: EventKey, job: Box<dyn Job>) -> Wait<'_> {
        let waiter = Arc::new(Waiter::default());
        let mut queues = self.0.locked();
        let is_led = queues.contains_key(&event);
        let job = QueuedJob { job, key, caller: Caller(Arc::clone(&waiter)) };
        queues.entry(event).or_default().push_back(job);
        drop(queues);
        if !is_led {
            waiter.set(WaiterState::Leads);
        }
        Wait { queues: self, event, waiter }
    }
}

impl<'q> Wait<'q> {
    /// Waits until the caller leads its queue, or returns `None` when its job is answered.
    pub(in crate::store::engine::postgres) fn leader(&self) -> Option<Leader<'q>> {
        let mut state = self.waiter.state.locked();
        loop {
            match *state {
                WaiterState::Waiting => {
                    state = self.waiter.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                WaiterState::Leads => {
                    *state = WaiterState::Waiting;
                    return Some(Leader { queues: self.queues, event: self.event });
                }
                WaiterState::Answered => return None,
            }
        }
    }
}

impl Leader<'_> {
    /// Takes the next job.
    pub(in crate::store::engine::postgres) fn next_job(&self) -> Option<QueuedJob> {
        self.queues.0.locked().get_mut(&self.event)?.pop_front()
    }

    /// Answers all jobs that wait with this error: they have waited for the same lock, connection or server as the one
    /// that failed with it, and one after another would wait for it as long again.
    pub(in crate::store::engine::postgres) fn refuse_all(&self, error: &Error) {
        while let Some(job) = self.next_job() {
            job.answer(Err(error.clone()));
        }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let mut queues = self.queues.0.locked();
        match queues.get(&self.event).and_then(|queue| queue.front()) {
            Some(next) => next.caller.0.set(WaiterState::Leads),
            None => drop(queues.remove(&self.event)),
        }
    }
}

impl QueuedJob {
    /// Sends the result of the job to the caller, or the error of the commit if that failed.
    pub(in crate::store::engine::postgres) fn answer(self, commit: Result<()>) {
        let Self { job, caller, .. } = self;
        job.answer(commit);
        drop(caller);
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.set(WaiterState::Answered);
    }
}

impl Waiter {
    fn set(&self, new: WaiterState) {
        *self.state.locked() = new;
        self.changed.notify_one();
    }
}
