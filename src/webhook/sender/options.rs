//! How the sender works.

use std::time::Duration;

use super::lines::Shares;
use crate::error::{FieldErrors, Result};

/// How notifications are sent. The defaults suit most: 64 threads, of which one endpoint holds at most 8.
///
/// ```
/// use ticketing::{ListWebhooks, webhook::SenderOptions};
#[doc = include_str!("../../doc_fixture.md")]
/// let sender = service.start_webhook_sender(SenderOptions::default().workers(16))?;
/// drop(sender); // waits a moment for what is under way
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "options do nothing by themselves"]
pub struct SenderOptions {
    workers: usize,
    workers_per_endpoint: Option<usize>,
    held_back_workers: Option<usize>,
    attempt_timeout: Duration,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self {
            workers: 64,
            workers_per_endpoint: None,
            held_back_workers: None,
            attempt_timeout: Duration::from_secs(10),
        }
    }
}

impl SenderOptions {
    /// How many threads send, whatever the number of endpoints: from 2 to 1024, 64 by default.
    pub fn workers(mut self, threads: usize) -> Self {
        self.workers = threads;
        self
    }

    /// How many of them one endpoint holds at most: an eighth by default.
    pub fn workers_per_endpoint(mut self, threads: usize) -> Self {
        self.workers_per_endpoint = Some(threads);
        self
    }

    /// How many of them those endpoints hold together at most that never had an attempt or whose latest did not succeed
    /// within a second: half of them by default. With all of them, endpoints that hang keep every other one waiting.
    pub fn held_back_workers(mut self, threads: usize) -> Self {
        self.held_back_workers = Some(threads);
        self
    }

    /// How long one attempt may take in all: 10 seconds by default, and at most.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = timeout;
        self
    }

    pub(super) fn timeout(&self) -> Duration {
        self.attempt_timeout
    }

    /// Who may hold how many threads.
    pub(super) fn shares(&self) -> Shares {
        let endpoint = self.workers_per_endpoint.unwrap_or((self.workers / 8).max(1));
        let held_back = self.held_back_workers.unwrap_or(self.workers / 2);
        // Where everybody may hold everything, so may those that are slow.
        let known = if held_back == self.workers { held_back } else { held_back - held_back / 4 };
        Shares { workers: self.workers, endpoint, held_back, slow: known.max(1) }
    }

    /// # Errors
    /// A validation error names each option that is out of its range.
    pub(crate) fn check(&self) -> Result<()> {
        let mut errors = FieldErrors::default();
        let workers = 1..=self.workers;
        errors.check((2..=1024).contains(&self.workers), "workers", "must be from 2 to 1024");
        for (name, given) in
            [("workers_per_endpoint", self.workers_per_endpoint), ("held_back_workers", self.held_back_workers)]
        {
            errors.check(given.is_none_or(|given| workers.contains(&given)), name, "must be from 1 to workers");
        }
        let timeout = Duration::from_millis(1)..=Duration::from_secs(10);
        errors.check(timeout.contains(&self.attempt_timeout), "attempt_timeout", "must be from 1 ms to 10 s");
        errors.into_result()
    }
}
