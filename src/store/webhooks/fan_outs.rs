//! Fan-outs: notifications whose rows of the outbox are inserted after the transaction of the change, in batches.
//!
//! A fan-out has the notifications of one type that a transaction queued, and the endpoints that were enabled and
//! subscribed at that moment, but for the first, whose rows the transaction inserted itself. The rows are inserted one
//! notification after another, and are due since the transaction. Endpoints that were deleted or unsubscribed meanwhile
//! get none. The last batch deletes the fan-out.

use std::collections::BTreeMap;
use std::ops::Range;

use super::outbox_rows::{self, NewRow};
use super::subscribed_endpoints::{self, ExistingEndpoint};
use super::webhook_notifications::IdentifiedNotification;
use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{NotificationId, OrganizationId, OutboxId, WebhookId};
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::{json, row_struct};
use crate::store::{CommitEvent, Lock, Row, Transaction};

/// How many rows one transaction inserts at most.
const BATCH: usize = 256;

/// After how many rows it looks whether others wait. They wait for as long as these take.
const PART: usize = 32;

const INSERT: &str =
    "INSERT INTO webhook_fan_outs (id, organization_id, type, endpoints, notifications, total, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING";
const ANY: &str = "SELECT id FROM webhook_fan_outs LIMIT 1";
pub(in crate::store) const NEXT: &str = "SELECT id, organization_id FROM webhook_fan_outs
    WHERE (organization_id, id) > (?1, ?2) ORDER BY organization_id, id LIMIT 1";
const GET: &str = "SELECT id, organization_id, type, endpoints, notifications, total, done, created_at
    FROM webhook_fan_outs WHERE id = ?1";
// If another process has inserted the rows of the batch, these change nothing.
const ADVANCE: &str = "UPDATE webhook_fan_outs SET done = ?3 WHERE id = ?1 AND done = ?2";
const DELETE: &str = "DELETE FROM webhook_fan_outs WHERE id = ?1 AND done = ?2";
pub(in crate::store) const COUNT_REMAINING: &str = "SELECT CAST(COALESCE(SUM(total - done), 0) AS BIGINT) AS remaining
    FROM webhook_fan_outs WHERE organization_id = ?1";
const ALL: &str = "SELECT id, organization_id, type, endpoints, total, done, created_at FROM webhook_fan_outs ORDER BY organization_id";

/// Queues notifications for endpoints, each with its generation of the type. The bytes of the rows count for this
/// transaction.
pub(in crate::store) fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event_type: EventType,
    endpoints: &[(WebhookId, i64)],
    notifications: &[(NotificationId, &String)],
) -> Result<()> {
    let rows = endpoints.len() * notifications.len();
    let _: OutboxId = tx.insert(
        INSERT,
        &[
            organization.into(),
            event_type.as_str().into(),
            json(endpoints)?.into(),
            json(notifications)?.into(),
            rows.into(),
            tx.now().into(),
        ],
    )?;
    tx.record(CommitEvent::FanOutQueued { rows });
    tx.count_later_bytes(outbox_rows::size(event_type).saturating_mul(u64::try_from(rows).unwrap_or(u64::MAX)));
    Ok(())
}

pub(crate) fn any(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(ANY, &[])
}

row_struct! {
    /// The place of a fan-out among all of them, which are sorted by organization.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct FanOutKey(row) {
        pub(crate) organization: OrganizationId => organization_id,
        pub(crate) id: OutboxId,
    }
}

impl FanOutKey {
    /// Before all fan-outs.
    pub(crate) const FIRST: Self = Self { organization: OrganizationId::UNKNOWN, id: OutboxId::UNKNOWN };

    /// After all fan-outs of the organization.
    pub(crate) fn end_of_organization(self) -> Self {
        Self { id: OutboxId::from_raw(i64::MAX), ..self }
    }
}

pub(crate) fn next(tx: &Transaction<'_>, after: FanOutKey) -> Result<Option<FanOutKey>> {
    tx.query_opt(NEXT, &[after.organization.into(), after.id.into()], FanOutKey::read)
}

