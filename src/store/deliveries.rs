//! The history of webhook deliveries, and sending again what is in it.

use super::lists::{below, one_more};
use super::{Row, Transaction, outbox, webhooks};
use crate::error::{Error, Reason, Result};
use crate::model::id::{NotificationId, OrganizationId, OutboxId, WebhookDeliveryId, WebhookId, kind};
use crate::model::page::Page;
use crate::model::text_enum::TextEnum;
use crate::model::webhook::{ListWebhookDeliveries, NotificationType, WebhookDelivery};
use crate::rules::Checked;

/// What was sent is in the outbox, whose rows outlive their history.
pub(super) const LIST: &str = "SELECT d.id, d.endpoint_id, d.outbox_id, d.type, o.event_id, o.body, d.response_status,
        d.response_body, d.success, d.attempt, d.duration_ms, d.error_message, d.created_at
    FROM webhook_deliveries d LEFT JOIN webhook_outbox o ON o.id = d.outbox_id
    WHERE d.endpoint_id = ?1 AND d.id < ?2 AND (CAST(?4 AS BIGINT) IS NULL OR d.success = ?4)
        AND (CAST(?5 AS TEXT) IS NULL OR d.type = ?5)
    ORDER BY d.id DESC LIMIT ?3";
const EXISTS: &str = "SELECT 1 FROM webhook_deliveries WHERE id = ?1 AND endpoint_id = ?2";
const SENT: &str = "SELECT d.id, d.type, o.event_id, o.body
    FROM webhook_deliveries d LEFT JOIN webhook_outbox o ON o.id = d.outbox_id WHERE d.id = ?1 AND d.endpoint_id = ?2";

fn decode(row: &Row<'_>) -> Result<WebhookDelivery> {
    Ok(WebhookDelivery {
        id: row.get("id")?,
        endpoint_id: row.get("endpoint_id")?,
        outbox_id: row.get("outbox_id")?,
        event_type: row.text_enum::<NotificationType>("type")?.into(),
        event_id: row.get("event_id")?,
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

/// What was sent to an endpoint of the organization, the last attempt first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    endpoint: WebhookId,
    request: &Checked<ListWebhookDeliveries>,
) -> Result<Page<WebhookDelivery, kind::WebhookDelivery>> {
    webhooks::get(tx, organization, endpoint)?;
    let binds = [
        endpoint.into(),
        below(tx, &request.page, EXISTS, endpoint.into())?,
        one_more(&request.page),
        request.success.into(),
        request.event_type.map(|of| NotificationType::from(of).as_str()).into(),
    ];
    let found = tx.query_all(LIST, &binds, decode)?;
    Ok(Page::cut(found, request.page.limit, |delivery| delivery.id))
}

/// Queues once more what a delivery sent. While the endpoint is disabled it waits like anything else.
pub(crate) fn resend(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    endpoint: WebhookId,
    delivery: WebhookDeliveryId,
) -> Result<OutboxId> {
    let wanted = webhooks::get(tx, organization, endpoint)?.events;
    let sent = tx.query_opt(SENT, &[delivery.into(), endpoint.into()], |row| {
        Ok((
            row.text_enum::<NotificationType>("type")?,
            row.get::<NotificationId>("event_id")?,
            row.get::<String>("body")?,
        ))
    })?;
    let (of, notification, body) = sent.ok_or(Error::NotFound("webhook delivery"))?;
    if !wanted.contains(&of) {
        let detail = format!("the endpoint does not want {of} any more");
        return Err(Error::conflict(Reason::InvalidTransition, detail));
    }
    outbox::insert(tx, endpoint, notification, of, &body)
}
