//! Leadership: which of the threads that share a queue works it off.
//!
//! A thread that adds work and finds no leader becomes the leader for one round. If there is still work afterwards, it
//! hands the lead over to a thread that only waits for this. So if there is only one caller, no thread is woken, and no
//! caller does the work of others for long. A task that adds work leaves it to that thread at once, because it may not
//! wait.
//!
//! A test with a scheduler that tries many interleavings includes this file, so it names the types for synchronization
//! only through `sync`.

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The shared queue, and who leads.
pub(super) struct Leadership<Q> {
    state: Mutex<State<Q>>,
    /// Wakes the thread that waits for the lead.
    handed_over: Condvar,
}

#[derive(Default)]
struct State<Q> {
    queue: Q,
    leader: Leader,
    closed: bool,
}

#[derive(Default, PartialEq, Eq)]
enum Leader {
    /// There is no leader: the next thread that adds work becomes it.
    #[default]
    None,
    /// A thread has the lead.
    Active,
    /// The waiting thread gets the lead as soon as it is awake.
    HandedOver,
}

pub(super) trait Queue: Default {
    fn is_empty(&self) -> bool;
}

/// The lead. When it is dropped, also by a panic, it is handed over if there is work.
pub(super) struct Lead<'l, Q: Queue>(&'l Leadership<Q>);

impl<Q: Queue> Leadership<Q> {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::default()), handed_over: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<Q>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn with_queue<T>(&self, access: impl FnOnce(&mut Q) -> T) -> T {
        access(&mut self.state().queue)
    }

    /// Lets `add` add work. Returns the lead if nobody has it.
    pub(super) fn add(&self, add: impl FnOnce(&mut Q)) -> Option<Lead<'_, Q>> {
        let mut state = self.state();
        add(&mut state.queue);
        if state.leader != Leader::None {
            return None;
        }
        state.leader = Leader::Active;
        Some(Lead(self))
    }

    /// Lets `add` add work for the thread that waits for the lead, or for who has it.
    #[cfg(any(test, feature = "server"))]
    pub(super) fn add_for_others(&self, add: impl FnOnce(&mut Q)) {
        let mut state = self.state();
        add(&mut state.queue);
        if state.leader == Leader::None {
            state.leader = Leader::HandedOver;
            self.handed_over.notify_one();
        }
    }

    /// Waits until the lead is handed over. Returns `None` once the queue is closed. Only one thread calls this.
    pub(super) fn wait_for_lead(&self) -> Option<Lead<'_, Q>> {
        let mut state = self.state();
        while state.leader != Leader::HandedOver {
            if state.closed {
                return None;
            }
            state = self.handed_over.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.leader = Leader::Active;
        Some(Lead(self))
    }

    /// Ends the thread that waits for the lead.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.handed_over.notify_one();
    }
}

impl<Q: Queue> Drop for Lead<'_, Q> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if state.queue.is_empty() {
            state.leader = Leader::None;
        } else {
            state.leader = Leader::HandedOver;
            self.0.handed_over.notify_one();
        }
    }
}
