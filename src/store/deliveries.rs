//! Webhook deliveries: the history of the attempts to send notifications.

use super::lists::{cursor_bound, limit_plus_one};
use super::pages::read_page;
use super::{Row, Transaction, webhooks};
use crate::error::{Error, ResourceKind, Result};
use crate::model::id::{NotificationId, OrganizationId, WebhookDeliveryId, WebhookId};
use crate::model::page::Page;
use crate::model::webhook::{EventType, ListWebhookDeliveries, WebhookDelivery};
use crate::rules::Checked;

// The body that was sent is in the outbox. An outbox row is deleted later than the attempts that refer to it, but if the
// clock was set back, an attempt may outlive it for a while: it is then not listed.
pub(super) const LIST: &str = "SELECT d.id, d.endpoint_id, d.outbox_id, d.type, o.event_id, o.body, d.response_status,
        d.response_body, d.success, d.attempt, d.duration_ms, d.error_message, d.created_at
    FROM webhook_deliveries d LEFT JOIN webhook_outbox o ON o.id = d.outbox_id
    WHERE d.endpoint_id = ?1 AND d.id < ?2 AND o.id IS NOT NULL AND (CAST(?4 AS BIGINT) IS NULL OR d.success = ?4)
        AND (CAST(?5 AS TEXT) IS NULL OR d.type = ?5)
    ORDER BY d.id DESC LIMIT ?3";
const EXISTS: &str = "SELECT 1 FROM webhook_deliveries WHERE id = ?1 AND endpoint_id = ?2";
const NOTIFICATION: &str = "SELECT d.id, d.type, o.event_id, o.body
    FROM webhook_deliveries d LEFT JOIN webhook_outbox o ON o.id = d.outbox_id WHERE d.id = ?1 AND d.endpoint_id = ?2
        AND o.id IS NOT NULL";

fn decode(row: &Row<'_>) -> Result<WebhookDelivery> {
    Ok(WebhookDelivery {
        id: row.get("id")?,
        endpoint_id: row.get("endpoint_id")?,
        outbox_id: row.get("outbox_id")?,
        event_type: row.text_enum::<EventType>("type")?.into(),
        notification_id: row.get("event_id")?,
        request_body: row.get("body")?,
        response_status: row.get("response_status")?,
        response_body: row.get("response_body")?,
        success: row.get("success")?,
        attempt: row.get("attempt")?,
        duration_ms: row.get("duration_ms")?,
        error_message: row.get("error_message")?,
        created_at: row.get("created_at")?,
    })
}

/// Lists the delivery attempts to an endpoint of the organization, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    endpoint: WebhookId,
    request: &Checked<ListWebhookDeliveries>,
) -> Result<Page<WebhookDelivery, WebhookDeliveryId>> {
    webhooks::get(tx, organization, endpoint)?;
    let binds = [
        endpoint.into(),
        cursor_bound(tx, &request.page, EXISTS, endpoint.into())?,
        limit_plus_one(&request.page),
        request.success.into(),
        request.event_type.map(|event_type| EventType::from(event_type).as_str()).into(),
    ];
    read_page(tx, LIST, &binds, &request.page, decode, |delivery| delivery.id)
}

/// The notification that an attempt sent.
pub(crate) struct SentNotification {
    pub(crate) id: NotificationId,
    pub(crate) event_type: EventType,
    pub(crate) body: String,
}

/// Returns the notification that an attempt sent to an endpoint.
pub(crate) fn get_notification(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    delivery: WebhookDeliveryId,
) -> Result<SentNotification> {
    let found = tx.query_opt(NOTIFICATION, &[delivery.into(), endpoint.into()], |row| {
        Ok(SentNotification { event_type: row.text_enum("type")?, id: row.get("event_id")?, body: row.get("body")? })
    })?;
    found.ok_or(Error::NotFound(ResourceKind::WebhookDelivery))
}
