//! Options of a sender.

use std::time::Duration;

use super::queues::WorkerLimits;
use crate::error::{FieldErrors, Result};

/// Options of a webhook sender. By default up to 64 threads send, and at most 8 of them for the same endpoint. A thread
/// is started when it is needed, and ends when it has had nothing to send for ten seconds.
///
/// One organization uses at most half of the threads, rounded up, even if no other has anything to send.
///
/// ```
/// use ticketing::webhook::SenderOptions;
#[doc = include_str!("../../doc_fixture.md")]
/// # let _ = rustls::crypto::ring::default_provider().install_default();
/// let sender = service.start_webhook_sender(SenderOptions::default().workers(16))?;
/// drop(sender); // waits a moment for attempts in progress
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "options do nothing by themselves"]
pub struct SenderOptions {
    workers: usize,
    workers_per_endpoint: Option<usize>,
    throttled_workers: Option<usize>,
    attempt_timeout: Duration,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self {
            workers: 64,
            workers_per_endpoint: None,
            throttled_workers: None,
            attempt_timeout: Duration::from_secs(10),
        }
    }
}

impl SenderOptions {
    /// Sets how many threads send at most, for all endpoints together: from 2 to 1024, by default 64.
    pub fn workers(mut self, threads: usize) -> Self {
        self.workers = threads;
        self
    }

    /// Sets how many threads may be busy for the same endpoint: from 1 to `workers`, by default an eighth of them.
    pub fn workers_per_endpoint(mut self, threads: usize) -> Self {
        self.workers_per_endpoint = Some(threads);
        self
    }

    /// Sets how many threads may be busy for all throttled endpoints together: from 1 to `workers`, by default half of
    /// them.
    ///
    /// An endpoint is throttled if it has had no attempt, or if its last attempt failed or took more than a second.
    /// With all workers allowed, endpoints of several organizations that hang delay every other endpoint.
    pub fn throttled_workers(mut self, threads: usize) -> Self {
        self.throttled_workers = Some(threads);
        self
    }

    /// Sets how long one attempt may take in total: from 1 ms to 10 seconds, by default 10 seconds.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = timeout;
        self
    }

    pub(super) fn timeout(&self) -> Duration {
        self.attempt_timeout
    }

    pub(super) fn worker_limits(&self) -> WorkerLimits {
        let per_endpoint = self.workers_per_endpoint.unwrap_or((self.workers / 8).max(1));
        let throttled = self.throttled_workers.unwrap_or(self.workers / 2);
        // If throttled endpoints may have all workers, so may the slow ones among them.
        let slow = if throttled == self.workers { throttled } else { throttled - throttled / 4 };
        WorkerLimits { total: self.workers, per_endpoint, throttled, slow: slow.max(1) }
    }

    /// # Errors
    /// A validation error that names each option out of its range.
    pub(crate) fn check(&self) -> Result<()> {
        let mut errors = FieldErrors::default();
        errors.check((2..=1024).contains(&self.workers), "workers", "must be from 2 to 1024");
        let in_range = |workers: Option<usize>| workers.is_none_or(|workers| (1..=self.workers).contains(&workers));
        errors.check(in_range(self.workers_per_endpoint), "workers_per_endpoint", "must be from 1 to workers");
        errors.check(in_range(self.throttled_workers), "throttled_workers", "must be from 1 to workers");
        let timeouts = Duration::from_millis(1)..=Duration::from_secs(10);
        errors.check(timeouts.contains(&self.attempt_timeout), "attempt_timeout", "must be from 1 ms to 10 s");
        errors.into_result()
    }
}
