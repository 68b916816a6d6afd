//! Figures for whoever watches over the server: `GET /metrics`, as OpenMetrics text, which Prometheus reads. No key is
//! asked for; what is told is numbers alone, of all organizations together.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::sync::Semaphore;

use super::problem::Problem;
use crate::model::statistics::{Backlog, Distribution, Statistics};
use crate::model::text_enum::TextEnum;
use crate::service::TicketingService;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What every name begins with.
const PREFIX: &str = "ticketing";

/// How long the store may take to tell what waits in it, before that is left out.
const PATIENCE: Duration = Duration::from_secs(2);

/// The upper bounds of how long requests take, in seconds. Those that ask a payment gateway may take 20.
const SECONDS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 25.0];

/// What the server counts itself, and the service, which knows the rest.
#[derive(Debug)]
pub(super) struct Metrics {
    service: TicketingService,
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Asked, Histogram, fn() -> Histogram>,
    under_way: Gauge,
    connections: Gauge,
    /// One look into the store at a time, however many ask.
    turn: Arc<Semaphore>,
}

/// What was asked. Each label has as many values as the server has routes and knows methods, whatever clients send.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    route: String,
    method: &'static str,
}

/// What was asked, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    route: String,
    method: &'static str,
    status: u16,
}

/// Something that is counted for as long as it is there.
#[derive(Debug)]
pub(super) struct Present(Gauge);

