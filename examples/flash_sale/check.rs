//! Whether the sale came out right, by what the server says when it is asked afterwards.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::Result;
use crate::box_office::{BoxOffice, Event};
use crate::record::Record;

/// What was found.
pub(crate) struct Found {
    pub(crate) sold: usize,
    pub(crate) orders: HashMap<String, usize>,
    /// A sentence for each thing that is not as it must be.
    pub(crate) wrong: Vec<String>,
}

impl Found {
    fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(otherwise());
        }
    }
}

/// Reads the ticket type, the orders, the tickets and the summary of the event, and compares them with one another and
/// with what the buyers were told.
pub(crate) fn check(office: &BoxOffice, event: &Event, places: usize, sale: &Record) -> Result<Found> {
    let mut client = office.client()?;
    let ticket_type = client.get(&format!("/v1/ticket-types/{}", event.ticket_type))?.success()?;
    let orders = client.all(&format!("/v1/orders?eventId={}&limit=100", event.id))?;
    let tickets = client.all(&format!("/v1/tickets?eventId={}&limit=100", event.id))?;
    let summary = client.get(&format!("/v1/events/{}/summary", event.id))?.success()?;

    let sold = number(&ticket_type["sold"]);
    let mut found = Found { sold, orders: HashMap::new(), wrong: Vec::new() };
    for order in &orders {
        *found.orders.entry(text(&order["status"]).to_owned()).or_default() += 1;
    }
    found.expect(sold == places, || format!("{sold} of {places} places are sold"));

    let codes: HashSet<_> = tickets.iter().map(|ticket| text(&ticket["code"])).collect();
    found.expect(codes.len() == tickets.len(), || format!("{} codes for {} tickets", codes.len(), tickets.len()));

    let valid = tickets.iter().filter(|ticket| ticket["status"] != "CANCELLED");
    let mut of_item: HashMap<&str, usize> = HashMap::new();
    valid.clone().for_each(|ticket| *of_item.entry(text(&ticket["orderItemId"])).or_default() += 1);
    let valid = valid.count();
    found.expect(valid == places, || format!("{valid} tickets are valid, for {places} places"));
    let mut completed = HashSet::new();
    for order in orders.iter().filter(|order| order["status"] == "COMPLETED") {
        completed.insert(text(&order["id"]));
        for item in order["items"].as_array().into_iter().flatten() {
            let (bought, issued) = (number(&item["quantity"]), of_item.remove(text(&item["id"])).unwrap_or(0));
            found.expect(bought == issued, || format!("{} has {issued} tickets for {bought}", order["id"]));
        }
    }
    found.expect(of_item.is_empty(), || format!("{} items have tickets and no completed order", of_item.len()));

    let paid: HashSet<_> = sale.paid.iter().map(String::as_str).collect();
    let unlike = paid.symmetric_difference(&completed).count();
    found.expect(unlike == 0, || format!("{unlike} orders are not as their buyers were told"));

    let counted = [
        ("orders", number(&summary["ordersByStatus"]["COMPLETED"]), completed.len()),
        ("sold", number(&summary["ticketTypes"][0]["sold"]), sold),
        ("issued", number(&summary["ticketsIssued"]), tickets.len()),
    ];
    for (what, summed, listed) in counted {
        found.expect(summed == listed, || format!("the summary counts {summed} {what}, the lists {listed}"));
    }
    // Different answers, each once.
    let unexpected: HashSet<_> = sale.unexpected.iter().collect();
    found.wrong.extend(unexpected.into_iter().cloned());
    Ok(found)
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| number.try_into().ok()).unwrap_or(usize::MAX)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
