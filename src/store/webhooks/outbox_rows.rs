//! Inserts rows of the outbox, many with one statement.

use std::sync::LazyLock;

use crate::environment::time_of;
use crate::error::{Error, Result, Unavailable};
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{NotificationId, OutboxId, WebhookId};
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::values_of_rows;
use crate::store::{Bind, CommitEvent, Transaction};

const INSERT: &str = "INSERT INTO webhook_outbox (id, endpoint_id, event_id, due_at, created_at, type, state) VALUES ";
/// Deletes a row that was just inserted, but not one that had the id before.
const DELETE: &str = "DELETE FROM webhook_outbox WHERE id = ?1 AND endpoint_id = ?2 AND event_id = ?3";
/// How many parameters each row of `INSERT` has. After those of all rows, one follows for the type.
const PARAMETERS: usize = 5;
/// How many rows one statement inserts at most. A statement with many rows costs less than many statements.
const MAX_ROWS: usize = 32;
/// The statements that insert 1 to `MAX_ROWS` rows.
static STATEMENTS: LazyLock<[String; MAX_ROWS]> = LazyLock::new(|| std::array::from_fn(|index| statement(index + 1)));
/// How often rows are inserted under other ids, because an id is taken.
pub(super) const ID_ATTEMPTS: usize = 16;

/// A row to insert: a notification for an endpoint.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct NewRow {
    pub(in crate::store) notification: NotificationId,
    pub(in crate::store) endpoint: WebhookId,
}

impl NewRow {
    /// The parameters of the row but its id. It is due since `queued_at`.
    fn binds(&self, queued_at: Timestamp) -> [Bind<'static>; PARAMETERS - 1] {
        [self.endpoint.into(), self.notification.into(), queued_at.into(), queued_at.into()]
    }
}

/// The bytes of a row that this module inserts: 8 for each of its seven numbers, its type and its state.
pub(in crate::store) fn size(event_type: EventType) -> u64 {
    u64::try_from(8 * 7 + event_type.as_str().len() + "WAITING".len()).unwrap_or(u64::MAX)
}

/// Inserts rows for stored notifications of a type. They are due since the notifications were stored.
pub(in crate::store) fn insert_all(tx: &Transaction<'_>, event_type: EventType, rows: &[NewRow]) -> Result<()> {
    for rows in rows.chunks(MAX_ROWS) {
        insert_chunk(tx, event_type, rows)?;
    }
    for row in rows {
        tx.record(CommitEvent::NotificationQueued(row.endpoint));
    }
    Ok(())
}

/// Inserts rows with one statement. If an id is taken, the inserted rows are deleted, and all of them are inserted under
/// new ids.
fn insert_chunk(tx: &Transaction<'_>, event_type: EventType, rows: &[NewRow]) -> Result<()> {
    for _ in 0..ID_ATTEMPTS {
        let ids: Vec<OutboxId> = rows.iter().map(|_| tx.new_id()).collect();
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(PARAMETERS * rows.len() + 1);
        for (row, id) in rows.iter().zip(&ids) {
            binds.push((*id).into());
            // The clock may have been set back since.
            binds.extend(row.binds(time_of(row.notification.raw()).map_or(tx.now(), |time| time.min(tx.now()))));
        }
        binds.push(event_type.as_str().into());
        if tx.execute_counted(&STATEMENTS[rows.len() - 1], &binds)? == rows.len() {
            return Ok(());
        }
        for (row, id) in rows.iter().zip(&ids) {
            tx.execute(DELETE, &[(*id).into(), row.endpoint.into(), row.notification.into()])?;
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

/// Inserts a row for a stored notification. It is due now.
pub(in crate::store) fn insert(tx: &Transaction<'_>, event_type: EventType, row: NewRow) -> Result<OutboxId> {
    let mut binds = row.binds(tx.now()).to_vec();
    binds.push(event_type.as_str().into());
    tx.record(CommitEvent::NotificationQueued(row.endpoint));
    tx.insert(&STATEMENTS[0], &binds)
}

pub(in crate::store) fn statement(rows: usize) -> String {
    let event_type = PARAMETERS * rows + 1;
    let values = values_of_rows(rows, PARAMETERS, &format!(", ?{event_type}, 'WAITING'"));
    format!("{INSERT}{values} ON CONFLICT (id) DO NOTHING")
}
