//! Inserts rows of the outbox, many with one statement.

use std::sync::LazyLock;

use super::webhook_notifications::{self, IdentifiedNotification};
use crate::error::{Error, Result, Unavailable};
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::{OutboxId, WebhookId};
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::values_of_rows;
use crate::store::{Bind, Transaction};

const INSERT: &str =
    "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, generation, state, due_at, created_at) VALUES ";
/// Deletes a row that was just inserted, but not one that had the id before. That one has another notification, or its
/// notification is stored: that of a row that was just inserted is not, unless `?4` is true.
const DELETE: &str = "DELETE FROM webhook_outbox WHERE id = ?1 AND endpoint_id = ?2 AND event_id = ?3
    AND (?4 = 1 OR NOT EXISTS (SELECT 1 FROM webhook_notifications n WHERE n.id = event_id))";
/// How many parameters each row of `INSERT` has. After those of all rows, one follows for the time.
const PARAMETERS: usize = 5;
/// How many rows one statement inserts at most. A statement with many rows costs less than many statements.
const MAX_ROWS: usize = 32;
/// The statements that insert 1 to `MAX_ROWS` rows.
static STATEMENTS: LazyLock<[String; MAX_ROWS]> = LazyLock::new(|| std::array::from_fn(|index| statement(index + 1)));
/// How often rows are inserted under other ids, because an id is taken.
const ID_ATTEMPTS: usize = 16;

/// A row to insert: a notification, by its index, for an endpoint.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct NewRow {
    pub(in crate::store) notification: usize,
    pub(in crate::store) endpoint: WebhookId,
    /// The endpoint's generation of the type.
    pub(in crate::store) generation: i64,
}

/// The bytes of a row that this module inserts: 8 for each of its eight numbers, its type and its state.
pub(in crate::store) fn size(event_type: EventType) -> u64 {
    u64::try_from(8 * 8 + event_type.as_str().len() + "WAITING".len()).unwrap_or(u64::MAX)
}

/// Inserts rows, which are due since `queued_at`, in the order of their notifications, and stores the notifications.
/// Returns them.
///
/// `identify` gets the index of a notification and the id of its first row. If an id is taken, it is called again.
/// `are_known` tells whether the notifications have other rows, so that they may be stored already.
pub(in crate::store) fn insert_all(
    tx: &Transaction<'_>,
    rows: &[NewRow],
    queued_at: Timestamp,
    are_known: bool,
    mut identify: impl FnMut(usize, OutboxId) -> Result<IdentifiedNotification>,
) -> Result<Vec<IdentifiedNotification>> {
    let mut inserted = Vec::new();
    for rows in rows.chunks(MAX_ROWS) {
        insert_chunk(tx, rows, queued_at, are_known, &mut identify, &mut inserted)?;
    }
    let inserted: Vec<_> = inserted.into_iter().map(|(_, notification)| notification).collect();
    let numbers = rows.chunk_by(|one, other| one.notification == other.notification).map(<[NewRow]>::len);
    webhook_notifications::add_rows(tx, inserted.iter().zip(numbers))?;
    Ok(inserted)
}

/// Inserts rows with one statement, and adds their notifications, with their indexes, to `inserted`. If an id is taken,
/// the inserted rows are deleted, and all of them are inserted under new ids.
fn insert_chunk(
    tx: &Transaction<'_>,
    rows: &[NewRow],
    queued_at: Timestamp,
    are_known: bool,
    identify: &mut impl FnMut(usize, OutboxId) -> Result<IdentifiedNotification>,
    inserted: &mut Vec<(usize, IdentifiedNotification)>,
) -> Result<()> {
    let before = inserted.len();
    for _ in 0..ID_ATTEMPTS {
        inserted.truncate(before);
        // Each row's id, and the position of its notification in `inserted`.
        let mut identified: Vec<(OutboxId, usize)> = Vec::with_capacity(rows.len());
        for row in rows {
            let id = tx.new_id();
            if inserted.last().is_none_or(|(index, _)| *index != row.notification) {
                inserted.push((row.notification, identify(row.notification, id)?));
            }
            identified.push((id, inserted.len() - 1));
        }
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(PARAMETERS * rows.len() + 1);
        for (row, (id, position)) in rows.iter().zip(&identified) {
            let notification = &inserted[*position].1;
            binds.extend([(*id).into(), row.endpoint.into(), notification.id.into()]);
            binds.extend([notification.event_type.as_str().into(), row.generation.into()]);
        }
        binds.push(queued_at.into());
        if tx.execute_counted(&STATEMENTS[rows.len() - 1], &binds)? == rows.len() {
            return Ok(());
        }
        for (row, (id, position)) in rows.iter().zip(&identified) {
            let notification = inserted[*position].1.id;
            tx.execute(DELETE, &[(*id).into(), row.endpoint.into(), notification.into(), are_known.into()])?;
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

/// Inserts a row, which is due now, for a notification that is stored.
pub(in crate::store) fn insert(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    generation: i64,
    notification: &IdentifiedNotification,
) -> Result<OutboxId> {
    let type_name = notification.event_type.as_str();
    let binds = [endpoint.into(), notification.id.into(), type_name.into(), generation.into(), tx.now().into()];
    let id = tx.insert(&STATEMENTS[0], &binds)?;
    webhook_notifications::add_rows(tx, [(notification, 1)])?;
    Ok(id)
}

pub(in crate::store) fn statement(rows: usize) -> String {
    let now = PARAMETERS * rows + 1;
    let values = values_of_rows(rows, PARAMETERS, &format!(", 'WAITING', ?{now}, ?{now}"));
    format!("{INSERT}{values} ON CONFLICT (id) DO NOTHING")
}
