//! Webhook endpoints, and the history of what was sent to them, over HTTP.

use super::operation::Operation;
use crate::form::request::Request;
use crate::model::scope::Scope::{WebhooksRead, WebhooksWrite};
use crate::model::webhook::{CreateWebhook, ListWebhookDeliveries, ListWebhooks, UpdateWebhook};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(("list_webhooks", "/webhooks", WebhooksRead), |call, request: Request<ListWebhooks>| {
            call.service.list_webhooks(call.caller, request)
        }),
        Operation::create(
            ("create_webhook", "/webhooks", WebhooksWrite),
            |call, request: Request<CreateWebhook>| call.service.create_webhook(call.caller, request),
            |created| format!("webhooks/{}", created.endpoint.id),
        ),
        Operation::get_revised(("get_webhook", "/webhooks/{webhookId}", WebhooksRead), |call| {
            call.service.get_webhook(call.caller, call.id())
        }),
        Operation::update(
            ("update_webhook", "/webhooks/{webhookId}", WebhooksWrite),
            |call, changes: Request<UpdateWebhook>| call.service.update_webhook(call.caller, call.id(), changes),
        ),
        Operation::delete(("delete_webhook", "/webhooks/{webhookId}", WebhooksWrite), |call| {
            call.service.delete_webhook(call.caller, call.id())
        }),
        Operation::act_on_each_time(
            ("rotate_webhook_secret", "/webhooks/{webhookId}/rotate-secret", WebhooksWrite),
            |call| call.service.rotate_webhook_secret(call.caller, call.id()),
        ),
        Operation::list(
            ("list_webhook_deliveries", "/webhooks/{webhookId}/deliveries", WebhooksRead),
            |call, request: Request<ListWebhookDeliveries>| {
                call.service.list_webhook_deliveries(call.caller, call.id(), request)
            },
        ),
        Operation::act_on(
            ("resend_webhook_delivery", "/webhooks/{webhookId}/deliveries/{deliveryId}/resend", WebhooksWrite),
            |call| call.service.resend_webhook_delivery(call.caller, call.id(), call.second_id()),
        )
        .that_is_done_later(),
    ]
}
