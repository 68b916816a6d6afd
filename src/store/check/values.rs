//! Rules about the values of one row that SQL cannot express: that a value can be parsed, has the right form, or is the
//! case-folded form of another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::damage::report_damage;
use crate::enums::scope::Scopes;
use crate::enums::text_enum::TextEnum as _;
use crate::error::Result;
use crate::form::text::{is_https_url, is_slug};
use crate::model::notifications::notification_types::EventType;
use crate::model::operation::check::{CheckReport, Finding};
use crate::model::sale::cancellation_run::FailedCancellation;
use crate::model::sale::mail::MailKind;
use crate::model::values::currency::Decimals;
use crate::model::values::id::TicketId;
use crate::model::values::metadata::Metadata;
use crate::model::values::percentage::Percentage;
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::text::{email_key, fold};
use crate::rules::{event, ticket};
use crate::store::money::checkout_parameters;
use crate::store::order::order_details;
use crate::store::sale::events;
use crate::store::webhooks::handlers;
use crate::store::work;
use crate::store::{Row, Transaction};

/// A rule about the values of each row of a table.
pub(super) struct RowRule {
    pub(super) name: &'static str,
    table: &'static str,
    sentence: &'static str,
    /// Selects every row, with its key as `id`.
    pub(super) rows: &'static str,
    /// Whether a row obeys the rule. An error means that a value cannot be read.
    is_obeyed: fn(&Row<'_>) -> Result<bool>,
}

pub(super) const RULES: &[RowRule] = &[
    RowRule {
        name: "organization-settings",
        table: "organizations",
        sentence: "the currency and the time zone of an organization must be known ones",
        rows: "SELECT id, currency, timezone, name FROM organizations",
        is_obeyed: |row| Ok(is_currency(row, "currency")? && is_zone(row, "timezone")? && is_text(row, "name")?),
    },
    RowRule {
        name: "organization-page",
        table: "organizations",
        sentence: "the page name of an organization must be a slug, and its website, imprint and privacy URLs must be https URLs",
        rows: "SELECT id, page_name, website, imprint_url, privacy_url FROM organizations",
        is_obeyed: |row| {
            let is_valid = |column, is_valid: fn(&str) -> bool| -> Result<bool> {
                Ok(row.get::<Option<String>>(column)?.is_none_or(|text| is_valid(&text)))
            };
            Ok(is_valid("page_name", is_slug)?
                && is_valid("website", is_https_url)?
                && is_valid("imprint_url", is_https_url)?
                && is_valid("privacy_url", is_https_url)?)
        },
    },
    RowRule {
        name: "key-scopes",
        table: "api_keys",
        sentence: "the scopes of an API key must be known ones",
        rows: "SELECT id, scopes, name FROM api_keys",
        is_obeyed: |row| Ok(Scopes::from_text(&row.get::<String>("scopes")?).is_some() && is_text(row, "name")?),
    },
    RowRule {
        name: "event-slug",
        table: "events",
        sentence: "a slug must consist of lower-case letters and digits in groups that are joined by single hyphens",
        rows: "SELECT id, slug FROM events",
        is_obeyed: |row| Ok(is_slug(&row.get::<String>("slug")?)),
    },
    RowRule {
        name: "event-search-text",
        table: "events",
        sentence: "the search text of an event must be its title and its slug in the form in which texts are searched",
        rows: "SELECT id, title, slug, search_text FROM events",
        is_obeyed: |row| {
            let title: String = row.get("title")?;
            let slug: String = row.get("slug")?;
            Ok(row.get::<String>("search_text")? == event::search_text(&title, &slug))
        },
    },
    RowRule {
        name: "event-settings",
        table: "events",
        sentence: "the currency, the time zone and the beginning of days of an event must be known ones, and its JSON columns must \
             be readable",
        rows: "SELECT id, currency, timezone, day_starts_at, shipping_countries, tags, location_metadata, tracking_pixels, metadata
            FROM events",
        is_obeyed: |row| {
            row.json::<Vec<String>>("shipping_countries")?;
            row.json::<Vec<String>>("tags")?;
            row.json::<serde_json::Value>("location_metadata")?;
            row.json::<serde_json::Value>("tracking_pixels")?;
            row.get::<Metadata>("metadata")?;
            Ok(is_currency(row, "currency")? && events::days(row).is_ok())
        },
    },
    RowRule {
        name: "ticket-type-lists",
        table: "ticket_types",
        sentence: "the allowed dates and the access areas of a ticket type must be lists, and its metadata must be readable",
        rows: "SELECT id, allowed_dates, access_areas, metadata, name FROM ticket_types",
        is_obeyed: |row| {
            row.get::<Vec<Timestamp>>("allowed_dates")?;
            row.get::<Vec<String>>("access_areas")?;
            row.get::<Metadata>("metadata")?;
            is_text(row, "name")
        },
    },
    RowRule {
        name: "customer-email-key",
        table: "customers",
        sentence: "the key of a customer must be the e-mail address in lower case, with its domain in ASCII",
        rows: "SELECT id, email, email_key FROM customers",
        is_obeyed: |row| Ok(email_key(&row.get::<String>("email")?) == row.get::<String>("email_key")?),
    },
    RowRule {
        name: "customer-metadata",
        table: "customers",
        sentence: "the metadata of a customer must be readable",
        rows: "SELECT id, metadata FROM customers",
        is_obeyed: |row| row.get::<Metadata>("metadata").map(|_| true),
    },
    RowRule {
        name: "discount-code-key",
        table: "discounts",
        sentence: "the key of a discount must be its code in the form in which codes are compared",
        rows: "SELECT id, code, code_key FROM discounts",
        is_obeyed: |row| Ok(fold(&row.get::<String>("code")?) == row.get::<String>("code_key")?),
    },
    RowRule {
        name: "discount-values",
        table: "discounts",
        sentence: "a percentage must be between 0 and 100, and the ticket types of a discount must be a list",
        rows: "SELECT id, type, value, value_decimals, applicable_ticket_types FROM discounts",
        is_obeyed: |row| {
            row.json::<Vec<i64>>("applicable_ticket_types")?;
            Ok(row.get::<String>("type")? != "PERCENTAGE"
                || is_percentage(row.get("value")?, row.get("value_decimals")?))
        },
    },
    RowRule {
        name: "order-details",
        table: "orders",
        sentence: "the currency of an order must be a known one, and its details and its metadata must be readable",
        rows: "SELECT id, currency, customer_name, details, metadata FROM orders",
        is_obeyed: |row| {
            row.get::<Metadata>("metadata")?;
            order_details::stored(row)?;
            Ok(is_currency(row, "currency")? && is_text(row, "customer_name")?)
        },
    },
    RowRule {
        name: "cancellation-run-failures",
        table: "cancellation_runs",
        sentence: "the orders that a run could not cancel must be readable",
        rows: "SELECT id, failures, reason FROM cancellation_runs",
        is_obeyed: |row| {
            row.get::<Option<String>>("reason")?;
            row.json::<Vec<FailedCancellation>>("failures").map(|_| true)
        },
    },
    RowRule {
        name: "checkout-parameters",
        table: "checkouts",
        sentence: "the stored parameters of a checkout must be readable",
        rows: "SELECT order_id AS id, parameters FROM checkouts",
        is_obeyed: checkout_parameters::is_readable,
    },
    RowRule {
        name: "ticket-code",
        table: "tickets",
        sentence: "a ticket code must be 20 characters of Crockford's base32, and that of another seller 6 to 200 visible \
             characters that are not read as such a code",
        rows: "SELECT id, code, imported_code, label, customer_name FROM tickets",
        is_obeyed: |row| {
            row.get::<Option<String>>("customer_name")?;
            row.get::<Option<String>>("label")?;
            let own: Option<String> = row.get("code")?;
            let imported: Option<String> = row.get("imported_code")?;
            Ok(own.is_none_or(|code| ticket::is_code(&code))
                && imported.is_none_or(|code| ticket::is_foreign_code(&code)))
        },
    },
    RowRule {
        name: "allocation-values",
        table: "allocations",
        sentence: "the name and the metadata of an allocation must be readable",
        rows: "SELECT id, name, metadata, reference FROM allocations",
        is_obeyed: |row| {
            row.get::<Metadata>("metadata")?;
            row.get::<Option<String>>("reference")?;
            is_text(row, "name")
        },
    },
    RowRule {
        name: "allocation-labels",
        table: "allocation_labels",
        sentence: "the labels of the tickets of an allocation must be a list",
        rows: "SELECT allocation_id AS id, labels FROM allocation_labels",
        is_obeyed: |row| row.json::<Vec<String>>("labels").map(|_| true),
    },
    RowRule {
        name: "handler-notification",
        table: "work",
        sentence: "a notification for a function of the program must be readable",
        rows: work::ALL,
        is_obeyed: handlers::is_readable,
    },
    RowRule {
        name: "payment-check",
        table: "work",
        sentence: "the number of answers to a check of a payment must be a number",
        rows: "SELECT id, kind, body FROM work WHERE kind > 'check ' AND kind < 'check!'",
        is_obeyed: |row| Ok(row.get::<String>("body")?.parse::<u32>().is_ok()),
    },
    RowRule {
        name: "mail-kind",
        table: "mails",
        sentence: "a mail must have a kind, an address, and a readable list of tickets",
        rows: "SELECT id, kind, recipient, ticket_ids FROM mails",
        is_obeyed: |row| {
            let has_kind = MailKind::from_text(&row.get::<String>("kind")?).is_some();
            let tickets: Vec<TicketId> = if row.is_null("ticket_ids")? { Vec::new() } else { row.get("ticket_ids")? };
            Ok(has_kind && (row.is_null("ticket_ids")? || !tickets.is_empty()) && is_text(row, "recipient")?)
        },
    },
    RowRule {
        name: "webhook-settings",
        table: "webhook_endpoints",
        sentence: "an endpoint must have at least one type of notification, each only once, and a well-formed signing key",
        rows: "SELECT id, events, secret, url FROM webhook_endpoints",
        is_obeyed: |row| {
            let events: Vec<EventType> = row.json("events")?;
            let is_first = |(index, event): (usize, &EventType)| !events[..index].contains(event);
            let has_duplicates = !events.iter().enumerate().all(is_first);
            Ok(!events.is_empty()
                && !has_duplicates
                && is_secret(&row.get::<String>("secret")?)
                && is_text(row, "url")?)
        },
    },
];

pub(super) fn check_rule(tx: &Transaction<'_>, rule: &RowRule, report: &mut CheckReport) -> Result<()> {
    let finding = |row, sentence| Finding { invariant: rule.name.into(), table: rule.table.to_owned(), row, sentence };
    let checked = tx.query_table(rule.rows, |row| {
        let key = row.get("id").ok().map(|key: i64| key.to_string());
        match (rule.is_obeyed)(row) {
            Ok(true) => Ok(()),
            Ok(false) => {
                report.add(finding(key, rule.sentence.to_owned()));
                Ok(())
            }
            Err(error) => report_damage(Err(error), |problem| report.add(finding(key, problem))),
        }
    });
    report_damage(checked, |problem| report.add(finding(None, problem)))
}

/// Whether the value of a column is a text. If it is not, the error says so.
fn is_text(row: &Row<'_>, column: &'static str) -> Result<bool> {
    row.get::<String>(column).map(|_| true)
}

fn is_currency(row: &Row<'_>, column: &'static str) -> Result<bool> {
    Ok(Decimals::of_currency(&row.get::<String>(column)?).is_some())
}

fn is_zone(row: &Row<'_>, column: &'static str) -> Result<bool> {
    Ok(Zone::of(&row.get::<String>(column)?).is_some())
}

/// Whether a text is a signing secret: `whsec_` and 32 bytes in base64 with padding.
fn is_secret(text: &str) -> bool {
    let bytes = text.strip_prefix("whsec_").and_then(|digits| STANDARD.decode(digits).ok());
    bytes.is_some_and(|bytes| bytes.len() == 32)
}

/// Whether `units` are a valid percentage. One percent is `10^decimals` units.
fn is_percentage(units: i64, decimals: i64) -> bool {
    u8::try_from(decimals).is_ok_and(|decimals| Percentage::new(units, decimals).is_ok())
}
