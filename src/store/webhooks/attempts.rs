//! Delivery attempts: claiming the rows of the outbox that are due.
//!
//! A sender claims a row before it makes an attempt, so that no other sender attempts the same row. A claim stores a
//! random token in the row, and a due time at which its lease expires. If the process ends before it records a result,
//! the row is due again at that time. A result counts only if the row still has the token of the claim.

use std::time::Duration;

use super::attempt_results::{AttemptResult, ClaimedAttempt, record};
use crate::error::{Error, Result};
use crate::model::notifications::notification_types::EventType;
use crate::model::operation::statistics::WebhookOutcome;
use crate::model::values::id::{NotificationId, OrganizationId, OutboxId, WebhookDeliveryId, WebhookId};
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;
use crate::rules::delivery::{LATEST_DUE, MAX_INTERRUPTIONS};
use crate::store::columns::row_struct;
use crate::store::{Bind, Query, RowLock, Transaction};

/// How long a claim lasts. This is longer than an attempt and the recording of its result can take.
const LEASE: Duration = Duration::from_secs(18);

/// The milliseconds after an interruption in which attempts are made again, each at a random time. An attempt that
/// crashes the process interrupts all others that run at the same time. The random times separate it from them.
const INTERRUPTION_SPREAD: u64 = 1500;

/// How long a row is skipped that cannot be read.
const DAMAGED_PAUSE: Duration = Duration::from_mins(1);

/// How many rows of an endpoint are claimed at most while others wait for the transaction.
const MAX_FOR_OTHERS: usize = 16;

/// The error message in the history for an attempt that failed because of its interruptions.
const INTERRUPTED_MESSAGE: &str = "the sending process ended during this attempt three times";

const ENABLED_ENDPOINT: &str =
    "SELECT id, organization_id, url, secret, events FROM webhook_endpoints WHERE id = ?1 AND enabled = 1";
const ORGANIZATION: &str = "SELECT id, organization_id FROM webhook_endpoints WHERE id = ?1";
pub(in crate::store) const DUE: &str = "SELECT id, event_id, type, attempts, cuts, claim, due_at,
        (SELECT n.body FROM webhook_notifications n WHERE n.id = event_id) AS body
    FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND type = ?2 AND due_at <= ?3
    ORDER BY due_at, id LIMIT ?4";
pub(in crate::store) const DUE_TOO_LATE: &str = "SELECT id FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND type = ?2 AND due_at > ?3
    ORDER BY due_at LIMIT ?4";
const SET_DUE: &str = "UPDATE webhook_outbox SET due_at = ?2 WHERE id = ?1 AND state || '' = 'WAITING'";
pub(in crate::store) const NEXT_DUE: &str = "SELECT due_at FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND type = ?2 ORDER BY due_at LIMIT 1";
pub(in crate::store) const NEXT_ENDPOINT: &str = "SELECT endpoint_id FROM webhook_outbox
    WHERE state = 'WAITING' AND endpoint_id > ?1 ORDER BY endpoint_id LIMIT 1";
pub(in crate::store) const LAST_ATTEMPT: &str = "SELECT id, success, duration_ms FROM webhook_deliveries
    WHERE endpoint_id = ?1 AND success = ?2 AND type = ?3 ORDER BY id DESC LIMIT 1";
pub(in crate::store) const CLAIM: &str = "UPDATE webhook_outbox SET claim = ?2, due_at = ?3
    WHERE id = ?1 AND state || '' = 'WAITING' AND due_at <= ?4";
const POSTPONE: &str = "UPDATE webhook_outbox SET claim = NULL, due_at = ?2, cuts = cuts + 1
    WHERE id = ?1 AND state || '' = 'WAITING' AND due_at <= ?3";

#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimRequest {
    pub(crate) endpoint: WebhookId,
    /// How many workers will make the attempts at the same time.
    pub(crate) workers: usize,
    pub(crate) max_attempts: usize,
}

/// The attempts that were claimed for an endpoint, and when to claim again.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) attempts: Vec<ClaimedAttempt>,
    /// Rows that cannot be read. They are skipped for a minute.
    pub(crate) damaged: Vec<DamagedRow>,
    /// Whether more rows may be due now.
    pub(crate) more_due: bool,
    /// When the next row is due, if `more_due` is false and there is one.
    pub(crate) next_due: Option<Timestamp>,
}

