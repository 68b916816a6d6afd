//! Whether the program was down before a service was opened.
//!
//! While checkouts are open, a program that runs the maintenance records that every two seconds. A program that starts
//! looks at the record: if it goes on, another program is running, and has received the notices of the gateway. If it
//! stands still for six seconds, no other program is running.

use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::model::values::timestamp::Timestamp;

/// After which time the maintenance records again that it runs.
const RECORD_AGAIN: Duration = Duration::from_secs(2);

/// After which time without a record no program runs it.
const GONE: Duration = Duration::from_secs(6);

/// What a service knows of the time before it was opened.
#[derive(Debug)]
pub(in crate::service) struct Downtime {
    pub(in crate::service) opened_at: Timestamp,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::service) enum State {
    /// No maintenance has run yet.
    New,
    /// Another program may be running the maintenance, which has last recorded this.
    Waiting(Timestamp),
    /// No other program was running it.
    WasDown,
    /// There is nothing to look up, or nothing more.
    Known,
}

impl Downtime {
    pub(in crate::service) fn new(opened_at: Timestamp) -> Self {
        Self { opened_at, state: Mutex::new(State::New) }
    }

    /// Compares what the maintenance has last recorded with what it had recorded before.
    pub(in crate::service) fn look(&self, recorded: Option<Timestamp>, now: Timestamp) -> State {
        let mut state = self.state.locked();
        *state = match (*state, recorded) {
            (State::New | State::Waiting(_), None) => State::WasDown,
            (State::Waiting(before), Some(recorded)) if recorded != before => State::Known,
            (State::New | State::Waiting(_), Some(recorded)) if is_older(recorded, GONE, now) => State::WasDown,
            (State::New, Some(recorded)) => State::Waiting(recorded),
            (state, _) => state,
        };
        *state
    }

    /// The checkouts are looked up.
    pub(in crate::service) fn finish(&self) {
        *self.state.locked() = State::Known;
    }
}

/// Whether the maintenance should record again that it runs.
pub(in crate::service) fn is_record_due(recorded: Option<Timestamp>, now: Timestamp) -> bool {
    recorded.is_none_or(|recorded| is_older(recorded, RECORD_AGAIN, now))
}

/// Whether a time is at least this old. One in the future is that of a clock that was put back since.
fn is_older(recorded: Timestamp, age: Duration, now: Timestamp) -> bool {
    let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    now.millis().abs_diff(recorded.millis()) >= millis
}
