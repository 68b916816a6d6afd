//! The counters behind the statistics. They are atomics, so counting never waits for a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use uuid::Uuid;

use crate::error::{Error, Reason};
use crate::model::operation::statistics::{
    CommitStatistics, Distribution, DocumentStatistics, LogoOutcome, MaintenanceStatistics, OrderStatistics,
    PaymentStatistics, ScanStatistics, Statistics, WebhookOutcome, WebhookStatistics,
};
use crate::model::payments::notice::NoticeOutcome;
use crate::model::values::id::{TicketId, WebhookId};

/// An event in a transaction. When the transaction is committed, it is counted, or reported to the webhook sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitEvent {
    OrderCreated,
    OrderCompleted,
    OrderCancelled,
    OrderExpired,
    ScanAccepted,
    ScanRefused(Reason),
    ScanUnknown,
    /// A scan became the second of two admissions with one ticket.
    AdmittedTwice {
        ticket: TicketId,
        scan: Option<Uuid>,
    },
    /// A row of the outbox was inserted in the transaction of the change.
    NotificationQueued(WebhookId),
    /// Notifications were queued whose rows are inserted later: the number of the rows.
    FanOutQueued {
        rows: usize,
    },
    /// Not a metric: a row of a fan-out was inserted, which wakes the webhook sender.
    RowInserted(WebhookId),
    /// Not a metric: wakes the threads of notification handlers.
    HandlerNotified,
    /// Not a metric: wakes the webhook sender.
    EndpointChanged(WebhookId),
    /// An attempt to send a notification.
    Attempt {
        outcome: WebhookOutcome,
        /// `None` if no connection was tried.
        duration: Option<Duration>,
    },
    NotificationDead,
    /// A row could not be read, and was skipped.
    RowSkipped,
}

impl CommitEvent {
    /// The endpoint that may have a notification due now, because of this event.
    pub(in crate::store) fn endpoint_with_work(&self) -> Option<WebhookId> {
        match self {
            Self::NotificationQueued(endpoint) | Self::RowInserted(endpoint) | Self::EndpointChanged(endpoint) => {
                Some(*endpoint)
            }
            _ => None,
        }
    }
}

/// The reasons for refused orders that are always reported, even if their count is 0.
const ORDER_REASONS: [Reason; 6] = [
    Reason::EventNotOnSale,
    Reason::TicketTypeNotOnSale,
    Reason::SaleNotStarted,
    Reason::SaleEnded,
    Reason::MaxPerOrderExceeded,
    Reason::SoldOut,
];

/// The reasons for refused scans that are always reported, even if their count is 0.
const SCAN_REASONS: [Reason; 7] = [
    Reason::WrongEvent,
    Reason::TicketCancelled,
    Reason::EventCancelled,
    Reason::NotYetValid,
    Reason::NoLongerValid,
    Reason::NotValidToday,
    Reason::AlreadyCheckedIn,
];

#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A counter for each reason.
#[derive(Debug)]
struct ByReason {
    counters: [Counter; Reason::ALL.len()],
}

impl Default for ByReason {
    fn default() -> Self {
        Self { counters: std::array::from_fn(|_| Counter::default()) }
    }
}

impl ByReason {
    fn add(&self, reason: Reason) {
        // The discriminants of the enum are the indexes of ALL.
        self.counters[reason as usize].add(1);
    }

    /// Returns the counts of the reasons in `always`, and all other counts that are not 0.
    fn get(&self, always: &[Reason]) -> Vec<(Reason, u64)> {
        let mut counts = Vec::new();
        for reason in Reason::ALL {
            let count = self.counters[*reason as usize].get();
            if count > 0 || always.contains(reason) {
                counts.push((*reason, count));
            }
        }
        counts
    }
}

/// A histogram. Values are recorded as integers and divided by `per_unit` when they are read: for example, microseconds
/// are read as seconds.
#[derive(Debug)]
struct Histogram {
    bounds: &'static [u64],
    per_unit: f64,
    /// One for the values up to each bound, and one for greater values.
    counters: Vec<Counter>,
    sum: Counter,
}

impl Histogram {
    fn new(bounds: &'static [u64], per_unit: f64) -> Self {
        let counters = (0..=bounds.len()).map(|_| Counter::default()).collect();
        Self { bounds, per_unit, counters, sum: Counter::default() }
    }

    fn observe(&self, value: u64) {
        self.counters[self.bounds.partition_point(|bound| *bound < value)].add(1);
        self.sum.add(value);
    }

    /// Records a duration in a histogram of microseconds.
    fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    #[expect(clippy::cast_precision_loss, reason = "it would take centuries to count to 2^53")]
    fn get(&self) -> Distribution {
        let bounds = self.bounds.iter().map(|bound| *bound as f64 / self.per_unit).chain([f64::INFINITY]);
        let buckets = bounds.zip(self.counters.iter().map(Counter::get)).collect();
        Distribution { buckets, sum: self.sum.get() as f64 / self.per_unit }
    }
}

