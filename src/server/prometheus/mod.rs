//! Metrics of the server, and the text in which Prometheus reads them.

pub(in crate::server) mod metrics;
pub(in crate::server) mod prometheus_text;
