//! The counters behind the statistics.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::environment::Locked;
use crate::error::{Error, Reason};
use crate::model::operation::statistics::{
    CommitStatistics, Distribution, DocumentStatistics, LogoOutcome, MailOutcome, MaintenanceStatistics,
    OrderStatistics, PaymentStatistics, ScanStatistics, Statistics, WebhookOutcome, WebhookStatistics,
};
use crate::model::payments::notice::NoticeOutcome;
use crate::model::sale::mail::MailKind;
use crate::model::values::id::WebhookId;

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
    AdmittedTwice,
    /// A row of the outbox was inserted.
    NotificationQueued(WebhookId),
    /// Not a metric: notifications were stored for which rows of the outbox are to be inserted, about this many. Wakes the
    /// webhook sender.
    NotificationsStored {
        rows: usize,
    },
    /// Not a metric: wakes the thread that looks for work.
    WorkAdded,
    /// Not a metric: wakes the webhook sender.
    EndpointChanged(WebhookId),
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
            Self::NotificationQueued(endpoint) | Self::EndpointChanged(endpoint) => Some(*endpoint),
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

/// From 0.1 ms to 5 s, the timeout of SQLite's busy handler.
const COMMIT_SECONDS: &[f64] =
    &[1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// From 1 ms, the response time of a receiver in the same network, to 10 s, the timeout of an attempt.
const ATTEMPT_SECONDS: &[f64] = &[1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const JOBS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// How long no further skipped row of the same table is logged.
const LOG_PAUSE: Duration = Duration::from_hours(1);

/// The statistics as far as they were counted. The lock is held for a moment, once for each commit.
#[derive(Debug)]
pub(crate) struct Counters {
    counts: Mutex<Statistics>,
    /// When a skipped row of each table was last logged, by the monotonic clock.
    logged_at: Mutex<BTreeMap<&'static str, Duration>>,
}

impl Default for Counters {
    fn default() -> Self {
        let counts = Statistics {
            commits: CommitStatistics {
                done: 0,
                failed: 0,
                jobs: distribution(JOBS),
                seconds: distribution(COMMIT_SECONDS),
                jobs_waiting: 0,
            },
            orders: OrderStatistics {
                created: 0,
                completed: 0,
                cancelled: 0,
                expired: 0,
                refused: zeros(&ORDER_REASONS),
            },
            scans: ScanStatistics { accepted: 0, refused: zeros(&SCAN_REASONS), unknown: 0, admitted_twice: 0 },
            webhooks: WebhookStatistics {
                queued: 0,
                attempts: zeros(WebhookOutcome::ALL),
                seconds: distribution(ATTEMPT_SECONDS),
                dead: 0,
                throttled: 0,
            },
            payments: PaymentStatistics { notices: zeros(NoticeOutcome::ALL), amounts_mismatched: 0 },
            maintenance: MaintenanceStatistics { skipped_rows: 0, held_back: 0, backups_made: 0, backups_failed: 0 },
            // Those who fetch logos count them.
            documents: DocumentStatistics { with_missing_glyphs: 0, logos: zeros(LogoOutcome::ALL) },
            mails: zeros(&mail_outcomes()),
        };
        Self { counts: Mutex::new(counts), logged_at: Mutex::default() }
    }
}

fn mail_outcomes() -> Vec<(MailKind, MailOutcome)> {
    let of_kind = |kind: &MailKind| MailOutcome::ALL.iter().map(|outcome| (*kind, *outcome)).collect::<Vec<_>>();
    MailKind::ALL.iter().flat_map(of_kind).collect()
}

fn zeros<K: Copy + Ord>(keys: &[K]) -> Vec<(K, u64)> {
    let mut counts: Vec<_> = keys.iter().map(|key| (*key, 0)).collect();
    counts.sort_unstable();
    counts
}

fn count<K: Copy + Ord>(counts: &mut Vec<(K, u64)>, key: K) {
    match counts.binary_search_by_key(&key, |(known, _)| *known) {
        Ok(index) => counts[index].1 += 1,
        Err(index) => counts.insert(index, (key, 1)),
    }
}

/// A distribution without values.
fn distribution(bounds: &[f64]) -> Distribution {
    Distribution { buckets: bounds.iter().copied().chain([f64::INFINITY]).map(|bound| (bound, 0)).collect(), sum: 0.0 }
}

fn observe(Distribution { buckets, sum }: &mut Distribution, value: f64) {
    let index = buckets.partition_point(|(bound, _)| *bound < value);
    buckets[index].1 += 1;
    *sum += value;
}

fn number(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl Counters {
    /// Counts something that no commit reports.
    pub(crate) fn update(&self, update: impl FnOnce(&mut Statistics)) {
        update(&mut self.counts.locked());
    }

    /// Counts a commit: how many jobs it contained, its duration, and the events that the jobs recorded.
    #[expect(clippy::cast_precision_loss, reason = "a commit has at most a few hundred jobs")]
    pub(in crate::store) fn committed(&self, jobs: usize, duration: Duration, events: &[CommitEvent]) {
        let Statistics { commits, orders, scans, webhooks, maintenance, .. } = &mut *self.counts.locked();
        commits.done += 1;
        observe(&mut commits.jobs, jobs as f64);
        observe(&mut commits.seconds, duration.as_secs_f64());
        for event in events {
            match *event {
                CommitEvent::OrderCreated => orders.created += 1,
                CommitEvent::OrderCompleted => orders.completed += 1,
                CommitEvent::OrderCancelled => orders.cancelled += 1,
                CommitEvent::OrderExpired => orders.expired += 1,
                CommitEvent::ScanAccepted => scans.accepted += 1,
                CommitEvent::ScanRefused(reason) => count(&mut scans.refused, reason),
                CommitEvent::ScanUnknown => scans.unknown += 1,
                CommitEvent::AdmittedTwice => scans.admitted_twice += 1,
                CommitEvent::NotificationQueued(_) => webhooks.queued += 1,
                CommitEvent::Attempt { outcome, duration } => {
                    count(&mut webhooks.attempts, outcome);
                    if let Some(duration) = duration {
                        observe(&mut webhooks.seconds, duration.as_secs_f64());
                    }
                }
                CommitEvent::NotificationDead => webhooks.dead += 1,
                CommitEvent::RowSkipped => maintenance.skipped_rows += 1,
                CommitEvent::EndpointChanged(_) | CommitEvent::WorkAdded | CommitEvent::NotificationsStored { .. } => {}
            }
        }
    }

    /// Counts an order that could not be created because of a conflict. Other errors are not counted.
    pub(crate) fn order_failed(&self, error: &Error) {
        if let Some(reason) = error.reason() {
            count(&mut self.counts.locked().orders.refused, reason);
        }
    }

    /// Counts a failed scan if its code is unknown. Other errors are not counted.
    pub(crate) fn scan_failed(&self, error: &Error) {
        if matches!(error, Error::NotFound(_)) {
            self.counts.locked().scans.unknown += 1;
        }
    }

    /// Sets the number of throttled endpoints that have notifications due.
    pub(crate) fn set_throttled(&self, endpoints: usize) {
        self.counts.locked().webhooks.throttled = number(endpoints);
    }

    pub(crate) fn notice_received(&self, outcome: NoticeOutcome) {
        count(&mut self.counts.locked().payments.notices, outcome);
    }

    /// Counts an attempt to send a mail.
    #[cfg(feature = "mail")]
    pub(crate) fn mail_attempted(&self, kind: MailKind, outcome: MailOutcome) {
        count(&mut self.counts.locked().mails, (kind, outcome));
    }

    /// Counts a row that background work could not process. Returns whether to log it: one of each table in an hour.
    pub(crate) fn row_skipped(&self, table: &'static str, now: Duration) -> bool {
        self.counts.locked().maintenance.skipped_rows += 1;
        let mut logged_at = self.logged_at.locked();
        let is_logged = logged_at.get(table).is_none_or(|at| now.saturating_sub(*at) >= LOG_PAUSE);
        if is_logged {
            logged_at.insert(table, now);
        }
        is_logged
    }

    /// Returns all counts. `jobs_waiting` is the number of jobs that wait for the writer now.
    pub(in crate::store) fn get(&self, jobs_waiting: usize) -> Statistics {
        let mut counts = self.counts.locked().clone();
        counts.commits.jobs_waiting = jobs_waiting;
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_skipped_row_of_each_table_is_logged_in_an_hour() {
        let counters = Counters::default();
        let hour = Duration::from_hours(1);
        let moments = [Duration::ZERO, Duration::from_mins(59), hour, hour, 2 * hour];
        assert_eq!(moments.map(|now| counters.row_skipped("orders", now)), [true, false, true, false, true]);
        assert_eq!([hour, hour].map(|now| counters.row_skipped("events", now)), [true, false]);
    }
}
