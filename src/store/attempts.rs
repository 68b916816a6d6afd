//! Delivery attempts: claiming the rows of the outbox that are due, and recording the results.
//!
//! A sender claims a row before it makes an attempt, so that no other sender attempts the same row. A claim stores a
//! random token in the row, and a due time at which its lease expires. If the process ends before it records a result,
//! the row is due again at that time. A result counts only if the row still has the token of the claim.

use std::time::Duration;

use super::{CommitEvent, Row, Transaction};
use crate::error::Result;
use crate::model::id::{NotificationId, OrganizationId, OutboxId, WebhookDeliveryId, WebhookId};
use crate::model::secret::Secret;
use crate::model::statistics::WebhookOutcome;
use crate::model::timestamp::Timestamp;
use crate::model::webhook::EventType;
use crate::rules::delivery::{LATEST_DUE, MAX_ATTEMPTS, MAX_INTERRUPTIONS, delay_after};
use crate::text_enum::TextEnum;

/// How long a claim lasts. This is longer than an attempt and the recording of its result can take.
const LEASE: Duration = Duration::from_secs(18);

/// The period after an interruption in which attempts are made again, each at a random time. An attempt that crashes
/// the process interrupts all others that run at the same time. The random times separate it from them.
const INTERRUPTION_SPREAD: Duration = Duration::from_millis(1500);

/// The error message in the history for an attempt that failed because of its interruptions.
const INTERRUPTED_MESSAGE: &str = "the sending process ended during this attempt three times";

const ENABLED_ENDPOINT: &str = "SELECT id, url, secret FROM webhook_endpoints WHERE id = ?1 AND enabled = 1";
const ORGANIZATION: &str = "SELECT id, organization_id FROM webhook_endpoints WHERE id = ?1";
pub(super) const DUE: &str = "SELECT id, event_id, type, body, attempts, cuts, claim FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3";
pub(super) const DUE_TOO_LATE: &str = "SELECT id FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND due_at > ?2 ORDER BY due_at LIMIT ?3";
const MAKE_DUE: &str = "UPDATE webhook_outbox SET due_at = ?2 WHERE id = ?1 AND state = 'WAITING'";
pub(super) const NEXT_DUE: &str = "SELECT endpoint_id, due_at FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' ORDER BY due_at LIMIT 1";
pub(super) const NEXT_ENDPOINT: &str = "SELECT endpoint_id, due_at FROM webhook_outbox
    WHERE state = 'WAITING' AND endpoint_id > ?1 ORDER BY endpoint_id, due_at LIMIT 1";
pub(super) const LAST_ATTEMPT: &str = "SELECT id, success, duration_ms FROM webhook_deliveries
    WHERE endpoint_id = ?1 AND success = ?2 AND type = ?3 ORDER BY id DESC LIMIT 1";
const CLAIM: &str = "UPDATE webhook_outbox SET claim = ?2, due_at = ?3
    WHERE id = ?1 AND state = 'WAITING' AND due_at <= ?4";
const POSTPONE: &str = "UPDATE webhook_outbox SET claim = NULL, due_at = ?2, cuts = cuts + 1
    WHERE id = ?1 AND state = 'WAITING' AND due_at <= ?3";
// The following statements change nothing if the row no longer has the claim's token.
const MARK_DELIVERED: &str = "UPDATE webhook_outbox
    SET state = 'DELIVERED', attempts = attempts + 1, cuts = 0, claim = NULL, finished_at = ?3
    WHERE id = ?1 AND claim = ?2";
const RETRY: &str = "UPDATE webhook_outbox SET attempts = attempts + 1, cuts = 0, claim = NULL, due_at = ?3
    WHERE id = ?1 AND claim = ?2";
const MARK_DEAD: &str = "UPDATE webhook_outbox
    SET state = 'DEAD', attempts = attempts + 1, cuts = 0, claim = NULL, finished_at = ?3
    WHERE id = ?1 AND claim = ?2";
const RELEASE: &str = "UPDATE webhook_outbox SET claim = NULL, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const COUNT_REMOVED: &str = "UPDATE webhook_outbox SET attempts = attempts + 1
    WHERE id = ?1 AND state = 'REMOVED' AND attempts = ?2";
const INSERT_DELIVERY: &str = "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success,
        response_status, response_body, duration_ms, error_message, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO NOTHING";

/// An attempt that this process has claimed.
#[derive(Debug, Clone)]
pub(crate) struct ClaimedAttempt {
    pub(crate) outbox_id: OutboxId,
    pub(crate) endpoint_id: WebhookId,
    /// The token of the claim.
    claim: i64,
    /// The number of the attempt, from 1 to [`MAX_ATTEMPTS`].
    pub(crate) number: i64,
    pub(crate) notification_id: NotificationId,
    pub(crate) event_type: EventType,
    pub(crate) body: String,
    /// The endpoint's URL at the time of the claim.
    pub(crate) url: String,
    /// The endpoint's secret at the time of the claim.
    pub(crate) secret: Secret,
}

