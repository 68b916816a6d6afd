//! Delivery attempts: claiming the rows of the outbox that are due, and recording the results.
//!
//! A claim gives one sender the exclusive right to make an attempt. It sets a random token on the row and moves its due
//! time to the end of a lease. If the process ends before it records a result, the row is due again when the lease
//! expires. A result counts only if the row still has the token.

use std::time::Duration;

use super::{CommitEvent, Row, Transaction};
use crate::error::Result;
use crate::model::id::{NotificationId, OrganizationId, OutboxId, WebhookDeliveryId, WebhookId};
use crate::model::secret::Secret;
use crate::model::statistics::WebhookOutcome;
use crate::model::timestamp::Timestamp;
use crate::model::webhook::NotificationType;
use crate::rules::delivery::{MAX_ATTEMPTS, MAX_INTERRUPTIONS, delay_after};
use crate::text_enum::TextEnum;

/// How long a claim lasts: longer than an attempt takes together with the recording of its result.
const LEASE: Duration = Duration::from_secs(18);

/// Interrupted attempts are made again at random times within this period. If one of them crashes the process each
/// time, it does not interrupt the same others with it again.
const INTERRUPTION_SPREAD: Duration = Duration::from_millis(1500);

/// The error message in the history for an attempt that was given up.
const INTERRUPTED_MESSAGE: &str = "the sending process ended during this attempt three times";

const ENABLED_ENDPOINT: &str = "SELECT id, url, secret FROM webhook_endpoints WHERE id = ?1 AND enabled = 1";
const ORGANIZATION: &str = "SELECT id, organization_id FROM webhook_endpoints WHERE id = ?1";
pub(super) const DUE: &str = "SELECT id, event_id, type, body, attempts, cuts, claim FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3";
pub(super) const NEXT_DUE: &str = "SELECT endpoint_id, due_at FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' ORDER BY due_at LIMIT 1";
pub(super) const NEXT_ENDPOINT: &str = "SELECT endpoint_id, due_at FROM webhook_outbox
    WHERE state = 'WAITING' AND endpoint_id > ?1 ORDER BY endpoint_id, due_at LIMIT 1";
pub(super) const LAST_ATTEMPT: &str = "SELECT id, success, duration_ms FROM webhook_deliveries
    WHERE endpoint_id = ?1 ORDER BY id DESC LIMIT 1";
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
    claim: i64,
    /// From 1 to 8.
    pub(crate) number: i64,
    pub(crate) notification_id: NotificationId,
    pub(crate) notification_type: NotificationType,
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

/// The attempts that were claimed at an endpoint, and when to claim again.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) attempts: Vec<ClaimedAttempt>,
    /// Whether more rows may be due now.
    pub(crate) more_due: bool,
    /// If no more rows are due: when the next one is.
    pub(crate) next_due: Option<Timestamp>,
}

/// The organization and the last attempt of an endpoint, for the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndpointInfo {
    pub(crate) organization: OrganizationId,
    pub(crate) last_attempt: Option<LastAttempt>,
}

/// How the last attempt at an endpoint ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastAttempt {
    pub(crate) success: bool,
    /// `None` if no connection was tried.
    pub(crate) duration: Option<Duration>,
}

/// An endpoint with waiting rows.
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

/// A row that is due.
struct DueRow {
    id: OutboxId,
    notification_id: NotificationId,
    notification_type: NotificationType,
    body: String,
    attempts: i64,
    /// How often the next attempt was interrupted before.
    interruptions: i64,
    /// Whether the row still has a claim. As it is due, the lease has expired: the attempt was interrupted.
    interrupted: bool,
}

fn decode_due(row: &Row<'_>) -> Result<DueRow> {
    Ok(DueRow {
        id: row.get("id")?,
        notification_id: row.get("event_id")?,
        notification_type: row.text_enum("type")?,
        body: row.get("body")?,
        attempts: row.get("attempts")?,
        interruptions: row.get("cuts")?,
        interrupted: !row.is_null("claim")?,
    })
}

