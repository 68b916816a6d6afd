//! The hot paths, each compared with the same work written directly with rusqlite, on a database of a million tickets.
//!
//! Criterion measures both. The ratio comes from alternating rounds of the two, so that a machine that is slow for a
//! while is slow for both.
//!
//! The database and its copies need up to 4 GB under `target/` during the run, and 400 MB afterwards.
//!
//! `cargo bench -- growth` prints instead what lists, look-ups, summaries and hot paths cost at 100,000 and at a
//! million tickets, and how much more that is; with `GROWTH_TICKETS=10000000` also at ten million, for which it needs
//! 10 GB.
//!
//! The benchmarks of PostgreSQL, `cargo bench --all-features -- postgres`, need Debian's package postgresql, and are
//! skipped without it.
//!
//! `cargo bench --all-features` runs everything else, `… -- --ratios` only the ratios, and `… -- NAME` the benchmarks
//! whose name contains NAME.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

mod by_hand;
mod check_in;
#[path = "../../tests/common/mod.rs"]
mod common;
mod discounts;
#[cfg(feature = "event-pages")]
mod event_pages;
#[cfg(feature = "exports")]
mod exports;
mod growth;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "server")]
mod http_by_hand;
#[cfg(feature = "server")]
mod http_clients;
mod large_store;
#[cfg(feature = "smtp")]
mod mails;
mod notifications;
mod orders;
#[cfg(feature = "postgres")]
mod postgres;
mod ratio;
mod reads;
#[cfg(feature = "stripe")]
mod reconcile;
mod reports;
mod retries;
mod summary;
mod webhooks;

use criterion::Criterion;

fn main() {
    if std::env::args().any(|argument| argument == "growth") {
        growth::print_table();
        return;
    }
    let only_ratios = std::env::args().any(|argument| argument == "--ratios");
    let mut criterion = Criterion::default().sample_size(20).without_plots();
    if !only_ratios {
        criterion = criterion.configure_from_args();
    }
    let mut bench = ratio::Bench::new(criterion, only_ratios);
    orders::bench(&mut bench);
    discounts::bench(&mut bench);
    notifications::bench(&mut bench);
    retries::bench(&mut bench);
    check_in::bench(&mut bench);
    reads::bench(&mut bench);
    summary::bench(&mut bench);
    reports::bench(&mut bench);
    #[cfg(feature = "exports")]
    exports::bench(&mut bench);
    webhooks::bench(&mut bench);
    #[cfg(feature = "smtp")]
    mails::bench(&mut bench);
    #[cfg(feature = "stripe")]
    reconcile::bench(&mut bench);
    #[cfg(feature = "server")]
    http::bench(&mut bench);
    #[cfg(feature = "event-pages")]
    event_pages::bench(&mut bench);
    #[cfg(feature = "postgres")]
    postgres::bench(&mut bench);
    bench.finish();
}
