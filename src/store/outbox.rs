//! The outbox: what is to be sent to which webhook endpoint. A row is written in the transaction of the change that it
//! reports.

use std::fmt::Write;
use std::time::Duration;

use super::{Bind, CommitEvent, Constraint, StatementError, Transaction, Violation};
use crate::error::{Error, Result};
use crate::model::id::{NotificationId, OrganizationId, OutboxId, WebhookId};
use crate::model::notification::{Notification, NotificationData};
use crate::model::text_enum::TextEnum;
use crate::model::timestamp::Timestamp;
use crate::model::webhook::NotificationType;

pub(super) const WANTED: &str =
    "SELECT id, events FROM webhook_endpoints WHERE organization_id = ?1 AND enabled = 1 ORDER BY id";
const INSERT: &str =
    "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, body, state, due_at, created_at) VALUES ";
/// How many parameters a row has.
const COLUMNS: usize = 6;
/// How many rows one statement queues at most.
const ROWS: usize = 32;

// The index has all that is counted; of endpoints, one row is read for each that has something.
pub(super) const COUNT_WAITING: &str =
    "SELECT endpoint_id, COUNT(*) AS waiting, COUNT(CASE WHEN due_at <= ?1 THEN 1 END) AS due, MIN(due_at) AS first_due,
        (SELECT e.enabled FROM webhook_endpoints e WHERE e.id = endpoint_id) AS enabled
    FROM webhook_outbox WHERE state = 'WAITING' GROUP BY endpoint_id";

/// What waits to be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) all: u64,
    /// What could be sent now.
    pub(crate) due: u64,
    /// For how long the first of what is due has been so.
    pub(crate) longest: Option<Duration>,
}

/// Counts what waits, over all organizations.
pub(crate) fn waiting(tx: &Transaction<'_>) -> Result<Waiting> {
    let mut waiting = Waiting::default();
    tx.query_each(COUNT_WAITING, &[tx.now().into()], |row| {
        waiting.all += row.count("waiting")?;
        let due = row.count("due")?;
        if row.get::<Option<bool>>("enabled")? == Some(true) && due > 0 {
            waiting.due += due;
            let late = tx.now().millis().saturating_sub(row.get("first_due")?);
            waiting.longest = waiting.longest.max(Some(Duration::from_millis(u64::try_from(late).unwrap_or(0))));
        }
        Ok(())
    })?;
    Ok(waiting)
}

/// Queues a notification of each change for every endpoint of the organization that is enabled and wants its type.
pub(crate) fn report(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: impl IntoIterator<Item = NotificationData>,
) -> Result<()> {
    let endpoints: Vec<(WebhookId, Vec<NotificationType>)> =
        tx.query_all(WANTED, &[organization.into()], |row| Ok((row.get("id")?, row.json("events")?)))?;
    if endpoints.is_empty() {
        return Ok(());
    }
    let changes: Vec<NotificationData> = changes.into_iter().collect();
    let wanted = |change: &NotificationData| {
        let of = change.notification_type();
        endpoints.iter().filter(move |(_, events)| events.contains(&of)).map(|(id, _)| *id)
    };
    let rows: Vec<(usize, WebhookId)> =
        changes.iter().enumerate().flat_map(|(index, change)| wanted(change).map(move |id| (index, id))).collect();
    // One statement of many rows costs less than as many of one.
    let mut begun = None;
    for rows in rows.chunks(ROWS) {
        begun = queue(tx, &changes, rows, begun.as_ref())?;
    }
    for (_, endpoint) in rows {
        tx.record(CommitEvent::NotificationQueued(endpoint));
    }
    Ok(())
}

/// A notification that is being queued: which change it reports, its id and its body.
#[derive(Clone)]
struct Begun(usize, NotificationId, String);

/// Queues these rows, each of a change and for an endpoint. The first may go on with the notification that the rows before
/// ended with; gives the one that these end with. Where an id is taken, all are drawn again.
fn queue(
    tx: &Transaction<'_>,
    changes: &[NotificationData],
    rows: &[(usize, WebhookId)],
    begun: Option<&Begun>,
) -> Result<Option<Begun>> {
    let sql = insert_rows(rows.len());
    for _ in 0..16 {
        let mut begun = begun.cloned();
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(COLUMNS * rows.len());
        for (index, endpoint) in rows {
            let id: OutboxId = tx.new_id();
            let Begun(_, notification, body) = match begun.take() {
                Some(same) if same.0 == *index => begun.insert(same),
                _ => begun.insert(begin(*index, id, changes[*index].clone(), tx.now())?),
            };
            let of = changes[*index].notification_type().as_str();
            binds.extend([id.into(), (*endpoint).into(), (*notification).into(), of.into()]);
            binds.extend([body.clone().into(), tx.now().into()]);
        }
        match tx.try_execute(&sql, &binds) {
            Ok(_) => return Ok(begun),
            Err(StatementError::Violation(Violation { constraint: Some(Constraint::PrimaryKey), .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Unavailable("no free id was found"))
}

/// Begins a notification with the first of its rows, after which it is named: an id that no other notification can have,
/// whichever process draws it.
fn begin(index: usize, first: OutboxId, data: NotificationData, now: Timestamp) -> Result<Begun> {
    let notification = Notification { id: NotificationId::from_raw(first.raw()), created_at: now, data };
    let body = serde_json::to_string(&notification).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(Begun(index, notification.id, body))
}

/// Queues a notification that has its id for one endpoint.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    notification: NotificationId,
    of: NotificationType,
    body: &str,
) -> Result<OutboxId> {
    let binds: [Bind<'_>; 5] = [endpoint.into(), notification.into(), of.as_str().into(), body.into(), tx.now().into()];
    let id = tx.insert(&insert_rows(1), &binds)?;
    tx.record(CommitEvent::NotificationQueued(endpoint));
    Ok(id)
}

/// The statement that queues so many rows.
fn insert_rows(number: usize) -> String {
    let mut sql = INSERT.to_owned();
    for row in 0..number {
        let [id, endpoint, event, of, body, now] = std::array::from_fn(|column| COLUMNS * row + column + 1);
        let comma = if row == 0 { "" } else { ", " };
        // Writing to a text cannot fail.
        let _ = write!(sql, "{comma}(?{id}, ?{endpoint}, ?{event}, ?{of}, ?{body}, 'WAITING', ?{now}, ?{now})");
    }
    sql
}
