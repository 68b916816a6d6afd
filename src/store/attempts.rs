//! Attempts to deliver what the outbox holds: who makes which, and what came of it.
//!
//! An attempt is claimed before it is made. The claim sets the row's due date to the end of its lease: where the process
//! ends in between, the row falls due again by itself. A result counts only while the claim is still the row's.

use std::time::Duration;

use super::{CommitEvent, Row, Transaction};
use crate::error::Result;
use crate::model::id::{NotificationId, OrganizationId, OutboxId, WebhookDeliveryId, WebhookId};
use crate::model::secret::Secret;
use crate::model::statistics::WebhookOutcome;
use crate::model::text_enum::TextEnum;
use crate::model::timestamp::Timestamp;
use crate::model::webhook::NotificationType;
use crate::rules::delivery::{ATTEMPTS, CUTS, delay_after};

/// For how long nobody else takes up an attempt: longer than it may take and be recorded.
const LEASE: Duration = Duration::from_secs(18);

/// Within which time what was cut off together is made again, each at a moment of its own: whatever ends its process each
/// time must not take the same others along.
const SPREAD: Duration = Duration::from_millis(1500);

/// What the history says of an attempt that was given up.
const CUT_OFF: &str = "the attempt was cut off three times by the end of the program that made it";

const ENDPOINT: &str = "SELECT id, url, secret FROM webhook_endpoints WHERE id = ?1 AND enabled = 1";
const ORGANIZATION: &str = "SELECT id, organization_id FROM webhook_endpoints WHERE id = ?1";
pub(super) const DUE: &str = "SELECT id, event_id, type, body, attempts, cuts, claim FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3";
pub(super) const NEXT_DUE: &str = "SELECT endpoint_id, due_at FROM webhook_outbox
    WHERE endpoint_id = ?1 AND state = 'WAITING' ORDER BY due_at LIMIT 1";
pub(super) const NEXT_ENDPOINT: &str = "SELECT endpoint_id, due_at FROM webhook_outbox
    WHERE state = 'WAITING' AND endpoint_id > ?1 ORDER BY endpoint_id, due_at LIMIT 1";
pub(super) const LATEST: &str = "SELECT id, success, duration_ms FROM webhook_deliveries
    WHERE endpoint_id = ?1 ORDER BY id DESC LIMIT 1";
const CLAIM: &str = "UPDATE webhook_outbox SET claim = ?2, due_at = ?3
    WHERE id = ?1 AND state = 'WAITING' AND due_at <= ?4";
const POSTPONE: &str = "UPDATE webhook_outbox SET claim = NULL, due_at = ?2, cuts = cuts + 1
    WHERE id = ?1 AND state = 'WAITING' AND due_at <= ?3";
// Each of the following changes nothing where the row is somebody else's by now.
const DELIVERED: &str = "UPDATE webhook_outbox
    SET state = 'DELIVERED', attempts = attempts + 1, cuts = 0, claim = NULL, finished_at = ?3
    WHERE id = ?1 AND claim = ?2";
const AGAIN: &str = "UPDATE webhook_outbox SET attempts = attempts + 1, cuts = 0, claim = NULL, due_at = ?3
    WHERE id = ?1 AND claim = ?2";
const DEAD: &str = "UPDATE webhook_outbox
    SET state = 'DEAD', attempts = attempts + 1, cuts = 0, claim = NULL, finished_at = ?3
    WHERE id = ?1 AND claim = ?2";
const OF_REMOVED: &str = "UPDATE webhook_outbox SET attempts = attempts + 1
    WHERE id = ?1 AND state = 'REMOVED' AND attempts = ?2";
