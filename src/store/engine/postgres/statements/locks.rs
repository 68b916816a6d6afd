//! The locks of rows, by which transactions that change the same thing run one after another.
//!
//! An event and an organization are locked `FOR NO KEY UPDATE`, for which the checks of foreign keys do not wait: an
//! order of another transaction may refer to the organization in the meantime.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::model::values::id::OrganizationId;
use crate::store::engine::lock::{EventKey, Lock, RowLock, event_statement};
use crate::store::engine::sql::values::Bind;

/// The statement that takes a lock, and its parameter.
pub(in crate::store::engine::postgres) fn statement(lock: Lock<'_>) -> (&'static str, Option<Bind<'static>>) {
    match lock {
        Lock::Event(event) => {
            let (sql, id) = event_statement!(event, "SELECT e.id FROM ", " FOR NO KEY UPDATE OF e");
            (sql, Some(id.into()))
        }
        Lock::Organization(id) => ("SELECT id FROM organizations WHERE id = ?1 FOR NO KEY UPDATE", Some(id.into())),
        Lock::Organizations => ("LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE", None),
        Lock::WebhookNotification(id) => {
            ("SELECT id FROM webhook_notifications WHERE id = ?1 FOR NO KEY UPDATE", Some(id.into()))
        }
        Lock::IdempotencyKey(organization, sender, key) => {
            ("SELECT pg_advisory_xact_lock(?1)", Some(hash(organization, &format!("{sender} {key}")).into()))
        }
    }
}

/// Locks the deletion of old rows, if no other transaction has locked it: "TCKC".
pub(in crate::store::engine::postgres) const TRY_CLEANUP: &str =
    "SELECT pg_try_advisory_xact_lock(1413696323) AS is_locked";

/// Adds to a query for one row, which has an `id`, that the number `?{parameter}` is locked if the row does not exist.
/// The result is then a row with only `is_locked`, which is false if another transaction has locked the number.
pub(in crate::store::engine::postgres) fn or_lock(sql: &str, parameter: usize) -> String {
    format!(
        "SELECT found.*, CASE WHEN found.id IS NULL THEN pg_try_advisory_xact_lock(?{parameter}) END AS is_locked
        FROM (SELECT 1) one LEFT JOIN ({sql}) found ON TRUE"
    )
}

/// The number that stands for an idempotency key or a new row. Two with the same number wait for each other, and
/// nothing more.
pub(in crate::store::engine::postgres) fn hash(organization: OrganizationId, key: &str) -> i64 {
    let hash: [u8; 32] =
        Sha256::new().chain_update(organization.raw().to_be_bytes()).chain_update(key).finalize().into();
    i64::from_be_bytes([hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7]])
}

/// The clause at the end of a query that locks its rows.
pub(in crate::store::engine::postgres) fn clause(lock: RowLock) -> Cow<'static, str> {
    match lock {
        RowLock::Keep(table) => format!("FOR KEY SHARE OF {table}").into(),
        RowLock::Update => "FOR UPDATE".into(),
        RowLock::Change(table) => format!("FOR NO KEY UPDATE OF {table}").into(),
        RowLock::UpdateUnlocked => "FOR UPDATE SKIP LOCKED".into(),
        RowLock::ChangeUnlocked => "FOR NO KEY UPDATE SKIP LOCKED".into(),
    }
}
