//! Inserts rows of the outbox, many with one statement.

use std::fmt::Write;

use super::{Bind, Transaction};
use crate::error::{Error, Result};
use crate::model::id::{NotificationId, OutboxId, WebhookId};
use crate::model::timestamp::Timestamp;
use crate::model::webhook::EventType;

const INSERT: &str =
    "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, body, generation, state, due_at, created_at) VALUES ";
const DELETE: &str = "DELETE FROM webhook_outbox WHERE id = ?1";
/// How many parameters a row of `INSERT` has.
const PARAMETERS: usize = 7;
/// How many rows one statement inserts at most. A statement with many rows costs less than many statements.
const MAX_ROWS: usize = 32;
/// How often rows are inserted under other ids, because an id is taken.
const ID_ATTEMPTS: usize = 16;

/// A row to insert: a notification, by its index, for an endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRow {
    pub(super) notification: usize,
    pub(super) endpoint: WebhookId,
    /// The endpoint's generation of the type.
    pub(super) generation: i64,
}

/// A notification that has an id.
#[derive(Debug, Clone)]
pub(super) struct IdentifiedNotification {
    pub(super) id: NotificationId,
    pub(super) event_type: EventType,
    /// What is sent.
    pub(super) body: String,
}

/// Inserts rows, which are due since `queued_at`, in the order of their notifications. Returns the notifications.
///
/// `identify` gets the index of a notification and the id of its first row. If an id is taken, it is called again.
pub(super) fn insert_all(
    tx: &Transaction<'_>,
    rows: &[NewRow],
    queued_at: Timestamp,
    mut identify: impl FnMut(usize, OutboxId) -> Result<IdentifiedNotification>,
) -> Result<Vec<IdentifiedNotification>> {
    let mut inserted = Vec::new();
    for rows in rows.chunks(MAX_ROWS) {
        insert_chunk(tx, rows, queued_at, &mut identify, &mut inserted)?;
    }
    Ok(inserted.into_iter().map(|(_, notification)| notification).collect())
}

/// Inserts rows with one statement, and adds their notifications, with their indexes, to `inserted`. If an id is taken,
/// the inserted rows are deleted, and all of them are inserted under new ids.
fn insert_chunk(
    tx: &Transaction<'_>,
    rows: &[NewRow],
    queued_at: Timestamp,
    identify: &mut impl FnMut(usize, OutboxId) -> Result<IdentifiedNotification>,
    inserted: &mut Vec<(usize, IdentifiedNotification)>,
) -> Result<()> {
    let sql = statement(rows.len()) + " RETURNING id";
    let before = inserted.len();
    for _ in 0..ID_ATTEMPTS {
        inserted.truncate(before);
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(PARAMETERS * rows.len());
        for row in rows {
            let id: OutboxId = tx.new_id();
            let notification = match inserted.last() {
                Some((index, same)) if *index == row.notification => same,
                _ => &inserted.push_mut((row.notification, identify(row.notification, id)?)).1,
            };
            binds.extend([id.into(), row.endpoint.into(), notification.id.into()]);
            binds.extend([notification.event_type.as_str().into(), notification.body.clone().into()]);
            binds.extend([row.generation.into(), queued_at.into()]);
        }
        let ids: Vec<OutboxId> = tx.query_all(&sql, &binds, |row| row.get("id"))?;
        if ids.len() == rows.len() {
            return Ok(());
        }
        for id in ids {
            tx.execute(DELETE, &[id.into()])?;
        }
    }
    Err(Error::Unavailable("no free id was found"))
}

/// Inserts a row, which is due now.
pub(super) fn insert(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    generation: i64,
    notification: &IdentifiedNotification,
) -> Result<OutboxId> {
    let IdentifiedNotification { id, event_type, body } = notification;
    let type_name = event_type.as_str();
    let now = tx.now();
    let binds = [endpoint.into(), (*id).into(), type_name.into(), body.into(), generation.into(), now.into()];
    tx.insert(&statement(1), &binds)
}

/// Returns the statement that inserts this number of rows.
fn statement(rows: usize) -> String {
    let mut sql = INSERT.to_owned();
    for row in 0..rows {
        let [id, endpoint, event, type_name, body, generation, now] =
            std::array::from_fn(|parameter| PARAMETERS * row + parameter + 1);
        let comma = if row == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(
            sql,
            "{comma}(?{id}, ?{endpoint}, ?{event}, ?{type_name}, ?{body}, ?{generation}, 'WAITING', ?{now}, ?{now})"
        );
    }
    sql + " ON CONFLICT (id) DO NOTHING"
}
