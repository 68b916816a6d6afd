//! Webhook deliveries: the history of the attempts to send notifications.

use std::sync::LazyLock;

use super::endpoints;
use crate::error::{Error, ResourceKind, Result};
use crate::model::notifications::notification_types::EventType;
use crate::model::notifications::webhook::{ListWebhookDeliveries, WebhookDelivery};
use crate::model::values::id::{NotificationId, OrganizationId, WebhookDeliveryId, WebhookId};
use crate::model::values::page::Page;
use crate::rules::Checked;
use crate::store::Transaction;
use crate::store::columns::{columns, row_struct};
use crate::store::lists::list_query::{ListQuery, cursor_bound};
use crate::store::lists::page_ids::PageIds;
use crate::store::lists::pages::read_page_of;

columns! {
    select selected_columns!("d.") {
        endpoint_id, outbox_id, response_status, response_body, success, attempt, duration_ms, error_message, created_at
    }

    read decode(row: &Row<'_>) -> WebhookDelivery {} and {
        id: row.get("id")?,
        event_type: row.get::<EventType>("type")?.into(),
        notification_id: row.get("event_id")?,
        request_body: row.get("body")?,
    }
}

// The row of the outbox has the notification. It is deleted later than the attempts that refer to it, but if the
// clock was set back, an attempt may outlive it for a while: it is then not listed.
pub(in crate::store) static PAGE: LazyLock<ListQuery> = LazyLock::new(|| {
    ListQuery::new(
        concat!(
            "SELECT d.id, d.type, o.event_id, n.body",
            selected_columns!(),
            " FROM webhook_deliveries d JOIN webhook_outbox o ON o.id = d.outbox_id
                LEFT JOIN webhook_notifications n ON n.id = o.event_id
            WHERE d.id"
        ),
        "ORDER BY d.id DESC",
    )
});
/// The ids of a range of an index. The parameters 1 to 3 are those of [`PageIds`]. Only columns of the index are read
/// of `k`, so that the planner chooses it, and not the order of the table.
pub(in crate::store) const OF_RESULT: &str = "SELECT k.id
    FROM webhook_deliveries k CROSS JOIN webhook_deliveries d CROSS JOIN webhook_outbox o
    WHERE k.endpoint_id = ?4 AND k.success = ?5 AND k.type = ?6 AND k.id >= ?1 AND k.id < ?2
        AND d.id = k.id AND o.id = d.outbox_id
    ORDER BY k.id DESC LIMIT ?3";
const EXISTS: &str = "SELECT 1 FROM webhook_deliveries WHERE id = ?1 AND endpoint_id = ?2";
const NOTIFICATION: &str = "SELECT d.id, d.type, o.event_id, n.body
    FROM webhook_deliveries d JOIN webhook_outbox o ON o.id = d.outbox_id
        LEFT JOIN webhook_notifications n ON n.id = o.event_id
    WHERE d.id = ?1 AND d.endpoint_id = ?2";

/// Lists the delivery attempts to an endpoint of the organization, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    endpoint: WebhookId,
    request: &Checked<ListWebhookDeliveries>,
) -> Result<Page<WebhookDelivery, WebhookDeliveryId>> {
    endpoints::get(tx, organization, endpoint)?;
    cursor_bound(tx, &request.page, EXISTS, endpoint.into())?;
    let mut ids = PageIds::new(&request.page, vec![endpoint.into()]);
    let requested_type = request.event_type.map(EventType::from);
    for success in [true, false] {
        for event_type in EventType::ALL {
            if request.success.is_none_or(|requested| requested == success)
                && requested_type.is_none_or(|requested| requested == *event_type)
            {
                ids.add(tx, OF_RESULT, &[success.into(), event_type.as_str().into()])?;
            }
        }
    }
    read_page_of(tx, &PAGE, &[], ids, decode, |delivery| delivery.id)
}

row_struct! {
    pub(crate) struct SentNotification(row) {
        pub(crate) id: NotificationId => event_id,
        pub(crate) event_type: EventType => type,
        pub(crate) body: String,
    }
}

/// Returns the notification that an attempt sent to an endpoint.
pub(crate) fn get_notification(
    tx: &Transaction<'_>,
    endpoint: WebhookId,
    delivery: WebhookDeliveryId,
) -> Result<SentNotification> {
    let found = tx.query_opt(NOTIFICATION, &[delivery.into(), endpoint.into()], SentNotification::read)?;
    found.ok_or(Error::NotFound(ResourceKind::WebhookDelivery))
}