const RELEASE: &str = "UPDATE webhook_outbox SET claim = NULL, due_at = ?3 WHERE id = ?1 AND claim = ?2";
const HISTORY: &str = "INSERT INTO webhook_deliveries (id, endpoint_id, outbox_id, type, attempt, success,
        response_status, response_body, duration_ms, error_message, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// An attempt that is this process's to make.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) outbox: OutboxId,
    pub(crate) endpoint: WebhookId,
    claim: i64,
    /// From 1 to 8.
    pub(crate) number: i64,
    pub(crate) notification: NotificationId,
    pub(crate) notification_type: NotificationType,
    pub(crate) body: String,
    /// Those of the moment of the claim.
    pub(crate) url: String,
    pub(crate) secret: Secret,
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) outcome: WebhookOutcome,
    pub(crate) status: Option<u16>,
    pub(crate) answer: Option<String>,
    /// `None` where no connection was tried.
    pub(crate) took: Option<Duration>,
    /// `None` exactly where it succeeded.
    pub(crate) problem: Option<String>,
    pub(crate) at: Timestamp,
}

/// What a claim came to.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    pub(crate) attempts: Vec<Attempt>,
    /// Whether there may be more that is due now.
    pub(crate) more: bool,
    /// Where there is not: when the endpoint has something next.
    pub(crate) next_due: Option<Timestamp>,
}

/// What the sender has to know of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) organization: OrganizationId,
    /// Where there was an attempt.
    pub(crate) latest: Option<Latest>,
}

/// How the latest attempt at an endpoint ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latest {
    pub(crate) success: bool,
    pub(crate) took: Option<Duration>,
}

/// A row that is due, as it stands.
struct DueRow {
    id: OutboxId,
    notification: NotificationId,
    notification_type: NotificationType,
    body: String,
    attempts: i64,
    cuts: i64,
    /// Whether an attempt was begun and never ended.
    cut_off: bool,
}

fn decode_due(row: &Row<'_>) -> Result<DueRow> {
    Ok(DueRow {
        id: row.get("id")?,
        notification: row.get("event_id")?,
        notification_type: row.text_enum("type")?,
        body: row.get("body")?,
        attempts: row.get("attempts")?,
        cuts: row.get("cuts")?,
        cut_off: !row.is_null("claim")?,
    })
}

/// Takes up to `most` attempts at what is due for an endpoint, which `workers` workers make. What was cut off falls due
/// again in a moment; for the third time, it counts as failed.
pub(crate) fn claim(tx: &Transaction<'_>, endpoint: WebhookId, workers: usize, most: usize) -> Result<Claimed> {
    let (now, mut claimed) = (tx.now(), Claimed::default());
    let target = tx
        .query_opt(ENDPOINT, &[endpoint.into()], |row| Ok((row.get::<String>("url")?, row.get::<String>("secret")?)))?;
    // It is gone or disabled: what it has waits, or is gone too.
    let Some((url, secret)) = target else { return Ok(claimed) };
    let wanted = i64::try_from(most).unwrap_or(i64::MAX);
    let mut due = tx.query_all(DUE, &[endpoint.into(), now.into(), wanted.into()], decode_due)?;
    claimed.more = due.len() == most;
    // Where something here may be what ends the process, nothing is claimed that is not begun at once: it would count as
    // cut off too.
    if due.len() > workers && due.iter().any(|row| row.cut_off || row.cuts > 0) {
        due.truncate(workers);
        claimed.more = true;
    }
    for row in due {
        let claim = draw_claim(tx);
        let given_up = row.cut_off && row.cuts + 1 == CUTS;
        if row.cut_off && !given_up {
            tx.execute(POSTPONE, &[row.id.into(), now.plus(part_of(SPREAD, claim)).into(), now.into()])?;
            continue;
        }
        if tx.execute(CLAIM, &[row.id.into(), claim.into(), now.plus(LEASE).into(), now.into()])? == 0 {
            continue;
        }
        let attempt = Attempt {
            outbox: row.id,
            endpoint,
            claim,
            number: row.attempts + 1,
            notification: row.notification,
            notification_type: row.notification_type,
            body: row.body,
            url: url.clone(),
            secret: Secret::new(secret.clone()),
        };
        if given_up {
            let problem = Some(CUT_OFF.to_owned());
            let outcome = WebhookOutcome::CutOff;
            record(tx, &attempt, &Ended { outcome, status: None, answer: None, took: None, problem, at: now })?;
        } else {
            claimed.attempts.push(attempt);
        }
    }
    if !claimed.more {
        claimed.next_due = next_due(tx, endpoint)?;
    }
    Ok(claimed)
}