impl Present {
    fn of(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The name of a method that this server answers; what else a client calls one is its own affair.
pub(super) fn name_of(method: &Method) -> &'static str {
    const KNOWN: [&str; 5] = ["GET", "HEAD", "POST", "PATCH", "DELETE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

pub(super) fn mount(router: Router, metrics: &Arc<Metrics>) -> Router {
    let metrics = Arc::clone(metrics);
    let scrape = move || {
        let metrics = Arc::clone(&metrics);
        async move { metrics.scrape().await }
    };
    router.route("/metrics", get(scrape))
}

impl Metrics {
    pub(super) fn new(service: TicketingService) -> Self {
        let durations: Family<_, _, fn() -> Histogram> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let (requests, under_way, connections) = (Family::default(), Gauge::default(), Gauge::default());
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register("http_requests", "Requests that were answered", requests.clone());
        let help = "How long requests took, from their head to the head of their answer";
        registry.register_with_unit("http_request_duration", help, Unit::Seconds, durations.clone());
        registry.register("http_requests_under_way", "Requests that are being answered", under_way.clone());
        registry.register("http_connections", "Connections that are open", connections.clone());
        Self { service, registry, requests, durations, under_way, connections, turn: Arc::new(Semaphore::new(1)) }
    }

    /// A connection was opened.
    pub(super) fn connection(&self) -> Present {
        Present::of(&self.connections)
    }

    /// A request has come.
    pub(super) fn request(&self) -> Present {
        Present::of(&self.under_way)
    }

    /// A request to a `route`, which is a pattern and no path, was answered.
    pub(super) fn answered(&self, route: &str, method: &'static str, status: StatusCode, took: Duration) {
        let answered = Answered { route: route.to_owned(), method, status: status.as_u16() };
        self.requests.get_or_create(&answered).inc();
        let asked = Asked { route: answered.route, method };
        self.durations.get_or_create(&asked).observe(took.as_secs_f64());
    }

    async fn scrape(&self) -> Result<Response, Problem> {
        let backlog = self.backlog().await;
        let mut of_service = Registry::with_prefix(PREFIX);
        of_service.register_collector(Box::new(Figures { statistics: self.service.statistics(), backlog }));
        let mut answer = String::with_capacity(16 * 1024);
        text::encode_registry(&mut answer, &self.registry)
            .and_then(|()| text::encode_registry(&mut answer, &of_service))
            .and_then(|()| text::encode_eof(&mut answer))
            .map_err(Problem::internal)?;
        Ok(([(CONTENT_TYPE, OPEN_METRICS)], answer).into_response())
    }

    /// What waits in the store, where it tells in time. Not through the bounded calls of the operations: also a server
    /// that is full says how it is.
    async fn backlog(&self) -> Option<Backlog> {
        let look = async {
            let turn = Arc::clone(&self.turn).acquire_owned().await;
            let service = self.service.clone();
            let look = move || {
                let _turn = turn;
                service
                    .backlog()
                    .inspect_err(|error| tracing::warn!(%error, "the store does not tell what waits in it"))
            };
            tokio::task::spawn_blocking(look).await.ok()?.ok()
        };
        tokio::time::timeout(PATIENCE, look).await.ok().flatten()
    }
}

/// What the service says, at one scrape.
#[derive(Debug)]
struct Figures {
    statistics: Statistics,
    backlog: Option<Backlog>,
}

impl Collector for Figures {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let Statistics { commits, orders, scans, webhooks, .. } = &self.statistics;
        page.counter("commits", "Commits that were done", commits.done)?;
        page.counter("commits_failed", "Commits that failed, and all that was in them", commits.failed)?;
        page.histogram("commit_jobs", "How many callers' work a commit carried", None, &commits.jobs)?;
        let help = "How long a commit took, until it was on the disk";
        page.histogram("commit_duration", help, Some(&Unit::Seconds), &commits.seconds)?;
        let waiting = u64::try_from(commits.jobs_waiting).unwrap_or(u64::MAX);
        page.gauge("writer_queue_jobs", "Callers that wait for their work to be written", None, waiting)?;

        page.counter("orders_placed", "Orders that were taken", orders.placed)?;
        page.counter("orders_completed", "Orders that became COMPLETED", orders.completed)?;
        page.counter("orders_cancelled", "Orders that became CANCELLED", orders.cancelled)?;
        page.counter("orders_expired", "Orders that became EXPIRED", orders.expired)?;
        let refused = orders.refused.iter().map(|(reason, times)| (reason.as_str(), *times));
        page.counters("orders_refused", "Orders that were refused", "reason", refused)?;

        let outcomes = [("accepted", scans.accepted), ("unknown", scans.unknown)].into_iter();
        let outcomes = outcomes.chain(scans.refused.iter().map(|(reason, times)| (reason.as_str(), *times)));
        page.counters("scans", "Scans at the door", "outcome", outcomes)?;

        page.counter("webhooks_queued", "Notifications that were queued, for each endpoint", webhooks.queued)?;
        let attempts = webhooks.attempts.iter().map(|(outcome, times)| (outcome.as_str(), *times));
        page.counters("webhook_attempts", "Attempts to deliver a notification", "outcome", attempts)?;
        let help = "How long an attempt took for which a connection was tried";
        page.histogram("webhook_attempt_duration", help, Some(&Unit::Seconds), &webhooks.seconds)?;
        page.counter("webhooks_dead", "Notifications that were given up after their last attempt", webhooks.dead)?;
        let help = "Endpoints with something due that share a part of the sender's threads";
        page.gauge("webhook_endpoints_held_back", help, None, webhooks.held_back)?;

        let up = u64::from(self.backlog.is_some());
        page.gauge("store_up", "Whether the store told in time what waits in it", None, up)?;
        let Some(backlog) = self.backlog else { return Ok(()) };
        page.gauge("refunds_due", "Refunds that the gateway has not answered", None, backlog.refunds_due)?;
        page.gauge("refunds_refused", "Refunds that the gateway refused for good", None, backlog.refunds_refused)?;
        page.gauge("held_places", "Places that unpaid orders hold", None, backlog.held_places)?;
        page.gauge("webhooks_waiting", "Notifications that wait to be sent", None, backlog.webhooks_waiting)?;
        page.gauge("webhooks_due", "Notifications that could be sent now", None, backlog.webhooks_due)?;
        let help = "For how long the first of them could have been sent";
        let longest = backlog.webhook_oldest_due.unwrap_or_default().as_secs();
        page.gauge("webhook_oldest_due", help, Some(&Unit::Seconds), longest)?;
        page.gauge("wal_size", "The size of the write-ahead log", Some(&Unit::Bytes), backlog.wal_bytes)
    }
}

/// Writes one figure after another.
struct Page<'p>(DescriptorEncoder<'p>);

impl Page<'_> {
    fn name<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        unit: Option<&'s Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, &format!("{help}."), unit, kind)
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.name(name, help, None, MetricType::Counter)?.encode_counter::<NoLabelSet, _, u64>(&value, None)
    }

    fn counters<'v>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl Iterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let mut family = self.name(name, help, None, MetricType::Counter)?;
        for (text, value) in values {
            family.encode_family(&[(label, text)])?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> fmt::Result {
        self.name(name, help, unit, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn histogram(&mut self, name: &str, help: &str, unit: Option<&Unit>, values: &Distribution) -> fmt::Result {
        let (sum, count, buckets) = (values.sum, values.count(), &values.buckets);
        self.name(name, help, unit, MetricType::Histogram)?.encode_histogram::<NoLabelSet>(sum, count, buckets, None)
    }
}
