//! The bounds of the fields of requests. The rules enforce them; a test proves each of them on both of its sides.

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use Bound::{Default, Email, Entries, Length, Pattern, Range, Uri};

/// What a field may be.
#[derive(Debug, Clone, Copy)]
enum Bound {
    /// So many characters, from the least to the most.
    Length(u32, Option<u32>),
    /// A number from the least to the most.
    Range(i64, Option<i64>),
    Pattern(&'static str),
    Email,
    Uri,
    /// At least so many entries.
    Entries(u32),
    /// What stands in for it where it is missing, as JSON.
    Default(&'static str),
}

const SLUG: &str = "^[a-z0-9]+(?:-[a-z0-9]+)*$";

const MAX_PRICE: i64 = 1_000_000_000;
const MAX_QUANTITY: i64 = 10_000_000;

/// Requests, separated by blanks, one field of theirs, and its bounds. `[]` stands for each entry of a list.
const TABLE: &[(&str, &str, &[Bound])] = &[
    ("CreateEvent UpdateEvent", "title", &[Length(3, None)]),
    ("CreateEvent UpdateEvent", "description", &[Length(5, None)]),
    ("CreateEvent UpdateEvent", "location", &[Length(3, None)]),
    ("CreateEvent UpdateEvent", "currency", &[Length(3, Some(3))]),
    ("CreateEvent UpdateEvent", "slug", &[Pattern(SLUG)]),
    ("CreateEvent UpdateEvent", "coverImage", &[Uri]),
    ("CreateEvent", "isPublic", &[Default("true")]),
    ("CreateEvent", "status", &[Default(r#""DRAFTED""#)]),
    ("CreateEvent", "shippingCountries", &[Default("[]")]),
    ("CreateEvent", "acceptsCompany", &[Default("false")]),
    ("ListEvents", "q", &[Length(0, Some(1000))]),
    ("CreateTicketType UpdateTicketType", "name", &[Length(2, None)]),
    ("CreateTicketType UpdateTicketType", "price", &[Range(0, Some(MAX_PRICE))]),
    ("CreateTicketType UpdateTicketType", "quantity", &[Range(1, Some(MAX_QUANTITY))]),
    ("CreateTicketType UpdateTicketType", "validityDays", &[Range(1, None)]),
    ("CreateTicketType UpdateTicketType", "validityHours", &[Range(1, None)]),
    ("CreateTicketType UpdateTicketType", "maxPerOrder", &[Range(1, Some(100))]),
    ("CreateTicketType UpdateTicketType", "ticketLogo", &[Uri]),
    ("CreateTicketType", "status", &[Default(r#""ON_SALE""#)]),
    ("CreateTicketType", "displayRemaining", &[Default("false")]),
    ("CreateTicketType", "accessAreas", &[Default("[]")]),
    ("CreateTicketType", "maxPerOrder", &[Default("10")]),
    ("CreateTicketType", "sortOrder", &[Default("0")]),
    ("CreateTicketType", "allowedDates", &[Default("[]")]),
    ("NewCustomer TicketHolder", "email", &[Email]),
    ("NewCustomer TicketHolder", "name", &[Length(1, None)]),
    ("CreateOrder", "items", &[Entries(1)]),
    ("NewOrderItem", "quantity", &[Range(1, Some(100))]),
    ("ShippingAddress", "street", &[Length(1, None)]),
    ("ShippingAddress", "zip", &[Length(1, None)]),
    ("ShippingAddress", "city", &[Length(1, None)]),
    ("ShippingAddress", "country", &[Length(2, Some(2))]),
    ("CheckoutRedirectUrls", "success", &[Uri]),
    ("CheckoutRedirectUrls", "failure", &[Uri]),
    ("CheckoutRedirectUrls", "cancel", &[Uri]),
    ("IssueTickets", "quantity", &[Range(1, Some(10))]),
    ("CheckInTicket", "code", &[Length(1, None)]),
    ("CreateDiscount UpdateDiscount", "code", &[Length(3, Some(20))]),
    ("CreateDiscount UpdateDiscount", "value", &[Range(0, Some(MAX_PRICE))]),
    ("CreateDiscount UpdateDiscount", "description", &[Length(0, Some(255))]),
    ("CreateDiscount UpdateDiscount", "usageLimit", &[Range(1, Some(MAX_QUANTITY))]),
    ("CreateDiscount UpdateDiscount", "minimumPurchase", &[Range(0, Some(MAX_PRICE))]),
    ("CreateDiscount", "isActive", &[Default("true")]),
    ("CreateDiscount", "autoApply", &[Default("false")]),
    ("CreateDiscount", "applicableTicketTypes", &[Default("[]")]),
    ("ValidateDiscount", "code", &[Length(1, None)]),
    ("ValidateDiscount", "orderAmount", &[Range(0, None)]),
    ("BasketItem", "quantity", &[Range(1, None)]),
    ("BasketItem", "price", &[Range(0, Some(MAX_PRICE))]),
    ("CreateWebhook UpdateWebhook", "url", &[Uri]),
    ("CreateWebhook UpdateWebhook", "description", &[Length(0, Some(500))]),
    ("CreateWebhook UpdateWebhook", "events", &[Entries(1)]),
    ("CreateWebhook", "enabled", &[Default("true")]),
    ("ListEvents ListTicketTypes ListOrders ListTickets ListDiscounts", "limit", &[Range(1, Some(100))]),
    ("ListWebhooks ListWebhookDeliveries", "limit", &[Range(1, Some(100))]),
];

impl Bound {
    fn lay_on(self, field: &mut Value) {
        match self {
            Length(least, most) => {
                if least > 0 {
                    field["minLength"] = json!(least);
                }
                if let Some(most) = most {
                    field["maxLength"] = json!(most);
                }
            }
            Range(least, most) => {
                field["minimum"] = json!(least);
                if let Some(most) = most {
                    field["maximum"] = json!(most);
                }
            }
            Pattern(pattern) => field["pattern"] = json!(pattern),
            Email => field["format"] = json!("email"),
            Uri => field["format"] = json!("uri"),
            Entries(least) => field["minItems"] = json!(least),
            Default(text) => field["default"] = serde_json::from_str(text).unwrap_or_default(),
        }
    }
}

/// Lays the bounds over the fields of a request.
pub(super) fn lay_on(name: &str, schema: &mut Value) {
    for (names, field, bounds) in TABLE {
        let is_meant = names.split(' ').any(|known| known == name);
        if let Some(field) = schema.pointer_mut(&format!("/properties/{field}")).filter(|_| is_meant) {
            bounds.iter().for_each(|bound| bound.lay_on(field));
        }
    }
}

/// Lays the bounds over every request that the generator knows by name.
pub(super) fn lay_on_all(generator: &mut SchemaGenerator) {
    for (name, schema) in generator.definitions_mut() {
        lay_on(name, schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_is_one_of_a_field_that_there_is() {
        let document = super::super::document();
        let queries = document["paths"].as_object().unwrap().values().map(|path| &path["get"]);
        for (names, field, _) in TABLE {
            for name in names.split(' ') {
                let lists = |query: &&Value| query["operationId"].as_str().map(in_words) == Some(name.to_owned());
                let parameters = queries.clone().find(lists).and_then(|query| query["parameters"].as_array());
                let is_there = match parameters {
                    Some(parameters) => parameters.iter().any(|parameter| parameter["name"] == *field),
                    None => document.pointer(&format!("/components/schemas/{name}/properties/{field}")).is_some(),
                };
                assert!(is_there, "{name}: {field}");
            }
        }
    }

    /// `list_events` as the request of it is named.
    fn in_words(name: &str) -> String {
        name.split('_').map(super::super::words::capital).collect()
    }
}
