//! What SQL cannot state of a value: that a text can be read, has its form, or is another one folded.

use super::unless_damaged;
use crate::error::Result;
use crate::form::text::is_slug;
use crate::model::check::{CheckReport, Finding};
use crate::model::scope::Scopes;
use crate::model::webhook::NotificationType;
use crate::rules::calendar::Zone;
use crate::rules::text::fold;
use crate::rules::{event, money, ticket};
use crate::store::{Row, Transaction, orders, ticket_types};

/// Something that holds of the values of every row of a table.
pub(super) struct Value {
    name: &'static str,
    table: &'static str,
    sentence: &'static str,
    /// Reads every row, its key first.
    rows: &'static str,
    /// Whether it holds of a row. A value that cannot be read at all does not hold.
    holds: fn(&Row<'_>) -> Result<bool>,
}

const VALUES: &[Value] = &[
    Value {
        name: "organization-settings",
        table: "organizations",
        sentence: "an organization has a currency and a time zone that there are",
        rows: "SELECT id, currency, timezone, name FROM organizations",
        holds: |row| Ok(is_currency(row, "currency")? && is_zone(row, "timezone")? && is_text(row, "name")?),
    },
    Value {
        name: "key-scopes",
        table: "api_keys",
        sentence: "a key's scopes are known",
        rows: "SELECT id, scopes, name FROM api_keys",
        holds: |row| Ok(Scopes::from_text(&row.get::<String>("scopes")?).is_some() && is_text(row, "name")?),
    },
    Value {
        name: "event-slug",
        table: "events",
        sentence: "a slug is lower-case letters and digits in groups joined by single hyphens",
        rows: "SELECT id, slug FROM events",
        holds: |row| Ok(is_slug(&row.get::<String>("slug")?)),
    },
    Value {
        name: "event-search-text",
        table: "events",
        sentence: "what a search looks through is the title and the slug in lower case",
        rows: "SELECT id, title, slug, search_text FROM events",
        holds: |row| {
            let (title, slug): (String, String) = (row.get("title")?, row.get("slug")?);
            Ok(row.get::<String>("search_text")? == event::search_text(&title, &slug))
        },
    },
    Value {
        name: "event-settings",
        table: "events",
        sentence: "an event has a currency and a time zone that there are, and lists and free fields that are JSON",
        rows: "SELECT id, currency, timezone, shipping_countries, tags, location_metadata, tracking_pixels FROM events",
        holds: |row| {
            row.json::<Vec<String>>("shipping_countries")?;
            row.json::<Vec<String>>("tags")?;
            row.json::<serde_json::Value>("location_metadata")?;
            row.json::<serde_json::Value>("tracking_pixels")?;
            Ok(is_currency(row, "currency")? && is_zone(row, "timezone")?)
        },
    },
    Value {
        name: "ticket-type-lists",
        table: "ticket_types",
        sentence: "the days and the areas of a type are lists",
        rows: "SELECT id, allowed_dates, access_areas, name FROM ticket_types",
        holds: |row| {
            ticket_types::instants(row, "allowed_dates")?;
            row.json::<Vec<String>>("access_areas")?;
            is_text(row, "name")
        },
    },
    Value {
        name: "customer-email-key",
        table: "customers",
        sentence: "a customer is found under the address in lower case: there is one for each organization and address",
        rows: "SELECT id, email, email_key FROM customers",
        holds: |row| Ok(fold(&row.get::<String>("email")?) == row.get::<String>("email_key")?),
    },
    Value {
        name: "discount-code-key",
        table: "discounts",
        sentence: "a discount is found under its code in lower case",
        rows: "SELECT id, code, code_key FROM discounts",
        holds: |row| Ok(fold(&row.get::<String>("code")?) == row.get::<String>("code_key")?),
    },
    Value {
        name: "discount-values",
        table: "discounts",
        sentence: "a percentage is at most 100, and the types that a discount is for are a list",
        rows: "SELECT id, type, value, value_decimals, applicable_ticket_types FROM discounts",
        holds: |row| {
            row.json::<Vec<i64>>("applicable_ticket_types")?;
            Ok(row.get::<String>("type")? != "PERCENTAGE"
                || is_percentage(row.get("value")?, row.get("value_decimals")?))
        },
    },
    Value {
        name: "order-details",
        table: "orders",
        sentence: "an order has a currency that there is, and what else its request said can be read",
        rows: "SELECT id, currency, customer_name, details FROM orders",
        holds: |row| {
            Ok(is_currency(row, "currency")?
                && is_text(row, "customer_name")?
                && (row.is_null("details")? || orders::has_details(row, "details")?))
        },
    },
    Value {
        name: "ticket-code",
        table: "tickets",
        sentence: "a code is 20 capitals and digits of Crockford's base32",
        rows: "SELECT id, code, customer_name FROM tickets",
        holds: |row| Ok(ticket::is_code(&row.get::<String>("code")?) && is_text(row, "customer_name")?),
    },
    Value {
        name: "webhook-settings",
        table: "webhook_endpoints",
        sentence: "an endpoint wants at least one type of notification, each once, and what signs for it has its form",
        rows: "SELECT id, events, secret, url FROM webhook_endpoints",
        holds: |row| {
            let events: Vec<NotificationType> = row.json("events")?;
            let once = events.iter().enumerate().all(|(index, of)| !events[..index].contains(of));
            Ok(!events.is_empty() && once && is_secret(&row.get::<String>("secret")?) && is_text(row, "url")?)
        },
    },
];

/// Checks every row of every table.
pub(super) fn check(tx: &Transaction<'_>, report: &mut CheckReport) -> Result<()> {
    for value in VALUES {
        let finding = |row, sentence: &str| Finding {
            invariant: value.name,
            table: value.table.to_owned(),
            row,
            sentence: sentence.to_owned(),
        };
        let looked = tx.query_each(value.rows, &[], |row| {
            let key = || row.get("id").ok().map(|key: i64| key.to_string());
            let holds = match (value.holds)(row) {
                Ok(holds) => Ok(holds),
                Err(error) => {
                    let note = |problem: String| report.add(finding(key(), &problem));
                    unless_damaged(Err(error), note).map(|()| true)
                }
            }?;
            if !holds {
                report.add(finding(key(), value.sentence));
            }
            Ok(())
        });
        unless_damaged(looked, |problem| report.add(finding(None, &problem)))?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    VALUES.iter().map(|value| value.name)
}

#[cfg(test)]
pub(super) fn queries() -> impl Iterator<Item = &'static str> {
    VALUES.iter().map(|value| value.rows)
}

fn is_text(row: &Row<'_>, column: &'static str) -> Result<bool> {
    row.get::<String>(column).map(|_| true)
}

fn is_currency(row: &Row<'_>, column: &'static str) -> Result<bool> {
    Ok(money::decimals(&row.get::<String>(column)?).is_some())
}

fn is_zone(row: &Row<'_>, column: &'static str) -> Result<bool> {
    Ok(Zone::of(&row.get::<String>(column)?).is_some())
}

/// Whether it is a signing secret: `whsec_` and 32 bytes in base64 with padding.
fn is_secret(text: &str) -> bool {
    let digits = text.strip_prefix("whsec_").and_then(|rest| rest.strip_suffix('='));
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    // Of the last digit only the upper four bits say something: the others are 0.
    let last = |digits: &str| digits.ends_with(|c| "AEIMQUYcgkosw048".contains(c));
    digits.is_some_and(|digits| digits.len() == 43 && digits.bytes().all(known) && last(digits))
}

/// Whether `value`, of which 10^`decimals` make one, lies between 0 and 100.
fn is_percentage(value: i64, decimals: i64) -> bool {
    let one = u32::try_from(decimals).ok().and_then(|decimals| 10_i128.checked_pow(decimals));
    one.is_some_and(|one| (0..=100 * one).contains(&i128::from(value)))
}