/// All counters.
#[derive(Debug)]
pub(crate) struct Counters {
    commits_failed: Counter,
    jobs_per_commit: Histogram,
    commit_micros: Histogram,
    orders_created: Counter,
    orders_completed: Counter,
    orders_cancelled: Counter,
    orders_expired: Counter,
    orders_refused: ByReason,
    scans_accepted: Counter,
    scans_refused: ByReason,
    scans_unknown: Counter,
    admitted_twice: Counter,
    notifications_queued: Counter,
    /// The discriminants of [`WebhookOutcome`] are the indexes.
    attempts_by_outcome: [Counter; WebhookOutcome::ALL.len()],
    attempt_micros: Histogram,
    notifications_dead: Counter,
    throttled_endpoints: AtomicU64,
    /// The discriminants of [`NoticeOutcome`] are the indexes.
    notices_by_outcome: [Counter; NoticeOutcome::ALL.len()],
    amounts_mismatched: Counter,
    rows_skipped: Counter,
    maintenance_held_back: Counter,
    backups_made: Counter,
    backups_failed: Counter,
    documents_with_missing_glyphs: Counter,
}

impl Default for Counters {
    fn default() -> Self {
        // From 0.1 ms to 5 s, the timeout of SQLite's busy handler.
        const COMMIT_MICROS: &[u64] = &[
            100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
            2_500_000, 5_000_000,
        ];
        // From 1 ms, the response time of a receiver in the same network, to 10 s, the timeout of an attempt.
        const ATTEMPT_MICROS: &[u64] = &[
            1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
            10_000_000,
        ];
        Self {
            commits_failed: Counter::default(),
            jobs_per_commit: Histogram::new(&[1, 2, 4, 8, 16, 32, 64, 128, 256], 1.0),
            commit_micros: Histogram::new(COMMIT_MICROS, 1e6),
            orders_created: Counter::default(),
            orders_completed: Counter::default(),
            orders_cancelled: Counter::default(),
            orders_expired: Counter::default(),
            orders_refused: ByReason::default(),
            scans_accepted: Counter::default(),
            scans_refused: ByReason::default(),
            scans_unknown: Counter::default(),
            admitted_twice: Counter::default(),
            notifications_queued: Counter::default(),
            attempts_by_outcome: std::array::from_fn(|_| Counter::default()),
            attempt_micros: Histogram::new(ATTEMPT_MICROS, 1e6),
            notifications_dead: Counter::default(),
            throttled_endpoints: AtomicU64::default(),
            notices_by_outcome: std::array::from_fn(|_| Counter::default()),
            amounts_mismatched: Counter::default(),
            rows_skipped: Counter::default(),
            maintenance_held_back: Counter::default(),
            backups_made: Counter::default(),
            backups_failed: Counter::default(),
            documents_with_missing_glyphs: Counter::default(),
        }
    }
}

impl Counters {
    /// Counts a commit: how many jobs it contained, its duration, and the events that the jobs recorded.
    pub(in crate::store) fn committed(&self, jobs: usize, duration: Duration, events: &[CommitEvent]) {
        self.jobs_per_commit.observe(u64::try_from(jobs).unwrap_or(u64::MAX));
        self.commit_micros.observe_duration(duration);
        for event in events {
            match *event {
                CommitEvent::OrderCreated => self.orders_created.add(1),
                CommitEvent::OrderCompleted => self.orders_completed.add(1),
                CommitEvent::OrderCancelled => self.orders_cancelled.add(1),
                CommitEvent::OrderExpired => self.orders_expired.add(1),
                CommitEvent::ScanAccepted => self.scans_accepted.add(1),
                CommitEvent::ScanRefused(reason) => self.scans_refused.add(reason),
                CommitEvent::ScanUnknown => self.scans_unknown.add(1),
                CommitEvent::AdmittedTwice { .. } => self.admitted_twice.add(1),
                CommitEvent::NotificationQueued(_) => self.notifications_queued.add(1),
                CommitEvent::FanOutQueued { rows } => {
                    self.notifications_queued.add(u64::try_from(rows).unwrap_or(u64::MAX));
                }
                CommitEvent::Attempt { outcome, duration } => {
                    self.attempts_by_outcome[outcome as usize].add(1);
                    if let Some(duration) = duration {
                        self.attempt_micros.observe_duration(duration);
                    }
                }
                CommitEvent::NotificationDead => self.notifications_dead.add(1),
                CommitEvent::RowSkipped => self.rows_skipped.add(1),
                CommitEvent::EndpointChanged(_) | CommitEvent::HandlerNotified | CommitEvent::RowInserted(_) => {}
            }
        }
    }

    /// Counts a failed commit.
    pub(in crate::store) fn commit_failed(&self) {
        self.commits_failed.add(1);
    }

