//! A flash sale against the real server: thousands of simulated buyers compete for a limited number of seats over HTTP.
//! Some of them fail to pay, cancel, or abandon their order. At the end the program checks that every seat was sold
//! exactly once.
//!
//! `cargo run --release --example flash_sale --features server`. For its options, add `-- --help`.
#![expect(clippy::disallowed_methods, reason = "measures how long real requests take")]

mod check;
mod client;
mod display;
mod options;
mod page_visit;
mod record;
mod sale;
mod sale_server;
mod slow_connections;

use std::process::ExitCode;

use clap::Parser;
use display::Row;
use options::Options;
use sale_server::SaleServer;

/// A result with any error that stops the program.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let options = Options::parse().check().unwrap_or_else(|error| error.exit());
    match run(&options) {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The buyers of the sale before those that are measured. There are seats for all of them.
const WARM_UP_BUYERS: usize = 200;

/// Runs the sales and prints their results. Returns the checks that failed.
fn run(options: &Options) -> Result<Vec<String>> {
    let server = SaleServer::start(options.database.as_deref(), options.connections)?;
    println!("The server listens on {}. Its database is {}.", server.address, server.database.display());
    let slow = slow_connections::limit_to_open_files(options.slow_connections, options.connections);
    if slow < options.slow_connections {
        println!("The limit of open files of this process allows only {slow} slow connections (see `ulimit -n`).");
    }
    // The first orders of a process are slower: they open connections and create files.
    let warm_up = Options { seats: 2 * WARM_UP_BUYERS, buyers: WARM_UP_BUYERS, ..options.clone() };
    println!("\nWarming up: {WARM_UP_BUYERS} buyers");
    sale::run(&server, &server.publish_event(warm_up.seats)?, &warm_up, 0)?;
    let phases = if slow == 0 { vec![0] } else { vec![0, slow] };
    let mut failures = Vec::new();
    let mut checks: Vec<(&str, bool)> = Vec::new();
    let mut rows = Vec::new();
    for slow in phases {
        let title = display::title(slow);
        let event = server.publish_event(options.seats)?;
        println!("\n{title}: {} seats at 12.50, {} buyers", options.seats, options.buyers);
        let record = sale::run(&server, &event, options, slow)?;
        let report = check::check(&server, &event, options.seats, &record)?;
        display::print_seconds(&record);
        display::print_result(&record, &report);
        for (rule, holds) in &report.checks {
            if !checks.iter().any(|(known, _)| known == rule) {
                checks.push((*rule, true));
            }
            checks.iter_mut().filter(|(known, _)| known == rule).for_each(|(_, all)| *all &= *holds);
        }
        for failure in report.failures {
            failures.push(format!("{title}: {failure}"));
        }
        rows.push(Row { title, record });
    }
    server.stop()?;
    display::print_table(&rows);
    println!();
    for (rule, holds) in &checks {
        println!("{} {rule}", if *holds { '✓' } else { '✗' });
    }
    for failure in &failures {
        println!("FAILED: {failure}");
    }
    println!("\n{}", if failures.is_empty() { "All checks passed." } else { "Some checks failed." });
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Options {
        Options::parse_from("flash_sale --seats 50 --buyers 200 --connections 8 --slow-connections 20".split(' '))
    }

    #[test]
    fn a_small_sale_sells_every_seat_exactly_once() {
        assert_eq!(run(&small()).unwrap(), [""; 0]);
    }

    #[cfg(feature = "event-pages")]
    #[test]
    fn a_small_sale_on_the_page_of_the_event_sells_every_seat_exactly_once() {
        let options = Options { pages: true, slow_connections: 0, ..small() };
        assert_eq!(run(&options).unwrap(), [""; 0]);
    }

    #[test]
    fn the_check_finds_differences_between_the_database_and_the_record() {
        let options = Options { slow_connections: 0, ..small() };
        let server = SaleServer::start(None, options.connections).unwrap();
        let event = server.publish_event(options.seats).unwrap();
        let mut record = sale::run(&server, &event, &options, 0).unwrap();
        let failures = |seats, record: &_| check::check(&server, &event, seats, record).unwrap().failures.len();
        assert_eq!(failures(50, &record), 0);
        // With 51 expected seats, at least the sold seats and the valid tickets do not match.
        assert!(failures(51, &record) >= 2);
        let paid = record.paid.iter().next().unwrap().clone();
        record.paid.remove(&paid);
        assert_eq!(failures(50, &record), 1);
        record.paid.insert(paid);
        assert_eq!(failures(50, &record), 0);
        record.unexpected.push("500 internal".to_owned());
        assert_eq!(failures(50, &record), 1);
        server.stop().unwrap();
    }
}
