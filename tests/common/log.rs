//! Captures the log of this process.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Level, span};

/// The captured log: the level and the text of each event and span.
#[derive(Clone, Default)]
pub struct CapturedLog(Arc<Mutex<Vec<(Level, String)>>>);

struct EventText(String);

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for CapturedLog {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        let mut line = EventText(format!("span {} ", attributes.metadata().name()));
        attributes.record(&mut line);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((*attributes.metadata().level(), line.0));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = EventText(format!("{} ", event.metadata().target()));
        event.record(&mut line);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((*event.metadata().level(), line.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Captures everything that this process logs from now on. There is one log for all tests of the process.
pub fn capture() -> &'static CapturedLog {
    static LOG: OnceLock<CapturedLog> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = CapturedLog::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    })
}

/// Runs `work`, and returns what this thread logs meanwhile.
pub fn during<T>(work: impl FnOnce() -> T) -> (T, CapturedLog) {
    let log = CapturedLog::default();
    (tracing::subscriber::with_default(log.clone(), work), log)
}

impl CapturedLog {
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, text)| text.clone()).collect()
    }

    /// The levels of the lines of a target.
    pub fn levels_of(&self, target: &str) -> Vec<Level> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_target = lines.iter().filter(|(_, text)| text.starts_with(&format!("{target} ")));
        of_target.map(|(level, _)| *level).collect()
    }

    /// Asserts that the log is not empty, and that no line is an error, mentions a panic, or contains a secret.
    pub fn assert_clean(&self, secrets: &[&str]) {
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
