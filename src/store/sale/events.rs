//! Events.

use std::sync::LazyLock;

use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::sale::event::{Event, EventFields, EventSettingsFields, EventStatus, TicketPdfDesignVersion};
use crate::model::values::currency::Decimals;
use crate::model::values::id::{EventId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::calendar::{EventDays, Zone};
use crate::rules::event::status_at;
use crate::rules::order::Sale;
use crate::store::columns::{columns, row_struct};
use crate::store::lists::list_query::ListQuery;
use crate::store::{
    Bind, Constraint, EventKey, EventOwner, LockedEvent, Row, Transaction, event_statement, on_violation,
};

columns! {
    write WRITTEN, selected_columns!(""), values(fields: &EventFields) {
        title,
        description,
        location,
        currency,
        timezone,
        slug,
        cover_image,
        is_public,
        delivery_method,
        shipping_countries,
        accepts_company,
        reference,
        metadata,
    } and {
        start_at: fields.start_date.into(),
        end_at: fields.end_date.into(),
        over_at: fields.over_at().into(),
        status: fields.status.as_str().into(),
        search_text: fields.search_text().into(),
    }

    write WRITTEN_SETTINGS, selected_settings!(""), settings_values(settings: &EventSettingsFields) {
        tags,
        is_featured,
        location_metadata,
        tracking_pixels,
        disable_organizer_order_notifications => disable_notifications,
        day_starts_at,
    } and {}

    read decode(row: &Row<'_>, tx: &Transaction<'_>) -> Event {
        let zone = zone(row)?;
        let start_date: Timestamp = row.get("start_at")?;
        let end_date: Option<Timestamp> = row.get("end_at")?;
        let over_at: Timestamp = row.get("over_at")?;
        let stored_status = row.get("status")?;
        let status = status_at(stored_status, over_at, tx.now());
        let updated_at: Timestamp = row.get("updated_at")?;
    } and {
        id: row.get("id")?,
        organizer_id: row.get("organization_id")?,
        start_date: start_date,
        start_time: Some(zone.wall_clock(start_date)),
        end_date: end_date,
        end_time: end_date.map(|end| zone.wall_clock(end)),
        status: status,
        page_views: row.get("page_views")?,
        // The revision and the update time are those that the event gets when maintenance stores that it is EXPIRED.
        revision: row.get::<i64>("revision")? + i64::from(status != stored_status),
        created_at: row.get("created_at")?,
        updated_at: if status == stored_status { updated_at } else { updated_at.max(over_at) },
        ticket_pdf_design_version: TicketPdfDesignVersion::V1,
        page_url: page_url(tx, row, status)?,
    }
}

macro_rules! select {
    ($rest:expr) => {
        concat!(
            "SELECT start_at, end_at, over_at, status, updated_at, id, organization_id, page_views, revision,
                created_at, (SELECT g.page_name FROM organizations g WHERE g.id = events.organization_id) AS page_name",
            selected_columns!(),
            selected_settings!(),
            " FROM events ",
            $rest
        )
    };
}

static INSERT: LazyLock<String> = LazyLock::new(|| WRITTEN.insert("events", &["organization_id"]));
static UPDATE: LazyLock<String> = LazyLock::new(|| {
    WRITTEN.update("events", 5, "updated_at = ?3, revision = ?4 WHERE id = ?1 AND organization_id = ?2")
});
static UPDATE_SETTINGS: LazyLock<String> = LazyLock::new(|| {
    let rest = "updated_at = ?3, revision = ?4, status = ?5 WHERE id = ?1 AND organization_id = ?2";
    WRITTEN_SETTINGS.update("events", 6, rest)
});
pub(in crate::store) const ALL: &str = select!("WHERE organization_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
pub(in crate::store) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(select!("WHERE id"), "ORDER BY id DESC").of_long_rows());
const BY_ID: &str = select!("WHERE id = ?1 AND organization_id = ?2");
pub(in crate::store) const BY_SLUG: &str = select!("WHERE organization_id = ?1 AND slug = ?2");
#[cfg(feature = "event-pages")]
pub(in crate::store) const PUBLISHED: &str = select!(
    "WHERE organization_id = ?1 AND status = 'PUBLISHED' AND is_public = 1 AND over_at > ?2 ORDER BY id DESC LIMIT ?3"
);

pub(in crate::store) const IDS: &str = "SELECT id FROM events WHERE organization_id = ?1 ORDER BY id DESC";
const EXISTS: &str = "SELECT 1 FROM events WHERE id = ?1 AND organization_id = ?2";
pub(in crate::store) const SALE: &str = "SELECT id, title, status, over_at, currency, delivery_method,
        shipping_countries, accepts_company, disable_notifications,
        (SELECT d.id FROM discounts d WHERE d.event_id = events.id AND d.auto_apply = 1 LIMIT 1) AS automatic_discount
    FROM events WHERE id = ?1 AND organization_id = ?2";
const CURRENCY: &str = "SELECT id, currency FROM events WHERE id = ?1 AND organization_id = ?2";
const ADD_PAGE_VIEWS: &str = "UPDATE events SET page_views = page_views + ?2 WHERE id = ?1";
pub(in crate::store) const HAS_ORDERS: &str = "SELECT 1 FROM orders WHERE event_id = ?1 LIMIT 1";
pub(in crate::store) const HAS_TICKETS: &str = "SELECT 1 FROM tickets WHERE event_id = ?1 LIMIT 1";
pub(in crate::store) const HAS_ALLOCATIONS: &str = "SELECT 1 FROM allocations WHERE event_id = ?1 LIMIT 1";
pub(in crate::store) const HAS_LIVE_ORDERS: &str = "SELECT 1 FROM orders WHERE event_id = ?1 AND status = 'COMPLETED'
    UNION ALL SELECT 1 FROM orders WHERE event_id = ?1 AND status = 'PENDING' AND hold_until > ?2 LIMIT 1";
pub(in crate::store) const HAS_PRICES: &str = "SELECT 1 FROM ticket_types WHERE event_id = ?1 AND price > 0 LIMIT 1";
pub(in crate::store) const HAS_DISCOUNTS_WITH_AMOUNTS: &str =
    "SELECT 1 FROM discounts WHERE event_id = ?1 AND (type = 'FIXED_AMOUNT' OR minimum_purchase IS NOT NULL) LIMIT 1";
const DELETE: &str = "DELETE FROM events WHERE id = ?1 AND organization_id = ?2
    AND NOT EXISTS (SELECT 1 FROM orders WHERE event_id = ?1) AND NOT EXISTS (SELECT 1 FROM tickets WHERE event_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM allocations WHERE event_id = ?1)";
const SET_CANCELLED: &str = "UPDATE events SET cancelled_at = ?2 WHERE id = ?1";
const WITHDRAW: &str = "UPDATE events SET status = 'DRAFTED', revision = revision + 1, updated_at = ?2
    WHERE id = ?1 AND status || '' IN ('PUBLISHED', 'SOLD_OUT')";
const EXPIRE: &str = "UPDATE events SET status = 'EXPIRED', revision = revision + 1,
        updated_at = CASE WHEN updated_at > over_at THEN updated_at ELSE over_at END
    WHERE id = ?1 AND status || '' IN ('PUBLISHED', 'SOLD_OUT') AND over_at <= ?2";
pub(in crate::store) const OVER: &str = "SELECT id, over_at FROM events
    WHERE status IN ('PUBLISHED', 'SOLD_OUT') AND over_at <= ?1 AND (over_at, id) > (?3, ?4)
    ORDER BY over_at, id LIMIT ?2";
pub(in crate::store) const SOLD_OUT: &str =
    "UPDATE events SET status = 'SOLD_OUT', revision = revision + 1, updated_at = ?2
    WHERE id = ?1 AND status || '' = 'PUBLISHED' AND over_at > ?2
        AND NOT EXISTS (SELECT 1 FROM ticket_types WHERE event_id = ?1 AND sold < quantity)";
pub(in crate::store) const REOPEN: &str =
    "UPDATE events SET status = 'PUBLISHED', revision = revision + 1, updated_at = ?2
    WHERE id = ?1 AND status || '' = 'SOLD_OUT' AND over_at > ?2
        AND (SELECT CAST(SUM(quantity - sold) AS BIGINT) FROM ticket_types WHERE event_id = ?1) = ?3";

fn zone(row: &Row<'_>) -> Result<Zone> {
    row.parsed("timezone", Zone::of, "is not a known time zone")
}

/// The days of the event in a row with its columns `timezone` and `day_starts_at`.
pub(in crate::store) fn days(row: &Row<'_>) -> Result<EventDays> {
    let starts_at: Option<String> = row.get("day_starts_at")?;
    EventDays::new(zone(row)?, starts_at.as_deref()).ok_or_else(|| row.corrupt("day_starts_at", "is not a time of day"))
}

/// The URL of the page of an event, if it is shown.
#[cfg(feature = "event-pages")]
fn page_url(tx: &Transaction<'_>, row: &Row<'_>, status: EventStatus) -> Result<Option<String>> {
    let is_public: bool = row.get("is_public")?;
    let links = tx.environment().links.as_ref().filter(|links| links.has_event_pages);
    let Some(links) = links.filter(|_| is_public && status != EventStatus::Drafted) else { return Ok(None) };
    let organization: OrganizationId = row.get("organization_id")?;
    let page_name: Option<String> = row.get("page_name")?;
    let slug: String = row.get("slug")?;
    Ok(Some(links.event(&page_name.unwrap_or_else(|| organization.to_string()), &slug)))
}

#[cfg(not(feature = "event-pages"))]
#[expect(clippy::unnecessary_wraps, reason = "with event pages, the row may be damaged")]
fn page_url(_: &Transaction<'_>, _: &Row<'_>, _: EventStatus) -> Result<Option<String>> {
    Ok(None)
}

fn slug_taken(fields: &EventFields) -> Error {
    Error::conflict(Reason::SlugTaken, format!("another event has the slug {}", fields.slug))
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    fields: &Checked<EventFields>,
) -> Result<Event> {
    // An event that is already over is stored as EXPIRED.
    let status = status_at(fields.status, fields.over_at(), tx.now());
    let stored = EventFields { status, ..EventFields::clone(fields) };
    let mut binds: Vec<Bind<'_>> = vec![organization.into(), tx.now().into()];
    binds.extend(values(&stored)?);
    let id = on_violation(tx.try_insert(&INSERT, &binds), Constraint::EventSlug, || slug_taken(fields))?;
    get(tx, organization, id)
}

/// Writes all fields of an event, and sets its revision to that of `current` plus 1.
pub(crate) fn update(tx: &LockedEvent<'_>, current: &Event, fields: &Checked<EventFields>) -> Result<()> {
    let mut binds: Vec<Bind<'_>> =
        vec![current.id.into(), current.organizer_id.into(), tx.now().into(), (current.revision + 1).into()];
    binds.extend(values(fields)?);
    on_violation(tx.try_execute(&UPDATE, &binds), Constraint::EventSlug, || slug_taken(fields))?;
    Ok(())
}

/// Stores that the event is cancelled from now on.
pub(crate) fn set_cancelled(tx: &LockedEvent<'_>, event: EventId) -> Result<()> {
    tx.execute(SET_CANCELLED, &[event.into(), tx.now().into()])
}

/// Writes the settings of an event, and sets its revision to that of `current` plus 1. Also writes the status of
/// `current`: it may be EXPIRED although the stored status is not.
pub(crate) fn update_settings(
    tx: &LockedEvent<'_>,
    current: &Event,
    settings: &Checked<EventSettingsFields>,
) -> Result<()> {
    let mut binds: Vec<Bind<'_>> = vec![
        current.id.into(),
        current.organizer_id.into(),
        tx.now().into(),
        (current.revision + 1).into(),
        current.status.as_str().into(),
    ];
    binds.extend(settings_values(settings)?);
    tx.execute(&UPDATE_SETTINGS, &binds)
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Event> {
    find(tx, organization, id)?.ok_or(Error::NotFound(ResourceKind::Event))
}

pub(crate) fn get_by_slug(tx: &Transaction<'_>, organization: OrganizationId, slug: &str) -> Result<Event> {
    let found = tx.query_opt(BY_SLUG, &[organization.into(), slug.into()], |row| decode(row, tx))?;
    found.ok_or(Error::NotFound(ResourceKind::Event))
}

pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Option<Event>> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], |row| decode(row, tx))
}