/// The endpoints of a fan-out, and how much of it is done.
pub(in crate::store) struct FanOutProgress {
    pub(in crate::store) organization: OrganizationId,
    pub(in crate::store) event_type: EventType,
    /// Each endpoint with its generation of the type.
    pub(in crate::store) endpoints: Vec<(WebhookId, i64)>,
    /// The number of endpoints times the number of notifications.
    total: usize,
    done: usize,
    pub(in crate::store) created_at: Timestamp,
}

fn decode_progress(row: &Row<'_>) -> Result<FanOutProgress> {
    let endpoints: Vec<(WebhookId, i64)> = row.json("endpoints")?;
    let number = |column| -> Result<usize> { Ok(usize::try_from(row.count(column)?).unwrap_or(usize::MAX)) };
    let total = number("total")?;
    if endpoints.is_empty() || !total.is_multiple_of(endpoints.len()) {
        return Err(row.corrupt("total", "is not a multiple of the number of endpoints"));
    }
    Ok(FanOutProgress {
        organization: row.get("organization_id")?,
        event_type: row.get("type")?,
        endpoints,
        total,
        done: number("done")?,
        created_at: row.get("created_at")?,
    })
}

impl FanOutProgress {
    /// How many notifications are still to be queued for the endpoint with this index.
    pub(in crate::store) fn remaining(&self, endpoint: usize) -> usize {
        let number = self.endpoints.len();
        let done = self.done / number + usize::from(endpoint < self.done % number);
        (self.total / number).saturating_sub(done)
    }
}

/// Passes every fan-out to `visit`, sorted by organization. The notifications are not read.
pub(in crate::store) fn each(tx: &Transaction<'_>, mut visit: impl FnMut(FanOutProgress) -> Result<()>) -> Result<()> {
    tx.query_each(ALL, &[], |row| visit(decode_progress(row)?))
}

/// Counts the rows of an organization that are still to be inserted, also for endpoints that no longer want them.
pub(in crate::store) fn count_remaining(tx: &Transaction<'_>, organization: OrganizationId) -> Result<u64> {
    Ok(tx.query_opt(COUNT_REMAINING, &[organization.into()], |row| row.count("remaining"))?.unwrap_or(0))
}

/// A fan-out, as far as it was done when it was read.
pub(crate) struct FanOut {
    id: OutboxId,
    progress: FanOutProgress,
    notifications: Vec<IdentifiedNotification>,
}

fn decode(row: &Row<'_>) -> Result<FanOut> {
    let progress = decode_progress(row)?;
    let notifications: Vec<(NotificationId, String)> = row.json("notifications")?;
    if notifications.len() != progress.total / progress.endpoints.len() {
        return Err(row.corrupt("notifications", "have another number than the total says"));
    }
    let event_type = progress.event_type;
    let identified = notifications.into_iter().map(|(id, body)| IdentifiedNotification { id, event_type, body });
    Ok(FanOut { id: row.get("id")?, notifications: identified.collect(), progress })
}

impl FanOut {
    pub(in crate::store) fn notifications(&self) -> &[IdentifiedNotification] {
        &self.notifications
    }
}

/// Reads a fan-out; `None` if it is done.
pub(crate) fn get(tx: &Transaction<'_>, id: OutboxId) -> Result<Option<FanOut>> {
    tx.query_opt(GET, &[id.into()], decode)
}

/// Inserts the next batch of rows, or a part of it if others wait. Does nothing if another process has done it since
/// the fan-out was read.
pub(crate) fn insert_batch(tx: &Transaction<'_>, fan_out: &FanOut) -> Result<()> {
    let FanOut { id, progress, .. } = fan_out;
    // Before any row of the outbox is changed: the deletion of an endpoint locks the endpoint first, and then its rows.
    tx.lock(Lock::Endpoints(progress.organization))?;
    let advance = |from: usize, to: usize| tx.execute_counted(ADVANCE, &[(*id).into(), from.into(), to.into()]);
    // Locks the fan-out.
    if advance(progress.done, progress.done)? == 0 {
        return Ok(());
    }
    let existing = subscribed_endpoints::existing(tx, progress.organization)?;
    let end = progress.done.saturating_add(BATCH).min(progress.total);
    let mut done = progress.done;
    while done < end && (done == progress.done || !tx.others_wait()) {
        let part = done..end.min(done + PART);
        done = part.end;
        insert_part(tx, fan_out, &existing, part)?;
    }
    if done < progress.total {
        advance(progress.done, done)?;
    } else {
        tx.execute(DELETE, &[(*id).into(), progress.done.into()])?;
    }
    Ok(())
}

