//! Metrics as OpenMetrics text, which Prometheus reads. They are numbers over all organizations.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::sync::Semaphore;

use crate::model::operation::statistics::{Backlog, Distribution, Statistics};
use crate::server::responses::problem::Problem;
use crate::service::TicketingService;
use crate::write::spawn_blocking;

/// The media type of the metrics.
pub(in crate::server) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The prefix of every metric name.
const PREFIX: &str = "ticketing";

/// How long to wait for the backlog in the store. After that, its metrics are left out.
const BACKLOG_TIMEOUT: Duration = Duration::from_secs(2);

/// The histogram buckets for the duration of requests, in seconds. A call to the payment gateway may take 20.
const SECONDS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 25.0];

/// The metrics of the HTTP server. Those of the service are read from it for each scrape.
#[derive(Debug)]
pub(in crate::server) struct Metrics {
    service: TicketingService,
    registry: Registry,
    requests: Family<ResponseLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
    pub(in crate::server) in_progress: Gauge,
    /// Only one scrape reads the store at a time.
    backlog_permit: Arc<Semaphore>,
}

/// The labels of a request. Both have few values, so that clients cannot create time series: `route` is the
/// pattern of a route, or `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    route: String,
    method: &'static str,
    status: u16,
}

/// Keeps a gauge incremented until it is dropped.
#[derive(Debug)]
pub(in crate::server) struct GaugeGuard(Gauge);

