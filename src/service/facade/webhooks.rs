//! Operations on webhook endpoints and their deliveries.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::change::Change;
use crate::form::request::Request;
use crate::model::notifications::webhook::{
    CreateWebhook, CreatedWebhookEndpoint, ListWebhookDeliveries, ListWebhooks, ResentWebhookDelivery,
    RotatedWebhookSecret, UpdateWebhook, WebhookDelivery, WebhookEndpoint,
};
use crate::model::tenants::caller::{Caller, ConditionalCaller, IdempotentCall};
use crate::model::values::id::{WebhookDeliveryId, WebhookId};
use crate::model::values::page::Page;
use crate::sales::catalog::webhook_changes;
use crate::sales::idempotent_operation::OperationTarget;
use crate::service::TicketingService;
use crate::store::webhooks::{deliveries, endpoints, webhook_removals};

/// # Webhook endpoints and deliveries
impl TicketingService {
    /// Lists webhook endpoints, newest first.
    ///
    /// Requires the scope `webhooks:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::webhook::ListWebhooks;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let page = service.list_webhooks(&caller, ListWebhooks::default())?;
    /// assert_eq!(page.data, [webhook.endpoint]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_webhooks(&self, caller: &Caller, request: ListWebhooks) -> Result<Page<WebhookEndpoint, WebhookId>> {
        self.list(caller, Scope::WebhooksRead, request, endpoints::list)
    }

    /// Creates a webhook endpoint: a URL that receives notifications of the requested types.
    ///
    /// The result contains the signing secret, which no read operation returns. With an
    /// [idempotency key](Caller::with_idempotency_key), the result is stored for 24 hours, including the secret.
    ///
    /// Requires the scope `webhooks:write`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`CreateWebhook`]).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `limit-reached` if the organization has 100
    ///   endpoints.
    ///
    /// ```
    /// use ticketing::webhook::{CreateWebhook, EventType};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let types = [EventType::OrderCompleted, EventType::OrderCancelled];
    /// let created = service.create_webhook(&caller, CreateWebhook::new("https://example.com/hook", types))?;
    /// assert!(created.secret.expose().starts_with("whsec_"));
    /// assert!(created.endpoint.enabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_webhook<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<CreateWebhook>>,
    ) -> Result<C::Output<CreatedWebhookEndpoint>> {
        self.writes().require(caller.as_caller(), Scope::WebhooksWrite)?;
        let allow_local = self.inner.allow_local_webhooks;
        self.write(caller, OperationTarget::new("create_webhook"), request)
            .run(move |tx, caller, request| webhook_changes::create(tx, caller.organization, request, allow_local))
    }

    /// Returns a webhook endpoint.
    ///
    /// Requires the scope `webhooks:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the endpoint does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let endpoint = service.get_webhook(&caller, webhook.endpoint.id)?;
    /// let hint = endpoint.secret_hint.ok_or("the endpoint has no secret")?;
    /// assert!(webhook.secret.expose().ends_with(&hint));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_webhook(&self, caller: &Caller, id: WebhookId) -> Result<WebhookEndpoint> {
        caller.require(Scope::WebhooksRead)?;
        self.store()?.read_one(|tx| endpoints::get(tx, caller.organization, id))
    }

    /// Updates the fields of a webhook endpoint that the request sets.
    ///
    /// While an endpoint is disabled, no new notifications are queued for it, and its queued ones are not sent. Queued
    /// notifications of a type that is removed from `events` are deleted.
    ///
    /// Requires the scope `webhooks:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the endpoint does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`CreateWebhook`]).
    ///
    /// ```
    /// use ticketing::webhook::UpdateWebhook;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let changes = UpdateWebhook::default().enabled(false);
    /// let endpoint = service.update_webhook(&caller, webhook.endpoint.id, changes)?;
    /// assert!(!endpoint.enabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_webhook(
        &self,
        caller: impl Into<ConditionalCaller>,
        id: WebhookId,
        request: impl Into<Request<UpdateWebhook>>,
    ) -> Result<WebhookEndpoint> {
        let call = caller.into();
        self.writes().require(&call.caller, Scope::WebhooksWrite)?;
        let request = request.into();
        let allow_local = self.inner.allow_local_webhooks;
        let organization = call.caller.organization;
        while matches!(request.body.events, Change::Set(_))
            && self.store()?.read_one(|tx| {
                Ok(webhook_removals::is_in_progress(tx, id)? && endpoints::exists(tx, organization, id)?)
            })?
        {
            self.store()?.write(Some(organization), move |tx| webhook_removals::go_on_at_once(tx, organization, id))?;
        }
        self.writes()
            .run(call.caller.identity(), move |tx| webhook_changes::update(tx, &call, id, &request, allow_local))
    }

    /// Deletes a webhook endpoint and its queued notifications. Its deliveries can no longer be read.
    ///
    /// Requires the scope `webhooks:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the endpoint does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.delete_webhook(&caller, webhook.endpoint.id)?;
    /// assert!(service.get_webhook(&caller, webhook.endpoint.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_webhook(&self, caller: impl Into<ConditionalCaller>, id: WebhookId) -> Result<()> {
        let call = caller.into();
        call.caller.require(Scope::WebhooksWrite)?;
        self.writes().run(call.caller.identity(), move |tx| webhook_changes::delete(tx, &call, id))
    }

    /// Replaces the signing secret of a webhook endpoint. Attempts that start after this returns are signed with the
    /// new secret, except those that a sender in another process has already claimed. Every call creates a new secret,
    /// so this operation accepts no idempotency key.
    ///
    /// The result contains the new secret, which no read operation returns.
    ///
    /// Requires the scope `webhooks:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the endpoint does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let rotated = service.rotate_webhook_secret(&caller, webhook.endpoint.id)?;
    /// assert!(rotated.secret != webhook.secret);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotate_webhook_secret(&self, caller: &Caller, id: WebhookId) -> Result<RotatedWebhookSecret> {
        caller.require(Scope::WebhooksWrite)?;
        let organization = caller.organization;
        self.writes().run(caller.identity(), move |tx| webhook_changes::rotate_secret(tx, organization, id))
    }

    /// Lists the deliveries to a webhook endpoint, newest first: one for each attempt to send a notification.
    ///
    /// Requires the scope `webhooks:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the endpoint does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::webhook::ListWebhookDeliveries;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let failed = ListWebhookDeliveries::default().success(false);
    /// let page = service.list_webhook_deliveries(&caller, webhook.endpoint.id, failed)?;
    /// assert!(page.data.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_webhook_deliveries(
        &self,
        caller: &Caller,
        id: WebhookId,
        request: ListWebhookDeliveries,
    ) -> Result<Page<WebhookDelivery, WebhookDeliveryId>> {
        self.list(caller, Scope::WebhooksRead, request, |tx, organization, request| {
            deliveries::list(tx, organization, id, request)
        })
    }

    /// Queues the notification of a delivery again, with the same body and notification id. Attempts are counted from 1
    /// again.
    ///
    /// The notification is queued when this returns. It is not sent while the endpoint is disabled.
    ///
    /// Requires the scope `webhooks:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the endpoint has no such delivery.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `invalid-transition` if the endpoint's `events` no
    ///   longer contain the type of the notification.
    ///
    /// ```
    /// use ticketing::webhook::ListWebhookDeliveries;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let id = webhook.endpoint.id;
    /// let failed = ListWebhookDeliveries::default().success(false);
    /// for delivery in service.list_webhook_deliveries(&caller, id, failed)?.data {
    ///     service.resend_webhook_delivery(&caller, id, delivery.id)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resend_webhook_delivery<C: IdempotentCall>(
        &self,
        caller: &C,
        id: WebhookId,
        delivery: WebhookDeliveryId,
    ) -> Result<C::Output<ResentWebhookDelivery>> {
        self.writes().require_to_notify(caller.as_caller(), Scope::WebhooksWrite)?;
        let target = OperationTarget::on("resend_webhook_delivery", delivery);
        // The endpoint is the body of the request, so that the same key is refused for another endpoint.
        self.write(caller, target, Request::of_value(id))
            .run(move |tx, caller, endpoint| webhook_changes::resend(tx, caller.organization, endpoint.body, delivery))
    }
}
