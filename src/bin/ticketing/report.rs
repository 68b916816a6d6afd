//! The commands that show how an event sells and fills: as text, and as a link to the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use fast_qr::QRBuilder;
use ticketing::door::{EventArrivals, GetEventArrivals};
use ticketing::event::{Event, EventSales, EventSummary, GetEventSales};
use ticketing::id::EventId;
use ticketing::payment::PaymentMode;
use ticketing::{Amount, Caller, TicketingService, Timestamp};

use super::admin::{organization_of_event, parse_id};
use super::arguments::ReportLinkSettings;
use super::database_option::Database;
use super::door_link::local_minute;
use super::failure::Failure;
use super::output::print;

/// How many days, and how many times of five minutes, are shown at most: the last ones.
const MOST_LINES: usize = 40;

const YEAR: Duration = Duration::from_hours(365 * 24);

/// The columns of a bar. With the label and the number before it, a line has 80.
const BAR: usize = 58;

/// Prints a link and its QR code, or ends it.
pub(crate) fn report_link(database: &Database, settings: &ReportLinkSettings) -> Result<(), Failure> {
    let mut builder = database.builder_of_command(false)?;
    if let Some(url) = &settings.public_url {
        builder = builder.public_url(url);
    }
    let service = builder.open()?;
    let event: EventId = parse_id(&settings.event, "event")?;
    let organization = service.act_for(organization_of_event(&service, event)?)?;
    if settings.revoke {
        service.revoke_report_link(&organization, event)?;
        return print("The link does not work any more.\n");
    }
    let link = service.create_report_link(&organization, event)?;
    let url = link.url.expose();
    let code = QRBuilder::new(url).build().map_err(|error| Failure::Run(format!("cannot draw the link: {error}")))?;
    let until = local_minute(link.expires_at, &service.get_event(&organization, event)?.timezone);
    print(&format!(
        "{}\n\n{url}\n\nIt works until {until}. Whoever has it sees the figures: `report-link {event} --revoke` ends that.\n",
        code.to_str()
    ))
}

/// Prints totals and bars.
pub(crate) fn report(database: &Database, event: &str) -> Result<(), Failure> {
    let service = database.builder_of_command(false)?.open()?;
    let id: EventId = parse_id(event, "event")?;
    let caller = service.act_for(organization_of_event(&service, id)?)?;
    let text = service.on_one_snapshot(|| {
        let event = service.get_event(&caller, id)?;
        let summary = service.get_event_summary(&caller, id)?;
        let sales = all_sales(&service, &caller, &event)?;
        let last_day = GetEventArrivals::new().from(last_day(&event, sales.as_of));
        let arrivals = service.get_event_arrivals(&caller, id, last_day)?;
        Ok::<_, ticketing::Error>(text_of(&event, &summary, &sales, &arrivals))
    })??;
    print(&text)
}

/// The sales of each year: an answer has at most 1,000 days.
fn all_sales(service: &TicketingService, caller: &Caller, event: &Event) -> ticketing::Result<EventSales> {
    let mut until = event.created_at.saturating_add(YEAR);
    let mut sales = service.get_event_sales(caller, event.id, GetEventSales::new().before(until))?;
    while until <= sales.as_of {
        let from = until;
        until = from.saturating_add(YEAR);
        let next = GetEventSales::new().from(from).before(until);
        sales.items.extend(service.get_event_sales(caller, event.id, next)?.items);
    }
    Ok(sales)
}

/// The time from which arrivals are shown: 6 hours before the start, or of a long event its last day until now.
fn last_day(event: &Event, now: Timestamp) -> Timestamp {
    let before =
        |at: Timestamp, hours: i64| Timestamp::from_millis(at.millis() - hours * 3_600_000).unwrap_or_default();
    let end = event.end_date.unwrap_or(event.start_date).min(now);
    before(event.start_date, 6).max(before(end, 24))
}

