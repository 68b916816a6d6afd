//! Settings of the gateway.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;

use super::account::{Accounts, ConnectedAccount};
use super::api::client::Client;
use super::gateway::StripeGateway;
use crate::error::{Error, Result};
use crate::https::crypto_provider;
use crate::model::values::id::OrganizationId;
use crate::model::values::secret::Secret;

/// The URL of Stripe's API, without `/v1`.
const API_BASE: &str = "https://api.stripe.com";

/// Settings of a [`StripeGateway`], from [`StripeGateway::builder`].
#[derive(Clone)]
pub struct StripeGatewayBuilder {
    key: Secret,
    secrets: Vec<Secret>,
    accounts: Accounts,
    api_base: String,
    concurrent_requests: usize,
    provider: Option<Arc<CryptoProvider>>,
}

impl StripeGateway {
    /// Returns a builder with a secret key, such as `sk_live_…`, or a restricted key, such as `rk_live_…`.
    #[must_use]
    pub fn builder(secret_key: impl Into<Secret>) -> StripeGatewayBuilder {
        StripeGatewayBuilder {
            key: secret_key.into(),
            secrets: Vec::new(),
            accounts: Accounts::default(),
            api_base: API_BASE.to_owned(),
            concurrent_requests: 20,
            provider: None,
        }
    }
}

impl StripeGatewayBuilder {
    /// Adds a signing secret of the endpoint to which Stripe sends notices, such as `whsec_…`. While a secret is
    /// rolled, add the old one and the new one: notices with either signature are accepted.
    ///
    /// Without a secret, all notices are refused. Payments are then noticed when the customer comes back, and at the
    /// end of the hold.
    #[must_use]
    pub fn webhook_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.secrets.push(secret.into());
        self
    }

    /// Sets which connected account takes the payments of an organization. For `None`, the account of the secret key
    /// does, which is also the default for all.
    ///
    /// The function must return at once, and always the same for an organization: its checkouts and payments are looked
    /// up in that account.
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// use ticketing::id::OrganizationId;
    /// use ticketing::stripe::{ConnectedAccount, StripeGateway};
    ///
    /// # let _ = rustls::crypto::ring::default_provider().install_default();
    /// let accounts: HashMap<OrganizationId, _> = [("org_1NR6E9XB00000".parse()?, "acct_1NR6E9XB00000")].into();
    /// let gateway = StripeGateway::builder("sk_test_123")
    ///     .account_for(move |organization| accounts.get(&organization).map(|id| ConnectedAccount::new(*id)))
    ///     .build()?;
    /// # drop(gateway);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn account_for(
        mut self,
        account_for: impl Fn(OrganizationId) -> Option<ConnectedAccount> + Send + Sync + 'static,
    ) -> Self {
        self.accounts = Accounts::new(account_for);
        self
    }

    /// Sets the URL of the API, for tests: without `/v1`, and without a query. It must be https, or http on this
    /// machine.
    #[must_use]
    pub fn api_base(mut self, url: impl Into<String>) -> Self {
        self.api_base = url.into();
        self
    }

    /// Sets how many requests are sent at the same time. Default: 20. Further ones wait, for up to 10 seconds, or 55
    /// seconds for [statements](crate::payment::Statements); those of different organizations take turns.
    ///
    /// Stripe allows 25 requests in a second for an operation of its API, and in all 100 in live mode and 25 in a sandbox
    /// ([rate limits](https://docs.stripe.com/rate-limits)). A request beyond that is sent again, after the time that
    /// Stripe asks for or up to half a second and then twice as long each time, until 10 seconds have passed. Set more if
    /// Stripe has raised the limits of the account, and fewer for each of several processes.
    #[must_use]
    pub const fn concurrent_requests(mut self, requests: usize) -> Self {
        self.concurrent_requests = requests;
        self
    }

    /// Sets the implementation of cryptography, which rustls calls a provider. Default: the default of the process, or
    /// *ring* if the process has none and the feature `ring` is enabled. See
    /// [`HttpsTransportBuilder::crypto_provider`](crate::webhook::HttpsTransportBuilder::crypto_provider).
    #[must_use]
    pub fn crypto_provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// Creates the gateway. Nothing is sent: [`StripeGateway::check_setup`] tells whether Stripe accepts the key. With
    /// a key of test mode, a warning is logged.
    ///
    /// # Errors
    /// [`Error::Validation`] if the key is empty or has characters that cannot be sent, a signing secret is empty, the
    /// URL of the API is not allowed, no requests may be sent, or there is no implementation of cryptography.
    pub fn build(self) -> Result<StripeGateway> {
        if self.key.expose().trim().is_empty() {
            return Err(Error::field("secret_key", "must not be empty"));
        }
        if self.secrets.iter().any(|secret| secret.expose().trim().is_empty()) {
            return Err(Error::field("webhook_secret", "must not be empty"));
        }
        let base = self.api_base.trim_end_matches('/').to_owned();
        if !is_allowed(&base) {
            let message = "must be an https URL without a path of the API, or http on this machine: \
                such as https://api.stripe.com";
            return Err(Error::field("api_base", message));
        }
        if self.concurrent_requests == 0 {
            return Err(Error::field("concurrent_requests", "must be at least 1"));
        }
        let provider = crypto_provider::choose(self.provider, "StripeGatewayBuilder::crypto_provider")?;
        let livemode = livemode(self.key.expose());
        let client = Client::new(base, &self.key, self.concurrent_requests, provider)?;
        if livemode == Some(false) {
            tracing::warn!(
                target: "ticketing::payment",
                "the secret key of Stripe is one of test mode: orders are completed without real money"
            );
        }
        Ok(StripeGateway::new(client, livemode, self.secrets, self.accounts))
    }
}

