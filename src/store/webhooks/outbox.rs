//! The outbox: notifications that are queued for webhook endpoints.
//!
//! A row is one notification for one endpoint; [what is sent](super::webhook_notifications) is stored once. It is
//! inserted in the transaction of the change that it reports: there is no change without its notification, and no
//! notification without its change.
//!
//! A transaction with many notifications for many endpoints would take too long. It inserts the rows of the first
//! endpoint only, and a [fan-out](fan_outs) for the others, from which the webhook sender inserts their rows in
//! batches.

use super::outbox_rows::{self, NewRow};
use super::subscribed_endpoints::{self, EnabledEndpoint};
use super::webhook_notifications::IdentifiedNotification;
use super::{fan_outs, handlers};
use crate::error::Result;
use crate::model::notifications::notification::WebhookNotification;
use crate::model::notifications::notification_types::{EventType, NotificationData, NotificationDetails};
use crate::model::values::id::{NotificationId, OrganizationId, OutboxId, WebhookId};
use crate::store::columns::json;
use crate::store::{CommitEvent, Transaction};

/// How many rows a transaction inserts for all endpoints. Beyond that, it inserts one row for each notification.
const MAX_DIRECT_ROWS: usize = 256;

/// Queues a notification of each change for every enabled endpoint of the organization that is subscribed to its type,
/// and for the handlers of the program.
pub(crate) fn enqueue(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: impl IntoIterator<Item = NotificationData>,
) -> Result<()> {
    let changes: Vec<NotificationData> = changes.into_iter().collect();
    handlers::enqueue(tx, organization, changes.iter().cloned().map(NotificationDetails::from))?;
    let endpoints = subscribed_endpoints::enabled(tx, organization)?;
    if endpoints.is_empty() {
        return Ok(());
    }
    let mut rows = Vec::new();
    for (notification, data) in changes.iter().enumerate() {
        for endpoint in endpoints.iter() {
            if endpoint.types.contains(&data.event_type()) {
                let generation = endpoint.generations.of(data.event_type());
                rows.push(NewRow { notification, endpoint: endpoint.id, generation });
            }
        }
    }
    let rows_before = tx.sum_recorded(|event| usize::from(matches!(event, CommitEvent::NotificationQueued(_))));
    let is_direct = rows_before + rows.len() <= MAX_DIRECT_ROWS;
    if !is_direct {
        rows.dedup_by_key(|row| row.notification);
    }
    let identify = |index: usize, first_row| identify(tx, changes[index].clone(), first_row);
    let notifications = outbox_rows::insert_all(tx, &rows, tx.now(), false, identify)?;
    for row in rows {
        tx.record(CommitEvent::NotificationQueued(row.endpoint));
    }
    if !is_direct {
        queue_fan_outs(tx, organization, &endpoints, &notifications)?;
    }
    Ok(())
}

/// How many notifications the transaction has queued for endpoints, also those whose rows are inserted later.
pub(crate) fn queued(tx: &Transaction<'_>) -> u64 {
    let queued = tx.sum_recorded(|event| match event {
        CommitEvent::NotificationQueued(_) => 1,
        CommitEvent::FanOutQueued { rows } => *rows,
        _ => 0,
    });
    u64::try_from(queued).unwrap_or(u64::MAX)
}

/// Sets the id of a notification to the id of its first row, which makes it unique across processes.
fn identify(tx: &Transaction<'_>, data: NotificationData, first_row: OutboxId) -> Result<IdentifiedNotification> {
    let id = NotificationId::from_raw(first_row.raw());
    let event_type = data.event_type();
    let notification = WebhookNotification { id, created_at: tx.now(), data };
    Ok(IdentifiedNotification { id, event_type, body: json(&notification)? })
}

/// Queues notifications for all endpoints but the first of each type, which has its rows.
fn queue_fan_outs(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    endpoints: &[EnabledEndpoint],
    notifications: &[IdentifiedNotification],
) -> Result<()> {
    for event_type in EventType::ALL {
        let subscribed = endpoints.iter().filter(|endpoint| endpoint.types.contains(event_type));
        let recipients: Vec<_> =
            subscribed.skip(1).map(|endpoint| (endpoint.id, endpoint.generations.of(*event_type))).collect();
        let of_type = notifications.iter().filter(|notification| notification.event_type == *event_type);
        let bodies: Vec<_> = of_type.map(|notification| (notification.id, &notification.body)).collect();
        if !recipients.is_empty() && !bodies.is_empty() {
            fan_outs::insert(tx, organization, *event_type, &recipients, &bodies)?;
        }
    }
    Ok(())
}

/// Queues a notification that exists already for one endpoint.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    id: NotificationId,
    event_type: EventType,
    body: String,
) -> Result<OutboxId> {
    let generation = subscribed_endpoints::generations(tx, endpoint)?.unwrap_or_default().of(event_type);
    let row = outbox_rows::insert(tx, endpoint, generation, &IdentifiedNotification { id, event_type, body })?;
    tx.record(CommitEvent::NotificationQueued(endpoint));
    Ok(row)
}
