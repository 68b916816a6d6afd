//! The HTTP client for Stripe's API, on ureq.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use serde_json::Value;
use ureq::config::Config;
use ureq::http::HeaderValue;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, DATE};
use ureq::tls::RootCerts;
use ureq::{Agent, AsSendBody, Body, Timeout, http};

use super::clock_difference::ClockCheck;
use super::failure::{ErrorAnswer, Failure};
use super::form::Form;
use super::key_connection::{Authorization, KeyConnector};
use crate::environment::{Clock, Entropy, SystemClock, SystemEntropy};
use crate::error::{Error, Result};
use crate::fair::{Limits, Semaphore, Tenant};
use crate::https::ureq_traits::{Connector, DefaultResolver, RustlsConnector, TcpConnector, tls_config};
use crate::model::values::id::OrganizationId;
use crate::model::values::secret::Secret;

/// The version of the API that requests and answers have. It is the one that the package `stripe` 16.1.0 for Python
/// was generated for.
const API_VERSION: &str = "2026-10-28.endive";

/// How long a request may take, with the time for which it waits, and with its repetitions. It is less than a call to
/// the gateway may take by default, so that the call can still say what failed.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The same for a request in the background. It may wait for the requests of many customers, and Stripe may need many
/// seconds for it.
const BACKGROUND_TIMEOUT: Duration = Duration::from_mins(1);

/// How much of this time is left to Stripe at least.
const TIME_TO_ANSWER: Duration = Duration::from_secs(5);

/// How often a request is sent again because Stripe says so. One that was turned away because there were too many is
/// sent again as long as there is time.
const MAX_REPETITIONS: u32 = 2;

/// How long to wait before the first repetition, at most, unless Stripe says how long. Before each further one it is
/// twice as long.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The largest answer in bytes. A list of 100 refunds has about 100 KB, and one of 100 sessions with their charges 1
/// MB. The metadata of another program may add 25 KB to each of their objects.
const MAX_ANSWER: u64 = 16 * 1024 * 1024;

const IDLE_CONNECTIONS: usize = 16;
const IDLE_AGE: Duration = Duration::from_secs(30);

/// How many objects of a list are asked for at once, which is Stripe's limit.
const PAGE: usize = 100;

/// How many objects of a list are read that has only a few.
const MAX_OBJECTS: usize = 1000;

/// How many idempotency keys are used for the same thing within the day for which Stripe keeps the first answer to a
/// key, also if it is an error: <https://docs.stripe.com/api/idempotent_requests>.
pub(in crate::stripe) const MAX_KEYS: usize = 5;

/// What is said if all keys are used up.
pub(in crate::stripe) const REPEATED: &str = "Stripe repeats errors that it has stored, for up to a day";

/// A client with the secret key, for the requests of one organization.
pub(in crate::stripe) struct Client {
    shared: Arc<Shared>,
    organization: Tenant,
    /// How long a request may take.
    timeout: Duration,
    /// The connected account on whose behalf the requests are made.
    account: Option<String>,
}

struct Shared {
    agent: Agent,
    /// The URL of the API, without `/v1` and without a trailing slash.
    base: String,
    /// A placeholder, which the connection replaces by the key.
    authorization: HeaderValue,
    /// The requests that are sent at the same time. Organizations take turns.
    permits: Semaphore,
    clock_check: ClockCheck,
}

/// An answer with a status of success.
#[derive(Debug)]
pub(in crate::stripe) struct Reply {
    pub(in crate::stripe) body: Value,
    /// Whether Stripe repeated the answer to an earlier request with the same idempotency key.
    pub(in crate::stripe) replayed: bool,
}

