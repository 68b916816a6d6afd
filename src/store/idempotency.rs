//! What was answered to an idempotency key, or the order whose answer is still to come.

use std::time::Duration;

use super::Transaction;
use crate::error::{Error, Result};
use crate::model::id::{OrderId, OrganizationId};
use crate::model::idempotency::IdempotencyKey;
use crate::model::timestamp::Timestamp;

/// How long a key is kept.
const KEPT: Duration = Duration::from_hours(24);

/// How many old records go in one transaction: others wait no longer than this takes.
const BATCH: i64 = 1000;

const FIND: &str = "SELECT organization_id, fingerprint = ?4, answer, order_id FROM idempotency_records
    WHERE organization_id = ?1 AND key = ?2 AND created_at > ?3";
// A record that is too old to count gives way.
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

/// What is asked for under which key.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) organization: OrganizationId,
    pub(crate) key: IdempotencyKey,
    pub(crate) fingerprint: [u8; 32],
}

/// What came of it before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// This answer, as JSON.
    Answer(String),
    /// This order, whose checkout link is still to come.
    Order(OrderId),
}

/// The latest creation of a record that counts no more.
fn too_old(now: Timestamp) -> i64 {
    now.millis() - i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX)
}

/// What came of the same request before; an error where the key came with another request.
pub(crate) fn find(tx: &Transaction<'_>, asked: &Asked) -> Result<Option<Earlier>> {
    let (key, fingerprint) = (asked.key.as_str(), asked.fingerprint.as_slice());
    tx.query_opt(FIND, &[asked.organization.into(), key.into(), too_old(tx.now()).into(), fingerprint.into()], |row| {
        let same: bool = row.get(1)?;
        if !same {
            return Err(Error::IdempotencyKeyReused);
        }
        match (row.get(2)?, row.get(3)?) {
            (Some(answer), _) => Ok(Earlier::Answer(answer)),
            (None, Some(order)) => Ok(Earlier::Order(order)),
            (None, None) => Err(row.corrupt(2, "is missing")),
        }
    })
}

/// Keeps what came of the request, in the place of the order that was to be answered.
pub(crate) fn record(tx: &Transaction<'_>, asked: &Asked, earlier: &Earlier) -> Result<()> {
    let (answer, order) = match earlier {
        Earlier::Answer(answer) => (Some(answer), None),
        Earlier::Order(order) => (None, Some(*order)),
    };
    let binds = [
        asked.organization.into(),
        asked.key.as_str().into(),
        asked.fingerprint.as_slice().into(),
        answer.into(),
        order.into(),
        tx.now().into(),
        too_old(tx.now()).into(),
    ];
    match tx.execute(INSERT, &binds)? {
        0 => Err(Error::IdempotencyInProgress),
        _ => Ok(()),
    }
}

/// Gives up on an order that is not answered: the next request with the key is a new one. A later order of the same key
/// is left alone.
pub(crate) fn forget(tx: &Transaction<'_>, asked: &Asked, order: OrderId) -> Result<()> {
    let binds = [asked.organization.into(), asked.key.as_str().into(), order.into()];
    tx.execute(FORGET, &binds).map(drop)
}

/// Whether a record is old enough to go.
pub(crate) fn any_old(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(OLD, &[too_old(tx.now()).into(), 1.into()])
}

/// Deletes the oldest of the records that count no more; says how many.
pub(crate) fn delete_old(tx: &Transaction<'_>) -> Result<usize> {
    let limit = too_old(tx.now());
    let old: Vec<(OrganizationId, String)> =
        tx.query_all(OLD, &[limit.into(), BATCH.into()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    old.into_iter().try_fold(0, |deleted, (organization, key)| {
        Ok(deleted + tx.execute(DELETE_OLD, &[organization.into(), key.as_str().into(), limit.into()])?)
    })
}
