//! Figures for monitoring: what a service has counted, and the backlog in its database.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::enums::text_enum::text_enum;
use crate::error::Reason;
use crate::model::payments::notice::NoticeOutcome;
use crate::model::sale::mail::MailKind;

text_enum! {
    /// The outcome of an attempt to deliver a notification.
    pub enum WebhookOutcome {
        /// The receiver responded with a 2xx status.
        Delivered = "delivered",
        /// The receiver responded with another status.
        Rejected = "rejected",
        /// The receiver did not respond in time.
        TimedOut = "timed-out",
        /// The connection failed, or the response could not be read.
        ConnectionFailed = "network",
        /// The URL is not allowed, or the name of its host does not resolve to public addresses. It does not tell which
        /// of both, so that the figures do not reveal which names exist in the network of the sender.
        AddressNotAllowed = "refused",
        /// The sending process ended during the attempt, for the third time.
        Interrupted = "cut-off",
    }
}

text_enum! {
    /// The outcome of an attempt to fetch the logo of a ticket or the cover of an event.
    pub enum LogoOutcome {
        /// The picture was fetched.
        Fetched = "fetched",
        /// It could not be fetched, or is no picture that can be shown.
        Failed = "failed",
        /// A document or a page has no picture, or an old one, because too many pictures were being fetched.
        NotTried = "not-tried",
    }
}

text_enum! {
    /// What became of an attempt to send a mail.
    pub enum MailOutcome {
        /// The relay has accepted it.
        Sent = "sent",
        /// It has failed for good.
        Failed = "failed",
        /// It was not sent, because what it says is no longer true.
        Dropped = "dropped",
        /// It is tried again.
        Retried = "retried",
        /// A limit of the hour holds it back. Of an organization at its limit, one of the mails that wait is counted a
        /// minute.
        HeldBack = "held-back",
    }
}

/// The counters of a service since it was opened, over all organizations. Other processes with the same database have
/// counters of their own.
///
/// Orders and scans are counted when they are durable; what a failed commit rolled back is not counted.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Statistics {
    /// Commits.
    pub commits: CommitStatistics,
    /// Orders.
    pub orders: OrderStatistics,
    /// Scans at check-in.
    pub scans: ScanStatistics,
    /// Notifications.
    pub webhooks: WebhookStatistics,
    /// Notices of the payment gateway.
    pub payments: PaymentStatistics,
    /// Background work.
    pub maintenance: MaintenanceStatistics,
    /// Ticket documents. All are 0 without the feature `documents`.
    pub documents: DocumentStatistics,
    /// Mails, by kind and by what became of an attempt to send one. All are 0 without the feature `mail`.
    #[serde(serialize_with = "as_objects")]
    pub mails: Vec<((MailKind, MailOutcome), u64)>,
}

/// Counters of notices of the payment gateway.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PaymentStatistics {
    /// Notices, by outcome.
    #[serde(serialize_with = "as_object")]
    pub notices: Vec<(NoticeOutcome, u64)>,
    /// Reports of payments of another amount, or in another currency, than the order costs.
    pub amounts_mismatched: u64,
}

/// Counters of commits. One commit contains the writes of all callers that wait at the same time.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CommitStatistics {
    /// Commits that succeeded.
    pub done: u64,
    /// Commits that failed, for example because the disk is full or another process locked the file for too long. All
    /// callers with writes in such a commit received an error.
    pub failed: u64,
    /// The number of writes in each successful commit, including those that were refused.
    pub jobs: Distribution,
    /// The duration of each successful commit in seconds, from the beginning of its transaction until it was durable.
    pub seconds: Distribution,
    /// The number of writes that wait now. Those in the current transaction are not included.
    pub jobs_waiting: usize,
}

/// Counters of orders. An order may be counted several times: when it is created, when it expires, and when a late
/// payment completes it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OrderStatistics {
    /// Orders that were created.
    pub created: u64,
    /// Orders that became COMPLETED, including free ones.
    pub completed: u64,
    /// Orders that became CANCELLED for any reason.
    pub cancelled: u64,
    /// Orders whose hold expired. They are counted when that is stored.
    pub expired: u64,
    /// Orders that were refused because of a conflict, by reason. Common reasons are listed even if their counter is 0.
    #[serde(serialize_with = "as_object")]
    pub refused: Vec<(Reason, u64)>,
}

/// Counters of scans at check-in. Check-outs are not included.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ScanStatistics {
    /// Scans that were accepted.
    pub accepted: u64,
    /// Scans of known tickets that were refused, by reason. All possible reasons are listed, even if their counter is
    /// 0.
    #[serde(serialize_with = "as_object")]
    pub refused: Vec<(Reason, u64)>,
    /// Scans of codes that the organization does not have.
    pub unknown: u64,
    /// Admissions with a ticket that was checked in already, which devices without a connection have reported.
    pub admitted_twice: u64,
}

/// Counters of notifications.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WebhookStatistics {
    /// Notifications that were queued, including resends. Each is counted once for each endpoint.
    pub queued: u64,
    /// Attempts to deliver a notification, by outcome. All outcomes are listed, even if their counter is 0.
    #[serde(serialize_with = "as_object")]
    pub attempts: Vec<(WebhookOutcome, u64)>,
    /// The duration of each attempt in seconds, if it tried to connect.
    pub seconds: Distribution,
    /// Notifications that failed permanently after their eighth attempt.
    pub dead: u64,
    /// Throttled endpoints that have notifications due now. All throttled endpoints share half of the sender's
    /// threads. An endpoint is throttled if it has had no attempt, or if its last attempt failed or took more than a
    /// second.
    pub throttled: u64,
}

