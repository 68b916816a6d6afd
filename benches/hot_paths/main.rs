//! The hot paths, each beside the same work written by hand through rusqlite in the same run, on a store of a million
//! tickets. Criterion measures both; the ratio comes from rounds of either that take turns, so that a machine that is
//! slow for a while is slow for both.
//!
//! The store and its copies take about 4 GB under `target/` while it runs, and 400 MB afterwards.
//!
//! `cargo bench --all-features` runs everything, `… -- --ratios` only the ratios, and `… -- NAME` what has the name.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

mod by_hand;
mod check_in;
#[path = "../../tests/common/mod.rs"]
mod common;
mod discounts;
#[cfg(feature = "server")]
mod http;
mod large_store;
mod notifications;
mod orders;
mod ratio;
mod reads;
mod retries;
mod summary;
mod webhooks;

use criterion::Criterion;

fn main() {
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
    webhooks::bench(&mut bench);
    #[cfg(feature = "server")]
    http::bench(&mut bench);
    bench.finish();
}