impl Client {
    /// Creates a client for the API at `base`, which is https, or http on this machine. It sends so many requests at the
    /// same time.
    ///
    /// # Errors
    /// [`Error::Validation`] if the key cannot be sent in a header.
    pub(in crate::stripe) fn new(
        base: String,
        key: &Secret,
        concurrent_requests: usize,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self> {
        let authorization = Authorization::new(key);
        let header = authorization.header();
        let header = header.map_err(|_| Error::field("secret_key", "must be a secret key of Stripe, in one line"))?;
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
        let connector = TcpConnector::default().chain(RustlsConnector::default()).chain(KeyConnector(authorization));
        let agent = Agent::with_parts(config, connector, DefaultResolver::default());
        let clock_check = ClockCheck::default();
        let permits = Semaphore::with(Limits { one_may_use_all: true, ..Limits::new(concurrent_requests) });
        let shared = Arc::new(Shared { agent, base, authorization: header, permits, clock_check });
        Ok(Self { shared, organization: None, timeout: TIMEOUT, account: None })
    }

    /// Returns the client for the requests of an organization in an account. They take turns with those of others.
    pub(in crate::stripe) fn on_behalf_of(
        &self,
        organization: Option<OrganizationId>,
        account: Option<String>,
    ) -> Self {
        Self { shared: Arc::clone(&self.shared), organization, timeout: TIMEOUT, account }
    }

    /// Returns the client for requests in an account for which nobody waits, and which may take longer.
    pub(in crate::stripe) fn in_background(&self, account: Option<String>) -> Self {
        Self { shared: Arc::clone(&self.shared), organization: None, timeout: BACKGROUND_TIMEOUT, account }
    }

    pub(in crate::stripe) fn is_for_connected_account(&self) -> bool {
        self.account.is_some()
    }

    pub(in crate::stripe) fn base(&self) -> &str {
        &self.shared.base
    }

    /// Reads an object. `path` is what follows `/v1/`.
    pub(in crate::stripe) fn get(&self, path: &str, form: &Form) -> Result<Value, Failure> {
        let query = form.encode();
        let separator = if query.is_empty() { "" } else { "?" };
        let url = format!("{}/v1/{path}{separator}{query}", self.base());
        let request = || self.with_headers(http::Request::get(&url)).body(());
        self.send(request).map(|reply| reply.body)
    }

    /// Reads the objects of a list, the newest ones first, in pages. Ends with the first error of `each`.
    pub(in crate::stripe) fn list<E: From<Failure>>(
        &self,
        path: &str,
        form: Form,
        mut each: impl FnMut(&Value) -> Result<(), E>,
    ) -> Result<(), E> {
        let no_list = || Failure::Unexpected("it is not a list".to_owned());
        let form = form.with("limit", PAGE);
        let mut next = form.clone();
        loop {
            let answer = self.get(path, &next)?;
            let page = answer.get("data").and_then(Value::as_array).ok_or_else(no_list)?;
            let has_more = answer.get("has_more").and_then(Value::as_bool).ok_or_else(no_list)?;
            page.iter().try_for_each(&mut each)?;
            if !has_more {
                return Ok(());
            }
            let oldest = page.last().and_then(|object| object.get("id")?.as_str()).ok_or_else(no_list)?;
            next = form.clone().with("starting_after", oldest);
        }
    }

    /// Reads all objects of a list that is short. Fails if it has more than [`MAX_OBJECTS`].
    pub(in crate::stripe) fn list_all<T>(
        &self,
        path: &str,
        form: Form,
        read: impl Fn(&Value) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut all = Vec::new();
        self.list(path, form, |object| {
            if all.len() == MAX_OBJECTS {
                return Err(Failure::Unexpected(format!("there are more {path} than can be read")));
            }
            all.push(read(object)?);
            Ok(())
        })?;
        Ok(all)
    }

    pub(in crate::stripe) fn post(
        &self,
        path: &str,
        form: &Form,
        idempotency_key: Option<&str>,
    ) -> Result<Reply, Failure> {
        let url = format!("{}/v1/{path}", self.base());
        let request = || {
            let request = http::Request::post(&url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            let mut request = self.with_headers(request);
            if let Some(key) = idempotency_key {
                request = request.header("Idempotency-Key", key);
            }
            request.body(form.encode())
        };
        self.send(request)
    }

    /// Sends a request when it may be sent. It is sent again if Stripe asks for that, or has turned it away because there
    /// were too many: those of the same second wait here, and keep others from being sent.
    fn send<B: AsSendBody>(
        &self,
        request: impl Fn() -> Result<http::Request<B>, http::Error>,
    ) -> Result<Reply, Failure> {
        let started = SystemClock.monotonic();
        let time_left = || self.timeout.saturating_sub(SystemClock.monotonic().saturating_sub(started));
        let max_wait = self.timeout.saturating_sub(TIME_TO_ANSWER);
        let permit = self.shared.permits.acquire(self.organization, max_wait, || false);
        let _permit = permit.ok_or_else(|| Failure::NotSent("too many requests are waiting to be sent".to_owned()))?;
        let mut repetitions = 0;
        // The failure of an earlier attempt that may have been executed.
        let mut earlier = None;
        loop {
            let failure = match self.send_once(request(), time_left()) {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let pause = failure.retry_after().unwrap_or_else(|| pause_before(repetitions));
            let repeats = failure.asks_to_repeat() && (failure.is_rate_limited() || repetitions < MAX_REPETITIONS);
            if !repeats || time_left() < pause + TIME_TO_ANSWER {
                return Err(if failure.was_not_executed() { earlier.unwrap_or(failure) } else { failure });
            }
            if !failure.was_not_executed() {
                earlier = Some(failure);
            }
            repetitions += 1;
            std::thread::sleep(pause);
        }
    }

    fn send_once(
        &self,
        request: Result<http::Request<impl AsSendBody>, http::Error>,
        timeout: Duration,
    ) -> Result<Reply, Failure> {
        let request = request.map_err(|_| Failure::NotSent("the request could not be built".to_owned()))?;
        let request = self.shared.agent.configure_request(request).timeout_global(Some(timeout)).build();
        self.read(self.shared.agent.run(request))
    }

    fn with_headers(&self, request: http::request::Builder) -> http::request::Builder {
        let request =
            request.header(AUTHORIZATION, self.shared.authorization.clone()).header("Stripe-Version", API_VERSION);
        match &self.account {
            Some(account) => request.header("Stripe-Account", account),
            None => request,
        }
    }

    fn read(&self, result: Result<http::Response<Body>, ureq::Error>) -> Result<Reply, Failure> {
        let mut response = result.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        self.shared.clock_check.compare(header(DATE.as_str()), SystemClock.now(), SystemClock.monotonic());
        let replayed = header("Idempotent-Replayed") == Some("true");
        let should_repeat = header("Stripe-Should-Retry").and_then(|value| value.parse().ok());
        let retry_after = header("Retry-After").and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let request = header("Request-Id").map(str::to_owned);
        let mut bytes = Vec::new();
        let whole = response.body_mut().as_reader().take(MAX_ANSWER).read_to_end(&mut bytes);
        let parsed: Result<Value, _> = serde_json::from_slice(&bytes);
        if !(200..300).contains(&status) {
            let body = parsed.unwrap_or_default();
            let answer = ErrorAnswer::new(status, replayed, request.as_deref(), &body);
            return Err(Failure::Answer(answer.should_repeat(should_repeat, retry_after)));
        }
        if whole.is_err() {
            return Err(Failure::NoAnswer("the answer was interrupted".to_owned()));
        }
        let body = parsed.map_err(|_| Failure::Unexpected("it is not JSON".to_owned()))?;
        Ok(Reply { body, replayed })
    }
}

/// The key itself, and then `<key><separator>2`, `<key><separator>3` and so on: after Stripe has repeated an error, the
/// same thing is asked for with the next key.
pub(in crate::stripe) fn numbered(key: &str, separator: char, index: usize) -> String {
    match index {
        0 => key.to_owned(),
        index => format!("{key}{separator}{}", index + 1),
    }
}

/// How long to wait before a request is sent again: at random, so that requests that were turned away together do not
/// come back together.
fn pause_before(repetition: u32) -> Duration {
    let mut random = [0];
    SystemEntropy.fill(&mut random);
    let longest = LONGEST_PAUSE.saturating_mul(2_u32.saturating_pow(repetition));
    longest / 2 + longest / 2 * u32::from(random[0]) / 255
}

/// Says what failed, without the text of the operating system.
fn failed(error: &ureq::Error) -> Failure {
    let (was_sent, problem) = match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => (false, "no connection in time"),
        ureq::Error::Timeout(_) => (true, "no answer in time"),
        ureq::Error::HostNotFound => (false, "the host was not found"),
        ureq::Error::ConnectionFailed => (false, "the connection failed"),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => (true, "the TLS handshake failed"),
        ureq::Error::Protocol(_) => (true, "the answer is not valid HTTP"),
        ureq::Error::Io(error) => {
            let before_sending = matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
            );
            let problem = format!("the connection failed ({})", error.kind());
            return if before_sending { Failure::NotSent(problem) } else { Failure::NoAnswer(problem) };
        }
        _ => (true, "the request failed"),
    };
    if was_sent { Failure::NoAnswer(problem.to_owned()) } else { Failure::NotSent(problem.to_owned()) }
}
