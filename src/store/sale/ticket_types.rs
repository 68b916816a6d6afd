//! Ticket types.

use std::sync::LazyLock;

use crate::enums::text_enum::TextEnum;
use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::sale::ticket_type::{ListTicketTypes, TicketType, TicketTypeFields};
use crate::model::values::amount::Amount;
use crate::model::values::id::{EventId, OrganizationId, TicketTypeId};
use crate::model::values::page::Page;
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::event::check_on_sale;
use crate::rules::ticket_type::{Offer, TypeSale};
use crate::store::columns::{columns, row_struct};
use crate::store::lists::list_query::{has_at_least, limit_plus_one, unknown_cursor};
use crate::store::lists::pages::read_page;
use crate::store::sale::event_figures;
use crate::store::{Bind, LockedEvent, Row, RowLength, Transaction};

columns! {
    write WRITTEN, selected_columns!("t."), values(fields: &TicketTypeFields) {
        name,
        description,
        quantity,
        status,
        display_remaining,
        valid_from,
        valid_until,
        allowed_dates,
        validity_days,
        validity_hours,
        access_areas,
        max_per_order,
        sale_start_date => sale_start_at,
        sale_end_date => sale_end_at,
        sort_order,
        ticket_text,
        reference,
        metadata,
    } and {
        price: fields.price.minor_units().into(),
    }

    read decode(row: &Row<'_>, sale: &SaleNow<'_>) -> TicketType {
        let decimals = row.get("currency")?;
        let id = row.get("id")?;
        let (quantity, sold, held): (i64, i64, i64) = (row.get("quantity")?, row.get("sold")?, row.get("held")?);
        let available = quantity - sold - held + (sale.expired)(id);
        let of_event = check_on_sale(row.get("event_status")?, row.get("over_at")?, sale.now);
    } and {
        id: id,
        available: available,
        sale_state: type_sale(row)?.state(of_event, available, sale.now),
        event_id: row.get("event_id")?,
        price: Amount::in_currency(row.get("price")?, decimals),
        sold: sold,
        ticket_logo: row.get("ticket_logo")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        revision: row.get("revision")?,
    }
}

macro_rules! logo {
    () => {
        "(SELECT l.logo FROM ticket_logos l WHERE l.ticket_type_id = t.id) AS ticket_logo, "
    };
}

/// The seats of a ticket type that pending orders still reserve whose hold has expired at the time ?3.
macro_rules! expired_seats {
    () => {
        "CASE WHEN t.held = 0 THEN 0 ELSE (SELECT CAST(COALESCE(SUM(i.quantity), 0) AS BIGINT)
            FROM orders o JOIN order_items i ON i.order_id = o.id
            WHERE o.status = 'PENDING' AND o.hold_until <= ?3 AND o.event_id = t.event_id AND +i.ticket_type_id = t.id) END AS expired_seats"
    };
}

macro_rules! select {
    ($logo:expr, $expired_seats:expr, $rest:literal) => {
        concat!(
            "SELECT t.id, e.currency, e.id AS event_id, e.status AS event_status, e.over_at, t.price, t.sold, t.held,
                t.created_at, t.updated_at, t.revision, ",
            $logo,
            $expired_seats,
            selected_columns!(),
            " FROM ticket_types t JOIN events e ON e.id = t.event_id ",
            $rest
        )
    };
}

/// What is known of the sale of an event besides the row of a ticket type.
pub(in crate::store) struct SaleNow<'a> {
    now: Timestamp,
    /// How many seats of a ticket type pending orders still reserve whose hold has expired. They are available.
    expired: &'a dyn Fn(TicketTypeId) -> i64,
}

static INSERT: LazyLock<String> = LazyLock::new(|| WRITTEN.insert("ticket_types", &["organization_id", "event_id"]));
static UPDATE: LazyLock<String> = LazyLock::new(|| {
    let rest = "updated_at = ?4, revision = revision + 1
        WHERE id = ?1 AND organization_id = ?2 AND event_id = ?3 AND sold + held <= ?5";
    WRITTEN.update("ticket_types", 6, rest)
});
pub(in crate::store) const BY_ID: &str =
    select!(logo!(), expired_seats!(), "WHERE t.id = ?1 AND t.organization_id = ?2");
#[cfg(any(feature = "mail", all(feature = "documents", feature = "server")))]
const BY_ID_WITHOUT_LOGO: &str =
    select!("NULL AS ticket_logo, ", expired_seats!(), "WHERE t.id = ?1 AND t.organization_id = ?2");
