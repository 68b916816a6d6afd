//! The output: the progress of a sale, its result, and a table that compares the sales.

use std::cmp::Reverse;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::Result;
use crate::check::Report;
use crate::record::{Record, percentile};
use crate::sale::Sale;
use crate::sale_server::{Event, SaleServer};

/// A sale in the table.
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) record: Record,
}

pub(crate) fn title(slow: usize) -> String {
    match slow {
        0 => "Without slow connections".to_owned(),
        slow => format!("With {slow} slow connections"),
    }
}

/// Prints the progress until the sale is over. On a terminal, two lines are updated in place; otherwise one line is
/// printed per second. The numbers of sold and reserved seats come from the server.
pub(crate) fn watch(server: &SaleServer, event: &Event, sale: &Sale<'_>, is_over: impl Fn() -> bool) -> Result<()> {
    let terminal = std::io::stdout().is_terminal();
    let interval = Duration::from_millis(if terminal { 250 } else { 1000 });
    let mut client = server.client()?;
    let mut orders_shown = 0;
    let mut shown_at = sale.started_at;
    let mut first = true;
    while !is_over() {
        std::thread::sleep(Duration::from_millis(20));
        if shown_at.elapsed() < interval {
            continue;
        }
        let summary = client.get(&format!("/v1/events/{}/summary", event.id))?.success()?;
        let ticket_type = &summary["ticketTypes"][0];
        let now = Instant::now();
        let record = sale.record();
        let new_orders = &record.orders[orders_shown..];
        let rate = new_orders.len() as f64 / (now - shown_at).as_secs_f64();
        let inventory = format!(
            "{:4.0} s  sold {} of {}, reserved {}",
            sale.started_at.elapsed().as_secs_f64(),
            ticket_type["sold"],
            ticket_type["quantity"],
            ticket_type["reserved"]
        );
        let p50 = ms(percentile(new_orders, 50));
        let p99 = ms(percentile(new_orders, 99));
        let speed = format!("{rate:.0} orders/s, p50 {p50}, p99 {p99}");
        let refused = refusals(&record);
        orders_shown = record.orders.len();
        drop(record);
        if terminal {
            let up = if first { "" } else { "\x1b[2A" };
            print!("{up}\x1b[2K{inventory}, {speed}\n\x1b[2K        refused: {refused}\n");
            std::io::stdout().flush()?;
        } else {
            println!("{inventory}, {speed}; refused: {refused}");
        }
        shown_at = now;
        first = false;
    }
    Ok(())
}

fn refusals(record: &Record) -> String {
    let reasons: Vec<_> = record.refused.iter().map(|(reason, number)| format!("{reason} {number}")).collect();
    if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") }
}

/// The most lines of [`print_seconds`]: then a line stands for several seconds.
const MOST_LINES: usize = 30;

/// The longest bar.
const BAR: usize = 40;

/// Prints the orders that were created in each second as bars, with their latencies beside.
pub(crate) fn print_seconds(record: &Record) {
    let seconds_of_line = record.seconds.len().div_ceil(MOST_LINES).max(1);
    let lines: Vec<Vec<Duration>> = record.seconds.chunks(seconds_of_line).map(<[Vec<Duration>]>::concat).collect();
    let most = lines.iter().map(Vec::len).max().unwrap_or_default().max(1);
    println!("\n{:>6} {:>7} {:>9} {:>9}", "second", "orders", "p50", "p99");
    for (number, latencies) in lines.iter().enumerate() {
        let [p50, p99] = [50, 99].map(|percent| ms(percentile(latencies, percent)));
        let bar = "█".repeat((latencies.len() * BAR).div_ceil(most));
        println!("{:6} {:7} {p50:>9} {p99:>9}  {bar}", number * seconds_of_line, latencies.len());
    }
    println!();
}

/// Prints the result of a sale.
pub(crate) fn print_result(record: &Record, report: &Report) {
    let mut orders: Vec<_> = report.orders.iter().map(|(status, number)| (Reverse(number), status)).collect();
    orders.sort_unstable();
    let orders: Vec<_> = orders.iter().map(|(Reverse(number), status)| format!("{number} {status}")).collect();
    println!("{} seats sold in {:.1} s. Orders: {}.", report.sold, record.duration.as_secs_f64(), orders.join(", "));
    println!("Refused: {}. Late payments, refunded: {}.", refusals(record), record.too_late);
    if record.slow_closed > 0 {
        println!("Slow connections closed by the server and reopened: {}.", record.slow_closed);
    }
}

/// Prints a table with the latencies of all sales.
pub(crate) fn print_table(rows: &[Row]) {
    println!("\n{:30} {:>8} {:>8}   {:>9} {:>9} {:>9}", "", "number", "per s *", "p50", "p99", "max");
    for Row { title, record } in rows {
        println!("{title}");
        let seconds = record.duration.as_secs_f64();
        let print_line = |name: &str, latencies: &[Duration], rate: f64| {
            let [p50, p99, max] = [50, 99, 100].map(|percent| ms(percentile(latencies, percent)));
            println!("  {name:28} {:8} {rate:8.0}   {p50:>9} {p99:>9} {max:>9}", latencies.len());
        };
        // The rate of created orders is that of the time before the first refusal.
        print_line("orders created", &record.orders, record.order_rate());
        print_line("orders refused", &record.refusals, record.refusals.len() as f64 / seconds);
        if !record.pages.is_empty() {
            print_line("pages shown", &record.pages, record.pages.len() as f64 / seconds);
        }
        print_line("clicks on the checkout page", &record.clicks, record.clicks.len() as f64 / seconds);
        println!("  {:28} {:8} {:8.0}", "requests", record.requests(), record.requests() as f64 / seconds);
    }
    println!("* Orders created: until the first one was refused. Everything else: over the whole sale.");
}

/// Formats a latency in milliseconds.
fn ms(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| format!("{:.1} ms", time.as_secs_f64() * 1000.0))
}
