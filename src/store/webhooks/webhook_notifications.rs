//! The notifications that are sent to webhook endpoints. What is sent is stored once, for any number of endpoints.
//!
//! A notification has its organization until it is [expanded](super::expansion), and the number of its rows of the outbox:
//! until then, one. It is deleted with the last of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::outbox_rows::ID_ATTEMPTS;
use crate::error::{Error, Result, Unavailable};
use crate::model::notifications::notification::WebhookNotification;
use crate::model::notifications::notification_types::NotificationData;
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::store::columns::{json, values_of_rows};
use crate::store::{Bind, Lock, Query, Transaction};

const INSERT: &str = "INSERT INTO webhook_notifications (id, body, type, outbox_rows, organization_id) VALUES ";
/// Deletes a notification that was just inserted, but not one that had the id before: a body has what is reported.
const DELETE_NEW: &str = "DELETE FROM webhook_notifications WHERE id = ?1 AND body = ?2";
const ADD_ROW: &str = "INSERT INTO webhook_notifications (id, body, outbox_rows) VALUES (?1, ?2, 1)
    ON CONFLICT (id) DO UPDATE SET outbox_rows = webhook_notifications.outbox_rows + 1";
const DELETE_LAST: &str = "DELETE FROM webhook_notifications WHERE id = ?1 AND outbox_rows <= ?2";
const REMOVE_ROWS: &str = "UPDATE webhook_notifications SET outbox_rows = outbox_rows - ?2 WHERE id = ?1";

/// How many notifications one statement inserts at most.
const MAX_ROWS: usize = 32;
/// How many parameters each of them has. After those of all, one follows for the organization.
const PARAMETERS: usize = 3;
/// The statements that insert 1 to `MAX_ROWS` notifications.
static STATEMENTS: LazyLock<[String; MAX_ROWS]> = LazyLock::new(|| std::array::from_fn(|index| statement(index + 1)));

/// Stores a notification of each change, to be expanded.
pub(in crate::store) fn insert_all(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: &[NotificationData],
) -> Result<()> {
    changes.chunks(MAX_ROWS).try_for_each(|changes| insert_chunk(tx, organization, changes))
}

/// Stores notifications with one statement. If an id is taken, those that were stored are deleted, and all of them are
/// stored under new ids.
fn insert_chunk(tx: &Transaction<'_>, organization: OrganizationId, changes: &[NotificationData]) -> Result<()> {
    for _ in 0..ID_ATTEMPTS {
        let mut notifications: Vec<(NotificationId, String)> = Vec::with_capacity(changes.len());
        for data in changes {
            let notification = WebhookNotification { id: tx.new_id(), created_at: tx.now(), data: data.clone() };
            notifications.push((notification.id, json(&notification)?));
        }
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(PARAMETERS * changes.len() + 1);
        for ((id, body), data) in notifications.iter().zip(changes) {
            binds.extend([(*id).into(), body.into(), data.event_type().as_str().into()]);
        }
        binds.push(organization.into());
        if tx.execute_counted(&STATEMENTS[changes.len() - 1], &binds)? == changes.len() {
            return Ok(());
        }
        for (id, body) in &notifications {
            tx.execute(DELETE_NEW, &[(*id).into(), body.into()])?;
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

/// Counts a further row of the outbox with a notification, and stores the notification if it is not stored.
pub(in crate::store) fn add_row(tx: &Transaction<'_>, id: NotificationId, body: &str) -> Result<()> {
    tx.execute(ADD_ROW, &[id.into(), body.into()])
}

/// Deletes rows of the outbox, and the notifications that have no others. `delete` returns the notification of each
/// deleted row as `event_id`. Returns the number of rows.
pub(in crate::store) fn delete_rows(tx: &Transaction<'_>, delete: Query<'_>, binds: &[Bind<'_>]) -> Result<usize> {
    // Sorted: transactions that lock the same notifications do it in the same order.
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
    let organization = PARAMETERS * rows + 1;
    let values = values_of_rows(rows, PARAMETERS, &format!(", 1, ?{organization}"));
    format!("{INSERT}{values} ON CONFLICT (id) DO NOTHING")
}
