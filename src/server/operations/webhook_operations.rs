//! Operations on webhook endpoints and on the history of their deliveries.

use axum::http::StatusCode;

use super::operation::{Operation, Route, operation};
use crate::enums::scope::Scope::{WebhooksRead, WebhooksWrite};
use crate::error::Reason::{InvalidTransition, LimitReached};
use crate::model::notifications::webhook::{CreateWebhook, ListWebhookDeliveries, ListWebhooks, UpdateWebhook};
use crate::model::tenants::idempotency::Replayable;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_webhooks::<ListWebhooks>(caller), "/webhooks", WebhooksRead)
            .docs("List webhook endpoints", "Newest first."),
        operation!(create, create_webhook::<CreateWebhook>(keyed), "/webhooks", WebhooksWrite, |created| &created
            .endpoint
            .id)
        .docs(
            "Create a webhook endpoint",
            "The response contains the signing secret. It is shown only here and when it is rotated. An \
             organization may have at most 100 endpoints.",
        )
        .conflicts(&[LimitReached]),
        operation!(get_with_etag, get_webhook(caller, id), "/webhooks/{webhookId}", WebhooksRead)
            .docs("Get a webhook endpoint", ""),
        operation!(update, update_webhook::<UpdateWebhook>(conditional, id), "/webhooks/{webhookId}", WebhooksWrite)
            .docs(
                "Update a webhook endpoint",
                "Absent fields keep their value. While the endpoint is disabled, notifications wait in its queue. \
                 Removing a type from `events` also drops the queued notifications of that type.",
            ),
        operation!(delete, delete_webhook(conditional, id), "/webhooks/{webhookId}", WebhooksWrite)
            .docs("Delete a webhook endpoint", "Also drops the notifications in its queue."),
        Operation::action_on(
            Route::new("rotate_webhook_secret", "/webhooks/{webhookId}/rotate-secret", WebhooksWrite),
            |call| call.service.rotate_webhook_secret(call.caller, call.id()).map(Replayable::executed),
        )
        .not_idempotent()
        .docs(
            "Rotate a webhook endpoint's secret",
            "The response contains the new signing secret, which is not shown again. From now on, notifications \
             are signed with it.",
        ),
        operation!(
            list,
            list_webhook_deliveries::<ListWebhookDeliveries>(caller, id),
            "/webhooks/{webhookId}/deliveries",
            WebhooksRead
        )
        .docs("List a webhook endpoint's deliveries", "One for each attempt, newest first."),
        operation!(
            action_on,
            resend_webhook_delivery(keyed, id, second_id),
            "/webhooks/{webhookId}/deliveries/{deliveryId}/resend",
            WebhooksWrite
        )
        .returns(StatusCode::ACCEPTED)
        .docs(
            "Resend a notification",
            "Sends the same notification again; its attempts count from 1. While the endpoint is disabled, it \
             waits. It is refused if the endpoint's `events` no longer contain its type.",
        )
        .conflicts(&[InvalidTransition]),
    ]
}
