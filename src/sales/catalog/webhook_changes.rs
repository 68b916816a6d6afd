//! Creation, update and deletion of webhook endpoints, and resending notifications to them.

use crate::error::{Error, Result, Unavailable};
use crate::form::change::Change;
use crate::form::request::Request;
use crate::https::endpoint_url;
use crate::model::notifications::webhook::{
    CreateWebhook, CreatedWebhookEndpoint, ResentWebhookDelivery, RotatedWebhookSecret, UpdateWebhook, WebhookEndpoint,
    WebhookFields,
};
use crate::model::tenants::caller::ConditionalCaller;
use crate::model::values::id::{OrganizationId, WebhookDeliveryId, WebhookId};
use crate::rules::count_limit::WEBHOOK_ENDPOINTS;
use crate::rules::webhook as rules;
use crate::store::webhooks::{deliveries, endpoints, outbox, webhook_removals};
use crate::store::{Lock, Transaction};

/// Creates an endpoint with a new signing secret. `allow_local` permits loopback addresses and plain `http`.
pub(crate) fn create(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Request<CreateWebhook>,
    allow_local: bool,
) -> Result<CreatedWebhookEndpoint> {
    let mut errors = request.errors.clone();
    endpoint_url::check(&mut errors, "url", &request.body.url, allow_local);
    let fields = rules::check(WebhookFields::create(request.body.clone()), errors)?;
    tx.lock(Lock::Organization(organization))?;
    WEBHOOK_ENDPOINTS.check_room(endpoints::has_at_least_in_organization(tx, organization, WEBHOOK_ENDPOINTS.most)?)?;
    let secret = rules::secret_from_random(tx.environment().random());
    let endpoint = endpoints::insert(tx, organization, &fields, &secret)?;
    Ok(CreatedWebhookEndpoint { endpoint, secret })
}

/// Updates an endpoint. Removes the queued notifications of types that it no longer subscribes to.
pub(crate) fn update(
    tx: &Transaction<'_>,
    call: &ConditionalCaller,
    id: WebhookId,
    request: &Request<UpdateWebhook>,
    allow_local: bool,
) -> Result<WebhookEndpoint> {
    tx.lock(Lock::Organization(call.caller.organization))?;
    let current = endpoints::get(tx, call.caller.organization, id)?;
    call.check_revision(current.revision)?;
    let (fields, mut errors) = WebhookFields::update(&current, request);
    if let Change::Set(url) = &request.body.url {
        endpoint_url::check(&mut errors, "url", url, allow_local);
    }
    let fields = rules::check(fields, errors)?;
    if fields.events.iter().any(|new| !current.events.contains(new)) && webhook_removals::is_in_progress(tx, id)? {
        // It began after the caller waited for the end of an earlier one.
        return Err(Error::Unavailable(Unavailable::Busy));
    }
    endpoints::update(tx, call.caller.organization, &current, &fields)?;
    endpoints::get(tx, call.caller.organization, id)
}

/// Deletes an endpoint and its queued notifications.
pub(crate) fn delete(tx: &Transaction<'_>, call: &ConditionalCaller, id: WebhookId) -> Result<()> {
    tx.lock(Lock::Organization(call.caller.organization))?;
    let current = endpoints::get(tx, call.caller.organization, id)?;
    call.check_revision(current.revision)?;
    endpoints::delete(tx, call.caller.organization, id)
}

pub(crate) fn rotate_secret(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: WebhookId,
) -> Result<RotatedWebhookSecret> {
    tx.lock(Lock::Organization(organization))?;
    let secret = rules::secret_from_random(tx.environment().random());
    endpoints::rotate(tx, organization, id, &secret)?;
    Ok(RotatedWebhookSecret { id, secret })
}

/// Queues the notification of a delivery again. It is not sent while the endpoint is disabled.
pub(crate) fn resend(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    endpoint: WebhookId,
    delivery: WebhookDeliveryId,
) -> Result<ResentWebhookDelivery> {
    tx.lock(Lock::Organization(organization))?;
    let endpoint = endpoints::get(tx, organization, endpoint)?;
    let sent = deliveries::get_notification(tx, endpoint.id, delivery)?;
    rules::check_subscribed(&endpoint.events, sent.event_type)?;
    let outbox_id = outbox::insert(tx, endpoint.id, sent.id, sent.event_type, &sent.body)?;
    Ok(ResentWebhookDelivery { outbox_id })
}
