//! Creation, update and deletion of webhook endpoints.

use crate::error::Result;
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::id::{OrganizationId, WebhookId};
use crate::model::webhook::{
    CreateWebhook, CreatedWebhookEndpoint, RotatedWebhookSecret, UpdateWebhook, WebhookEndpoint,
};
use crate::rules::webhook::{self as rules, WebhookFields};
use crate::store::{Transaction, webhooks};

/// Creates an endpoint with a new signing secret. `allow_local` permits loopback addresses and plain `http`.
pub(crate) fn create(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Request<CreateWebhook>,
    allow_local: bool,
) -> Result<CreatedWebhookEndpoint> {
    let fields = WebhookFields::create(request.body.clone());
    let fields = rules::check(fields, allow_local, request.errors.clone())?;
    let secret = rules::secret_from_random(tx.environment().random());
    let endpoint = webhooks::insert(tx, organization, &fields, &secret)?;
    Ok(CreatedWebhookEndpoint { endpoint, secret })
}

/// Updates an endpoint. Removes the queued notifications of types that it no longer subscribes to.
pub(crate) fn update(
    tx: &Transaction<'_>,
    caller: &Caller,
    id: WebhookId,
    request: &Request<UpdateWebhook>,
    allow_local: bool,
) -> Result<WebhookEndpoint> {
    let current = webhooks::get(tx, caller.organization, id)?;
    caller.check_revision(current.revision)?;
    let fields = WebhookFields::update(&current, request.body.clone());
    let fields = rules::check(fields, allow_local, request.errors.clone())?;
    webhooks::update(tx, caller.organization, &current, &fields)?;
    webhooks::get(tx, caller.organization, id)
}

/// Deletes an endpoint and its queued notifications.
pub(crate) fn delete(tx: &Transaction<'_>, caller: &Caller, id: WebhookId) -> Result<()> {
    let current = webhooks::get(tx, caller.organization, id)?;
    caller.check_revision(current.revision)?;
    webhooks::delete(tx, caller.organization, id)
}

/// Replaces the signing secret of an endpoint.
pub(crate) fn rotate_secret(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: WebhookId,
) -> Result<RotatedWebhookSecret> {
    let secret = rules::secret_from_random(tx.environment().random());
    webhooks::rotate(tx, organization, id, &secret)?;
    Ok(RotatedWebhookSecret { id, secret })
}
