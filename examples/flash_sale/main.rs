//! A flash sale against the real server: thousands of buyers want more places than there are, over HTTP, and some of
//! them fail to pay, give up or wander off. In the end every place is sold exactly once, or this program fails.
//!
//! `cargo run --release --example flash_sale --features server`. Try `-- --help`.
#![expect(clippy::disallowed_methods, reason = "how long real requests take is what this is about")]

mod box_office;
mod check;
mod client;
mod display;
mod options;
mod record;
mod rush;
mod slow;

use std::process::ExitCode;

use box_office::BoxOffice;
use options::Options;

/// Whatever keeps the program from doing its work.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let options = match options::read(std::env::args_os().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Holds the sales and prints what came of them. Answers with everything that was wrong.
fn run(options: &Options) -> Result<Vec<String>> {
    let office = BoxOffice::open(options.database.as_deref(), options.connections)?;
    println!("The server listens on {}, its database is {}.", office.address, office.database.display());
    let slow = slow::that_fit(options.slow_connections, options.connections);
    if slow < options.slow_connections {
        println!("The system gives this process handles for {slow} slow connections only: see `ulimit -n`.");
    }
    let phases = if slow == 0 { vec![0] } else { vec![0, slow] };
    let mut wrong = Vec::new();
    let mut rows = Vec::new();
    for slow in phases {
        let title = display::title(slow);
        let event = office.publish(options.places)?;
        println!("\n{title}: {} places at 12.50, {} buyers", options.places, options.buyers);
        let sale = rush::hold(&office, &event, options, slow)?;
        let found = check::check(&office, &event, options.places, &sale)?;
        display::ending(&sale, &found);
        wrong.extend(found.wrong.into_iter().map(|sentence| format!("{title}: {sentence}")));
        rows.push((title, sale));
    }
    office.close()?;
    display::table(&rows);
    wrong.iter().for_each(|sentence| println!("WRONG: {sentence}"));
    println!("\n{}", if wrong.is_empty() { "Everything is right." } else { "Something is wrong." });
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Options {
        Options { places: 50, buyers: 200, connections: 8, slow_connections: 20, ..Options::default() }
    }

    #[test]
    fn a_small_sale_sells_every_place_exactly_once() {
        assert_eq!(run(&small()).unwrap(), [""; 0]);
    }

    #[test]
    fn a_sale_that_did_not_go_as_its_buyers_were_told_is_found_out() {
        let options = Options { slow_connections: 0, ..small() };
        let office = BoxOffice::open(None, options.connections).unwrap();
        let event = office.publish(options.places).unwrap();
        let mut sale = rush::hold(&office, &event, &options, 0).unwrap();
        let wrong = |places, sale: &_| check::check(&office, &event, places, sale).unwrap().wrong.len();
        assert_eq!(wrong(50, &sale), 0);
        // Sold, tickets, revenue and what is left are of 50 places, not of 51.
        assert!(wrong(51, &sale) >= 2);
        let paid = sale.paid.iter().next().unwrap().clone();
        sale.paid.remove(&paid);
        assert_eq!(wrong(50, &sale), 1);
        sale.paid.insert(paid);
        assert_eq!(wrong(50, &sale), 0);
        sale.unexpected.push("500 internal".to_owned());
        assert_eq!(wrong(50, &sale), 1);
        office.close().unwrap();
    }
}