/// Claims up to `max_attempts` rows that are due for an endpoint, for `workers` workers that make them. An interrupted
/// attempt is postponed for a moment; interrupted for the third time, it counts as failed.
pub(crate) fn claim(tx: &Transaction<'_>, endpoint: WebhookId, workers: usize, max_attempts: usize) -> Result<Claims> {
    let mut claims = Claims::default();
    // The rows of a disabled endpoint wait until it is enabled. A deleted endpoint has none.
    let Some(target) = tx.query_opt(ENABLED_ENDPOINT, &[endpoint.into()], decode_target)? else {
        return Ok(claims);
    };
    let limit = i64::try_from(max_attempts).unwrap_or(i64::MAX);
    let mut due = tx.query_all(DUE, &[endpoint.into(), tx.now().into(), limit.into()], decode_due)?;
    claims.more_due = due.len() == max_attempts;
    // If one of these rows was interrupted before, it may be the one that crashes the process. Then only as many are
    // claimed as start at once: rows that wait in a batch would count as interrupted too.
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

/// Claims one row. Returns `None` if its attempt was interrupted, and is postponed or given up.
fn claim_row(tx: &Transaction<'_>, target: &Target, row: DueRow) -> Result<Option<ClaimedAttempt>> {
    let now = tx.now();
    let claim = new_claim(tx);
    let given_up = row.interrupted && row.interruptions + 1 == MAX_INTERRUPTIONS;
    if row.interrupted && !given_up {
        let retry_at = now.plus(random_part(INTERRUPTION_SPREAD, claim));
        tx.execute(POSTPONE, &[row.id.into(), retry_at.into(), now.into()])?;
        return Ok(None);
    }
    if tx.execute(CLAIM, &[row.id.into(), claim.into(), now.plus(LEASE).into(), now.into()])? == 0 {
        return Ok(None);
    }
    let attempt = ClaimedAttempt {
        outbox_id: row.id,
        endpoint_id: target.id,
        claim,
        number: row.attempts + 1,
        notification_id: row.notification_id,
        notification_type: row.notification_type,
        body: row.body,
        url: target.url.clone(),
        secret: Secret::new(target.secret.clone()),
    };
    if !given_up {
        return Ok(Some(attempt));
    }
    let interrupted = AttemptResult {
        outcome: WebhookOutcome::Interrupted,
        response_status: None,
        response_body: None,
        duration: None,
        error: Some(INTERRUPTED_MESSAGE.to_owned()),
        finished_at: now,
    };
    record(tx, &attempt, &interrupted)?;
    Ok(None)
}

/// Returns a random token that no other claim of the row has.
fn new_claim(tx: &Transaction<'_>) -> i64 {
    let mut bytes = [0; 8];
    tx.environment().entropy.fill(&mut bytes);
    i64::from_le_bytes(bytes)
}

/// Returns a part of `duration` that depends on a random number.
fn random_part(duration: Duration, random: i64) -> Duration {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(random.unsigned_abs() % millis)
}

/// Returns when the endpoint's first waiting row is due.
pub(crate) fn next_due(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Timestamp>> {
    tx.query_opt(NEXT_DUE, &[endpoint.into()], |row| row.get("due_at"))
}

/// Returns the first endpoint after `after` that has waiting rows. It may be disabled.
pub(crate) fn next_endpoint(tx: &Transaction<'_>, after: WebhookId) -> Result<Option<DueEndpoint>> {
    tx.query_opt(NEXT_ENDPOINT, &[after.into()], |row| {
        Ok(DueEndpoint { id: row.get("endpoint_id")?, at: row.get("due_at")? })
    })
}

/// Whether the endpoint is enabled.
pub(crate) fn is_enabled(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<bool> {
    tx.exists(ENABLED_ENDPOINT, &[endpoint.into()])
}

/// Returns the [`EndpointInfo`] of an endpoint; `None` if it was deleted.
pub(crate) fn endpoint_info(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<EndpointInfo>> {
    let Some(organization) = tx.query_opt(ORGANIZATION, &[endpoint.into()], |row| row.get("organization_id"))? else {
        return Ok(None);
    };
    let last_attempt = tx.query_opt(LAST_ATTEMPT, &[endpoint.into()], |row| {
        let millis: Option<i64> = row.get("duration_ms")?;
        let duration = millis.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
        Ok(LastAttempt { success: row.get("success")?, duration })
    })?;
    Ok(Some(EndpointInfo { organization, last_attempt }))
}

/// Records the result of an attempt in the outbox and in the history. Returns whether it counts: it does not if the
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
            attempt.notification_type.as_str().into(),
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

/// Ends the claim of an attempt and sets the next state of its row. Returns whether the attempt counts.
fn record_in_outbox(tx: &Transaction<'_>, attempt: &ClaimedAttempt, result: &AttemptResult) -> Result<bool> {
    let end_claim = |sql, at: Timestamp| -> Result<bool> {
        let binds = [attempt.outbox_id.into(), attempt.claim.into(), at.into()];
        Ok(tx.execute(sql, &binds)? == 1)
    };
    let ended = if result.is_success() {
        end_claim(MARK_DELIVERED, tx.now())?
    } else if let Some(delay) = delay_after(attempt.number) {
        end_claim(RETRY, result.finished_at.plus(delay))?
    } else {
        end_claim(MARK_DEAD, tx.now())?
    };
    if ended {
        if !result.is_success() && attempt.number == MAX_ATTEMPTS {
            tx.record(CommitEvent::NotificationDead);
        }
        return Ok(true);
    }
    // A row that was removed from the outbox during the attempt is not sent again, but this attempt was made.
    let earlier_attempts = attempt.number - 1;
    Ok(tx.execute(COUNT_REMOVED, &[attempt.outbox_id.into(), earlier_attempts.into()])? == 1)
}

/// Releases the claim of an attempt that was not made. The row is due again, with the same attempt number.
pub(crate) fn release(tx: &Transaction<'_>, attempt: &ClaimedAttempt) -> Result<()> {
    tx.execute(RELEASE, &[attempt.outbox_id.into(), attempt.claim.into(), tx.now().into()])?;
    Ok(())
}
