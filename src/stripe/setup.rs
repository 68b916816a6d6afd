//! Whether Stripe is set up for the gateway: the key, and the endpoints that receive notices.

use serde_json::Value;

use super::api::failure::Failure;
use super::api::form::Form;
use super::gateway::StripeGateway;
use super::objects::notices::EVENT_TYPES;
use crate::payment::GatewayError;

/// The end of the URL to which Stripe must send notices.
const NOTICES: &str = "/gateway/notices";

/// The id of a payment that does not exist, which is also the idempotency key of its refund.
const NO_PAYMENT: &str = "pi_that_does_not_exist";

/// What [`StripeGateway::check_setup`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StripeSetup {
    /// Whether the key takes real payments. `None` if the key does not tell.
    pub is_live: Option<bool>,
    /// Whether organizations may have [accounts of their own](super::StripeGatewayBuilder::account_for).
    pub has_accounts: bool,
    /// Whether the key may make refunds. A restricted key needs the permission to write refunds.
    pub can_refund: bool,
    /// Whether the key may read disputes and balance transactions, which a
    /// [reconciliation](crate::TicketingService::reconcile) needs.
    pub can_reconcile: bool,
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
    /// Whether it receives the notices of connected accounts, and not those of the account of the key.
    pub is_connect: bool,
    /// The types of events that the gateway needs and the endpoint does not receive.
    pub missing_event_types: Vec<&'static str>,
}

impl StripeSetup {
    /// What is wrong with the key or the endpoints, as a sentence without a full stop. `None` if the key may make
    /// refunds and read balance transactions, and an endpoint is enabled that receives all notices. If organizations
    /// have accounts of their own, it must be one for connected accounts.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        if !self.can_refund {
            return Some("the secret key may not make refunds: it needs the permission to write refunds");
        }
        if !self.can_reconcile {
            return Some(
                "the secret key may not read disputes and balance transactions, which stripe-reconcile needs: it needs the \
                 permissions to read them",
            );
        }
        let mut endpoints =
            self.endpoints.iter().filter(|endpoint| endpoint.is_connect == self.has_accounts).peekable();
        if self.endpoints.is_empty() {
            return Some("no endpoint at Stripe has a URL that ends with /gateway/notices");
        }
        if endpoints.peek().is_none() {
            return Some(if self.has_accounts {
                "no endpoint at Stripe receives the events of connected accounts, which organizations have"
            } else {
                "no endpoint at Stripe receives the events of the account of the key, only those of connected accounts"
            });
        }
        if endpoints.any(|endpoint| endpoint.is_enabled && endpoint.missing_event_types.is_empty()) {
            return None;
        }
        Some("no endpoint at Stripe that is enabled receives all notices")
    }
}

impl StripeGateway {
    /// Asks Stripe whether it accepts the secret key, and which endpoints are set up for notices. The key must be
    /// allowed to read Checkout Sessions, refunds and webhook endpoints. Whether it may also read disputes and balance
    /// transactions is tried too, and whether it may make refunds, with a payment that does not exist, so that none is
    /// made.
    ///
    /// # Errors
    /// Why the key cannot be used.
    pub fn check_setup(&self) -> Result<StripeSetup, GatewayError> {
        for path in ["checkout/sessions", "refunds"] {
            self.read_one(path)?;
        }
        let listed = self.client.list_all("webhook_endpoints", Form::default(), |listed| Ok(endpoint(listed)))?;
        let endpoints = listed.into_iter().flatten().filter(|endpoint| endpoint.url.ends_with(NOTICES)).collect();
        Ok(StripeSetup {
            is_live: self.livemode(),
            has_accounts: self.accounts.are_set(),
            can_refund: self.can_refund()?,
            can_reconcile: self.can_read("disputes")? && self.can_read("balance_transactions")?,
            endpoints,
        })
    }

    fn read_one(&self, path: &str) -> Result<(), Failure> {
        self.client.get(path, &Form::default().with("limit", 1)).map(drop)
    }

    fn can_read(&self, path: &str) -> Result<bool, Failure> {
        match self.read_one(path) {
            Ok(()) => Ok(true),
            Err(Failure::Answer(answer)) if answer.status == 403 => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Whether Stripe lets the key make refunds: it looks at the key before it looks for the payment.
    fn can_refund(&self) -> Result<bool, Failure> {
        let form = Form::default().with("payment_intent", NO_PAYMENT);
        match self.client.post("refunds", &form, Some(NO_PAYMENT)) {
            Err(Failure::Answer(answer)) if answer.status == 403 => Ok(false),
            Err(Failure::Answer(answer)) if matches!(answer.status, 400 | 404) => Ok(true),
            Ok(_) => Err(Failure::Unexpected("it has refunded a payment that does not exist".to_owned())),
            Err(failure) => Err(failure),
        }
    }
}

fn endpoint(endpoint: &Value) -> Option<StripeEndpoint> {
    let enabled = endpoint.get("enabled_events")?.as_array()?;
    let receives = |kind: &str| enabled.iter().any(|event| event == "*" || event == kind);
    Some(StripeEndpoint {
        url: endpoint.get("url")?.as_str()?.to_owned(),
        is_enabled: endpoint.get("status").is_some_and(|status| status == "enabled"),
        is_live: endpoint.get("livemode")?.as_bool()?,
        is_connect: endpoint.get("application").is_some_and(|application| !application.is_null()),
        missing_event_types: EVENT_TYPES.into_iter().filter(|kind| !receives(kind)).collect(),
    })
}
