//! Lanes: the jobs that wait for an event, a queue for each event.
//!
//! A lane has one leader at a time, which runs the jobs of the lane as a group. A caller that finds no leader becomes it. If
//! there are more jobs after its group, it hands the lead over to the caller of the next job. So no lane needs a thread, and
//! no caller does the work of others for long.
//!
//! All jobs of a lane are of the organization that owns the event.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::model::id::EventId;
use crate::store::engine::jobs::Job;
use crate::store::engine::lock::EventKey;

/// The lanes that have a leader, and the jobs that wait in them.
#[derive(Default)]
pub(super) struct Lanes(Mutex<HashMap<EventId, Queue>>);

type Queue = VecDeque<LaneJob>;

/// A job in a lane.
pub(super) struct LaneJob {
    pub(super) job: Box<dyn Job>,
    /// How the job names the event.
    pub(super) key: EventKey,
    /// After the job: a job that is dropped by a panic ends the wait of its caller as well.
    caller: Caller,
}

/// Ends the wait of a caller when it is dropped.
struct Caller(Arc<Turn>);

/// What the caller of a job waits for.
#[derive(Default)]
struct Turn {
    state: Mutex<TurnState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum TurnState {
    #[default]
    Waiting,
    Leads,
    Answered,
}

/// The wait of a caller.
pub(super) struct Wait<'l> {
    lanes: &'l Lanes,
    event: EventId,
    turn: Arc<Turn>,
}

/// The lead of a lane. When it is dropped, also by a panic, it is handed over if there are more jobs.
pub(super) struct LaneLead<'l> {
    lanes: &'l Lanes,
    pub(super) event: EventId,
}

impl Lanes {
    /// Adds a job to the lane of the event.
    pub(super) fn add(&self, event: EventId, key: EventKey, job: Box<dyn Job>) -> Wait<'_> {
        let turn = Arc::new(Turn::default());
        let mut lanes = self.lanes();
        let is_led = lanes.contains_key(&event);
        let job = LaneJob { job, key, caller: Caller(Arc::clone(&turn)) };
        lanes.entry(event).or_default().push_back(job);
        drop(lanes);
        if !is_led {
            turn.set(TurnState::Leads);
        }
        Wait { lanes: self, event, turn }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<EventId, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'l> Wait<'l> {
    /// Waits until the caller leads its lane, or returns `None` when its job is answered.
    pub(super) fn lead(&self) -> Option<LaneLead<'l>> {
        let mut state = self.turn.state();
        loop {
            match *state {
                TurnState::Waiting => {
                    state = self.turn.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                TurnState::Leads => {
                    *state = TurnState::Waiting;
                    return Some(LaneLead { lanes: self.lanes, event: self.event });
                }
                TurnState::Answered => return None,
            }
        }
    }
}

impl LaneLead<'_> {
    /// Takes the next job.
    pub(super) fn next_job(&self) -> Option<LaneJob> {
        self.lanes.lanes().get_mut(&self.event)?.pop_front()
    }

    /// Answers all jobs that wait with this error: they have waited for the same lock, connection or server as the one that
    /// failed with it, and one after another would wait for it as long again.
    pub(super) fn refuse_all(&self, error: &Error) {
        while let Some(job) = self.next_job() {
            job.answer(Err(error.clone()));
        }
    }
}

impl Drop for LaneLead<'_> {
    fn drop(&mut self) {
        let mut lanes = self.lanes.lanes();
        match lanes.get(&self.event).and_then(|queue| queue.front()) {
            Some(next) => next.caller.0.set(TurnState::Leads),
            None => drop(lanes.remove(&self.event)),
        }
    }
}

impl LaneJob {
    /// Sends the result of the job to the caller, or the error of the commit if that failed.
    pub(super) fn answer(self, commit: Result<()>) {
        let Self { job, caller, .. } = self;
        job.answer(commit);
        drop(caller);
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.set(TurnState::Answered);
    }
}

impl Turn {
    fn set(&self, new: TurnState) {
        *self.state() = new;
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
