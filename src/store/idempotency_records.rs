//! Idempotency keys and the outcomes of their requests.

use std::time::Duration;

use super::Transaction;
use crate::error::{Error, Result};
use crate::model::id::{OrderId, OrganizationId};
use crate::model::idempotency::IdempotencyKey;
use crate::model::timestamp::Timestamp;

/// How long a key is kept.
const KEPT: Duration = Duration::from_hours(24);

/// How many old records one transaction deletes. Other writers wait for as long as this takes.
const BATCH: i64 = 1000;

const FIND: &str =
    "SELECT organization_id, CASE WHEN fingerprint = ?4 THEN 1 ELSE 0 END AS is_same_request, answer, order_id
    FROM idempotency_records
    WHERE organization_id = ?1 AND key = ?2 AND created_at > ?3";
// An expired record is replaced.
const INSERT: &str = "INSERT INTO idempotency_records (organization_id, key, fingerprint, answer, order_id, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (organization_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, answer = excluded.answer,
        order_id = excluded.order_id, created_at = excluded.created_at
    WHERE idempotency_records.created_at <= ?7
        OR idempotency_records.answer IS NULL AND idempotency_records.fingerprint = excluded.fingerprint";
const FORGET: &str =
    "DELETE FROM idempotency_records WHERE organization_id = ?1 AND key = ?2 AND order_id = ?3 AND answer IS NULL";
pub(super) const OLD: &str =
    "SELECT organization_id, key FROM idempotency_records WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2";
const DELETE_OLD: &str = "DELETE FROM idempotency_records WHERE organization_id = ?1 AND key = ?2 AND created_at <= ?3";

/// A request with an idempotency key.
#[derive(Debug, Clone)]
pub(crate) struct IdempotentRequest {
    pub(crate) organization: OrganizationId,
    pub(crate) key: IdempotencyKey,
    pub(crate) fingerprint: [u8; 32],
}

/// The outcome that is stored with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredOutcome {
    /// The result, as JSON.
    Result(String),
    /// The order that was created, but has no checkout link yet.
    PendingOrder(OrderId),
}

/// Returns the latest `created_at` of a record that has expired.
fn too_old(now: Timestamp) -> i64 {
    now.millis() - i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the stored outcome of the request. Fails with [`Error::IdempotencyKeyReused`] if the key was used for
/// another request.
pub(crate) fn find(tx: &Transaction<'_>, request: &IdempotentRequest) -> Result<Option<StoredOutcome>> {
    let binds = [
        request.organization.into(),
        request.key.as_str().into(),
        too_old(tx.now()).into(),
        request.fingerprint.as_slice().into(),
    ];
    tx.query_opt(FIND, &binds, |row| {
        let is_same_request: bool = row.get("is_same_request")?;
        if !is_same_request {
            return Err(Error::IdempotencyKeyReused);
        }
        match (row.get("answer")?, row.get("order_id")?) {
            (Some(result), _) => Ok(StoredOutcome::Result(result)),
            (None, Some(order)) => Ok(StoredOutcome::PendingOrder(order)),
            (None, None) => Err(row.corrupt("answer", "is missing")),
        }
    })
}

/// Stores the outcome of a request. A result replaces the pending order of the same request. Fails with
/// [`Error::IdempotencyInProgress`] if another process has stored an outcome since.
pub(crate) fn store(tx: &Transaction<'_>, request: &IdempotentRequest, outcome: &StoredOutcome) -> Result<()> {
    let (result, order) = match outcome {
        StoredOutcome::Result(result) => (Some(result), None),
        StoredOutcome::PendingOrder(order) => (None, Some(*order)),
    };
    let binds = [
        request.organization.into(),
        request.key.as_str().into(),
        request.fingerprint.as_slice().into(),
        result.into(),
        order.into(),
        tx.now().into(),
        too_old(tx.now()).into(),
    ];
    match tx.execute(INSERT, &binds)? {
        0 => Err(Error::IdempotencyInProgress),
        _ => Ok(()),
    }
}

/// Deletes the key if it is stored with this pending order, so that the next request with it is a new one.
pub(crate) fn forget_pending_order(tx: &Transaction<'_>, request: &IdempotentRequest, order: OrderId) -> Result<()> {
    let binds = [request.organization.into(), request.key.as_str().into(), order.into()];
    tx.execute(FORGET, &binds).map(drop)
}

/// Whether there is an expired record.
pub(crate) fn any_old(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(OLD, &[too_old(tx.now()).into(), 1.into()])
}

/// Deletes a batch of the oldest expired records. Returns how many were deleted.
pub(crate) fn delete_old(tx: &Transaction<'_>) -> Result<usize> {
    let limit = too_old(tx.now());
    let old: Vec<(OrganizationId, String)> =
        tx.query_all(OLD, &[limit.into(), BATCH.into()], |row| Ok((row.get("organization_id")?, row.get("key")?)))?;
    old.into_iter().try_fold(0, |deleted, (organization, key)| {
        Ok(deleted + tx.execute(DELETE_OLD, &[organization.into(), key.as_str().into(), limit.into()])?)
    })
}
