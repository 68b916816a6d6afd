//! The notifications that rows of the outbox send. What is sent is stored once, for any number of endpoints.
//!
//! A notification has the number of its rows. It is deleted with the last of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::error::Result;
use crate::model::notifications::notification_types::EventType;
use crate::model::values::id::NotificationId;
use crate::store::columns::values_of_rows;
use crate::store::{Bind, Lock, Query, Transaction};

const INSERT: &str = "INSERT INTO webhook_notifications (id, body, outbox_rows) VALUES ";
/// The id of a notification is that of its first row, or the notification is stored already.
const OR_ADD: &str =
    " ON CONFLICT (id) DO UPDATE SET outbox_rows = webhook_notifications.outbox_rows + excluded.outbox_rows";
const DELETE_LAST: &str = "DELETE FROM webhook_notifications WHERE id = ?1 AND outbox_rows <= ?2";
const REMOVE_ROWS: &str = "UPDATE webhook_notifications SET outbox_rows = outbox_rows - ?2 WHERE id = ?1";

/// How many notifications one statement inserts at most.
const MAX_ROWS: usize = 32;
/// How many parameters each of them has.
const PARAMETERS: usize = 3;
/// The statements that insert 1 to `MAX_ROWS` notifications.
static STATEMENTS: LazyLock<[String; MAX_ROWS]> = LazyLock::new(|| std::array::from_fn(|index| statement(index + 1)));

#[derive(Debug, Clone)]
pub(in crate::store) struct IdentifiedNotification {
    pub(in crate::store) id: NotificationId,
    pub(in crate::store) event_type: EventType,
    /// What is sent.
    pub(in crate::store) body: String,
}

/// Stores notifications, each with the number of rows that the transaction inserts for it, or adds these rows to those
/// that are stored already.
pub(in crate::store) fn add_rows<'n>(
    tx: &Transaction<'_>,
    rows: impl IntoIterator<Item = (&'n IdentifiedNotification, usize)>,
) -> Result<()> {
    // Sorted: transactions that lock the same notifications do it in the same order.
    let rows: BTreeMap<_, _> = rows.into_iter().map(|row| (row.0.id, row)).collect();
    let rows: Vec<_> = rows.into_values().collect();
    for chunk in rows.chunks(MAX_ROWS) {
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(PARAMETERS * chunk.len());
        for (notification, rows) in chunk {
            binds.extend([notification.id.into(), (&notification.body).into(), (*rows).into()]);
        }
        tx.execute(&STATEMENTS[chunk.len() - 1], &binds)?;
    }
    Ok(())
}

/// Deletes rows of the outbox, and the notifications that have no others. `delete` returns the notification of each
/// deleted row as `event_id`. Returns the number of rows.
pub(in crate::store) fn delete_rows(tx: &Transaction<'_>, delete: Query<'_>, binds: &[Bind<'_>]) -> Result<usize> {
    // In the order in which `add_rows` locks them.
    let mut numbers: BTreeMap<NotificationId, i64> = BTreeMap::new();
    let mut deleted = 0;
    tx.query_each(delete, binds, |row| {
        *numbers.entry(row.get("event_id")?).or_default() += 1;
        deleted += 1;
        Ok(())
    })?;
    for (notification, number) in numbers {
        let binds = [notification.into(), number.into()];
        // A deletion alone would not wait for another transaction that removes the other rows.
        tx.lock(Lock::WebhookNotification(notification))?;
        tx.execute(DELETE_LAST, &binds)?;
        tx.execute(REMOVE_ROWS, &binds)?;
    }
    Ok(deleted)
}

pub(in crate::store) fn statement(rows: usize) -> String {
    format!("{INSERT}{}{OR_ADD}", values_of_rows(rows, PARAMETERS, ""))
}
