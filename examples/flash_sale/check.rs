//! Checks after a sale: compares the data of the server with the record of the buyers.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::Result;
use crate::record::Record;
use crate::sale_server::{Event, SaleServer};

pub(crate) struct Report {
    /// The number of seats sold, according to the server.
    pub(crate) sold: usize,
    /// The number of orders, by status.
    pub(crate) orders: HashMap<String, usize>,
    /// What was checked, each once, and whether it holds.
    pub(crate) checks: Vec<(&'static str, bool)>,
    /// A sentence for each check that failed.
    pub(crate) failures: Vec<String>,
}

impl Report {
    fn check(&mut self, rule: &'static str, passed: bool, failure: impl FnOnce() -> String) {
        match self.checks.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, holds)) => *holds &= passed,
            None => self.checks.push((rule, passed)),
        }
        if !passed {
            self.failures.push(failure());
        }
    }
}

/// Reads the ticket type, orders, tickets and summary of the event, and compares them with each other and with the
/// record.
pub(crate) fn check(server: &SaleServer, event: &Event, seats: usize, record: &Record) -> Result<Report> {
    let mut client = server.client()?;
    let ticket_type = client.get(&format!("/v1/ticket-types/{}", event.ticket_type))?.success()?;
    let orders = client.list(&format!("/v1/orders?eventId={}&limit=100", event.id))?;
    let tickets = client.list(&format!("/v1/tickets?eventId={}&limit=100", event.id))?;
    let summary = client.get(&format!("/v1/events/{}/summary", event.id))?.success()?;

    let sold = number(&ticket_type["sold"]);
    let mut report = Report { sold, orders: HashMap::new(), checks: Vec::new(), failures: Vec::new() };
    for order in &orders {
        *report.orders.entry(text(&order["status"]).to_owned()).or_default() += 1;
    }
    report.check("every seat is sold, and none twice", sold == seats, || format!("{sold} of {seats} seats are sold"));

    let codes: HashSet<_> = tickets.iter().map(|ticket| text(&ticket["code"])).collect();
    report.check("every ticket has a code of its own", codes.len() == tickets.len(), || {
        format!("{} tickets have {} different codes", tickets.len(), codes.len())
    });

    let mut valid = 0;
    let mut tickets_by_item: HashMap<&str, usize> = HashMap::new();
    for ticket in &tickets {
        if ticket["status"] != "CANCELLED" {
            valid += 1;
            *tickets_by_item.entry(text(&ticket["orderItemId"])).or_default() += 1;
        }
    }
    report.check("every seat has one valid ticket", valid == seats, || {
        format!("{valid} tickets are valid, for {seats} seats")
    });

    let mut completed = HashSet::new();
    for order in orders.iter().filter(|order| order["status"] == "COMPLETED") {
        completed.insert(text(&order["id"]));
        for item in order["items"].as_array().into_iter().flatten() {
            let ordered = number(&item["quantity"]);
            let issued = tickets_by_item.remove(text(&item["id"])).unwrap_or(0);
            report.check(
                "every completed order has its tickets, and no other order has any",
                ordered == issued,
                || format!("{} has {issued} tickets instead of {ordered}", order["id"]),
            );
        }
    }
    report.check(
        "every completed order has its tickets, and no other order has any",
        tickets_by_item.is_empty(),
        || format!("{} order items have valid tickets without a completed order", tickets_by_item.len()),
    );

    let paid: HashSet<_> = record.paid.iter().map(String::as_str).collect();
    let different = paid.symmetric_difference(&completed).count();
    report.check("every buyer saw what became of the order", different == 0, || {
        format!("{different} orders do not have the status that their buyers saw")
    });

    let counts = [
        ("completed orders", number(&summary["ordersByStatus"]["COMPLETED"]), completed.len()),
        ("sold seats", number(&summary["ticketTypes"][0]["sold"]), sold),
        ("issued tickets", number(&summary["ticketsIssued"]), tickets.len()),
    ];
    for (name, in_summary, listed) in counts {
        report.check("the summary equals the lists", in_summary == listed, || {
            format!("the summary has {in_summary} {name}, the lists have {listed}")
        });
    }
    let cents = |value: &Value| (value.as_f64().unwrap_or(f64::NAN) * 100.0).round();
    let paid = orders.iter().filter(|order| !order["completedAt"].is_null());
    let of_orders: f64 = paid.map(|order| cents(&order["total"])).sum();
    let received = cents(&summary["grossRevenue"]);
    report.check("the revenue is the sum of the orders that were paid", received == of_orders, || {
        format!("the revenue is {received} cents, and the orders that were paid cost {of_orders}")
    });
    // Each unexpected response once.
    let unexpected: HashSet<_> = record.unexpected.iter().collect();
    report.checks.push(("no buyer got an unexpected answer", unexpected.is_empty()));
    report.failures.extend(unexpected.into_iter().cloned());
    Ok(report)
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| number.try_into().ok()).unwrap_or(usize::MAX)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
