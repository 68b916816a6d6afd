//! What a webhook endpoint may be, and the secret that its notifications are signed with.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Checked, text, webhook_url};
use crate::error::{FieldErrors, Result};
use crate::form::change::Change;
use crate::model::secret::Secret;
use crate::model::webhook::{
    CreateWebhook, ListWebhookDeliveries, ListWebhooks, NotificationType, UpdateWebhook, WebhookEndpoint,
};

const SECRET_PREFIX: &str = "whsec_";

/// Everything that creating and updating an endpoint decides.
#[derive(Debug, Clone)]
pub(crate) struct WebhookFields {
    pub(crate) url: String,
    /// Whether the request gave the URL. One that was taken before, by a program that allowed more, hinders no other change.
    url_given: bool,
    pub(crate) description: Option<String>,
    pub(crate) events: Vec<NotificationType>,
    pub(crate) enabled: bool,
}

impl WebhookFields {
    /// A new endpoint, with the defaults.
    pub(crate) fn create(request: CreateWebhook) -> Self {
        Self {
            url: request.url,
            url_given: true,
            description: request.description,
            events: request.events,
            enabled: request.enabled.unwrap_or(true),
        }
    }

    /// The endpoint as it stands, with the changes laid over it.
    pub(crate) fn update(current: &WebhookEndpoint, changes: UpdateWebhook) -> Self {
        let mut fields = Self {
            url: current.url.clone(),
            url_given: matches!(changes.url, Change::Set(_)),
            description: current.description.clone(),
            events: current.events.clone(),
            enabled: current.enabled,
        };
        changes.url.apply(&mut fields.url);
        changes.description.apply(&mut fields.description);
        changes.events.apply(&mut fields.events);
        changes.enabled.apply(&mut fields.enabled);
        fields
    }
}

/// Checks an endpoint. A type that is named twice counts once, where it stands first.
pub(crate) fn check(
    mut fields: WebhookFields,
    allow_local: bool,
    mut errors: FieldErrors,
) -> Result<Checked<WebhookFields>> {
    if fields.url_given {
        text::check_plain(&mut errors, "url", &fields.url);
        webhook_url::check(&mut errors, "url", &fields.url, allow_local);
    }
    text::check_at_most(&mut errors, "description", fields.description.as_deref(), 500);
    errors.check(!fields.events.is_empty(), "events", "must have at least one entry");
    let mut events = Vec::new();
    for of in fields.events {
        if !events.contains(&of) {
            events.push(of);
        }
    }
    fields.events = events;
    errors.into_result().map(|()| Checked(fields))
}

pub(crate) fn check_list(request: ListWebhooks, mut errors: FieldErrors) -> Result<Checked<ListWebhooks>> {
    super::page::check(&mut errors, &request.page);
    errors.into_result().map(|()| Checked(request))
}

pub(crate) fn check_deliveries(
    request: ListWebhookDeliveries,
    mut errors: FieldErrors,
) -> Result<Checked<ListWebhookDeliveries>> {
    super::page::check(&mut errors, &request.page);
    errors.into_result().map(|()| Checked(request))
}

/// Builds a signing secret from random bytes: `whsec_` and the bytes in base64.
pub(crate) fn secret_from_random(random: [u8; 32]) -> Secret {
    Secret::new(format!("{SECRET_PREFIX}{}", STANDARD.encode(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_32_random_bytes_in_standard_base64_with_padding() {
        let bytes = std::array::from_fn(|index| u8::try_from(index).unwrap());
        // `printf '\x00\x01...\x1f' | base64`
        assert_eq!(secret_from_random(bytes).expose(), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    }
}
