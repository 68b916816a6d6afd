//! Idempotency records: the keys of idempotent requests, and the outcomes of these requests.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::tenants::idempotency::IdempotencyKey;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::store::{Lock, Transaction};

/// How long a record is kept. It then expires: its key can be used for another request.
const RETENTION: Duration = Duration::from_hours(24);

/// How many expired records one transaction deletes. Other writers wait until it has ended: an answer with many tickets
/// has 55 kB.
const BATCH: i64 = 200;

// A record whose sender is not known (-1) is that of every caller of the organization, until its own one replaces it.
pub(in crate::store) const FIND: &str =
    "SELECT organization_id, CASE WHEN fingerprint = ?5 THEN 1 ELSE 0 END AS is_same_request, answer, order_id
    FROM idempotency_records
    WHERE organization_id = ?1 AND key = ?2 AND sender IN (?3, -1) AND created_at > ?4 ORDER BY sender DESC LIMIT 1";
#[cfg(feature = "event-pages")]
pub(in crate::store) const OF_PROGRAM: &str = "SELECT answer, order_id FROM idempotency_records
    WHERE organization_id = ?1 AND key = ?2 AND sender = 0 AND created_at > ?3";
// The stored record is replaced if it has expired, or if it is the pending order of the same request.
const INSERT: &str =
    "INSERT INTO idempotency_records (organization_id, key, sender, fingerprint, answer, order_id, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (organization_id, key, sender) DO UPDATE SET fingerprint = excluded.fingerprint,
        answer = excluded.answer, order_id = excluded.order_id, created_at = excluded.created_at
    WHERE idempotency_records.created_at <= ?8
        OR idempotency_records.answer IS NULL AND idempotency_records.fingerprint = excluded.fingerprint";
pub(in crate::store) const DELETE_PENDING_ORDER: &str = "DELETE FROM idempotency_records
    WHERE organization_id = ?1 AND key = ?2 AND sender IN (?3, -1) AND order_id = ?4 AND answer IS NULL";
const ANY_EXPIRED: &str = "SELECT 1 FROM idempotency_records WHERE created_at <= ?1 LIMIT 1";
pub(in crate::store) const DELETE_EXPIRED: &str =
    "DELETE FROM idempotency_records WHERE created_at <= ?1 AND (organization_id, key, sender) IN
        (SELECT organization_id, key, sender FROM idempotency_records WHERE created_at <= ?1
            ORDER BY created_at LIMIT ?2)";

#[derive(Debug, Clone)]
pub(crate) struct IdempotentRequest {
    pub(crate) organization: OrganizationId,
    /// The raw id of the caller's API key, or 0 for a call of the program. Each has idempotency keys of its own.
    pub(crate) sender: i64,
    pub(crate) key: IdempotencyKey,
    /// A hash of the request. A retry has the same.
    pub(crate) fingerprint: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredOutcome {
    /// The result, as JSON.
    Result(String),
    /// The order that was created, but has no checkout link yet.
    PendingOrder(OrderId),
}

/// Returns the latest `created_at`, in milliseconds, of a record that has expired at the time `now`.
fn latest_expired(now: Timestamp) -> i64 {
    now.millis() - i64::try_from(RETENTION.as_millis()).unwrap_or(i64::MAX)
}

/// Lets other transactions wait that execute a request with the same key.
pub(crate) fn lock(tx: &Transaction<'_>, request: &IdempotentRequest) -> Result<()> {
    tx.lock(Lock::IdempotencyKey(request.organization, request.sender, request.key.as_str()))
}

/// Returns the stored outcome of the request. Fails with [`Error::IdempotencyKeyReused`] if the key was used for
/// another request.
pub(crate) fn find(tx: &Transaction<'_>, request: &IdempotentRequest) -> Result<Option<StoredOutcome>> {
    let binds = [
        request.organization.into(),
        request.key.as_str().into(),
        request.sender.into(),
        latest_expired(tx.now()).into(),
        request.fingerprint.as_slice().into(),
    ];
    tx.query_opt(FIND, &binds, |row| {
        let is_same_request: bool = row.get("is_same_request")?;
        if !is_same_request {
            return Err(Error::IdempotencyKeyReused);
        }
        if let Some(result) = row.get("answer")? {
            return Ok(StoredOutcome::Result(result));
        }
        let order: Option<OrderId> = row.get("order_id")?;
        order.map(StoredOutcome::PendingOrder).ok_or_else(|| row.corrupt("answer", "is missing"))
    })
}

/// Returns the order that the program has created with a key.
#[cfg(feature = "event-pages")]
pub(crate) fn order_of_program(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    key: &str,
) -> Result<Option<OrderId>> {
    /// The part of a stored result that names the order.
    #[derive(serde::Deserialize)]
    struct Created {
        order: CreatedOrder,
    }
    #[derive(serde::Deserialize)]
    struct CreatedOrder {
        id: OrderId,
    }
    let binds = [organization.into(), key.into(), latest_expired(tx.now()).into()];
    let found = tx.query_opt(OF_PROGRAM, &binds, |row| match row.is_null("answer")? {
        true => row.get("order_id"),
        false => row.json("answer").map(|created: Created| Some(created.order.id)),
    })?;
    Ok(found.flatten())
}

/// Stores the outcome of a request. A result replaces the pending order of the same request. Fails with
/// [`Error::IdempotencyInProgress`] if another process has stored an outcome with the key since [`find`].
pub(crate) fn store(tx: &Transaction<'_>, request: &IdempotentRequest, outcome: &StoredOutcome) -> Result<()> {
    let (result, order) = match outcome {
        StoredOutcome::Result(result) => (Some(result), None),
        StoredOutcome::PendingOrder(order) => (None, Some(*order)),
    };
    let binds = [
        request.organization.into(),
        request.key.as_str().into(),
        request.sender.into(),
        request.fingerprint.as_slice().into(),
        result.into(),
        order.into(),
        tx.now().into(),
        latest_expired(tx.now()).into(),
    ];
    match tx.execute_counted(INSERT, &binds)? {
        0 => Err(Error::IdempotencyInProgress { retry_after: Duration::from_secs(1) }),
        _ => Ok(()),
    }
}

/// Deletes the record of a request if its outcome is this pending order. The next request with the key is a new one.
pub(crate) fn delete_pending_order(tx: &Transaction<'_>, request: &IdempotentRequest, order: OrderId) -> Result<()> {
    let binds = [request.organization.into(), request.key.as_str().into(), request.sender.into(), order.into()];
    tx.execute(DELETE_PENDING_ORDER, &binds)
}

pub(crate) fn any_expired(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(ANY_EXPIRED, &[latest_expired(tx.now()).into()])
}

/// Deletes a batch of the oldest expired records. Returns how many were deleted: none while another process deletes.
pub(crate) fn delete_expired(tx: &Transaction<'_>) -> Result<usize> {
    if !tx.try_lock_cleanup()? {
        return Ok(0);
    }
    let latest = latest_expired(tx.now());
    Ok(tx.in_parts(BATCH, |part| tx.execute_counted(DELETE_EXPIRED, &[latest.into(), part.into()]))?.rows)
}
