//! The HTTP server: operations, problems, rate limits, conditional and idempotent requests, metrics, and the OpenAPI
//! document.

mod bodies;
mod callers;
mod checkout_page;
mod conditions;
mod cross_site;
#[cfg(feature = "docs-page")]
mod docs_page;
mod door_page;
mod embedding;
mod ended_requests;
mod gateway_notices;
mod gateway_shares;
#[cfg(all(feature = "documents", feature = "webhooks"))]
mod hanging_logos;
mod held_bytes;
mod idempotency;
mod limits;
#[cfg(feature = "documents")]
mod link_versions;
mod locked_event;
mod log;
mod metrics;
mod next_request;
mod openapi_bounds;
mod openapi_clients;
mod openapi_examples;
mod openapi_webhooks;
mod operations;
#[cfg(feature = "documents")]
mod page_states;
#[cfg(feature = "documents")]
mod page_weight;
mod problems;
mod query_parameters;
mod response_headers;
mod slow_clients;
mod slow_searches;
mod spans;
#[cfg(feature = "documents")]
mod ticket_pages;
mod walkthrough;
