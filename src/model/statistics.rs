//! What a service has counted, and what waits in its file: for whoever watches over it.

use crate::text_enum::text_enum;
use std::time::Duration;

use crate::error::Reason;

text_enum! {
    /// What came of an attempt to deliver a notification.
    pub enum WebhookOutcome {
        /// The receiver answered with a 2xx status.
        Delivered = "delivered",
        /// The receiver answered with another status.
        Rejected = "rejected",
        /// The receiver did not answer in time.
        TimedOut = "timed-out",
        /// There was no connection, or no answer on it that could be read.
        Network = "network",
        /// The URL, or the address that its name resolved to, is one to which nothing is sent.
        Refused = "refused",
        /// The sending process ended during the attempt, three times.
        Interrupted = "cut-off",
    }
}

/// What one service has counted since it was opened, over all organizations. Other processes on the same file count for
/// themselves.
///
/// Orders and scans are counted when they are durable: what a failed commit undid is in none of the figures. They are
/// read one by one while others go on counting, so that two of them may be a moment apart.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The commits.
    pub commits: CommitStatistics,
    /// The orders.
    pub orders: OrderStatistics,
    /// The scans at the door.
    pub scans: ScanStatistics,
    /// The webhooks.
    pub webhooks: WebhookStatistics,
}

/// The commits of a service. One commit carries the work of all callers that wait together.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CommitStatistics {
    /// How many were done.
    pub done: u64,
    /// How many failed, as when the disk is full or another process kept the file too long. Nothing of them stays, and
    /// every caller whose work was in one was told.
    pub failed: u64,
    /// How many pieces of work each carried that was done: refused ones too.
    pub jobs: Distribution,
    /// How long each took that was done, in seconds: from the beginning of its transaction until it was on the disk.
    pub seconds: Distribution,
    /// How many pieces of work wait now for the one that writes; what is being written is not among them.
    pub jobs_waiting: usize,
}

/// What became of orders. An order may be in several figures: placed first, then expired, then completed by a payment
/// that came late.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderStatistics {
    /// Orders that were taken.
    pub placed: u64,
    /// Orders that became COMPLETED, those that cost nothing among them.
    pub completed: u64,
    /// Orders that became CANCELLED, by whatever cancelled them.
    pub cancelled: u64,
    /// Orders whose hold ran out, from the moment on in which that was written down.
    pub expired: u64,
    /// Orders that were refused because of the state of things, by reason. Every reason that an order is commonly
    /// refused for is listed, also where it is 0.
    pub refused: Vec<(Reason, u64)>,
}

/// What became of scans at the door. A check-out is no scan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanStatistics {
    /// Scans that let somebody in.
    pub accepted: u64,
    /// Scans of a known ticket that were refused, by reason. Every reason that a scan is refused for is listed, also
    /// where it is 0.
    pub refused: Vec<(Reason, u64)>,
    /// Scans of a code that the organization has not.
    pub unknown: u64,
}

/// What became of notifications.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WebhookStatistics {
    /// Notifications that were queued, each counted once for each endpoint; resends too.
    pub queued: u64,
    /// Attempts to deliver one, by what came of them. Every outcome is listed, also where it is 0.
    pub attempts: Vec<(WebhookOutcome, u64)>,
    /// How long each attempt took for which a connection was tried, in seconds.
    pub seconds: Distribution,
    /// Notifications that were given up after their eighth attempt.
    pub dead: u64,
    /// Throttled endpoints that have notifications due now. All throttled endpoints share half of the sender's
    /// threads. An endpoint is throttled if it has had no attempt, or if its last attempt failed or took more than a
    /// second.
    pub throttled: u64,
}

/// How values are distributed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Distribution {
    /// Upper bounds, ascending, each with how many values are at most that and above the bound before it. The last
    /// bound is infinite.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
}

impl Distribution {
    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, values)| values).sum()
    }
}

/// What waits in the file, over all organizations and whatever process left it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// Refunds that the gateway has not answered yet.
    pub refunds_due: u64,
    /// Refunds that the gateway refused for good: somebody has to look after them.
    pub refunds_refused: u64,
    /// Places that unpaid orders hold; not those whose hold has run out.
    pub held_places: u64,
    /// Notifications that wait to be sent, or to be sent again: also those for endpoints that are disabled.
    pub webhooks_waiting: u64,
    /// Of these, those that could be sent now: their endpoint is enabled, their time has come, and no attempt is
    /// under way.
    pub webhooks_due: u64,
    /// For how long the one of these has been due whose time came first; `None` where none is due. It tells how far
    /// the sending lags behind, and not how long receivers have been failing: the delay before another attempt is no
    /// part of it.
    pub webhook_oldest_due: Option<Duration>,
    /// The size of SQLite's write-ahead log, in bytes. The log is used anew from its beginning, and keeps the size
    /// that it once needed.
    pub wal_bytes: u64,
}