#[cfg(all(feature = "documents", feature = "server"))]
const BY_ID_WITH_SMALL_LOGO: &str = select!(
    "(SELECT l.logo FROM ticket_logos l WHERE l.ticket_type_id = t.id AND OCTET_LENGTH(l.logo) <= ?4) AS ticket_logo, ",
    expired_seats!(),
    "WHERE t.id = ?1 AND t.organization_id = ?2"
);
pub(in crate::store) const LIST: &str = select!(
    logo!(),
    "CAST(0 AS BIGINT) AS expired_seats",
    "WHERE t.event_id = ?1 AND (t.sort_order, t.id) > (?2, ?3) AND (CAST(?5 AS TEXT) IS NULL OR t.status = ?5)
        AND (CAST(?6 AS TEXT) IS NULL OR t.reference = ?6)
    ORDER BY t.sort_order, t.id LIMIT ?4"
);
/// All ticket types of an event, without their logos: there are at most 500.
#[cfg(feature = "event-pages")]
pub(in crate::store) const OF_PAGE: &str = select!(
    "NULL AS ticket_logo, ",
    "CAST(0 AS BIGINT) AS expired_seats",
    "WHERE t.event_id = ?1 ORDER BY t.sort_order, t.id"
);
const SET_LOGO: &str = "INSERT INTO ticket_logos (ticket_type_id, logo) VALUES (?1, ?2)
    ON CONFLICT (ticket_type_id) DO UPDATE SET logo = excluded.logo";
const DELETE_LOGO: &str = "DELETE FROM ticket_logos WHERE ticket_type_id = ?1";
const POSITION: &str = "SELECT id, sort_order FROM ticket_types WHERE id = ?1 AND organization_id = ?2";
const DELETE: &str = "DELETE FROM ticket_types WHERE id = ?1 AND organization_id = ?2 AND used = 0";
const OFFER: &str = "SELECT id, SUBSTR(name, 1, 255) AS name, price, status, max_per_order, sale_start_at, sale_end_at
    FROM ticket_types WHERE id = ?1 AND +event_id = ?2";
const EXISTS_IN_EVENT: &str = "SELECT 1 FROM ticket_types WHERE id = ?1 AND +event_id = ?2";
pub(in crate::store) const NTH: &str = "SELECT 1 FROM ticket_types WHERE event_id = ?1 LIMIT 1 OFFSET ?2";
pub(in crate::store) const IDS_OF_EVENT: &str =
    "SELECT id FROM ticket_types WHERE event_id = ?1 AND organization_id = ?2";
pub(in crate::store) const IDS: &str = "SELECT t.id, t.event_id FROM events e JOIN ticket_types t ON t.event_id = e.id
    WHERE e.organization_id = ?1 ORDER BY e.id DESC";
const NAME: &str = "SELECT id, event_id, name FROM ticket_types WHERE id = ?1 AND organization_id = ?2";

pub(crate) fn has_at_least_in_event(tx: &Transaction<'_>, event: EventId, number: usize) -> Result<bool> {
    has_at_least(tx, NTH, event.into(), number)
}

pub(crate) fn insert(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    fields: &Checked<TicketTypeFields>,
) -> Result<TicketTypeId> {
    let mut binds: Vec<Bind<'_>> = vec![organization.into(), event.into(), tx.now().into()];
    binds.extend(values(fields)?);
    let id = tx.insert(&INSERT, &binds)?;
    write_logo(tx, id, None, fields.ticket_logo.as_deref())?;
    Ok(id)
}

fn write_logo(tx: &LockedEvent<'_>, id: TicketTypeId, current: Option<&str>, logo: Option<&str>) -> Result<()> {
    match logo {
        _ if logo == current => Ok(()),
        Some(logo) => tx.execute(SET_LOGO, &[id.into(), logo.into()]),
        None => tx.execute(DELETE_LOGO, &[id.into()]),
    }
}

/// Writes all fields of a ticket type. Returns `false`, and writes nothing, if the quantity is less than the number of
/// sold and reserved seats.
pub(crate) fn update(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    current: &TicketType,
    fields: &Checked<TicketTypeFields>,
) -> Result<bool> {
    let mut binds: Vec<Bind<'_>> =
        vec![current.id.into(), organization.into(), current.event_id.into(), tx.now().into(), fields.quantity.into()];
    binds.extend(values(fields)?);
    if tx.execute_counted(&UPDATE, &binds)? != 1 {
        return Ok(false);
    }
    write_logo(tx, current.id, current.ticket_logo.as_deref(), fields.ticket_logo.as_deref())?;
    Ok(true)
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: TicketTypeId) -> Result<TicketType> {
    get_with(tx, BY_ID, organization, id, &[])
}

/// Returns a ticket type as if it had no logo. A logo can be a `data:` URI of 700 KB.
#[cfg(any(feature = "mail", all(feature = "documents", feature = "server")))]
pub(crate) fn get_without_logo(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketTypeId,
) -> Result<TicketType> {
    get_with(tx, BY_ID_WITHOUT_LOGO, organization, id, &[])
}

