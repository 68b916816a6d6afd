//! Event queues: the jobs that wait for an event, a queue for each event.
//!
//! A queue has one leader at a time, which runs the jobs of the queue as a group. A caller that finds no leader becomes
//! it. If there are more jobs after its group, the caller of the next job becomes the leader. So no queue needs a
//! thread, and no caller does the work of others for long.
//!
//! All jobs of a queue are of the organization that owns the event.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

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
    caller: Caller,
}

/// Tells the caller of a job that it leads. When it is dropped, also with a job that is dropped by a panic, the wait of
/// the caller ends.
struct Caller(SyncSender<()>);

/// The wait of a caller.
pub(in crate::store::engine::postgres) struct Wait<'q> {
    queues: &'q EventQueues,
    event: EventId,
    leads: Receiver<()>,
}

/// The right to run the jobs of a queue. When it is dropped, also by a panic, the caller of the next job gets it.
pub(in crate::store::engine::postgres) struct Leader<'q> {
    queues: &'q EventQueues,
    pub(in crate::store::engine::postgres) event: EventId,
}

impl EventQueues {
    /// Adds a job to the queue of the event.
    pub(in crate::store::engine::postgres) fn add(&self, event: EventId, key: EventKey, job: Box<dyn Job>) -> Wait<'_> {
        let (caller, leads) = sync_channel(1);
        let caller = Caller(caller);
        let mut queues = self.0.locked();
        if !queues.contains_key(&event) {
            caller.lead();
        }
        queues.entry(event).or_default().push_back(QueuedJob { job, key, caller });
        drop(queues);
        Wait { queues: self, event, leads }
    }
}

impl Caller {
    /// Does not block: a caller is told once, and the channel has room for that.
    fn lead(&self) {
        let _ = self.0.try_send(());
    }
}

impl<'q> Wait<'q> {
    /// Waits until the caller leads its queue, or returns `None` when its job is answered.
    pub(in crate::store::engine::postgres) fn leader(&self) -> Option<Leader<'q>> {
        self.leads.recv().ok().map(|()| Leader { queues: self.queues, event: self.event })
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
            Some(next) => next.caller.lead(),
            None => drop(queues.remove(&self.event)),
        }
    }
}

impl QueuedJob {
    /// Sends the result of the job to the caller, or the error of the commit if that failed.
    pub(in crate::store::engine::postgres) fn answer(self, commit: Result<()>) {
        self.job.answer(commit);
    }
}