/// Whether a key is one of live mode: secret keys begin with `sk_live_` or `sk_test_`, and restricted ones with
/// `rk_live_` or `rk_test_`. `None` for others.
fn livemode(key: &str) -> Option<bool> {
    let rest = key.strip_prefix("sk_").or_else(|| key.strip_prefix("rk_"))?;
    [("live_", true), ("test_", false)].into_iter().find(|(mode, _)| rest.starts_with(mode)).map(|(_, is_live)| is_live)
}

/// Whether requests may be sent to this URL. With plain http, the key would be readable on the network.
fn is_allowed(base: &str) -> bool {
    let Ok(url) = fluent_uri::Uri::parse(base) else { return false };
    let Some(authority) = url.authority() else { return false };
    if url.query().is_some()
        || url.fragment().is_some()
        || authority.userinfo().is_some()
        || authority.host().is_empty()
    {
        return false;
    }
    match url.scheme().as_str() {
        "https" => true,
        "http" => matches!(authority.host(), "127.0.0.1" | "[::1]" | "localhost"),
        _ => false,
    }
}

impl fmt::Debug for StripeGatewayBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StripeGatewayBuilder")
            .field("api_base", &self.api_base)
            .field("webhook_secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_key_tells_its_mode() {
        for (key, expected) in [
            ("sk_live_1", Some(true)),
            ("rk_live_1", Some(true)),
            ("sk_test_1", Some(false)),
            ("rk_test_1", Some(false)),
            ("sk_org_live_1", None),
            ("live_1", None),
            ("", None),
        ] {
            assert_eq!(livemode(key), expected, "{key}");
        }
    }

    #[test]
    fn requests_are_sent_with_https_or_to_this_machine() {
        for base in ["https://api.stripe.com", "http://127.0.0.1:8080", "http://[::1]:80", "http://localhost:1/stripe"]
        {
            assert!(is_allowed(base), "{base}");
        }
        for base in [
            "http://api.stripe.com",
            "http://127.0.0.1.example.com",
            "http://127.0.0.1@example.com",
            "http://0.0.0.0",
            "https://",
            "https://api.stripe.com?x=1",
            "https://api.stripe.com#x",
            "https://user@api.stripe.com",
            "ftp://127.0.0.1",
            "api.stripe.com",
            "",
        ] {
            assert!(!is_allowed(base), "{base}");
        }
    }
}
