//! Ticket types.

use super::events::json;
use super::lists::{one_more, unknown_cursor};
use super::{Bind, Row, Transaction};
use crate::error::{Error, Reason, Result};
use crate::model::amount::Amount;
use crate::model::id::{EventId, OrganizationId, TicketTypeId, kind};
use crate::model::page::Page;
use crate::model::text_enum::TextEnum;
use crate::model::ticket_type::TicketTypeFields;
use crate::model::ticket_type::{ListTicketTypes, TicketType};
use crate::rules::Checked;
use crate::rules::money::decimals;
use crate::rules::ticket_type::Offer;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.name, t.description, t.price, e.currency, t.quantity, t.sold, e.id AS event_id, t.status,
                t.display_remaining, t.valid_from, t.valid_until, t.allowed_dates, t.validity_days, t.validity_hours,
                t.access_areas, t.max_per_order, t.sale_start_at, t.sale_end_at, t.sort_order, t.ticket_text, t.ticket_logo,
                t.created_at, t.updated_at, t.revision
            FROM ticket_types t JOIN events e ON e.id = t.event_id ",
            $rest
        )
    };
}

const INSERT: &str = "INSERT INTO ticket_types (id, organization_id, event_id, name, description, price, quantity, status,
        display_remaining, valid_from, valid_until, allowed_dates, validity_days, validity_hours, access_areas, max_per_order,
        sale_start_at, sale_end_at, sort_order, ticket_text, ticket_logo, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?22)
    ON CONFLICT (id) DO NOTHING";
const UPDATE: &str = "UPDATE ticket_types SET name = ?4, description = ?5, price = ?6, quantity = ?7, status = ?8,
        display_remaining = ?9, valid_from = ?10, valid_until = ?11, allowed_dates = ?12, validity_days = ?13,
        validity_hours = ?14, access_areas = ?15, max_per_order = ?16, sale_start_at = ?17, sale_end_at = ?18,
        sort_order = ?19, ticket_text = ?20, ticket_logo = ?21, updated_at = ?22, revision = revision + 1
    WHERE id = ?1 AND organization_id = ?2 AND event_id = ?3 AND sold + held <= ?7";
const BY_ID: &str = select!("WHERE t.id = ?1 AND t.organization_id = ?2");
pub(super) const LIST: &str = select!(
    "WHERE t.event_id = ?1 AND (t.sort_order, t.id) > (?2, ?3) AND (CAST(?5 AS TEXT) IS NULL OR t.status = ?5)
    ORDER BY t.sort_order, t.id LIMIT ?4"
);
const POSITION: &str = "SELECT id, sort_order FROM ticket_types WHERE id = ?1 AND organization_id = ?2";
const DELETE: &str = "DELETE FROM ticket_types WHERE id = ?1 AND organization_id = ?2 AND used = 0";
const OFFER: &str = "SELECT id, name, price, status, max_per_order, sale_start_at, sale_end_at
    FROM ticket_types WHERE id = ?1 AND event_id = ?2";
const NAME: &str = "SELECT id, event_id, name FROM ticket_types WHERE id = ?1 AND organization_id = ?2";

fn decode(row: &Row<'_>) -> Result<TicketType> {
    let currency: String = row.get("currency")?;
    let decimals = decimals(&currency).ok_or_else(|| row.corrupt("currency", "is no known currency"))?;
    Ok(TicketType {
        id: row.get("id")?,
        name: row.get("name")?,
        description: row.get("description")?,
        price: Amount::new(row.get("price")?, decimals),
        quantity: row.get("quantity")?,
        sold: row.get("sold")?,
        event_id: row.get("event_id")?,
        status: row.text_enum("status")?,
        display_remaining: row.get("display_remaining")?,
        valid_from: row.get("valid_from")?,
        valid_until: row.get("valid_until")?,
        allowed_dates: instants(row, "allowed_dates")?,
        validity_days: row.get("validity_days")?,
        validity_hours: row.get("validity_hours")?,
        access_areas: row.json("access_areas")?,
        max_per_order: row.get("max_per_order")?,
        sale_start_date: row.get("sale_start_at")?,
        sale_end_date: row.get("sale_end_at")?,
        sort_order: row.get("sort_order")?,
        ticket_text: row.get("ticket_text")?,
        ticket_logo: row.get("ticket_logo")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        revision: row.get("revision")?,
    })
}