/// A mark that no other claim of the row has.
fn draw_claim(tx: &Transaction<'_>) -> i64 {
    let mut bytes = [0; 8];
    tx.environment().entropy.fill(&mut bytes);
    i64::from_le_bytes(bytes)
}

/// A part of this time, as `chance` has it.
fn part_of(time: Duration, chance: i64) -> Duration {
    Duration::from_millis(chance.unsigned_abs() % u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// When the endpoint has something next.
pub(crate) fn next_due(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Timestamp>> {
    tx.query_opt(NEXT_DUE, &[endpoint.into()], |row| row.get("due_at"))
}

/// The first endpoint after `after` for which something waits, and when it is due. It may be disabled or gone.
pub(crate) fn next_endpoint(tx: &Transaction<'_>, after: WebhookId) -> Result<Option<(WebhookId, Timestamp)>> {
    tx.query_opt(NEXT_ENDPOINT, &[after.into()], |row| Ok((row.get("endpoint_id")?, row.get("due_at")?)))
}

/// Whether anything is sent to the endpoint.
pub(crate) fn is_open(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<bool> {
    tx.exists(ENDPOINT, &[endpoint.into()])
}

/// What there is to know of an endpoint; `None` where it is gone.
pub(crate) fn known(tx: &Transaction<'_>, endpoint: WebhookId) -> Result<Option<Known>> {
    let Some(organization) = tx.query_opt(ORGANIZATION, &[endpoint.into()], |row| row.get("organization_id"))? else {
        return Ok(None);
    };
    let latest = tx.query_opt(LATEST, &[endpoint.into()], |row| {
        let millis: Option<i64> = row.get("duration_ms")?;
        let took = millis.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
        Ok(Latest { success: row.get("success")?, took })
    })?;
    Ok(Some(Known { organization, latest }))
}

/// Writes down what came of an attempt, and what follows. Says whether it counted: where the attempt was taken up by
/// somebody else meanwhile, or its endpoint is gone, it does not.
pub(crate) fn record(tx: &Transaction<'_>, attempt: &Attempt, ended: &Ended) -> Result<bool> {
    let success = ended.problem.is_none();
    let retry_at = delay_after(attempt.number).map(|delay| ended.at.plus(delay));
    let (sql, at) = match retry_at {
        _ if success => (DELIVERED, tx.now()),
        Some(retry_at) => (AGAIN, retry_at),
        None => (DEAD, tx.now()),
    };
    if tx.execute(sql, &[attempt.outbox.into(), attempt.claim.into(), at.into()])? == 1 {
        if !success && attempt.number == ATTEMPTS {
            tx.record(CommitEvent::NotificationDead);
        }
    // What was taken out of the outbox while it was sent is not sent again, but it was sent.
    } else if tx.execute(OF_REMOVED, &[attempt.outbox.into(), (attempt.number - 1).into()])? == 0 {
        return Ok(false);
    }
    let millis = ended.took.map(|took| i64::try_from(took.as_millis()).unwrap_or(i64::MAX));
    let _: WebhookDeliveryId = tx.insert(
        HISTORY,
        &[
            attempt.endpoint.into(),
            attempt.outbox.into(),
            attempt.notification_type.as_str().into(),
            attempt.number.into(),
            success.into(),
            ended.status.map(i64::from).into(),
            ended.answer.as_ref().into(),
            millis.into(),
            ended.problem.as_ref().into(),
            tx.now().into(),
        ],
    )?;
    tx.record(CommitEvent::Attempt(ended.outcome, ended.took));
    Ok(true)
}

/// Gives an attempt back that was not made: it is due again, under the same number.
pub(crate) fn release(tx: &Transaction<'_>, attempt: &Attempt) -> Result<()> {
    tx.execute(RELEASE, &[attempt.outbox.into(), attempt.claim.into(), tx.now().into()]).map(drop)
}
