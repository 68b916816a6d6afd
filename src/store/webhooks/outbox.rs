//! What changes report to webhook endpoints.
//!
//! The transaction of a change stores its notifications: there is no change without its notification, and no notification
//! without its change. The outbox has a row for each endpoint that gets a notification, inserted when it is
//! [expanded](super::expansion).

use super::outbox_rows::{self, NewRow};
use super::{handlers, subscribed_endpoints, webhook_notifications};
use crate::error::Result;
use crate::model::notifications::notification_types::{EventType, NotificationData, NotificationDetails};
use crate::model::values::id::{NotificationId, OrganizationId, OutboxId, WebhookId};
use crate::store::{CommitEvent, Transaction};

/// Stores a notification of each change whose type an enabled endpoint of the organization wants, and adds calls of the
/// handlers of the program. The bytes of the rows to be inserted count for this transaction.
pub(crate) fn enqueue(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: impl IntoIterator<Item = NotificationData>,
) -> Result<()> {
    let mut changes: Vec<NotificationData> = changes.into_iter().collect();
    handlers::enqueue(tx, organization, changes.iter().cloned().map(NotificationDetails::from))?;
    let endpoints = subscribed_endpoints::enabled(tx, organization)?;
    let mut rows = 0;
    changes.retain(|data| {
        let wanted = endpoints.iter().filter(|endpoint| endpoint.types.contains(&data.event_type())).count();
        rows += wanted;
        tx.count_later_bytes(outbox_rows::size(data.event_type()) * u64::try_from(wanted).unwrap_or(u64::MAX));
        wanted > 0
    });
    if rows > 0 {
        webhook_notifications::insert_all(tx, organization, &changes)?;
        tx.record(CommitEvent::NotificationsStored { rows });
    }
    Ok(())
}

/// How many rows are to be inserted for the notifications that the transaction has stored.
pub(crate) fn queued(tx: &Transaction<'_>) -> u64 {
    let queued = tx.sum_recorded(|event| match event {
        CommitEvent::NotificationQueued(_) => 1,
        CommitEvent::NotificationsStored { rows } => *rows,
        _ => 0,
    });
    u64::try_from(queued).unwrap_or(u64::MAX)
}

/// Queues a notification that exists already for one endpoint.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    notification: NotificationId,
    event_type: EventType,
    body: &str,
) -> Result<OutboxId> {
    webhook_notifications::add_row(tx, notification, body)?;
    outbox_rows::insert(tx, event_type, NewRow { notification, endpoint })
}
