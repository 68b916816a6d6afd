//! The outbox: notifications that are queued for webhook endpoints.
//!
//! A row is one notification for one endpoint. It is inserted in the transaction of the change that it reports: there
//! is no change without its notification, and no notification without its change.

use std::fmt::Write;
use std::time::Duration;

use super::{Bind, CommitEvent, Transaction, handler_queue};
use crate::error::{Error, Result};
use crate::model::handler_notification::NotificationDetails;
use crate::model::id::{NotificationId, OrganizationId, OutboxId, WebhookId};
use crate::model::notification::{NotificationData, WebhookNotification};
use crate::model::timestamp::Timestamp;
use crate::model::webhook::EventType;

pub(super) const SUBSCRIPTIONS: &str =
    "SELECT id, events FROM webhook_endpoints WHERE organization_id = ?1 AND enabled = 1 ORDER BY id";
const INSERT: &str =
    "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, body, state, due_at, created_at) VALUES ";
const DELETE: &str = "DELETE FROM webhook_outbox WHERE id = ?1";
/// How many parameters a row of `INSERT` has.
const PARAMETERS: usize = 6;
/// How many rows one statement inserts at most. A statement with many rows costs less than many statements.
const MAX_ROWS: usize = 32;

// The index covers all counted columns. For each endpoint with waiting rows, one row of `webhook_endpoints` is read.
pub(super) const COUNT_WAITING: &str =
    "SELECT endpoint_id, COUNT(*) AS waiting, COUNT(CASE WHEN due_at <= ?1 THEN 1 END) AS due, MIN(due_at) AS first_due,
        (SELECT e.enabled FROM webhook_endpoints e WHERE e.id = endpoint_id) AS enabled
    FROM webhook_outbox WHERE state = 'WAITING' GROUP BY endpoint_id";

/// How many notifications wait to be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutboxBacklog {
    pub(crate) waiting: u64,
    /// Waiting notifications that could be sent now.
    pub(crate) due: u64,
    /// For how long the oldest due notification has been due; `None` if none is due.
    pub(crate) oldest_due: Option<Duration>,
}

/// Counts the waiting notifications of all organizations.
pub(crate) fn backlog(tx: &Transaction<'_>) -> Result<OutboxBacklog> {
    let mut backlog = OutboxBacklog::default();
    tx.query_each(COUNT_WAITING, &[tx.now().into()], |row| {
        backlog.waiting += row.count("waiting")?;
        let due = row.count("due")?;
        let enabled = row.get::<Option<bool>>("enabled")? == Some(true);
        if enabled && due > 0 {
            backlog.due += due;
            let millis = tx.now().millis().saturating_sub(row.get("first_due")?);
            let first_due = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            backlog.oldest_due = backlog.oldest_due.max(Some(first_due));
        }
        Ok(())
    })?;
    Ok(backlog)
}

/// An enabled endpoint and the types of notification that it is subscribed to.
struct Subscription {
    endpoint: WebhookId,
    types: Vec<EventType>,
}

/// A row to insert: a change, by its index, for an endpoint.
struct NewRow {
    change: usize,
    endpoint: WebhookId,
}

/// A notification that has an id.
#[derive(Clone)]
struct IdentifiedNotification {
    change: usize,
    id: NotificationId,
    body: String,
}

/// Queues a notification of each change for every enabled endpoint of the organization that is subscribed to its type,
/// and for the handlers of the program.
pub(crate) fn report(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: impl IntoIterator<Item = NotificationData>,
) -> Result<()> {
    let changes: Vec<NotificationData> = changes.into_iter().collect();
    handler_queue::report(tx, organization, changes.iter().cloned().map(NotificationDetails::from))?;
    let subscriptions = tx.query_all(SUBSCRIPTIONS, &[organization.into()], |row| {
        Ok(Subscription { endpoint: row.get("id")?, types: row.json("events")? })
    })?;
    if subscriptions.is_empty() {
        return Ok(());
    }
    let mut rows = Vec::new();
    for (change, data) in changes.iter().enumerate() {
        for subscription in &subscriptions {
            if subscription.types.contains(&data.event_type()) {
                rows.push(NewRow { change, endpoint: subscription.endpoint });
            }
        }
    }
    let mut last = None;
    for rows in rows.chunks(MAX_ROWS) {
        last = insert_rows(tx, &changes, rows, last.as_ref())?;
    }
    for row in rows {
        tx.record(CommitEvent::NotificationQueued(row.endpoint));
    }
    Ok(())
}

/// Inserts rows, and returns the notification of the last one. `previous` is the notification of the last row that was
/// inserted before: the first of these rows may belong to it. If an id is taken, the inserted rows are deleted, and all
/// of them are inserted under new ids.
fn insert_rows(
    tx: &Transaction<'_>,
    changes: &[NotificationData],
    rows: &[NewRow],
    previous: Option<&IdentifiedNotification>,
) -> Result<Option<IdentifiedNotification>> {
    let sql = insert_statement(rows.len()) + " RETURNING id";
    for _ in 0..16 {
        let mut current = previous.cloned();
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(PARAMETERS * rows.len());
        for row in rows {
            let id: OutboxId = tx.new_id();
            let notification = match current.take() {
                Some(same) if same.change == row.change => same,
                _ => identify(row.change, id, changes[row.change].clone(), tx.now())?,
            };
            let type_name = changes[row.change].event_type().as_str();
            let body = notification.body.clone();
            binds.extend([id.into(), row.endpoint.into(), notification.id.into()]);
            binds.extend([type_name.into(), body.into(), tx.now().into()]);
            current = Some(notification);
        }
        let inserted: Vec<OutboxId> = tx.query_all(&sql, &binds, |row| row.get("id"))?;
        if inserted.len() == rows.len() {
            return Ok(current);
        }
        for id in inserted {
            tx.execute(DELETE, &[id.into()])?;
        }
    }
    Err(Error::Unavailable("no free id was found"))
}

/// Sets the id of a notification to the id of its first row, which makes it unique across processes.
fn identify(
    change: usize,
    first_row: OutboxId,
    data: NotificationData,
    now: Timestamp,
) -> Result<IdentifiedNotification> {
    let notification = WebhookNotification { id: NotificationId::from_raw(first_row.raw()), created_at: now, data };
    let body = serde_json::to_string(&notification).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(IdentifiedNotification { change, id: notification.id, body })
}

/// Queues a notification that exists already for one endpoint.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    notification: NotificationId,
    event_type: EventType,
    body: &str,
) -> Result<OutboxId> {
    let type_name = event_type.as_str();
    let binds = [endpoint.into(), notification.into(), type_name.into(), body.into(), tx.now().into()];
    let id = tx.insert(&insert_statement(1), &binds)?;
    tx.record(CommitEvent::NotificationQueued(endpoint));
    Ok(id)
}

/// Returns the statement that inserts this number of rows.
fn insert_statement(rows: usize) -> String {
    let mut sql = INSERT.to_owned();
    for row in 0..rows {
        let [id, endpoint, event, type_name, body, now] =
            std::array::from_fn(|parameter| PARAMETERS * row + parameter + 1);
        let comma = if row == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(sql, "{comma}(?{id}, ?{endpoint}, ?{event}, ?{type_name}, ?{body}, 'WAITING', ?{now}, ?{now})");
    }
    sql + " ON CONFLICT (id) DO NOTHING"
}