fn text_of(event: &Event, summary: &EventSummary, sales: &EventSales, arrivals: &EventArrivals) -> String {
    let zone = event.timezone.as_str();
    let mut text = format!("{}\n", shortened(&event.title, 80));
    let _ = writeln!(text, "{}, as of {}\n", local_minute(event.start_date, zone), local_minute(sales.as_of, zone));
    let sum = |of: fn(&ticketing::event::TicketTypeSummary) -> i64| summary.ticket_types.iter().map(of).sum::<i64>();
    let (sold, quantity) = (sum(|seats| seats.sold), sum(|seats| seats.quantity));
    let _ = writeln!(
        text,
        "Sold {sold} of {quantity}, reserved {}, left {}",
        sum(|seats| seats.reserved),
        sum(|seats| seats.available)
    );
    let nothing = Amount::new(0, summary.gross_revenue.decimals()).unwrap_or_default();
    for mode in [PaymentMode::Live, PaymentMode::Test] {
        let items = || sales.items.iter().filter(move |item| item.mode == mode);
        if mode == PaymentMode::Test && items().next().is_none() {
            continue;
        }
        // With the decimals of the currency, also if there are no sales.
        let total = |of: fn(&ticketing::event::SalesItem) -> Amount| {
            Amount::checked_sum(std::iter::once(nothing).chain(items().map(of))).unwrap_or_default()
        };
        let name = if mode == PaymentMode::Test { "Tests, no real money: revenue" } else { "Revenue" };
        let (revenue, refunded) = (total(|item| item.revenue), total(|item| item.refunded));
        let _ = writeln!(text, "{name} {revenue} {}, refunded {refunded}", sales.currency);
    }
    if summary.mode == Some(PaymentMode::Live) && !summary.disputed_total.is_zero() {
        let _ = writeln!(text, "Disputed {} {}", summary.disputed_total, sales.currency);
    }
    let issued: i64 = sales.items.iter().map(|item| item.issued).sum();
    if issued > 0 {
        let _ = writeln!(text, "Issued without an order {issued}");
    }
    let imported: i64 = sales.items.iter().map(|item| item.imported).sum();
    if imported > 0 {
        let _ = writeln!(text, "Sold elsewhere {imported}");
    }
    if summary.tickets_cancelled > 0 {
        let _ = writeln!(text, "Cancelled {}", summary.tickets_cancelled);
    }
    let _ = writeln!(text);
    let types = summary.ticket_types.iter().map(|seats| (shortened(&seats.name, 12), seats.sold));
    text += &bars("Sold by ticket type", &types.collect::<Vec<_>>());
    text += &bars("Tickets sold by day", &by_day(sales, zone));
    if !arrivals.items.is_empty() {
        let mut slots: BTreeMap<Timestamp, i64> = BTreeMap::new();
        for item in &arrivals.items {
            *slots.entry(item.from).or_default() += item.admitted;
        }
        let slots = slots.into_iter().map(|(at, admitted)| (local(at, zone)[11..16].to_owned(), admitted));
        let name = "Admitted by five minutes";
        text += &bars(name, &last(&slots.collect::<Vec<_>>()));
        let EventArrivals { inside, expected, missing, .. } = *arrivals;
        let _ = writeln!(text, "Inside {inside}, expected {expected}, still missing {missing}\n");
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The tickets of the last days until the last one with a sale.
fn by_day(sales: &EventSales, zone: &str) -> Vec<(String, i64)> {
    let mut days: Vec<(String, i64)> = Vec::new();
    let mut next: Option<Timestamp> = None;
    for item in sales.items.iter().filter(|item| item.orders > 0) {
        // Days without a sale.
        while let Some(day) = next.filter(|day| *day < item.from) {
            let date = local(day, zone)[..10].to_owned();
            next = Timestamp::day(&date, zone).ok().map(|day| day.end).filter(|end| *end > day);
            days.push((date, 0));
        }
        let date = local(item.from, zone)[..10].to_owned();
        next = Some(item.until);
        match days.last_mut() {
            // Real money and that of tests.
            Some((last, tickets)) if *last == date => *tickets += item.tickets,
            _ => days.push((date, item.tickets)),
        }
    }
    last(&days)
}

fn last<T: Clone>(lines: &[T]) -> Vec<T> {
    lines[lines.len().saturating_sub(MOST_LINES)..].to_vec()
}

fn local(at: Timestamp, zone: &str) -> String {
    at.to_local(zone).unwrap_or_else(|_| at.to_string())
}

/// The beginning of a text, at most so many characters.
fn shortened(text: &str, most: usize) -> String {
    let is_long = text.chars().count() > most;
    let kept: String = text.chars().take(if is_long { most - 1 } else { most }).collect();
    if is_long { kept + "…" } else { kept }
}

/// Lines with a label of at most 12 characters, a number, and a bar.
fn bars(title: &str, lines: &[(String, i64)]) -> String {
    let largest = lines.iter().map(|(_, number)| *number).max().unwrap_or_default().max(1);
    let mut text = format!("{title}\n");
    for (label, number) in lines {
        let line = format!("{label:<12} {number:>7}  {}", bar(*number, largest));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if lines.is_empty() {
        text += "None\n";
    }
    text + "\n"
}

/// A bar, to an eighth of a column.
fn bar(number: i64, largest: i64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let number = u128::try_from(number).unwrap_or_default();
    let largest = u128::try_from(largest).unwrap_or(1).max(1);
    let eighths = usize::try_from(number * 8 * BAR as u128 / largest).unwrap_or_default();
    let eighths = if number > 0 { eighths.max(1) } else { eighths };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_end_in_the_column_80() {
        assert_eq!(bar(10, 10), "█".repeat(58));
        assert_eq!((bar(0, 10), bar(1, 1_000_000), bar(-1, 10)), (String::new(), "▏".to_owned(), String::new()));
        // Half of 58 columns are 29, and a sixteenth of them 3 and five eighths.
        assert_eq!((bar(5, 10), bar(1, 16)), ("█".repeat(29), "███▋".to_owned()));
        let longest = bars("Title", &[("Parterre sea".to_owned(), 1_000_000)]);
        assert_eq!(longest.lines().nth(1).map(|line| line.chars().count()), Some(80));
    }

    #[test]
    fn a_long_text_ends_with_an_ellipsis() {
        assert_eq!(
            (shortened("Parterre", 8), shortened("Parterre!", 8)),
            ("Parterre".to_owned(), "Parterr…".to_owned())
        );
    }
}