/// Counters of background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MaintenanceStatistics {
    /// Rows that the maintenance, the webhook sender or the threads of functions skipped, because they cannot be read
    /// or contradict other rows. A row is tried again, and counted again, about every minute.
    pub skipped_rows: u64,
    /// Maintenance runs that expired and deleted nothing because the clock
    /// [jumped ahead](crate::TicketingService::run_maintenance).
    pub held_back: u64,
    /// Backups [of the schedule](crate::TicketingService::start_backups) that were made, and in which the check found
    /// no problem.
    pub backups_made: u64,
    /// Those that failed, or in which the check found a problem.
    pub backups_failed: u64,
}

/// Counters of ticket documents.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DocumentStatistics {
    /// Documents with characters that no font has, so that readers see a replacement character instead. A document is
    /// counted once until something on it changes.
    pub with_missing_glyphs: u64,
    /// Logos and covers at URLs, by outcome. All outcomes are listed, even if their counter is 0.
    #[serde(serialize_with = "as_object")]
    pub logos: Vec<(LogoOutcome, u64)>,
}

/// A distribution of values: a histogram.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Distribution {
    /// The buckets of the histogram: each upper bound, in ascending order, with the number of values up to that bound
    /// and above the previous one. The last bound is infinite, in JSON null.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
}

impl Distribution {
    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, values)| values).sum()
    }
}

/// The backlog in the database, over all organizations and from all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Backlog {
    /// Refunds that the gateway has not yet confirmed.
    pub refunds_due: u64,
    /// Checkouts that the gateway still has to close, because their orders have ended.
    pub checkouts_closing: u64,
    /// Checkouts to be closed or looked up at a gateway that this program does not have. They wait until a program has
    /// the [name](crate::payment::PaymentGateway::name) of that gateway again.
    pub checkouts_without_gateway: u64,
    /// Refunds that are due at a gateway that this program does not have. They wait until a program has it again.
    pub refunds_without_gateway: u64,
    /// Refunds that an organizer has to make manually, at least in part: the gateway refused them permanently, or the
    /// order was paid manually.
    pub refunds_refused: u64,
    /// Disputes that are not decided. An organizer may have to answer the bank.
    pub disputes_open: u64,
    /// Seats reserved by unpaid orders. Expired holds are not included.
    pub reserved_seats: u64,
    /// Notifications that wait for an attempt, including those for disabled endpoints.
    pub webhooks_waiting: u64,
    /// Waiting notifications that are due: their endpoint is enabled, the time of their next attempt has come, and no
    /// attempt is in progress.
    pub webhooks_due: u64,
    /// For how long the oldest due notification has been due; `None` if none is due. It shows how far the sender lags
    /// behind. The delay between two attempts is not included. In JSON it is a number of seconds.
    #[serde(serialize_with = "as_seconds")]
    pub webhook_oldest_due: Option<Duration>,
    /// Mails that wait to be sent.
    pub mails_waiting: u64,
    /// For how long the oldest mail that is due has been due; `None` if none is due. In JSON it is a number of seconds.
    #[serde(serialize_with = "as_seconds")]
    pub mail_oldest_due: Option<Duration>,
    /// The size of SQLite's write-ahead log in bytes. SQLite reuses the log from its beginning, so that it keeps the
    /// largest size that it had.
    pub wal_bytes: u64,
}

/// Serializes counters by name as an object.
fn as_object<K: serde::Serialize, S: serde::Serializer>(
    counters: &[(K, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counters.iter().map(|(name, count)| (name, count)))
}

/// Serializes counters of two names as an object of objects.
fn as_objects<S: serde::Serializer>(
    counters: &[((MailKind, MailOutcome), u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut kinds: BTreeMap<MailKind, BTreeMap<MailOutcome, u64>> = BTreeMap::new();
    for ((kind, outcome), count) in counters {
        kinds.entry(*kind).or_default().insert(*outcome, *count);
    }
    kinds.serialize(serializer)
}

/// Serializes a duration as a number of seconds.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn as_seconds<S: serde::Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(|duration| duration.as_secs_f64()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_can_be_written_as_json() {
        let seconds = Distribution { buckets: vec![(0.5, 2), (f64::INFINITY, 1)], sum: 3.25 };
        let webhooks = WebhookStatistics {
            queued: 4,
            attempts: vec![(WebhookOutcome::Delivered, 2), (WebhookOutcome::TimedOut, 1)],
            seconds,
            dead: 0,
            throttled: 1,
        };
        let expected = json!({
            "queued": 4, "attempts": {"delivered": 2, "timed-out": 1},
            "seconds": {"buckets": [[0.5, 2], [null, 1]], "sum": 3.25}, "dead": 0, "throttled": 1,
        });
        assert_eq!(serde_json::to_value(webhooks).ok(), Some(expected));
        let backlog = Backlog {
            refunds_due: 1,
            checkouts_closing: 7,
            checkouts_without_gateway: 9,
            refunds_without_gateway: 10,
            refunds_refused: 2,
            disputes_open: 8,
            reserved_seats: 3,
            webhooks_waiting: 4,
            webhooks_due: 5,
            webhook_oldest_due: Some(Duration::from_millis(1500)),
            mails_waiting: 11,
            mail_oldest_due: None,
            wal_bytes: 6,
        };
        let expected = json!({
            "refundsDue": 1, "checkoutsClosing": 7, "checkoutsWithoutGateway": 9, "refundsWithoutGateway": 10, "refundsRefused": 2, "disputesOpen": 8, "reservedSeats": 3, "webhooksWaiting": 4, "webhooksDue": 5,
            "webhookOldestDue": 1.5, "mailsWaiting": 11, "mailOldestDue": null, "walBytes": 6,
        });
        assert_eq!(serde_json::to_value(backlog).ok(), Some(expected));
    }
}
