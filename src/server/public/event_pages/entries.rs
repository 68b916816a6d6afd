//! Reads what a customer has chosen and entered: from the query of a link, and from a form.

use axum::http::Uri;

use crate::form::limits::LINE_LENGTH;
use crate::model::sale::event_page::EventPage;
use crate::model::sale::new_order::{MAX_ITEMS, MAX_TICKETS, NewOrderItem};
use crate::pages::{Entries, Prefilled};
use crate::server::http::query;

/// What the parameters of chosen tickets begin with. The id of a ticket type follows.
const TICKETS: &str = "t.";

/// The parameter with which a customer comes back who has chosen no ticket.
pub(super) const NOTHING_CHOSEN: &str = "choose=1";

/// A form that was sent.
#[derive(Debug, Default)]
pub(super) struct SentForm {
    pub(super) entries: Entries,
    /// The chosen types and quantities, as the form has them.
    pub(super) chosen: Vec<(String, i64)>,
    pub(super) token: String,
    /// The total that the form shows, in minor units.
    pub(super) total: Option<i64>,
}

/// What a link to the page of an event has chosen. What is unknown or too long is ignored.
pub(super) fn prefilled(uri: &Uri) -> Prefilled {
    let SentForm { chosen, entries, .. } = read(uri.query().and_then(query::pairs).unwrap_or_default());
    let chosen = chosen.into_iter().filter(|(_, quantity)| *quantity > 0).collect();
    let has_chosen_nothing = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == NOTHING_CHOSEN));
    let Entries { code, referrer, language, .. } = entries;
    Prefilled { quantities: chosen, code, referrer, language, has_chosen_nothing }
}

/// Reads the pairs of a query or of a form. Of several with one name the first counts.
pub(super) fn read(pairs: Vec<(String, String)>) -> SentForm {
    let mut form = SentForm::default();
    let mut total = None;
    for (name, value) in pairs {
        if let Some(ticket_type) = name.strip_prefix(TICKETS) {
            let is_new = form.chosen.iter().all(|(known, _)| known != ticket_type);
            if let Ok(quantity) = value.trim().parse()
                && is_new
            {
                form.chosen.push((ticket_type.to_owned(), quantity));
            }
            continue;
        }
        let entries = &mut form.entries;
        let optional = |value: &str| {
            let value = value.trim();
            (!value.is_empty() && value.chars().count() <= LINE_LENGTH).then(|| value.to_owned())
        };
        match name.as_str() {
            "code" => set(&mut entries.code, optional(&value)),
            "ref" => set(&mut entries.referrer, optional(&value)),
            "lang" => set(&mut entries.language, optional(&value)),
            "total" => set(&mut total, value.parse().ok()),
            "token" => set_text(&mut form.token, value),
            "name" => set_text(&mut entries.name, value),
            "email" => set_text(&mut entries.email, value),
            "company" => set_text(&mut entries.company, value),
            "street" => set_text(&mut entries.street, value),
            "zip" => set_text(&mut entries.zip, value),
            "city" => set_text(&mut entries.city, value),
            "country" => set_text(&mut entries.country, value),
            _ => {}
        }
    }
    form.total = total;
    form
}

fn set<T>(field: &mut Option<T>, value: Option<T>) {
    if field.is_none() {
        *field = value;
    }
}

fn set_text(field: &mut String, value: String) {
    if field.is_empty() {
        *field = value;
    }
}

/// The tickets that can be had of those that were chosen, in the order of the page: at most as many as an order may have.
pub(super) fn available(page: &EventPage, chosen: &[(String, i64)]) -> Vec<NewOrderItem> {
    let mut left = MAX_TICKETS;
    let mut items = Vec::new();
    for ticket_type in &page.ticket_types {
        let id = ticket_type.id.to_string();
        let wanted = chosen.iter().find(|(known, _)| *known == id).map_or(0, |(_, quantity)| *quantity);
        let quantity = wanted.clamp(0, page.most(ticket_type)).min(left);
        if quantity > 0 && items.len() < MAX_ITEMS {
            left -= quantity;
            items.push(NewOrderItem::new(ticket_type.id, quantity));
        }
    }
    items
}

/// The tickets of a form that was sent, as they are. `None` if a quantity or an id is none.
pub(super) fn items(chosen: &[(String, i64)]) -> Option<Vec<NewOrderItem>> {
    let item = |(id, quantity): &(String, i64)| Some(NewOrderItem::new(id.parse().ok()?, *quantity));
    chosen.iter().map(item).collect()
}

/// The query of a link to the page of the event with these entries: `?t.type_…=2&code=EARLY`.
pub(super) fn query_of(items: &[(String, i64)], entries: &Entries) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (ticket_type, quantity) in items {
        query.append_pair(&format!("{TICKETS}{ticket_type}"), &quantity.to_string());
    }
    let named = [("code", &entries.code), ("ref", &entries.referrer), ("lang", &entries.language)];
    for (name, value) in named {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}
