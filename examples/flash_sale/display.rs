//! What the program shows: a sale while it goes on, and what came of it.

use std::cmp::Reverse;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::Result;
use crate::box_office::{BoxOffice, Event};
use crate::check::Found;
use crate::record::{Record, percentile};
use crate::rush::Sale;

pub(crate) fn title(slow: usize) -> String {
    match slow {
        0 => "Without slow connections".to_owned(),
        slow => format!("With {slow} slow connections"),
    }
}

/// Shows how the sale goes until it is over: two lines that change, or one line a second where nobody watches a
/// terminal. What is sold and held is asked of the server.
pub(crate) fn watch(office: &BoxOffice, event: &Event, sale: &Sale<'_>, over: impl Fn() -> bool) -> Result<()> {
    let terminal = std::io::stdout().is_terminal();
    let pace = Duration::from_millis(if terminal { 250 } else { 1000 });
    let mut client = office.client()?;
    let (mut seen, mut shown_at) = (0, sale.began);
    let mut first = true;
    while !over() {
        std::thread::sleep(Duration::from_millis(20));
        if shown_at.elapsed() < pace {
            continue;
        }
        let summary = client.get(&format!("/v1/events/{}/summary", event.id))?.success()?;
        let (of, now) = (&summary["ticketTypes"][0], Instant::now());
        let record = sale.record();
        let new = &record.orders[seen..];
        let rate = new.len() as f64 / (now - shown_at).as_secs_f64();
        let place = format!(
            "{:4.0} s  sold {} of {}, held {}",
            sale.began.elapsed().as_secs_f64(),
            of["sold"],
            of["quantity"],
            of["reserved"]
        );
        let pace = format!("{rate:.0} orders/s, p50 {}, p99 {}", ms(percentile(new, 50)), ms(percentile(new, 99)));
        let refused = refusals(&record);
        seen = record.orders.len();
        drop(record);
        if terminal {
            let up = if first { "" } else { "\x1b[2A" };
            print!("{up}\x1b[2K{place}, {pace}\n\x1b[2K        refused: {refused}\n");
            std::io::stdout().flush()?;
        } else {
            println!("{place}, {pace}; refused: {refused}");
        }
        (shown_at, first) = (now, false);
    }
    Ok(())
}

fn refusals(record: &Record) -> String {
    let reasons: Vec<_> = record.refused.iter().map(|(reason, number)| format!("{reason} {number}")).collect();
    if reasons.is_empty() { "nobody".to_owned() } else { reasons.join(", ") }
}

/// Says how a sale ended.
pub(crate) fn ending(sale: &Record, found: &Found) {
    let mut orders: Vec<_> = found.orders.iter().map(|(status, number)| (Reverse(number), status)).collect();
    orders.sort_unstable();
    let orders: Vec<_> = orders.iter().map(|(Reverse(number), status)| format!("{number} {status}")).collect();
    println!("Sold {} places in {:.1} s. Orders: {}.", found.sold, sale.took.as_secs_f64(), orders.join(", "));
    println!("Refused: {}. Payments that came too late and went back: {}.", refusals(sale), sale.too_late);
    if sale.slow_closed > 0 {
        println!("Slow connections that the server closed, and others followed: {}.", sale.slow_closed);
    }
}

/// The sales side by side.
pub(crate) fn table(rows: &[(String, Record)]) {
    println!("\n{:30} {:>8} {:>8}   {:>9} {:>9} {:>9}", "", "number", "a second", "p50", "p99", "max");
    for (title, sale) in rows {
        println!("{title}");
        let all = sale.took.as_secs_f64();
        let line = |name: &str, times: &[Duration], rate: f64| {
            let [p50, p99, max] = [50, 99, 100].map(|percent| ms(percentile(times, percent)));
            println!("  {name:28} {:8} {rate:8.0}   {p50:>9} {p99:>9} {max:>9}", times.len());
        };
        // The rate of orders is that of the time in which nobody was refused.
        line("orders placed", &sale.orders, sale.rate());
        line("orders refused", &sale.refusals, sale.refusals.len() as f64 / all);
        line("clicks on the checkout page", &sale.clicks, sale.clicks.len() as f64 / all);
        println!("  {:28} {:8} {:8.0}", "requests", sale.requests(), sale.requests() as f64 / all);
    }
}

fn ms(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| format!("{:.1} ms", time.as_secs_f64() * 1000.0))
}