/// The result of an attempt.
#[derive(Debug, Clone)]
pub(crate) struct AttemptResult {
    pub(crate) outcome: WebhookOutcome,
    pub(crate) response_status: Option<u16>,
    pub(crate) response_body: Option<String>,
    /// `None` if no connection was tried.
    pub(crate) duration: Option<Duration>,
    /// `None` if and only if the attempt succeeded.
    pub(crate) error: Option<String>,
    pub(crate) finished_at: Timestamp,
}

impl AttemptResult {
    pub(crate) fn is_success(&self) -> bool {
        self.error.is_none()
    }
}

/// Which attempts to claim.
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
    /// Whether more rows may be due now.
    pub(crate) more_due: bool,
    /// When the next row is due, if `more_due` is false and there is one.
    pub(crate) next_due: Option<Timestamp>,
}

/// The organization of an endpoint, and its last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointInfo {
    pub(crate) organization: OrganizationId,
    pub(crate) last_attempt: Option<LastAttempt>,
}

/// The result of the last attempt at an endpoint.
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

/// The URL and secret of an enabled endpoint.
struct Target {
    id: WebhookId,
    url: String,
    secret: String,
}

fn decode_target(row: &Row<'_>) -> Result<Target> {
    Ok(Target { id: row.get("id")?, url: row.get("url")?, secret: row.get("secret")? })
}

/// A row of the outbox that is due.
struct DueRow {
    id: OutboxId,
    notification_id: NotificationId,
    event_type: EventType,
    body: String,
    /// The number of attempts that were completed.
    attempts: i64,
    /// How many times the next attempt was interrupted. Does not count the interruption that `interrupted` reports.
    interruptions: i64,
    /// Whether the row still has the token of a claim. Since the row is due, the lease of that claim has expired: its
    /// attempt was interrupted.
    interrupted: bool,
}

fn decode_due(row: &Row<'_>) -> Result<DueRow> {
    Ok(DueRow {
        id: row.get("id")?,
        notification_id: row.get("event_id")?,
        event_type: row.text_enum("type")?,
        body: row.get("body")?,
        attempts: row.get("attempts")?,
        interruptions: row.get("cuts")?,
        interrupted: !row.is_null("claim")?,
    })
}

/// Claims rows that are due for an endpoint, and handles interrupted attempts: the first two interruptions of an
/// attempt postpone it for a moment, and after the third one it counts as failed.
pub(crate) fn claim(tx: &Transaction<'_>, request: ClaimRequest) -> Result<Claims> {
    let ClaimRequest { endpoint, workers, max_attempts } = request;
    let mut claims = Claims::default();
    // The rows of a disabled endpoint wait until it is enabled. A deleted endpoint has no waiting rows.
    let Some(target) = tx.query_opt(ENABLED_ENDPOINT, &[endpoint.into()], decode_target)? else {
        return Ok(claims);
    };
    let limit = i64::try_from(max_attempts).unwrap_or(i64::MAX);
    for row in due_too_late(tx, endpoint, limit)? {
        tx.execute(MAKE_DUE, &[row.into(), tx.now().into()])?;
    }
    let mut due = tx.query_all(DUE, &[endpoint.into(), tx.now().into(), limit.into()], decode_due)?;
    claims.more_due = due.len() == max_attempts;
    // A row that was interrupted before may be the one that crashes the process. In that case, claim only one row for
    // each worker, because rows that wait for their worker would count as interrupted too.
    let suspect = due.iter().any(|row| row.interrupted || row.interruptions > 0);
    if suspect && due.len() > workers {
        due.truncate(workers);
        claims.more_due = true;
    }
    for row in due {
        claims.attempts.extend(claim_row(tx, &target, row)?);
    }
    if !claims.more_due {
        claims.next_due = next_due(tx, endpoint)?;
    }
    Ok(claims)
}

