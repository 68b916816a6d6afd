//! Whether Stripe is set up for the gateway: the key, and the endpoints that receive notices.

use serde_json::Value;

use super::client::Call;
use super::failure::Failure;
use super::form::Form;
use super::gateway::StripeGateway;
use super::notices::EVENT_TYPES;
use crate::payment::GatewayError;

/// The end of the URL to which Stripe must send notices.
const NOTICES: &str = "/gateway/notices";

/// What [`StripeGateway::check_setup`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StripeSetup {
    /// The endpoints at Stripe whose URL ends with `/gateway/notices`.
    pub endpoints: Vec<StripeEndpoint>,
}

/// An endpoint at Stripe, to which it sends notices.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StripeEndpoint {
    /// The URL.
    pub url: String,
    /// Whether Stripe sends notices to it.
    pub is_enabled: bool,
    /// Whether it receives notices of real payments, and not of tests.
    pub is_live: bool,
    /// The types of events that the gateway needs and the endpoint does not receive.
    pub missing_event_types: Vec<&'static str>,
}

impl StripeGateway {
    /// Asks Stripe whether it accepts the secret key, and which endpoints are set up for notices. The key must be allowed
    /// to read Checkout Sessions, refunds and webhook endpoints.
    ///
    /// # Errors
    /// Why the key cannot be used.
    pub fn check_setup(&self) -> Result<StripeSetup, GatewayError> {
        for path in ["checkout/sessions", "refunds"] {
            let mut form = Form::default();
            form.add("limit", 1);
            self.client.get(&Call { path, form, ..Call::default() })?;
        }
        let mut form = Form::default();
        form.add("limit", 100);
        let list = self.client.get(&Call { path: "webhook_endpoints", form, ..Call::default() })?.body;
        let list = list.get("data").and_then(Value::as_array);
        let list = list.ok_or_else(|| Failure::Unexpected("it is not a list of endpoints".to_owned()))?;
        let endpoints = list.iter().filter_map(endpoint).filter(|endpoint| endpoint.url.ends_with(NOTICES));
        Ok(StripeSetup { endpoints: endpoints.collect() })
    }
}

fn endpoint(endpoint: &Value) -> Option<StripeEndpoint> {
    let enabled = endpoint.get("enabled_events")?.as_array()?;
    let receives = |kind: &str| enabled.iter().any(|event| event == "*" || event == kind);
    Some(StripeEndpoint {
        url: endpoint.get("url")?.as_str()?.to_owned(),
        is_enabled: endpoint.get("status").is_some_and(|status| status == "enabled"),
        is_live: endpoint.get("livemode")?.as_bool()?,
        missing_event_types: EVENT_TYPES.into_iter().filter(|kind| !receives(kind)).collect(),
    })
}
