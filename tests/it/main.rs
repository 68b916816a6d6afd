//! All tests that share a process. `tests/README.md` says which folder owns which question.

#[path = "../common/mod.rs"]
mod common;
mod concurrency;
#[cfg(all(feature = "documents", feature = "ring"))]
mod documents;
#[cfg(feature = "event-pages")]
mod event_pages;
#[cfg(feature = "exports")]
mod exports;
mod facade;
mod gateways;
#[cfg(feature = "server")]
mod http;
mod interleavings;
#[cfg(all(feature = "mail", feature = "server"))]
mod mail;
#[cfg(all(feature = "server", feature = "stripe"))]
mod money;
#[cfg(all(unix, feature = "postgres", feature = "program"))]
mod postgres;
#[cfg(feature = "program")]
mod program;
mod reports;
mod source;
mod storage;
#[cfg(feature = "server")]
mod stripe;
#[cfg(feature = "ring")]
mod webhooks;
mod world;
