//! Measures the write transactions of a test by what they cost on any machine.

use std::cell::RefCell;
use std::sync::Once;
use std::time::Duration;

use ticketing::environment::{Clock, SystemClock};
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
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

thread_local! {
    static MEASUREMENT: RefCell<Option<Measurement>> = const { RefCell::new(None) };
}

struct Measurement {
    previous: Duration,
    costs: Vec<Cost>,
}

/// Runs `work`. Returns what each write transaction of this thread cost, in their order, as the store logs it at the
/// level TRACE.
pub fn measured(work: impl FnOnce()) -> Vec<Cost> {
    // The log is that of the process: a log of a thread could miss events that another thread has logged before.
    static LOG: Once = Once::new();
    LOG.call_once(|| tracing::subscriber::set_global_default(Log).expect("no other log"));
    MEASUREMENT.set(Some(Measurement { previous: SystemClock.monotonic(), costs: Vec::new() }));
    work();
    MEASUREMENT.take().expect("the measurement").costs
}

/// A log that adds the costs of transactions to the measurement of their thread.
struct Log;

impl tracing::Subscriber for Log {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match metadata.target() == "ticketing::store" && *metadata.level() == Level::TRACE {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        MEASUREMENT.with_borrow(Option::is_some)
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut cost = Cost::default();
        event.record(&mut cost);
        MEASUREMENT.with_borrow_mut(|measurement| {
            let Some(measurement) = measurement else { return };
            let now = SystemClock.monotonic();
            cost.time = now - std::mem::replace(&mut measurement.previous, now);
            measurement.costs.push(cost);
        });
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
