//! How much an organization stores: the numbers of its rows, and an estimate of their size.

use super::organizations;
use crate::error::Result;
use crate::model::tenants::organization::{ListOrganizations, OrganizationUsage, OrganizationWithUsage};
use crate::model::values::id::OrganizationId;
use crate::model::values::page::Page;
use crate::rules::Checked;
use crate::store::Transaction;

/// How many rows the page of a list counts before it ends: about the work of a tenth of a second.
const MAX_ROWS: u64 = 100_000;

pub(in crate::store) const EVENTS: &str = "SELECT COUNT(*) AS rows, CAST(SUM(OCTET_LENGTH(title) * 2 + OCTET_LENGTH(slug) * 3
        + COALESCE(OCTET_LENGTH(description), 0) + COALESCE(OCTET_LENGTH(day_starts_at), 0) + OCTET_LENGTH(location_metadata) + OCTET_LENGTH(tracking_pixels)
        + OCTET_LENGTH(tags) + COALESCE(OCTET_LENGTH(reference), 0) * 2 + COALESCE(OCTET_LENGTH(metadata), 0)) AS BIGINT) AS bytes
    FROM events WHERE organization_id = ?1";
pub(in crate::store) const TICKET_TYPES: &str = "SELECT COUNT(*) AS rows, CAST(SUM(OCTET_LENGTH(t.name)
        + COALESCE(OCTET_LENGTH(t.description), 0) + COALESCE(OCTET_LENGTH(t.ticket_text), 0)
        + COALESCE(OCTET_LENGTH(l.logo), 0) + COALESCE(OCTET_LENGTH(t.reference), 0)
        + COALESCE(OCTET_LENGTH(t.metadata), 0)) AS BIGINT) AS bytes
    FROM events e JOIN ticket_types t ON t.event_id = e.id LEFT JOIN ticket_logos l ON l.ticket_type_id = t.id
    WHERE e.organization_id = ?1";
pub(in crate::store) const CUSTOMERS: &str =
    "SELECT COUNT(*) AS rows, CAST(SUM(OCTET_LENGTH(email) + OCTET_LENGTH(email_key) * 2
        + COALESCE(OCTET_LENGTH(metadata), 0)) AS BIGINT) AS bytes
    FROM customers WHERE organization_id = ?1";
pub(in crate::store) const ORDERS: &str = "SELECT COUNT(*) AS rows, CAST(SUM(OCTET_LENGTH(customer_name)
        + COALESCE(OCTET_LENGTH(details), 0) + COALESCE(OCTET_LENGTH(payment_link), 0)
        + COALESCE(OCTET_LENGTH(payment_reference), 0) * 2 + COALESCE(OCTET_LENGTH(reference), 0) * 2
        + COALESCE(OCTET_LENGTH(metadata), 0)) AS BIGINT) AS bytes
    FROM orders WHERE organization_id = ?1";
pub(in crate::store) const TICKETS: &str = "SELECT COUNT(*) AS rows,
        CAST(SUM(COALESCE(OCTET_LENGTH(customer_name), 0) + COALESCE(OCTET_LENGTH(code), 0) * 2
            + COALESCE(OCTET_LENGTH(label), 0) + COALESCE(OCTET_LENGTH(imported_code), 0) * 2) AS BIGINT) AS bytes
    FROM tickets WHERE organization_id = ?1";
pub(in crate::store) const SCANS: &str = "SELECT COUNT(*) AS rows,
        CAST(SUM(COALESCE(OCTET_LENGTH(s.device), 0)) AS BIGINT) AS bytes
    FROM events e JOIN scans s ON s.event_id = e.id WHERE e.organization_id = ?1";

pub(in crate::store) const MAILS: &str = "SELECT COUNT(*) AS rows,
        CAST(SUM(OCTET_LENGTH(recipient) * 2 + OCTET_LENGTH(dedup_key) * 2 + COALESCE(OCTET_LENGTH(ticket_ids), 0)
        + COALESCE(OCTET_LENGTH(last_answer), 0)) AS BIGINT) AS bytes
    FROM mails WHERE organization_id = ?1";

/// The bytes that a row takes in its table and in its indexes, apart from the texts that are added up. Pages of the
/// file are about two thirds full.
const OF_EVENT: u64 = 350;
const OF_TICKET_TYPE: u64 = 300;
const OF_CUSTOMER: u64 = 100;
/// With one item.
const OF_ORDER: u64 = 400;
const OF_TICKET: u64 = 250;
const OF_SCAN: u64 = 250;
const OF_MAIL: u64 = 200;

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId) -> Result<OrganizationUsage> {
    let mut bytes = 0;
    let mut count = |sql, of_row| -> Result<u64> {
        let found = tx
            .query_opt(sql, &[organization.into()], |row| Ok((row.count("rows")?, row.get::<Option<i64>>("bytes")?)))?;
        let (rows, texts) = found.unwrap_or_default();
        bytes += texts.and_then(|texts| u64::try_from(texts).ok()).unwrap_or(0) + rows * of_row;
        Ok(rows)
    };
    let events = count(EVENTS, OF_EVENT)?;
    count(TICKET_TYPES, OF_TICKET_TYPE)?;
    let customers = count(CUSTOMERS, OF_CUSTOMER)?;
    let orders = count(ORDERS, OF_ORDER)?;
    let tickets = count(TICKETS, OF_TICKET)?;
    let scans = count(SCANS, OF_SCAN)?;
    let mails = count(MAILS, OF_MAIL)?;
    Ok(OrganizationUsage { events, customers, orders, tickets, scans, mails, bytes })
}

/// Lists organizations with what they store, newest first. A page ends early after the organization with which it has
/// counted `MAX_ROWS`.
pub(crate) fn list(
    tx: &Transaction<'_>,
    request: &Checked<ListOrganizations>,
) -> Result<Page<OrganizationWithUsage, OrganizationId>> {
    let Page { data: organizations, mut next_cursor } = organizations::list(tx, request)?;
    let last = organizations.last().map(|organization| organization.id);
    let mut data = Vec::with_capacity(organizations.len());
    let mut counted = 0;
    for organization in organizations {
        let usage = get(tx, organization.id)?;
        counted += usage.events + usage.customers + usage.orders + usage.tickets + usage.scans + usage.mails;
        let id = organization.id;
        data.push(OrganizationWithUsage { organization, usage });
        if counted >= MAX_ROWS && last != Some(id) {
            next_cursor = Some(id);
            break;
        }
    }
    Ok(Page { data, next_cursor })
}
