//! Measures the write transactions of a test by what they cost on any machine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ticketing::environment::{Clock, SystemClock};
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata, span};

/// What a write transaction cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// The statements of its jobs.
    pub statements: u64,
    /// Rows that were inserted, updated and deleted.
    pub rows: u64,
    /// Instructions of SQLite's virtual machine.
    pub steps: u64,
    /// The time since the previous transaction. It includes what was read in between.
    pub time: Duration,
}

impl Cost {
    /// The greater of each number.
    pub fn max(self, other: Self) -> Self {
        Self {
            statements: self.statements.max(other.statements),
            rows: self.rows.max(other.rows),
            steps: self.steps.max(other.steps),
            time: self.time.max(other.time),
        }
    }
}

/// Runs `work`. Returns what each write transaction of this thread cost, in their order, as the store logs it at the level
/// TRACE.
pub fn measured(work: impl FnOnce()) -> Vec<Cost> {
    let state = Arc::new(Mutex::new(State { previous: SystemClock.monotonic(), costs: Vec::new() }));
    tracing::subscriber::with_default(Measurement(Arc::clone(&state)), work);
    let state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.costs.clone()
}

struct State {
    previous: Duration,
    costs: Vec<Cost>,
}

struct Measurement(Arc<Mutex<State>>);

impl tracing::Subscriber for Measurement {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "ticketing::store" && *metadata.level() == Level::TRACE
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut cost = Cost::default();
        event.record(&mut cost);
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemClock.monotonic();
        cost.time = now - std::mem::replace(&mut state.previous, now);
        state.costs.push(cost);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Visit for Cost {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "statements" => self.statements = value,
            "rows" => self.rows = value,
            "steps" => self.steps = value,
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