/// Inserts these rows for the endpoints that still want them.
fn insert_part(
    tx: &Transaction<'_>,
    FanOut { progress, notifications, .. }: &FanOut,
    existing: &BTreeMap<WebhookId, ExistingEndpoint>,
    part: Range<usize>,
) -> Result<()> {
    let mut rows = Vec::new();
    for row in part {
        let (endpoint, generation) = progress.endpoints[row % progress.endpoints.len()];
        if existing.get(&endpoint).is_some_and(|endpoint| endpoint.wants(progress.event_type, generation)) {
            rows.push(NewRow { notification: row / progress.endpoints.len(), endpoint, generation });
        }
    }
    outbox_rows::insert_all(tx, &rows, progress.created_at, true, |index, _| Ok(notifications[index].clone()))?;
    for row in rows {
        tx.record(CommitEvent::RowInserted(row.endpoint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    const TYPE: EventType = EventType::TicketIssued;

    /// Queues a fan-out of two notifications for 300 endpoints.
    fn queue(store: &Store) {
        let rows = [
            "INSERT INTO organizations (id, name, currency, timezone, created_at) VALUES (1, 'One', 'EUR', 'UTC', 0)
                ON CONFLICT (id) DO NOTHING",
            "INSERT INTO webhook_endpoints (id, organization_id, url, events, enabled, secret, created_at, updated_at)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
                SELECT i, 1, 'https://receiver.example/', '[\"ticket.issued\"]', 1, 'whsec_', 0, 0 FROM n WHERE i > 0
                ON CONFLICT (id) DO NOTHING",
        ];
        let endpoints: Vec<_> = (1..=300).map(|id| (WebhookId::from_raw(id), 0)).collect();
        let insert = move |tx: &Transaction<'_>| {
            for sql in rows {
                tx.execute(sql, &[])?;
            }
            let bodies = ["one", "two"].map(str::to_owned);
            let notifications = [1, 2].map(NotificationId::from_raw);
            let notifications = [(notifications[0], &bodies[0]), (notifications[1], &bodies[1])];
            insert(tx, OrganizationId::from_raw(1), TYPE, &endpoints, &notifications)
        };
        store.write(None, insert).unwrap();
    }

    fn read(store: &Store) -> Option<FanOut> {
        let next = |tx: &Transaction<'_>| match next(tx, FanOutKey::FIRST)? {
            Some(key) => get(tx, key.id),
            None => Ok(None),
        };
        store.read(next).unwrap()
    }

    fn count(store: &Store, sql: &'static str) -> i64 {
        store.read(|tx| tx.query_opt(sql, &[], |row| row.get("number"))).unwrap().unwrap()
    }

    const ROWS: &str = "SELECT COUNT(*) AS number FROM webhook_outbox";
    const DIFFERENT_ROWS: &str =
        "SELECT COUNT(*) AS number FROM (SELECT DISTINCT endpoint_id, event_id FROM webhook_outbox) AS different";

    #[test]
    fn a_transaction_for_which_another_caller_waits_inserts_a_part_of_a_batch() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&folder).unwrap();
        queue(&store);
        for expected in [32, 64, 96] {
            let fan_out = read(&store).unwrap();
            store.write_while_another_waits(move |tx| insert_batch(tx, &fan_out)).unwrap();
            assert_eq!((count(&store, ROWS), count(&store, DIFFERENT_ROWS)), (expected, expected));
        }
        for expected in [352, 600] {
            let fan_out = read(&store).unwrap();
            store.write(None, move |tx| insert_batch(tx, &fan_out)).unwrap();
            assert_eq!((count(&store, ROWS), count(&store, DIFFERENT_ROWS)), (expected, expected));
        }
        assert!(read(&store).is_none());
    }
}
