//! The HTTP client for Stripe's API, on ureq.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use serde_json::Value;
use ureq::config::Config;
use ureq::http::HeaderValue;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ureq::tls::RootCerts;
use ureq::{Agent, Body, http};

use super::failure::{ErrorAnswer, Failure};
use super::form::Form;
use crate::error::{Error, Result};
use crate::model::secret::Secret;
use crate::webhook::tls_config;

/// The version of the API that requests and answers have. It is the one that the package `stripe` 16.1.0 for Python
/// was generated for.
const API_VERSION: &str = "2026-10-28.endive";

/// How long a request may take. It is less than a call to the gateway may take by default, so that the call can still
/// say what failed.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest answer in bytes. A list of 100 refunds has about 100 KB.
const MAX_ANSWER: u64 = 4 * 1024 * 1024;

const IDLE_CONNECTIONS: usize = 16;
const IDLE_AGE: Duration = Duration::from_secs(30);

/// A client with the secret key of an account.
pub(super) struct Client {
    agent: Agent,
    /// The URL of the API, without `/v1` and without a trailing slash.
    base: String,
    authorization: HeaderValue,
}

/// A request: the path after `/v1/`, and the parameters.
#[derive(Debug, Clone, Default)]
pub(super) struct Call<'a> {
    pub(super) path: &'a str,
    pub(super) form: Form,
    /// The connected account on whose behalf the request is made.
    pub(super) account: Option<&'a str>,
    pub(super) idempotency_key: Option<String>,
}

/// An answer with a status of success.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) body: Value,
    /// Whether Stripe repeated the answer to an earlier request with the same idempotency key.
    pub(super) replayed: bool,
}

impl Client {
    /// Creates a client for the API at `base`, which is https, or http on this machine.
    ///
    /// # Errors
    /// [`Error::Validation`] if the key cannot be sent in a header.
    pub(super) fn new(base: String, key: &Secret, provider: Arc<CryptoProvider>) -> Result<Self> {
        let authorization = HeaderValue::try_from(format!("Bearer {}", key.expose()));
        let mut authorization =
            authorization.map_err(|_| Error::field("secret_key", "must be a secret key of Stripe, in one line"))?;
        authorization.set_sensitive(true);
        let config = Config::builder()
            .proxy(None)
            .https_only(base.starts_with("https:"))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .tls_config(tls_config(RootCerts::WebPki, provider))
            .user_agent(concat!("ticketing/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .max_idle_connections(IDLE_CONNECTIONS)
            .max_idle_connections_per_host(IDLE_CONNECTIONS)
            .max_idle_age(IDLE_AGE)
            .build();
        Ok(Self { agent: config.new_agent(), base, authorization })
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Reads an object.
    pub(super) fn get(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let query = call.form.encode();
        let separator = if query.is_empty() { "" } else { "?" };
        let request = http::Request::get(format!("{}/v1/{}{separator}{query}", self.base, call.path));
        let request = self.with_headers(request, call).body(()).map_err(not_built)?;
        read(self.agent.run(request))
    }

    /// Creates or changes an object.
    pub(super) fn post(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let request = http::Request::post(format!("{}/v1/{}", self.base, call.path));
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = self.with_headers(request, call).body(call.form.encode()).map_err(not_built)?;
        read(self.agent.run(request))
    }

    fn with_headers(&self, request: http::request::Builder, call: &Call<'_>) -> http::request::Builder {
        let mut request =
            request.header(AUTHORIZATION, self.authorization.clone()).header("Stripe-Version", API_VERSION);
        if let Some(account) = call.account {
            request = request.header("Stripe-Account", account);
        }
        if let Some(key) = &call.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        request
    }
}

fn not_built(_: http::Error) -> Failure {
    Failure::NoAnswer("the request could not be built".to_owned())
}

fn read(result: Result<http::Response<Body>, ureq::Error>) -> Result<Reply, Failure> {
    let mut response = result.map_err(|error| Failure::NoAnswer(describe(&error)))?;
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let replayed = header("Idempotent-Replayed") == Some("true");
    let request = header("Request-Id").map(str::to_owned);
    let mut bytes = Vec::new();
    let whole = response.body_mut().as_reader().take(MAX_ANSWER).read_to_end(&mut bytes);
    let parsed: Result<Value, _> = serde_json::from_slice(&bytes);
    if !(200..300).contains(&status) {
        let body = parsed.unwrap_or_default();
        return Err(Failure::Answer(ErrorAnswer::new(status, replayed, request.as_deref(), &body)));
    }
    if whole.is_err() {
        return Err(Failure::NoAnswer("the answer was interrupted".to_owned()));
    }
    let body = parsed.map_err(|_| Failure::Unexpected("it is not JSON".to_owned()))?;
    Ok(Reply { body, replayed })
}

/// Says what failed, without the text of the operating system.
fn describe(error: &ureq::Error) -> String {
    let problem = match error {
        ureq::Error::Timeout(_) => return format!("no answer within {} s", TIMEOUT.as_secs()),
        ureq::Error::HostNotFound => "the host was not found",
        ureq::Error::ConnectionFailed => "the connection failed",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "the TLS handshake failed",
        ureq::Error::Protocol(_) => "the answer is not valid HTTP",
        ureq::Error::Io(error) => return format!("the connection failed ({})", error.kind()),
        _ => "the request failed",
    };
    problem.to_owned()
}