/// A list of instants, stored as a JSON array of milliseconds.
pub(super) fn instants(row: &Row<'_>, column: &'static str) -> Result<Vec<crate::model::timestamp::Timestamp>> {
    let millis: Vec<i64> = row.json(column)?;
    Ok(millis.into_iter().map(crate::model::timestamp::Timestamp::from_millis).collect())
}

/// The columns that creating and updating write, from `?4` on.
fn values(fields: &TicketTypeFields) -> Result<[Bind<'_>; 18]> {
    let dates: Vec<_> = fields.allowed_dates.iter().map(|date| date.millis()).collect();
    Ok([
        (&fields.name).into(),
        fields.description.as_ref().into(),
        fields.price.minor().into(),
        fields.quantity.into(),
        fields.status.as_str().into(),
        fields.display_remaining.into(),
        fields.valid_from.into(),
        fields.valid_until.into(),
        json(&dates)?.into(),
        fields.validity_days.into(),
        fields.validity_hours.into(),
        json(&fields.access_areas)?.into(),
        fields.max_per_order.into(),
        fields.sale_start_date.into(),
        fields.sale_end_date.into(),
        fields.sort_order.into(),
        fields.ticket_text.as_ref().into(),
        fields.ticket_logo.as_ref().into(),
    ])
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    fields: &Checked<TicketTypeFields>,
) -> Result<TicketTypeId> {
    tx.debug_assert_event_locked();
    let mut binds: Vec<Bind<'_>> = vec![organization.into(), event.into()];
    binds.extend(values(fields)?);
    binds.push(tx.now().into());
    tx.insert(INSERT, &binds)
}

/// Writes the whole ticket type. Returns `false` if its quantity would not cover what is sold and reserved.
pub(crate) fn update(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    current: &TicketType,
    fields: &Checked<TicketTypeFields>,
) -> Result<bool> {
    tx.debug_assert_event_locked();
    let mut binds: Vec<Bind<'_>> = vec![current.id.into(), organization.into(), current.event_id.into()];
    binds.extend(values(fields)?);
    binds.push(tx.now().into());
    tx.execute(UPDATE, &binds).map(|rows| rows == 1)
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: TicketTypeId) -> Result<TicketType> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], decode)?.ok_or(Error::NotFound("ticket type"))
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Checked<ListTicketTypes>,
) -> Result<Page<TicketType, kind::TicketType>> {
    let (sort_order, id) = match request.page.cursor {
        None => (i64::MIN, TicketTypeId::UNKNOWN),
        Some(cursor) => {
            let position =
                tx.query_opt(POSITION, &[cursor.into(), organization.into()], |row| row.get("sort_order"))?;
            (position.ok_or_else(unknown_cursor)?, cursor)
        }
    };
    let status = request.status.map(TextEnum::as_str);
    let binds = [event.into(), sort_order.into(), id.into(), one_more(&request.page), status.into()];
    let found = tx.query_all(LIST, &binds, decode)?;
    Ok(Page::cut(found, request.page.limit, |ticket_type| ticket_type.id))
}

/// Deletes a ticket type that was never ordered or issued.
pub(crate) fn delete(tx: &Transaction<'_>, organization: OrganizationId, id: TicketTypeId) -> Result<()> {
    tx.debug_assert_event_locked();
    if tx.execute(DELETE, &[id.into(), organization.into()])? == 1 {
        return Ok(());
    }
    let current = get(tx, organization, id)?;
    Err(Error::conflict(Reason::InUse, format!("{} was ordered or issued", current.name)))
}

/// What decides whether a ticket type of an event can be ordered.
pub(crate) fn offer(tx: &Transaction<'_>, event: EventId, id: TicketTypeId) -> Result<Option<Offer>> {
    tx.query_opt(OFFER, &[id.into(), event.into()], |row| {
        Ok(Offer {
            name: row.get("name")?,
            price: row.get("price")?,
            status: row.text_enum("status")?,
            max_per_order: row.get("max_per_order")?,
            sale_start: row.get("sale_start_at")?,
            sale_end: row.get("sale_end_at")?,
        })
    })
}

/// A ticket type's event and name.
pub(crate) struct TicketTypeName {
    pub(crate) event_id: EventId,
    pub(crate) name: String,
}

pub(crate) fn find_name(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketTypeId,
) -> Result<Option<TicketTypeName>> {
    tx.query_opt(NAME, &[id.into(), organization.into()], |row| {
        Ok(TicketTypeName { event_id: row.get("event_id")?, name: row.get("name")? })
    })
}
