//! The results of delivery attempts: recording them in the outbox and in the history.

use std::time::Duration;

use super::subscribed_endpoints;
use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::operation::statistics::WebhookOutcome;
use crate::model::values::id::{NotificationId, OrganizationId, OutboxId, WebhookDeliveryId, WebhookId};
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;
use crate::rules::delivery::delay_after;
use crate::store::{CommitEvent, Transaction};

// The following statements change nothing if the row no longer has the claim's token.
pub(in crate::store) const FINISH: &str = "UPDATE webhook_outbox
    SET state = ?4, attempts = attempts + 1, cuts = 0, claim = NULL, finished_at = ?3
    WHERE id = ?1 AND claim = ?2";
const RETRY: &str = "UPDATE webhook_outbox SET attempts = attempts + 1, cuts = 0, claim = NULL, due_at = ?3
    WHERE id = ?1 AND claim = ?2";
const RELEASE: &str = "UPDATE webhook_outbox SET claim = NULL, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const COUNT_REMOVED: &str = "UPDATE webhook_outbox SET attempts = attempts + 1
    WHERE id = ?1 AND state || '' = 'REMOVED' AND attempts = ?2";
pub(in crate::store) const INSERT_DELIVERY: &str =
    "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success,
        response_status, response_body, duration_ms, error_message, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO NOTHING";

#[derive(Debug, Clone)]
pub(crate) struct ClaimedAttempt {
    pub(crate) outbox_id: OutboxId,
    pub(crate) endpoint_id: WebhookId,
    pub(crate) organization_id: OrganizationId,
    /// The token of the claim.
    pub(in crate::store) claim: i64,
    /// The number of the attempt, from 1 to [`MAX_ATTEMPTS`](crate::rules::delivery::MAX_ATTEMPTS).
    pub(crate) number: i64,
    pub(crate) notification_id: NotificationId,
    pub(crate) event_type: EventType,
    pub(crate) body: String,
    /// The endpoint's URL at the time of the claim.
    pub(crate) url: String,
    /// The endpoint's secret at the time of the claim.
    pub(crate) secret: Secret,
}

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
    let (row, claim) = (attempt.outbox_id, attempt.claim);
    // Attempts are deleted by the time in their ids. The row must be deleted after them.
    let finish =
        |state: &str| tx.execute_counted(FINISH, &[row.into(), claim.into(), tx.id_time().into(), state.into()]);
    let ended = if result.is_success() {
        finish("DELIVERED")?
    } else if let Some(delay) = delay_after(attempt.number) {
        let due_at = result.finished_at.saturating_add(delay);
        tx.execute_counted(RETRY, &[row.into(), claim.into(), due_at.into()])?
    } else if is_wanted(tx, attempt)? {
        let ended = finish("DEAD")?;
        if ended == 1 {
            tx.record(CommitEvent::NotificationDead);
        }
        ended
    } else {
        finish("REMOVED")?
    };
    if ended == 1 {
        return Ok(true);
    }
    // A row that was set to REMOVED during the attempt is not sent again, but the attempt counts.
    let earlier_attempts = attempt.number - 1;
    Ok(tx.execute_counted(COUNT_REMOVED, &[attempt.outbox_id.into(), earlier_attempts.into()])? == 1)
}

/// Whether the endpoint exists and is subscribed to the type.
fn is_wanted(tx: &Transaction<'_>, attempt: &ClaimedAttempt) -> Result<bool> {
    let types = subscribed_endpoints::types(tx, attempt.endpoint_id)?;
    Ok(types.is_some_and(|types| types.contains(&attempt.event_type)))
}

/// Releases the claim of an attempt that was not made. The row is due again at once, with the same attempt number.
pub(crate) fn release(tx: &Transaction<'_>, attempt: &ClaimedAttempt) -> Result<()> {
    tx.execute(RELEASE, &[attempt.outbox_id.into(), attempt.claim.into(), tx.now().into()])
}