/// Claims one row. Returns `None` if its attempt was interrupted: it is then postponed, or recorded as failed.
fn claim_row(tx: &Transaction<'_>, target: &Target, row: DueRow) -> Result<Option<ClaimedAttempt>> {
    let now = tx.now();
    let claim = new_claim(tx);
    if row.interrupted && row.interruptions + 1 < MAX_INTERRUPTIONS {
        let retry_at = now.saturating_add(random_part(INTERRUPTION_SPREAD, claim));
        tx.execute(POSTPONE, &[row.id.into(), retry_at.into(), now.into()])?;
        return Ok(None);
    }
    if tx.execute(CLAIM, &[row.id.into(), claim.into(), now.saturating_add(LEASE).into(), now.into()])? == 0 {
        return Ok(None);
    }
    let attempt = ClaimedAttempt {
        outbox_id: row.id,
        endpoint_id: target.id,
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

/// Returns a random token that no other claim of the row has.
fn new_claim(tx: &Transaction<'_>) -> i64 {
    let mut bytes = [0; 8];
    tx.environment().entropy.fill(&mut bytes);
    i64::from_le_bytes(bytes)
}

/// Returns a random part of `duration`, which is derived from the number `random`.
fn random_part(duration: Duration, random: i64) -> Duration {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(random.unsigned_abs() % millis)
}

/// Returns rows whose due time is later than any delay allows: the clock was wrong when it was stored, and was put right.
fn due_too_late(tx: &Transaction<'_>, endpoint: WebhookId, limit: i64) -> Result<Vec<OutboxId>> {
    let latest = tx.now().saturating_add(LATEST_DUE);
    tx.query_all(DUE_TOO_LATE, &[endpoint.into(), latest.into(), limit.into()], |row| row.get("id"))
}

/// Returns when the next waiting row of the endpoint is due.
pub(crate) fn next_due(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Timestamp>> {
    tx.query_opt(NEXT_DUE, &[endpoint.into()], |row| row.get("due_at"))
}

/// Returns the next endpoint that has waiting rows, by ascending id after `after`. It may be disabled.
pub(crate) fn next_endpoint(tx: &Transaction<'_>, after: WebhookId) -> Result<Option<DueEndpoint>> {
    let next = tx.query_opt(NEXT_ENDPOINT, &[after.into()], |row| {
        Ok(DueEndpoint { id: row.get("endpoint_id")?, at: row.get("due_at")? })
    })?;
    let Some(mut next) = next else { return Ok(None) };
    if next.at > tx.now() && !due_too_late(tx, next.id, 1)?.is_empty() {
        next.at = tx.now();
    }
    Ok(Some(next))
}

/// Whether the endpoint is enabled.
pub(crate) fn is_enabled(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<bool> {
    tx.exists(ENABLED_ENDPOINT, &[endpoint.into()])
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

/// Records the result of an attempt in the outbox and in the history. Returns `false`, and records nothing, if the
/// lease expired and the row was claimed again, or if the endpoint was deleted.
pub(crate) fn record(tx: &Transaction<'_>, attempt: &ClaimedAttempt, result: &AttemptResult) -> Result<bool> {
    if !record_in_outbox(tx, attempt, result)? {
        return Ok(false);
    }
    let millis = result.duration.map(|duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX));
    let _: WebhookDeliveryId = tx.insert(
        INSERT_DELIVERY,
        &[
            attempt.endpoint_id.into(),
            attempt.outbox_id.into(),
            attempt.event_type.as_str().into(),
            attempt.number.into(),
            result.is_success().into(),
            result.response_status.map(i64::from).into(),
            result.response_body.as_ref().into(),
            millis.into(),
            result.error.as_ref().into(),
            tx.now().into(),
        ],
    )?;
    tx.record(CommitEvent::Attempt { outcome: result.outcome, duration: result.duration });
    Ok(true)
}

/// Ends the claim of an attempt and sets the next state of its row. Returns `false` if the attempt does not count.
fn record_in_outbox(tx: &Transaction<'_>, attempt: &ClaimedAttempt, result: &AttemptResult) -> Result<bool> {
    let end_claim = |sql, at: Timestamp| -> Result<bool> {
        let binds = [attempt.outbox_id.into(), attempt.claim.into(), at.into()];
        Ok(tx.execute(sql, &binds)? == 1)
    };
    let ended = if result.is_success() {
        end_claim(MARK_DELIVERED, tx.now())?
    } else if let Some(delay) = delay_after(attempt.number) {
        end_claim(RETRY, result.finished_at.saturating_add(delay))?
    } else {
        end_claim(MARK_DEAD, tx.now())?
    };
    if ended {
        if !result.is_success() && attempt.number == MAX_ATTEMPTS {
            tx.record(CommitEvent::NotificationDead);
        }
        return Ok(true);
    }
    // A row that was set to REMOVED during the attempt is not sent again, but the attempt counts.
    let earlier_attempts = attempt.number - 1;
    Ok(tx.execute(COUNT_REMOVED, &[attempt.outbox_id.into(), earlier_attempts.into()])? == 1)
}

/// Releases the claim of an attempt that was not made. The row is due again at once, with the same attempt number.
pub(crate) fn release(tx: &Transaction<'_>, attempt: &ClaimedAttempt) -> Result<()> {
    tx.execute(RELEASE, &[attempt.outbox_id.into(), attempt.claim.into(), tx.now().into()])?;
    Ok(())
}
