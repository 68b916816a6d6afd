//! The outbox: what is to be sent to which webhook endpoint. A row is written in the transaction of the change that it
//! reports.

use super::{Bind, Counted, Transaction};
use crate::error::{Error, Result, StoreError};
use crate::model::id::{NotificationId, OrganizationId, OutboxId, WebhookId};
use crate::model::notification::{Notification, NotificationData};
use crate::model::text_enum::TextEnum;
use crate::model::webhook::NotificationType;

pub(super) const WANTED: &str =
    "SELECT id, events FROM webhook_endpoints WHERE organization_id = ?1 AND enabled = 1 ORDER BY id";
const INSERT: &str = "INSERT INTO webhook_outbox (id, endpoint_id, event_id, type, body, state, due_at, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, 'WAITING', ?6, ?6)";

/// Queues a notification of each change for every endpoint of the organization that is enabled and wants its type.
pub(super) fn report(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    changes: impl IntoIterator<Item = NotificationData>,
) -> Result<()> {
    let endpoints: Vec<(WebhookId, Vec<NotificationType>)> =
        tx.all(WANTED, &[organization.into()], |row| Ok((row.get(0)?, row.json(1)?)))?;
    if endpoints.is_empty() {
        return Ok(());
    }
    for change in changes {
        let of = change.notification_type();
        let wanted = endpoints.iter().filter(|(_, events)| events.contains(&of));
        queue(tx, change, wanted.map(|(id, _)| *id))?;
    }
    Ok(())
}

/// Queues one notification for each of these endpoints.
fn queue(tx: &Transaction<'_>, data: NotificationData, mut endpoints: impl Iterator<Item = WebhookId>) -> Result<()> {
    let Some(first) = endpoints.next() else { return Ok(()) };
    let of = data.notification_type();
    let mut notification = Notification { id: NotificationId::NOTHING, created_at: tx.now(), data };
    // The notification is named after the first of its rows: an id that no other notification can have, whichever
    // process draws it.
    let first_row = |id: OutboxId| {
        notification.id = NotificationId::from_raw(id.raw());
        serde_json::to_string(&notification).map_err(|error| Error::Internal(error.to_string()))
    };
    let (id, body) = insert_first(tx, first, of, first_row)?;
    for endpoint in endpoints {
        insert(tx, endpoint, NotificationId::from_raw(id.raw()), of, &body)?;
    }
    Ok(())
}

/// Queues the first row of a notification, whose body follows from the row's id. An id that is taken is drawn again.
fn insert_first(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    of: NotificationType,
    mut body: impl FnMut(OutboxId) -> Result<String>,
) -> Result<(OutboxId, String)> {
    for _ in 0..16 {
        let id: OutboxId = tx.draw_id();
        let body = body(id)?;
        let binds = [id.into(), endpoint.into(), id.raw().into(), of.as_str().into(), (&body).into(), tx.now().into()];
        match tx.execute(INSERT, &binds) {
            Ok(_) => {
                tx.count(Counted::NotificationQueued(endpoint));
                return Ok((id, body));
            }
            Err(Error::Store(StoreError::Taken(_))) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Unavailable("no free id was found"))
}

/// Queues a notification that has its id for one endpoint.
pub(super) fn insert(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    notification: NotificationId,
    of: NotificationType,
    body: &str,
) -> Result<OutboxId> {
    let binds: [Bind<'_>; 5] = [endpoint.into(), notification.into(), of.as_str().into(), body.into(), tx.now().into()];
    let id = tx.insert(INSERT, &binds)?;
    tx.count(Counted::NotificationQueued(endpoint));
    Ok(id)
}