/// Returns the newest published events of an organization that are public and not over.
#[cfg(feature = "event-pages")]
pub(crate) fn published(tx: &Transaction<'_>, organization: OrganizationId, most: usize) -> Result<Vec<Event>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let binds = [organization.into(), tx.now().into(), most.into()];
    tx.query_all(PUBLISHED, &binds, |row| decode(row, tx))
}

pub(crate) fn exists(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<bool> {
    tx.exists(EXISTS, &[id.into(), organization.into()])
}

/// The ids of all events of an organization, newest first.
pub(in crate::store) fn ids(tx: &Transaction<'_>, organization: OrganizationId) -> Result<Vec<EventId>> {
    tx.query_all(IDS, &[organization.into()], |row| row.get("id"))
}

/// Reads the fields of an event that decide whether and by whom its tickets can be ordered.
pub(crate) fn sale(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Option<Sale>> {
    tx.query_opt(SALE, &[id.into(), organization.into()], |row| {
        Ok(Sale {
            title: row.get("title")?,
            status: row.get("status")?,
            over_at: row.get("over_at")?,
            currency: row.get("currency")?,
            delivery_method: row.get("delivery_method")?,
            shipping_countries: row.json("shipping_countries")?,
            accepts_company: row.get("accepts_company")?,
            disable_notifications: row.get("disable_notifications")?,
            has_automatic_discounts: !row.is_null("automatic_discount")?,
        })
    })
}

/// Returns the number of decimals of an event's currency; `None` if there is no such event.
pub(crate) fn decimals(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Option<Decimals>> {
    tx.query_opt(CURRENCY, &[id.into(), organization.into()], |row| row.get("currency"))
}

/// Adds views of an event's page. Does nothing if the event was deleted.
pub(crate) fn add_page_views(tx: &Transaction<'_>, id: EventId, views: i64) -> Result<()> {
    tx.execute(ADD_PAGE_VIEWS, &[id.into(), views.into()])
}

/// Returns the event that a key names, and whose it is. `None` if there is no such event.
pub(crate) fn owner_of(tx: &Transaction<'_>, key: EventKey) -> Result<Option<EventOwner>> {
    let (sql, id) = event_statement!(key, "SELECT e.id, e.organization_id FROM ", "");
    tx.query_opt(sql, &[id.into()], |row| {
        Ok(EventOwner { event: row.get("id")?, organization: row.get("organization_id")? })
    })
}

/// Whether an event has tickets, or orders that are COMPLETED or PENDING.
pub(crate) fn has_live_orders_or_tickets(tx: &Transaction<'_>, id: EventId) -> Result<bool> {
    if tx.exists(HAS_LIVE_ORDERS, &[id.into(), tx.now().into()])? {
        return Ok(true);
    }
    has_tickets(tx, id)
}

/// Whether an event has tickets, or an allocation that has some or will.
fn has_tickets(tx: &Transaction<'_>, id: EventId) -> Result<bool> {
    Ok(tx.exists(HAS_TICKETS, &[id.into()])? || tx.exists(HAS_ALLOCATIONS, &[id.into()])?)
}

/// Whether an event has amounts in its currency: orders, prices, or discounts with an amount.
pub(crate) fn has_amounts(tx: &Transaction<'_>, id: EventId) -> Result<bool> {
    for sql in [HAS_ORDERS, HAS_PRICES, HAS_DISCOUNTS_WITH_AMOUNTS] {
        if tx.exists(sql, &[id.into()])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fails with the conflict `in-use` if the event has orders or tickets.
pub(crate) fn require_unused(tx: &Transaction<'_>, id: EventId) -> Result<()> {
    if tx.exists(HAS_ORDERS, &[id.into()])? || has_tickets(tx, id)? {
        return Err(in_use());
    }
    Ok(())
}

fn in_use() -> Error {
    Error::conflict(Reason::InUse, "the event has orders or tickets")
}

/// Takes an event off sale. Nothing changes if it is not on sale.
pub(crate) fn withdraw(tx: &LockedEvent<'_>, id: EventId) -> Result<()> {
    tx.execute(WITHDRAW, &[id.into(), tx.now().into()])
}

/// Deletes an event, its ticket types and its discounts. Fails with the conflict `in-use` if the event has orders or
/// tickets.
pub(crate) fn delete(tx: &LockedEvent<'_>, organization: OrganizationId, id: EventId) -> Result<()> {
    if tx.execute_counted(DELETE, &[id.into(), organization.into()])? == 1 {
        return Ok(());
    }
    get(tx, organization, id)?;
    Err(in_use())
}

row_struct! {
    /// A PUBLISHED or `SOLD_OUT` event that is over.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct OverEvent(row) {
        pub(crate) id: EventId,
        /// When it ended, in milliseconds. It may be no time that a [`Timestamp`] can represent.
        at: i64 => over_at,
    }
}

/// Up to `limit` PUBLISHED and `SOLD_OUT` events that are over, the earliest first, beginning after `after`.
pub(crate) fn over(tx: &Transaction<'_>, after: Option<OverEvent>, limit: i64) -> Result<Vec<OverEvent>> {
    let (at, id) = after.map_or((i64::MIN, i64::MIN), |event| (event.at, event.id.raw()));
    tx.query_all(OVER, &[tx.now().into(), limit.into(), at.into(), id.into()], OverEvent::read)
}

/// Sets a PUBLISHED or `SOLD_OUT` event that is over to EXPIRED. Returns whether it was.
pub(crate) fn expire(tx: &LockedEvent<'_>, id: EventId) -> Result<bool> {
    tx.execute_counted(EXPIRE, &[id.into(), tx.now().into()]).map(|rows| rows == 1)
}

/// Sets a PUBLISHED event to `SOLD_OUT` if all its seats are sold.
pub(crate) fn close_if_sold_out(tx: &LockedEvent<'_>, id: EventId) -> Result<()> {
    tx.execute(SOLD_OUT, &[id.into(), tx.now().into()])
}

/// Sets a `SOLD_OUT` event to PUBLISHED after `added` seats were added or restocked. An event that had unsold seats
/// before stays `SOLD_OUT`: its organizer has chosen that status.
pub(crate) fn reopen_if_first_unsold(tx: &LockedEvent<'_>, id: EventId, added: i64) -> Result<()> {
    tx.execute(REOPEN, &[id.into(), tx.now().into(), added.into()])
}