impl GaugeGuard {
    pub(in crate::server) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The value of the label `method`. Methods that no route has are all `other`.
pub(in crate::server) fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 5] = ["GET", "HEAD", "POST", "PATCH", "DELETE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

impl Metrics {
    pub(in crate::server) fn new(service: TicketingService, open_connections: Gauge) -> Self {
        let requests = Family::default();
        let durations: Family<_, _, fn() -> Histogram> = Family::new_with_constructor(|| Histogram::new(SECONDS));
        let in_progress = Gauge::default();
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register("http_requests", "HTTP requests that were answered", requests.clone());
        let help = "Time from the head of a request to the head of its response";
        registry.register_with_unit("http_request_duration", help, Unit::Seconds, durations.clone());
        registry.register("http_requests_under_way", "HTTP requests in progress", in_progress.clone());
        registry.register("http_connections", "Open HTTP connections", open_connections);
        let backlog_permit = Arc::new(Semaphore::new(1));
        Self { service, registry, requests, durations, in_progress, backlog_permit }
    }

    /// Counts a request that was answered. `route` is the pattern of its route, not its path.
    pub(in crate::server) fn request_finished(
        &self,
        route: &str,
        method: &'static str,
        status: StatusCode,
        duration: Duration,
    ) {
        let labels = ResponseLabels { route: route.to_owned(), method, status: status.as_u16() };
        self.requests.get_or_create(&labels).inc();
        let labels = RouteLabels { route: labels.route, method };
        self.durations.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    /// All metrics as OpenMetrics text.
    pub(in crate::server) async fn scrape(&self) -> Result<String, Problem> {
        let backlog = self.backlog().await;
        let mut service_metrics = Registry::with_prefix(PREFIX);
        let collector =
            ServiceMetrics { statistics: self.service.statistics(), backlog, writable: self.service.is_writable() };
        service_metrics.register_collector(Box::new(collector));
        let mut text = String::with_capacity(16 * 1024);
        text::encode_registry(&mut text, &self.registry)
            .and_then(|()| text::encode_registry(&mut text, &service_metrics))
            .and_then(|()| text::encode_eof(&mut text))
            .map_err(Problem::internal)?;
        Ok(text)
    }

    /// The backlog in the store, or `None` if it cannot be read in time. This does not need one of the permits for
    /// calls of operations, so that an overloaded server still reports its metrics.
    async fn backlog(&self) -> Option<Backlog> {
        let read = async {
            let permit = Arc::clone(&self.backlog_permit).acquire_owned().await;
            let service = self.service.clone();
            let read = move || {
                let _permit = permit;
                service.backlog().inspect_err(|error| {
                    tracing::warn!(target: "ticketing::server", %error, "cannot read the backlog from the store");
                })
            };
            spawn_blocking(read).await.ok()?.ok()
        };
        tokio::time::timeout(BACKLOG_TIMEOUT, read).await.ok().flatten()
    }
}

/// The metrics of the service at the time of one scrape.
#[derive(Debug)]
struct ServiceMetrics {
    statistics: Statistics,
    backlog: Option<Backlog>,
    writable: bool,
}

impl Collector for ServiceMetrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut metrics = Encoder(encoder);
        let Statistics { commits, orders, scans, webhooks, payments, maintenance, documents, mails } = &self.statistics;
        metrics.counter("commits", "Successful commits", commits.done)?;
        metrics.counter("commits_failed", "Commits that failed; all their jobs were rolled back", commits.failed)?;
        metrics.histogram("commit_jobs", "Jobs per commit", None, &commits.jobs)?;
        let help = "Duration of a commit, including the sync to disk";
        metrics.histogram("commit_duration", help, Some(&Unit::Seconds), &commits.seconds)?;
        let waiting = u64::try_from(commits.jobs_waiting).unwrap_or(u64::MAX);
        metrics.gauge("writer_queue_jobs", "Jobs that wait for the writer", None, waiting)?;

        metrics.counter("orders_placed", "Orders that were created", orders.created)?;
        metrics.counter("orders_completed", "Orders that became COMPLETED", orders.completed)?;
        metrics.counter("orders_cancelled", "Orders that became CANCELLED", orders.cancelled)?;
        metrics.counter("orders_expired", "Orders that became EXPIRED", orders.expired)?;
        metrics.counters("orders_refused", "Order requests that were refused, by reason", "reason", &orders.refused)?;

        let mut outcomes = vec![("accepted", scans.accepted), ("unknown", scans.unknown)];
        outcomes.extend(scans.refused.iter().map(|(reason, times)| (reason.as_str(), *times)));
        metrics.counters("scans", "Ticket scans, by outcome", "outcome", &outcomes)?;
        metrics.counter(
            "admitted_twice",
            "Admissions with a ticket that was checked in already",
            scans.admitted_twice,
        )?;

        metrics.counters(
            "gateway_notices",
            "Notices of the payment gateway, by outcome",
            "outcome",
            &payments.notices,
        )?;
        let help = "Reports of payments of another amount, or in another currency, than the order costs";
        metrics.counter("payment_amounts_mismatched", help, payments.amounts_mismatched)?;

        metrics.counter("webhooks_queued", "Notifications that were queued, counted per endpoint", webhooks.queued)?;
        metrics.counters(
            "webhook_attempts",
            "Attempts to deliver a notification, by outcome",
            "outcome",
            &webhooks.attempts,
        )?;
        let help = "Duration of the attempts that tried to connect";
        metrics.histogram("webhook_attempt_duration", help, Some(&Unit::Seconds), &webhooks.seconds)?;
        let help = "Damaged rows that background work skipped, counted each minute";
        metrics.counter("rows_skipped", help, maintenance.skipped_rows)?;
        let help = "Maintenance runs that expired and deleted nothing because the clock jumped ahead";
        metrics.counter("maintenance_held_back", help, maintenance.held_back)?;
        metrics.counter("backups", "Backups of the schedule that were made and checked", maintenance.backups_made)?;
        let help = "Backups of the schedule that failed, or in which the check found a problem";
        metrics.counter("backups_failed", help, maintenance.backups_failed)?;
        metrics.counter("webhooks_dead", "Notifications that were given up after the last attempt", webhooks.dead)?;
        let help = "Endpoints with due notifications that are limited to a part of the sender's threads";
        metrics.gauge("webhook_endpoints_held_back", help, None, webhooks.throttled)?;

        let help = "Ticket documents with characters that no font has, each counted once until it changes";
        metrics.counter("documents_with_missing_glyphs", help, documents.with_missing_glyphs)?;
        metrics.counters(
            "logo_fetches",
            "Logos of tickets and covers of events at URLs, by outcome",
            "outcome",
            &documents.logos,
        )?;

        let mut family = metrics.metric("mails", "Attempts to send a mail, by outcome", None, MetricType::Counter)?;
        for ((kind, outcome), times) in mails {
            let labels = [("kind", kind.as_str()), ("outcome", outcome.as_str())];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(times, None)?;
        }

        let up = u64::from(self.backlog.is_some() && self.writable);
        let help = "Whether the store could be read and the last write did not fail (1) or not (0)";
        metrics.gauge("store_up", help, None, up)?;
        let Some(backlog) = self.backlog else { return Ok(()) };
        metrics.gauge(
            "refunds_due",
            "Refunds that the payment gateway has not confirmed yet",
            None,
            backlog.refunds_due,
        )?;
        let help = "Checkouts that the payment gateway still has to close";
        metrics.gauge("checkouts_closing", help, None, backlog.checkouts_closing)?;
        let help = "Checkouts to be closed or looked up at a payment gateway that this program does not have";
        metrics.gauge("checkouts_without_gateway", help, None, backlog.checkouts_without_gateway)?;
        let help = "Refunds that are due at a payment gateway that this program does not have";
        metrics.gauge("refunds_without_gateway", help, None, backlog.refunds_without_gateway)?;
        let help = "Refunds of which something has to be returned manually";
        metrics.gauge("refunds_refused", help, None, backlog.refunds_refused)?;
        let help = "Disputes of payments that are not decided";
        metrics.gauge("disputes_open", help, None, backlog.disputes_open)?;
        metrics.gauge(
            "held_places",
            "Seats that unpaid orders and allocations reserve",
            None,
            backlog.reserved_seats,
        )?;
        metrics.gauge("webhooks_waiting", "Notifications that are queued", None, backlog.webhooks_waiting)?;
        metrics.gauge("webhooks_due", "Queued notifications that are due", None, backlog.webhooks_due)?;
        let help = "Time since the oldest due notification became due";
        let longest = backlog.webhook_oldest_due.unwrap_or_default().as_secs();
        metrics.gauge("webhook_oldest_due", help, Some(&Unit::Seconds), longest)?;
        metrics.gauge("mails_waiting", "Mails that wait to be sent", None, backlog.mails_waiting)?;
        let help = "Time since the oldest due mail became due";
        let longest = backlog.mail_oldest_due.unwrap_or_default().as_secs();
        metrics.gauge("mails_oldest_due", help, Some(&Unit::Seconds), longest)?;
        metrics.gauge("wal_size", "Size of the write-ahead log", Some(&Unit::Bytes), backlog.wal_bytes)
    }
}

/// Encodes metrics one after another.
struct Encoder<'e>(DescriptorEncoder<'e>);

impl Encoder<'_> {
    fn metric<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        unit: Option<&'s Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, &format!("{help}."), unit, kind)
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.metric(name, help, None, MetricType::Counter)?.encode_counter::<NoLabelSet, _, u64>(&value, None)
    }

    fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(impl AsRef<str>, u64)]) -> fmt::Result {
        let mut family = self.metric(name, help, None, MetricType::Counter)?;
        for (text, value) in values {
            family.encode_family(&[(label, text.as_ref())])?.encode_counter::<NoLabelSet, _, u64>(value, None)?;
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> fmt::Result {
        self.metric(name, help, unit, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn histogram(&mut self, name: &str, help: &str, unit: Option<&Unit>, values: &Distribution) -> fmt::Result {
        let sum = values.sum;
        let count = values.count();
        let buckets = &values.buckets;
        self.metric(name, help, unit, MetricType::Histogram)?.encode_histogram::<NoLabelSet>(sum, count, buckets, None)
    }
}