/// A row of the outbox that cannot be read.
#[derive(Debug)]
pub(crate) struct DamagedRow {
    pub(crate) id: OutboxId,
    pub(crate) error: Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointInfo {
    pub(crate) organization: OrganizationId,
    pub(crate) last_attempt: Option<LastAttempt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastAttempt {
    pub(crate) success: bool,
    /// `None` if no connection was tried.
    pub(crate) duration: Option<Duration>,
}

/// An endpoint with waiting rows in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueEndpoint {
    pub(crate) id: WebhookId,
    /// When its first row is due.
    pub(crate) at: Timestamp,
}

struct Target {
    id: WebhookId,
    organization: OrganizationId,
    url: String,
    secret: String,
    queues: Vec<Queue>,
}

/// The rows of an endpoint that have a type to which it is subscribed.
#[derive(Debug, Clone, Copy)]
struct Queue {
    endpoint: WebhookId,
    event_type: EventType,
}

impl Queue {
    /// The parameters `?1` and `?2` of statements about a queue, and two others.
    fn binds(self, due_at: Timestamp, limit: usize) -> [Bind<'static>; 4] {
        [self.endpoint.into(), self.event_type.as_str().into(), due_at.into(), limit.into()]
    }
}

/// Returns an endpoint; `None` if it is disabled or deleted.
fn target(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Target>> {
    tx.query_opt(ENABLED_ENDPOINT, &[endpoint.into()], |row| {
        let types: Vec<EventType> = row.json("events")?;
        let queue = |event_type| Queue { endpoint, event_type };
        let queues = types.into_iter().map(queue).collect();
        Ok(Target {
            id: row.get("id")?,
            organization: row.get("organization_id")?,
            url: row.get("url")?,
            secret: row.get("secret")?,
            queues,
        })
    })
}

row_struct! {
    struct DueRow(row) {
        id: OutboxId,
        notification_id: NotificationId => event_id,
        event_type: EventType => type,
        /// The number of attempts that were completed.
        attempts: i64,
        /// How many times the next attempt was interrupted. Does not count the interruption that `interrupted` reports.
        interruptions: i64 => cuts,
        /// Whether the row still has the token of a claim. Since the row is due, the lease of that claim has expired: its
        /// attempt was interrupted.
        interrupted: bool = !row.is_null("claim")?,
        /// In milliseconds. It may be no time that a [`Timestamp`] can represent.
        due_at: i64,
        body: String,
    }
}

/// Claims rows that are due for an endpoint, and handles interrupted attempts: the first two interruptions of an
/// attempt postpone it for a moment, and after the third one it counts as failed. Claims fewer if others wait.
pub(crate) fn claim(tx: &Transaction<'_>, request: ClaimRequest) -> Result<Claims> {
    let ClaimRequest { endpoint, workers, max_attempts } = request;
    let mut claims = Claims::default();
    // The rows of a disabled endpoint wait until it is enabled. Those of a deleted one are being removed.
    let Some(target) = target(tx, endpoint)? else { return Ok(claims) };
    let max_attempts = if tx.others_wait() { max_attempts.min(MAX_FOR_OTHERS) } else { max_attempts };
    let mut due = due_rows(tx, &target.queues, max_attempts, &mut claims.damaged)?;
    claims.more_due = due.len() + claims.damaged.len() >= max_attempts;
    for row in &claims.damaged {
        tx.execute(SET_DUE, &[row.id.into(), tx.now().saturating_add(DAMAGED_PAUSE).into()])?;
    }
    due.truncate(max_attempts);
    // A row that was interrupted before may be the one that crashes the process. In that case, claim only one row for
    // each worker, because rows that wait for their worker would count as interrupted too.
    let suspect = due.iter().any(|row| row.interrupted || row.interruptions > 0);
    if suspect && due.len() > workers {
        due.truncate(workers);
        claims.more_due = true;
    }
    for row in due {
        if tx.should_end() && !claims.attempts.is_empty() {
            claims.more_due = true;
            break;
        }
        claims.attempts.extend(claim_row(tx, &target, row)?);
    }
    if !claims.more_due {
        claims.next_due = next_due(tx, &target.queues)?;
    }
    Ok(claims)
}

/// Returns rows that are due, those first that have been due for the longest time: up to `max` of each queue, with those
/// that are `damaged`.
fn due_rows(tx: &Transaction<'_>, queues: &[Queue], max: usize, damaged: &mut Vec<DamagedRow>) -> Result<Vec<DueRow>> {
    let mut due: Vec<DueRow> = Vec::new();
    for queue in queues {
        for row in due_too_late(tx, *queue, max)? {
            tx.execute(SET_DUE, &[row.into(), tx.now().into()])?;
        }
        tx.query_each(Query::locking(RowLock::UpdateUnlocked, DUE), &queue.binds(tx.now(), max), |row| {
            match DueRow::read(row) {
                Ok(row) => due.push(row),
                Err(error) if error.concerns_all_rows() => return Err(error),
                Err(error) => damaged.push(DamagedRow { id: row.get("id")?, error }),
            }
            Ok(())
        })?;
    }
    due.sort_by_key(|row| (row.due_at, row.id));
    Ok(due)
}

/// Claims one row. Returns `None` if its attempt was interrupted: it is then postponed, or recorded as failed.
fn claim_row(tx: &Transaction<'_>, target: &Target, row: DueRow) -> Result<Option<ClaimedAttempt>> {
    let now = tx.now();
    // No other claim of the row has this token.
    let claim = i64::from_le_bytes(tx.environment().random());
    if row.interrupted && row.interruptions + 1 < MAX_INTERRUPTIONS {
        let retry_at = now.saturating_add(Duration::from_millis(claim.unsigned_abs() % INTERRUPTION_SPREAD));
        tx.execute(POSTPONE, &[row.id.into(), retry_at.into(), now.into()])?;
        return Ok(None);
    }
    if tx.execute_counted(CLAIM, &[row.id.into(), claim.into(), now.saturating_add(LEASE).into(), now.into()])? == 0 {
        return Ok(None);
    }
    let attempt = ClaimedAttempt {
        outbox_id: row.id,
        endpoint_id: target.id,
        organization_id: target.organization,
        claim,
        number: row.attempts + 1,
        notification_id: row.notification_id,
        event_type: row.event_type,
        body: row.body,
        url: target.url.clone(),
        secret: Secret::new(target.secret.clone()),
    };
    if !row.interrupted {
        return Ok(Some(attempt));
    }
    let failed = AttemptResult {
        outcome: WebhookOutcome::Interrupted,
        response_status: None,
        response_body: None,
        duration: None,
        error: Some(INTERRUPTED_MESSAGE.to_owned()),
        finished_at: now,
    };
    record(tx, &attempt, &failed)?;
    Ok(None)
}

/// Returns rows whose due time is later than any delay allows: the clock was wrong when it was stored, and was put
/// right.
fn due_too_late(tx: &Transaction<'_>, queue: Queue, limit: usize) -> Result<Vec<OutboxId>> {
    let latest = tx.now().saturating_add(LATEST_DUE);
    tx.query_all(DUE_TOO_LATE, &queue.binds(latest, limit), |row| row.get("id"))
}

/// Returns when the next row of these queues is due. A time that a [`Timestamp`] cannot represent counts as the nearest
/// one that it can.
fn next_due(tx: &Transaction<'_>, queues: &[Queue]) -> Result<Option<Timestamp>> {
    let mut next = None;
    for queue in queues {
        let binds = &queue.binds(tx.now(), 1)[..2];
        let due_at: Option<i64> = tx.query_opt(NEXT_DUE, binds, |row| row.get("due_at"))?;
        next = next.into_iter().chain(due_at).min();
    }
    let (earliest, latest) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
    Ok(next.map(|at| Timestamp::from_millis(at).unwrap_or(if at < earliest.millis() { earliest } else { latest })))
}

/// Returns the next endpoint that has waiting rows, by ascending id after `after`. It may be disabled or deleted.
pub(crate) fn next_endpoint(tx: &Transaction<'_>, after: WebhookId) -> Result<Option<WebhookId>> {
    tx.query_opt(NEXT_ENDPOINT, &[after.into()], |row| row.get("endpoint_id"))
}

/// Returns when the first row of an endpoint is due; `None` if it has none, or is disabled or deleted. An endpoint that
/// cannot be read is due now: its claim fails and reports it.
pub(crate) fn first_due(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Timestamp>> {
    let target = match target(tx, endpoint) {
        Ok(Some(target)) => target,
        Ok(None) => return Ok(None),
        Err(error) if error.concerns_all_rows() => return Err(error),
        Err(_) => return Ok(Some(tx.now())),
    };
    let first = next_due(tx, &target.queues)?;
    if first.is_some_and(|at| at > tx.now()) {
        for queue in target.queues {
            if !due_too_late(tx, queue, 1)?.is_empty() {
                return Ok(Some(tx.now()));
            }
        }
    }
    Ok(first)
}

/// Returns the organization and the last attempt of an endpoint; `None` if the endpoint was deleted.
pub(crate) fn endpoint_info(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<EndpointInfo>> {
    let Some(organization) = tx.query_opt(ORGANIZATION, &[endpoint.into()], |row| row.get("organization_id"))? else {
        return Ok(None);
    };
    Ok(Some(EndpointInfo { organization, last_attempt: last_attempt(tx, endpoint)? }))
}

/// Returns the last attempt of an endpoint. The index of its attempts is in order for each result and type.
fn last_attempt(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<LastAttempt>> {
    let mut last: Option<(WebhookDeliveryId, LastAttempt)> = None;
    for success in [true, false] {
        for notification_type in EventType::ALL {
            let binds = [endpoint.into(), success.into(), notification_type.as_str().into()];
            let found = tx.query_opt(LAST_ATTEMPT, &binds, |row| {
                let millis: Option<i64> = row.get("duration_ms")?;
                let duration = millis.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
                Ok((row.get("id")?, LastAttempt { success: row.get("success")?, duration }))
            })?;
            if found.as_ref().map(|(id, _)| *id) > last.as_ref().map(|(id, _)| *id) {
                last = found;
            }
        }
    }
    Ok(last.map(|(_, attempt)| attempt))
}
