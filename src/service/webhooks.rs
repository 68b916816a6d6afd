//! Webhook endpoints, and the history of what was sent to them.

use super::TicketingService;
use crate::error::Result;
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::id::{WebhookDeliveryId, WebhookId, kind};
use crate::model::page::Page;
use crate::model::scope::Scope;
use crate::model::webhook::{
    CreateWebhook, CreatedWebhookEndpoint, ListWebhookDeliveries, ListWebhooks, ResentWebhookDelivery,
    RotatedWebhookSecret, UpdateWebhook, WebhookDelivery, WebhookEndpoint,
};
use crate::rules::webhook::{self as rules, WebhookFields};
use crate::sales::idempotency::OperationTarget;
use crate::store::{deliveries, webhooks};

impl TicketingService {
    /// Lists webhook endpoints, newest first. Scope `webhooks:read`.
    ///
    /// # Errors
    /// A validation error names `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::ListWebhooks;
    #[doc = include_str!("../doc_fixture.md")]
    /// assert_eq!(service.list_webhooks(&caller, ListWebhooks::default())?.data, [webhook.endpoint]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_webhooks(
        &self,
        caller: &Caller,
        request: impl Into<Request<ListWebhooks>>,
    ) -> Result<Page<WebhookEndpoint, kind::Webhook>> {
        caller.require(Scope::WebhooksRead)?;
        let Request { body, errors } = request.into();
        let request = rules::check_list(body, errors)?;
        self.store().read(|tx| webhooks::list(tx, caller.organization, &request))
    }

    /// Registers a webhook endpoint. The answer shows its signing secret, which no read does. Under an
    /// [idempotency key](Caller::with_idempotency_key) the answer is kept, with the secret in it, for 24 hours. Scope
    /// `webhooks:write`.
    ///
    /// # Errors
    /// A validation error names every field that breaks its limit (see [`CreateWebhook`]).
    ///
    /// ```
    /// use ticketing::{CreateWebhook, NotificationType};
    #[doc = include_str!("../doc_fixture.md")]
    /// let wanted = [NotificationType::OrderCompleted, NotificationType::OrderCancelled];
    /// let created = service.create_webhook(&caller, CreateWebhook::new("https://example.com/hook", wanted))?;
    /// assert!(created.secret.expose().starts_with("whsec_"));
    /// assert!(created.endpoint.enabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_webhook(
        &self,
        caller: &Caller,
        request: impl Into<Request<CreateWebhook>>,
    ) -> Result<CreatedWebhookEndpoint> {
        caller.require(Scope::WebhooksWrite)?;
        let (organization, allow_local) = (caller.organization, self.inner.webhooks.allow_local);
        self.write_idempotent(caller, OperationTarget::new("create_webhook"), request, move |tx, request| {
            let fields = WebhookFields::create(request.body.clone());
            let fields = rules::check(fields, allow_local, request.errors.clone())?;
            let secret = rules::secret_from_random(tx.environment().random());
            let endpoint = webhooks::insert(tx, organization, &fields, &secret)?;
            Ok(CreatedWebhookEndpoint { endpoint, secret })
        })
    }

    /// Reads one webhook endpoint. Scope `webhooks:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let endpoint = service.get_webhook(&caller, webhook.endpoint.id)?;
    /// let hint = endpoint.secret_hint.ok_or("it has a secret")?;
    /// assert!(webhook.secret.expose().ends_with(&hint));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_webhook(&self, caller: &Caller, id: WebhookId) -> Result<WebhookEndpoint> {
        caller.require(Scope::WebhooksRead)?;
        self.store().read_one(|tx| webhooks::get(tx, caller.organization, id))
    }

    /// Changes a webhook endpoint. While it is disabled, nothing new is queued for it and what it has waits; what waits of
    /// a type that is taken out of its `events` is dropped. Scope `webhooks:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::RevisionMismatch`](crate::Error::RevisionMismatch); a validation
    /// error as for creation.
    ///
    /// ```
    /// use ticketing::{Change, UpdateWebhook};
    #[doc = include_str!("../doc_fixture.md")]
    /// let changes = UpdateWebhook { enabled: Change::Set(false), ..Default::default() };
    /// assert!(!service.update_webhook(&caller, webhook.endpoint.id, changes)?.enabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_webhook(
        &self,
        caller: &Caller,
        id: WebhookId,
        request: impl Into<Request<UpdateWebhook>>,
    ) -> Result<WebhookEndpoint> {
        caller.require(Scope::WebhooksWrite)?;
        let Request { body, errors } = request.into();
        let (organization, caller) = (caller.organization, caller.clone());
        let allow_local = self.inner.webhooks.allow_local;
        self.store().write(move |tx| {
            let current = webhooks::get(tx, organization, id)?;
            caller.check_revision(current.revision)?;
            let fields = rules::check(WebhookFields::update(&current, body), allow_local, errors)?;
            webhooks::update(tx, organization, &current, &fields)?;
            webhooks::get(tx, organization, id)
        })
    }

    /// Deletes a webhook endpoint. What waits for it is dropped, and its history can be read no more. Scope
    /// `webhooks:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::RevisionMismatch`](crate::Error::RevisionMismatch).
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// service.delete_webhook(&caller, webhook.endpoint.id)?;
    /// assert!(service.get_webhook(&caller, webhook.endpoint.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_webhook(&self, caller: &Caller, id: WebhookId) -> Result<()> {
        caller.require(Scope::WebhooksWrite)?;
        let (organization, caller) = (caller.organization, caller.clone());
        self.store().write(move |tx| {
            caller.check_revision(webhooks::get(tx, organization, id)?.revision)?;
            webhooks::delete(tx, organization, id)
        })
    }

    /// Replaces the signing secret of a webhook endpoint, each time it is called. The answer shows the new one, which no
    /// read does; what is sent from now on is signed with it. Scope `webhooks:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let rotated = service.rotate_webhook_secret(&caller, webhook.endpoint.id)?;
    /// assert!(rotated.secret != webhook.secret);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotate_webhook_secret(&self, caller: &Caller, id: WebhookId) -> Result<RotatedWebhookSecret> {
        caller.require(Scope::WebhooksWrite)?;
        let organization = caller.organization;
        self.store().write(move |tx| {
            let secret = rules::secret_from_random(tx.environment().random());
            webhooks::rotate(tx, organization, id, &secret)?;
            Ok(RotatedWebhookSecret { id, secret })
        })
    }

    /// Lists what was sent to a webhook endpoint: one delivery for each attempt, newest first. Scope `webhooks:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); a validation error names `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::ListWebhookDeliveries;
    #[doc = include_str!("../doc_fixture.md")]
    /// let failures = ListWebhookDeliveries { success: Some(false), ..Default::default() };
    /// let failures = service.list_webhook_deliveries(&caller, webhook.endpoint.id, failures)?;
    /// assert!(failures.data.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_webhook_deliveries(
        &self,
        caller: &Caller,
        id: WebhookId,
        request: impl Into<Request<ListWebhookDeliveries>>,
    ) -> Result<Page<WebhookDelivery, kind::WebhookDelivery>> {
        caller.require(Scope::WebhooksRead)?;
        let Request { body, errors } = request.into();
        let request = rules::check_deliveries(body, errors)?;
        self.store().read(|tx| deliveries::list(tx, caller.organization, id, &request))
    }

    /// Sends the notification of a delivery once more: the same body under the same event id, with attempts counted from
    /// 1. It is queued when this returns, and waits while the endpoint is disabled. Scope `webhooks:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), also where the delivery is one of another endpoint; the conflict
    /// `invalid-transition` where the endpoint does not want its type any more.
    ///
    /// ```
    /// use ticketing::ListWebhookDeliveries;
    #[doc = include_str!("../doc_fixture.md")]
    /// let id = webhook.endpoint.id;
    /// let failures = ListWebhookDeliveries { success: Some(false), ..Default::default() };
    /// for failure in service.list_webhook_deliveries(&caller, id, failures)?.data {
    ///     service.resend_webhook_delivery(&caller, id, failure.id)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resend_webhook_delivery(
        &self,
        caller: &Caller,
        id: WebhookId,
        delivery: WebhookDeliveryId,
    ) -> Result<ResentWebhookDelivery> {
        caller.require(Scope::WebhooksWrite)?;
        let organization = caller.organization;
        let target = OperationTarget::on("resend_webhook_delivery", delivery);
        // The endpoint is the body of the request, so that the same key is refused for another endpoint.
        self.write_idempotent(caller, target, id, move |tx, endpoint: &Request<WebhookId>| {
            let outbox_id = deliveries::resend(tx, organization, endpoint.body, delivery)?;
            Ok(ResentWebhookDelivery { outbox_id })
        })
    }
}
