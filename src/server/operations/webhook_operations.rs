//! Operations on webhook endpoints and on the history of their deliveries.

use axum::http::StatusCode;

use super::operation::Operation;
use crate::enums::scope::Scope::{WebhooksRead, WebhooksWrite};
use crate::error::Reason::{InvalidTransition, LimitReached};
use crate::form::request::Request;
use crate::model::notifications::webhook::{CreateWebhook, ListWebhookDeliveries, ListWebhooks, UpdateWebhook};
use crate::model::tenants::idempotency::Replayable;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_webhooks", "/webhooks", WebhooksRead, |call, request: ListWebhooks| {
            call.service.list_webhooks(call.caller, request)
        })
        .docs("List webhook endpoints", "Newest first."),
        Operation::create(
            "create_webhook",
            "/webhooks",
            WebhooksWrite,
            |call, request: Request<CreateWebhook>| call.service.create_webhook(call.keyed, request),
            |created| format!("webhooks/{}", created.endpoint.id),
        )
        .docs(
            "Create a webhook endpoint",
            "The response contains the signing secret. It is shown only here and when it is rotated. An organization may \
             have at most 100 endpoints.",
        )
        .conflicts(&[LimitReached]),
        Operation::get_with_etag("get_webhook", "/webhooks/{webhookId}", WebhooksRead, |call| {
            call.service.get_webhook(call.caller, call.id())
        })
        .docs("Get a webhook endpoint", ""),
        Operation::update(
            "update_webhook",
            "/webhooks/{webhookId}",
            WebhooksWrite,
            |call, changes: Request<UpdateWebhook>| call.service.update_webhook(call.conditional, call.id(), changes),
        )
        .docs(
            "Update a webhook endpoint",
            "Absent fields keep their value. While the endpoint is disabled, notifications wait in its queue. Removing \
             a type from `events` also drops the queued notifications of that type.",
        ),
        Operation::delete("delete_webhook", "/webhooks/{webhookId}", WebhooksWrite, |call| {
            call.service.delete_webhook(call.conditional, call.id())
        })
        .docs("Delete a webhook endpoint", "Also drops the notifications in its queue."),
        Operation::action_on("rotate_webhook_secret", "/webhooks/{webhookId}/rotate-secret", WebhooksWrite, |call| {
            call.service.rotate_webhook_secret(call.caller, call.id()).map(Replayable::executed)
        })
        .not_idempotent()
        .docs(
            "Rotate a webhook endpoint's secret",
            "The response contains the new signing secret, which is not shown again. From now on, notifications are \
             signed with it.",
        ),
        Operation::list(
            "list_webhook_deliveries",
            "/webhooks/{webhookId}/deliveries",
            WebhooksRead,
            |call, request: ListWebhookDeliveries| {
                call.service.list_webhook_deliveries(call.caller, call.id(), request)
            },
        )
        .docs("List a webhook endpoint's deliveries", "One for each attempt, newest first."),
        Operation::action_on(
            "resend_webhook_delivery",
            "/webhooks/{webhookId}/deliveries/{deliveryId}/resend",
            WebhooksWrite,
            |call| call.service.resend_webhook_delivery(call.keyed, call.id(), call.second_id()),
        )
        .returns(StatusCode::ACCEPTED)
        .docs(
            "Resend a notification",
            "Sends the same notification again; its attempts count from 1. While the endpoint is disabled, it waits. \
             It is refused if the endpoint's `events` no longer contain its type.",
        )
        .conflicts(&[InvalidTransition]),
    ]
}