    /// Counts an order that could not be created because of a conflict. Other errors are not counted.
    pub(crate) fn order_failed(&self, error: &Error) {
        if let Some(reason) = error.reason() {
            self.orders_refused.add(reason);
        }
    }

    /// Counts a failed scan if its code is unknown. Other errors are not counted.
    pub(crate) fn scan_failed(&self, error: &Error) {
        if matches!(error, Error::NotFound(_)) {
            self.scans_unknown.add(1);
        }
    }

    /// Sets the number of throttled endpoints that have notifications due.
    pub(crate) fn set_throttled(&self, endpoints: usize) {
        self.throttled_endpoints.store(u64::try_from(endpoints).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts a notice of the payment gateway.
    pub(crate) fn notice_received(&self, outcome: NoticeOutcome) {
        self.notices_by_outcome[outcome as usize].add(1);
    }

    /// Counts a payment of another amount, or in another currency, than its order costs.
    pub(crate) fn amount_mismatched(&self) {
        self.amounts_mismatched.add(1);
    }

    /// Counts a row that background work could not process.
    pub(crate) fn row_skipped(&self) {
        self.rows_skipped.add(1);
    }

    /// Counts a maintenance run that expired and deleted nothing, because the clock is in doubt.
    pub(crate) fn maintenance_held_back(&self) {
        self.maintenance_held_back.add(1);
    }

    /// Counts a backup of the schedule.
    pub(crate) fn backup_made(&self, succeeded: bool) {
        if succeeded { &self.backups_made } else { &self.backups_failed }.add(1);
    }

    /// Counts a ticket document with characters that no font has.
    #[cfg(feature = "documents")]
    pub(crate) fn document_has_missing_glyphs(&self) {
        self.documents_with_missing_glyphs.add(1);
    }

    /// Returns all counts. `jobs_waiting` is the number of jobs that wait for the writer now.
    pub(in crate::store) fn get(&self, jobs_waiting: usize) -> Statistics {
        let jobs = self.jobs_per_commit.get();
        Statistics {
            commits: CommitStatistics {
                done: jobs.count(),
                failed: self.commits_failed.get(),
                jobs,
                seconds: self.commit_micros.get(),
                jobs_waiting,
            },
            orders: OrderStatistics {
                created: self.orders_created.get(),
                completed: self.orders_completed.get(),
                cancelled: self.orders_cancelled.get(),
                expired: self.orders_expired.get(),
                refused: self.orders_refused.get(&ORDER_REASONS),
            },
            scans: ScanStatistics {
                accepted: self.scans_accepted.get(),
                refused: self.scans_refused.get(&SCAN_REASONS),
                unknown: self.scans_unknown.get(),
                admitted_twice: self.admitted_twice.get(),
            },
            webhooks: WebhookStatistics {
                queued: self.notifications_queued.get(),
                attempts: WebhookOutcome::ALL
                    .iter()
                    .map(|outcome| (*outcome, self.attempts_by_outcome[*outcome as usize].get()))
                    .collect(),
                seconds: self.attempt_micros.get(),
                dead: self.notifications_dead.get(),
                throttled: self.throttled_endpoints.load(Ordering::Relaxed),
            },
            payments: PaymentStatistics {
                notices: NoticeOutcome::ALL
                    .iter()
                    .map(|outcome| (*outcome, self.notices_by_outcome[*outcome as usize].get()))
                    .collect(),
                amounts_mismatched: self.amounts_mismatched.get(),
            },
            maintenance: MaintenanceStatistics {
                skipped_rows: self.rows_skipped.get(),
                held_back: self.maintenance_held_back.get(),
                backups_made: self.backups_made.get(),
                backups_failed: self.backups_failed.get(),
            },
            documents: DocumentStatistics {
                with_missing_glyphs: self.documents_with_missing_glyphs.get(),
                // Those who fetch them count them.
                logos: LogoOutcome::ALL.iter().map(|outcome| (*outcome, 0)).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_at_the_first_bound_that_it_does_not_exceed() {
        let histogram = Histogram::new(&[1, 10, 100], 10.0);
        for value in [0, 1, 2, 10, 11, 100, 101, 1000] {
            histogram.observe(value);
        }
        let Distribution { buckets, sum } = histogram.get();
        assert_eq!(buckets, [(0.1, 2), (1.0, 2), (10.0, 2), (f64::INFINITY, 2)]);
        assert!((sum - 122.5).abs() < 1e-9);
    }

    #[test]
    fn each_reason_has_a_counter_of_its_own() {
        let counters = ByReason::default();
        for (index, reason) in Reason::ALL.iter().enumerate() {
            for _ in 0..=index {
                counters.add(*reason);
            }
        }
        let expected: Vec<_> = Reason::ALL.iter().copied().zip(1..).collect();
        assert_eq!(counters.get(&[]), expected);
        assert_eq!(ByReason::default().get(&[Reason::SoldOut]), [(Reason::SoldOut, 0)]);
    }
}