/// Returns a ticket type with a statement of the parameters id, organization, now, and `further`.
fn get_with(
    tx: &Transaction<'_>,
    sql: &'static str,
    organization: OrganizationId,
    id: TicketTypeId,
    further: &[Bind<'_>],
) -> Result<TicketType> {
    let now = tx.now();
    let binds = [&[id.into(), organization.into(), now.into()], further].concat();
    let found = tx.query_opt(sql, &binds, |row| {
        let expired = row.get("expired_seats")?;
        decode(row, &SaleNow { now, expired: &|_| expired })
    })?;
    found.ok_or(Error::NotFound(ResourceKind::TicketType))
}

/// Returns a ticket type with its logo, unless that is longer than pages can have.
#[cfg(all(feature = "documents", feature = "server"))]
pub(crate) fn get_with_small_logo(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketTypeId,
) -> Result<TicketType> {
    /// The longest logo, as a `data:` URI of a file of 4 KiB. A page with it has less than 10 KB when compressed.
    const LONGEST: i64 = 5_500;

    get_with(tx, BY_ID_WITH_SMALL_LOGO, organization, id, &[LONGEST.into()])
}

row_struct! {
    /// The position of a ticket type in the list of its event, which is ordered by sort order and then by id.
    struct Position(row) {
        sort_order: i64,
        id: TicketTypeId,
    }
}

/// Lists the ticket types of an event, in their sort order.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    request: &Checked<ListTicketTypes>,
) -> Result<Page<TicketType, TicketTypeId>> {
    let after = match request.page.cursor {
        None => Position { sort_order: i64::MIN, id: TicketTypeId::UNKNOWN },
        Some(cursor) => {
            let found = tx.query_opt(POSITION, &[cursor.into(), organization.into()], Position::read)?;
            found.ok_or_else(unknown_cursor)?
        }
    };
    let binds = [
        event.into(),
        after.sort_order.into(),
        after.id.into(),
        limit_plus_one(&request.page),
        request.status.map(TextEnum::as_str).into(),
        request.reference.as_ref().into(),
    ];
    let expired = event_figures::expired_seats(tx, event)?;
    let sale = SaleNow { now: tx.now(), expired: &|id| expired.get(&id).copied().unwrap_or_default() };
    read_page(tx, RowLength::Long, LIST, &binds, &request.page, |row| decode(row, &sale), |ticket_type| ticket_type.id)
}

/// Returns all ticket types of an event in their sort order, as if they had no logos.
#[cfg(feature = "event-pages")]
pub(crate) fn of_page(tx: &Transaction<'_>, event: EventId) -> Result<Vec<TicketType>> {
    let expired = event_figures::expired_seats(tx, event)?;
    let sale = SaleNow { now: tx.now(), expired: &|id| expired.get(&id).copied().unwrap_or_default() };
    tx.query_all(OF_PAGE, &[event.into()], |row| decode(row, &sale))
}

/// Deletes a ticket type. Fails with the conflict `in-use` if it was ever ordered or issued.
pub(crate) fn delete(tx: &LockedEvent<'_>, organization: OrganizationId, id: TicketTypeId) -> Result<()> {
    if tx.execute_counted(DELETE, &[id.into(), organization.into()])? == 1 {
        return Ok(());
    }
    let current = get(tx, organization, id)?;
    Err(Error::conflict(Reason::InUse, format!("the ticket type {} was ordered or issued", current.name)))
}

pub(crate) fn exists_in_event(tx: &Transaction<'_>, event: EventId, id: TicketTypeId) -> Result<bool> {
    tx.exists(EXISTS_IN_EVENT, &[id.into(), event.into()])
}

/// Reads the fields of a ticket type of an event that decide whether it can be ordered.
pub(crate) fn offer(tx: &Transaction<'_>, event: EventId, id: TicketTypeId) -> Result<Option<Offer>> {
    tx.query_opt(OFFER, &[id.into(), event.into()], |row| {
        Ok(Offer {
            name: row.get("name")?,
            price: row.get("price")?,
            max_per_order: row.get("max_per_order")?,
            sale: type_sale(row)?,
        })
    })
}

fn type_sale(row: &Row<'_>) -> Result<TypeSale> {
    Ok(TypeSale { status: row.get("status")?, start: row.get("sale_start_at")?, end: row.get("sale_end_at")? })
}

/// The ids of the ticket types of an event of the organization, each with the event.
pub(in crate::store) fn ids_of_event(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
) -> Result<Vec<(EventId, TicketTypeId)>> {
    tx.query_all(IDS_OF_EVENT, &[event.into(), organization.into()], |row| Ok((event, row.get("id")?)))
}

/// The ids of all ticket types of an organization, those of the newest events first, each with its event.
pub(in crate::store) fn ids(
    tx: &Transaction<'_>,
    organization: OrganizationId,
) -> Result<Vec<(EventId, TicketTypeId)>> {
    tx.query_all(IDS, &[organization.into()], |row| Ok((row.get("event_id")?, row.get("id")?)))
}

row_struct! {
    pub(crate) struct TicketTypeName(row) {
        pub(crate) event_id: EventId,
        pub(crate) name: String,
    }
}

pub(crate) fn find_name(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: TicketTypeId,
) -> Result<Option<TicketTypeName>> {
    tx.query_opt(NAME, &[id.into(), organization.into()], TicketTypeName::read)
}
