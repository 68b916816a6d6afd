//! Random runs. After each of them, the ledger is the book.
//!
//! `TICKETING_MONEY_RUNS` is the number of runs, by default 8. Each has 48 orders.

use crate::common::long_runs::{first_seed, repetitions};
use crate::money::driver::Driver;

fn run(seed: u64) {
    let mut driver = Driver::new(seed);
    for _ in 0..4 {
        driver.run(12, 150);
    }
    driver.end_disputes();
    driver.cancel_events();
    eprintln!("seed {seed}: {} orders", driver.orders());
}

#[test]
fn the_ledger_is_the_book_after_any_interleaving() {
    let runs = repetitions("TICKETING_MONEY_RUNS", 8);
    let first = first_seed();
    eprintln!("seeds {first} to {}", first + runs - 1);
    std::thread::scope(|scope| {
        scope.spawn(|| (first..first + runs).step_by(2).for_each(run));
        (first + 1..first + runs).step_by(2).for_each(run);
    });
}
