//! Keeps what is logged in this process.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Level, span};

/// Every event as text, with its level.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(format!("{} ", event.metadata().target()));
        event.record(&mut line);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((*event.metadata().level(), line.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Keeps everything that is logged from now on.
pub(crate) fn capture() -> &'static Lines {
    static KEPT: OnceLock<Lines> = OnceLock::new();
    KEPT.get_or_init(|| {
        let lines = Lines::default();
        tracing::subscriber::set_global_default(lines.clone()).unwrap();
        lines
    })
}

impl Lines {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, text)| text.clone()).collect()
    }

    /// Asserts that something was logged, that nothing failed, and that no line tells any of these.
    pub(crate) fn assert_clean(&self, secrets: &[&str]) {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!lines.is_empty());
        for (level, line) in lines.iter() {
            assert!(*level != Level::ERROR, "{line}");
            assert!(!line.contains("panic"), "{line}");
            for secret in secrets {
                assert!(!secret.is_empty() && !line.contains(secret), "{secret} is in the log: {line}");
            }
        }
    }
}
