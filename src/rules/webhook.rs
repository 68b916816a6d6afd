//! Validation of webhook endpoints, the check before a notification is resent, and signing secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Checked;
use crate::error::{Error, FieldErrors, Reason, Result};
use crate::model::notifications::notification_types::EventType;
use crate::model::notifications::webhook::WebhookFields;
use crate::model::values::secret::Secret;

const SECRET_PREFIX: &str = "whsec_";

/// Checks an endpoint whose fields are within their limits, and removes duplicate types of notifications. Does not
/// check the URL: `https::endpoint_url::check` checks it if a request sets it, so that a stored URL that was accepted
/// with other settings does not prevent other changes.
pub(crate) fn check(mut fields: WebhookFields, errors: FieldErrors) -> Result<Checked<WebhookFields>> {
    let mut events = Vec::new();
    for kind in fields.events {
        if !events.contains(&kind) {
            events.push(kind);
        }
    }
    fields.events = events;
    errors.into_result().map(|()| Checked(fields))
}

/// Checks that a notification of this type may be resent to an endpoint that is subscribed to the types `subscribed`.
pub(crate) fn check_subscribed(subscribed: &[EventType], event_type: EventType) -> Result<()> {
    if subscribed.contains(&event_type) {
        return Ok(());
    }
    let detail = format!("the endpoint is no longer subscribed to {event_type}");
    Err(Error::conflict(Reason::InvalidTransition, detail))
}

/// Builds a signing secret from random bytes: `whsec_` and the bytes in base64.
pub(crate) fn secret_from_random(random: [u8; 32]) -> Secret {
    Secret::new(format!("{SECRET_PREFIX}{}", STANDARD.encode(random)))
}
