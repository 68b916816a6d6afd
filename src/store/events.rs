//! Events.

use super::lists::{below, one_more};
use super::{Bind, Constraint, Row, Transaction, on_violation};
use crate::error::{Error, Reason, Result};
use crate::model::event::EventFields;
use crate::model::event::{Event, EventSettingsFields, EventStatus, ListEvents, TicketPdfDesignVersion};
use crate::model::id::{EventId, OrganizationId};
use crate::model::page::Page;
use crate::model::text_enum::TextEnum;
use crate::model::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::calendar::Zone;
use crate::rules::event::{search_line, status_at};
use crate::rules::money;
use crate::rules::order::Sale;

macro_rules! columns {
    () => {
        "id, organization_id, title, description, location, location_metadata, currency, timezone, start_at, end_at, over_at,
         slug, cover_image, is_public, status, delivery_method, shipping_countries, accepts_company, tags, is_featured,
         tracking_pixels, disable_notifications, page_views, revision, created_at, updated_at"
    };
}

const INSERT: &str =
    "INSERT INTO events (id, organization_id, title, description, location, currency, timezone, start_at,
        end_at, over_at, slug, cover_image, is_public, status, delivery_method, shipping_countries, accepts_company,
        search_text, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?19)
    ON CONFLICT (id) DO NOTHING";
const UPDATE: &str = "UPDATE events SET title = ?3, description = ?4, location = ?5, currency = ?6, timezone = ?7,
        start_at = ?8, end_at = ?9, over_at = ?10, slug = ?11, cover_image = ?12, is_public = ?13, status = ?14,
        delivery_method = ?15, shipping_countries = ?16, accepts_company = ?17, search_text = ?18, updated_at = ?19,
        revision = ?20
    WHERE id = ?1 AND organization_id = ?2";
const UPDATE_SETTINGS: &str =
    "UPDATE events SET tags = ?3, is_featured = ?4, location_metadata = ?5, tracking_pixels = ?6,
        disable_notifications = ?7, status = ?8, updated_at = ?9, revision = ?10
    WHERE id = ?1 AND organization_id = ?2";
const BY_ID: &str = concat!("SELECT ", columns!(), " FROM events WHERE id = ?1 AND organization_id = ?2");
const EXISTS: &str = "SELECT 1 FROM events WHERE id = ?1 AND organization_id = ?2";
pub(super) const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM events WHERE organization_id = ?1 AND id < ?2
        AND (CAST(?4 AS TEXT) IS NULL OR ?4 =
            CASE WHEN status IN ('PUBLISHED', 'SOLD_OUT') AND over_at <= ?5 THEN 'EXPIRED' ELSE status END)
        AND (CAST(?6 AS BIGINT) IS NULL OR is_public = ?6)
        AND (CAST(?7 AS TEXT) IS NULL OR search_text LIKE ?7 ESCAPE '!')
        AND (CAST(?8 AS BIGINT) IS NULL OR start_at >= ?8)
        AND (CAST(?9 AS BIGINT) IS NULL OR start_at < ?9)
    ORDER BY id DESC LIMIT ?3"
);
const SALE: &str = "SELECT id, status, over_at, currency, delivery_method, shipping_countries, accepts_company
    FROM events WHERE id = ?1 AND organization_id = ?2";
const CURRENCY: &str = "SELECT id, currency FROM events WHERE id = ?1 AND organization_id = ?2";
const PAGE_VIEW: &str = "UPDATE events SET page_views = page_views + 1 WHERE id = ?1 AND organization_id = ?2";
pub(super) const HAS_ORDERS: &str = "SELECT 1 FROM orders WHERE event_id = ?1";
pub(super) const HAS_TICKETS: &str = "SELECT 1 FROM tickets WHERE event_id = ?1";
pub(super) const HAS_LIVE_ORDERS: &str = "SELECT 1 FROM orders
    WHERE event_id = ?1 AND (status = 'COMPLETED' OR status = 'PENDING' AND hold_until > ?2)";
pub(super) const HAS_PRICES: &str = "SELECT 1 FROM ticket_types WHERE event_id = ?1 AND price > 0";
pub(super) const HAS_DISCOUNTS_WITH_AMOUNTS: &str =
    "SELECT 1 FROM discounts WHERE event_id = ?1 AND (type = 'FIXED_AMOUNT' OR minimum_purchase IS NOT NULL)";
const DELETE: &str = "DELETE FROM events WHERE id = ?1 AND organization_id = ?2
    AND NOT EXISTS (SELECT 1 FROM orders WHERE event_id = ?1) AND NOT EXISTS (SELECT 1 FROM tickets WHERE event_id = ?1)";
pub(super) const EXPIRE: &str = "UPDATE events SET status = 'EXPIRED', revision = revision + 1,
        updated_at = CASE WHEN updated_at > over_at THEN updated_at ELSE over_at END
    WHERE status IN ('PUBLISHED', 'SOLD_OUT') AND over_at <= ?1";
pub(super) const ANY_OVER: &str =
    "SELECT 1 FROM events WHERE status IN ('PUBLISHED', 'SOLD_OUT') AND over_at <= ?1 LIMIT 1";
pub(super) const SOLD_OUT: &str = "UPDATE events SET status = 'SOLD_OUT', revision = revision + 1, updated_at = ?2
    WHERE id = ?1 AND status = 'PUBLISHED' AND over_at > ?2
        AND NOT EXISTS (SELECT 1 FROM ticket_types WHERE event_id = ?1 AND sold < quantity)";
pub(super) const REOPEN: &str = "UPDATE events SET status = 'PUBLISHED', revision = revision + 1, updated_at = ?2
    WHERE id = ?1 AND status = 'SOLD_OUT' AND over_at > ?2
        AND (SELECT CAST(SUM(quantity - sold) AS BIGINT) FROM ticket_types WHERE event_id = ?1) = ?3";

fn decode(row: &Row<'_>, now: Timestamp) -> Result<Event> {
    let zone =
        Zone::stored(&row.get::<String>("timezone")?).map_err(|_| row.corrupt("timezone", "is no known time zone"))?;
    let (start_date, end_date): (Timestamp, Option<Timestamp>) = (row.get("start_at")?, row.get("end_at")?);
    let stored = row.text_enum("status")?;
    let over_at: Timestamp = row.get("over_at")?;
    let status = status_at(stored, over_at, now);
    let updated_at: Timestamp = row.get("updated_at")?;
    Ok(Event {
        id: row.get("id")?,
        organizer_id: row.get("organization_id")?,
        title: row.get("title")?,
        description: row.get("description")?,
        location: row.get("location")?,
        location_metadata: row.json("location_metadata")?,
        currency: row.get("currency")?,
        timezone: row.get("timezone")?,
        start_date,
        start_time: Some(zone.wall_clock(start_date)),
        end_date,
        end_time: end_date.map(|end| zone.wall_clock(end)),
        slug: row.get("slug")?,
        cover_image: row.get("cover_image")?,
        is_public: row.get("is_public")?,
        status,
        delivery_method: row.text_enum("delivery_method")?,
        shipping_countries: row.json("shipping_countries")?,
        accepts_company: row.get("accepts_company")?,
        tags: row.json("tags")?,
        is_featured: row.get("is_featured")?,
        tracking_pixels: row.json("tracking_pixels")?,
        disable_organizer_order_notifications: row.get("disable_notifications")?,
        page_views: row.get("page_views")?,
        // An event that is over but not written so yet counts as changed: the same whether or not somebody came by.
        revision: row.get::<i64>("revision")? + i64::from(status != stored),
        created_at: row.get("created_at")?,
        updated_at: if status == stored { updated_at } else { updated_at.max(over_at) },
        ticket_pdf_design_version: TicketPdfDesignVersion::V1,
    })
}

/// A list of texts as it is stored.
pub(super) fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Internal(error.to_string()))
}

fn slug_taken(fields: &EventFields) -> Error {
    Error::conflict(Reason::SlugTaken, format!("another event has the slug {}", fields.slug))
}

/// The columns that creating and updating write, from `?3` on.
fn values(fields: &EventFields, status: EventStatus) -> Result<[Bind<'_>; 16]> {
    Ok([
        (&fields.title).into(),
        fields.description.as_ref().into(),
        fields.location.as_ref().into(),
        (&fields.currency).into(),
        (&fields.timezone).into(),
        fields.start_date.into(),
        fields.end_date.into(),
        fields.over_at().into(),
        (&fields.slug).into(),
        fields.cover_image.as_ref().into(),
        fields.is_public.into(),
        status.as_str().into(),
        fields.delivery_method.as_str().into(),
        json(&fields.shipping_countries)?.into(),
        fields.accepts_company.into(),
        fields.search_text().into(),
    ])
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    fields: &Checked<EventFields>,
) -> Result<Event> {
    // What is over when it is brought in begins as such: at its first revision.
    let status = status_at(fields.status, fields.over_at(), tx.now());
    let mut binds: Vec<Bind<'_>> = vec![organization.into()];
    binds.extend(values(fields, status)?);
    binds.push(tx.now().into());
    let id = on_violation(tx.try_insert(INSERT, &binds), Constraint::EventSlug, || slug_taken(fields))?;
    get(tx, organization, id)
}

/// Writes the whole event, as one revision more than `current`.
pub(crate) fn update(tx: &Transaction<'_>, current: &Event, fields: &Checked<EventFields>) -> Result<()> {
    tx.debug_assert_event_locked();
    let mut binds: Vec<Bind<'_>> = vec![current.id.into(), current.organizer_id.into()];
    binds.extend(values(fields, fields.status)?);
    binds.extend([tx.now().into(), (current.revision + 1).into()]);
    on_violation(tx.try_execute(UPDATE, &binds), Constraint::EventSlug, || slug_taken(fields)).map(drop)
}

pub(crate) fn update_settings(
    tx: &Transaction<'_>,
    current: &Event,
    settings: &Checked<EventSettingsFields>,
) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(
        UPDATE_SETTINGS,
        &[
            current.id.into(),
            current.organizer_id.into(),
            json(&settings.tags)?.into(),
            settings.is_featured.into(),
            json(&settings.location_metadata)?.into(),
            json(&settings.tracking_pixels)?.into(),
            settings.disable_organizer_order_notifications.into(),
            current.status.as_str().into(),
            tx.now().into(),
            (current.revision + 1).into(),
        ],
    )
    .map(drop)
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Event> {
    find(tx, organization, id)?.ok_or(Error::NotFound("event"))
}

pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Option<Event>> {
    tx.query_opt(BY_ID, &[id.into(), organization.into()], |row| decode(row, tx.now()))
}

pub(crate) fn exists(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<bool> {
    tx.exists(EXISTS, &[id.into(), organization.into()])
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListEvents>,
) -> Result<Page<Event, crate::model::id::kind::Event>> {
    let cursor = below(tx, &request.page, EXISTS, organization.into())?;
    let found = tx.query_all(
        LIST,
        &[
            organization.into(),
            cursor,
            one_more(&request.page),
            request.status.map(TextEnum::as_str).into(),
            tx.now().into(),
            request.is_public.into(),
            request.q.as_deref().map(contains).into(),
            request.starts_from.into(),
            request.starts_before.into(),
        ],
        |row| decode(row, tx.now()),
    )?;
    Ok(Page::cut(found, request.page.limit, |event| event.id))
}

/// A LIKE pattern for texts that contain `part`, in which nothing is a wildcard.
fn contains(part: &str) -> String {
    let mut pattern = String::from("%");
    for letter in search_line(part).chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern + "%"
}

/// What decides whether an event's tickets can be ordered.
pub(crate) fn sale(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Option<Sale>> {
    tx.query_opt(SALE, &[id.into(), organization.into()], |row| {
        Ok(Sale {
            status: row.text_enum("status")?,
            over_at: row.get("over_at")?,
            currency: row.get("currency")?,
            delivery_method: row.text_enum("delivery_method")?,
            shipping_countries: row.json("shipping_countries")?,
            accepts_company: row.get("accepts_company")?,
        })
    })
}

/// The decimals of an event's currency; `None` where there is no such event.
pub(crate) fn decimals(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<Option<u8>> {
    tx.query_opt(CURRENCY, &[id.into(), organization.into()], |row| {
        money::decimals(&row.get::<String>("currency")?).ok_or_else(|| row.corrupt("currency", "is no known currency"))
    })
}

pub(crate) fn record_page_view(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<()> {
    match tx.execute(PAGE_VIEW, &[id.into(), organization.into()])? {
        0 => Err(Error::NotFound("event")),
        _ => Ok(()),
    }
}

/// Whether somebody relies on the event being on sale.
pub(crate) fn has_live_orders_or_tickets(tx: &Transaction<'_>, id: EventId) -> Result<bool> {
    Ok(tx.exists(HAS_LIVE_ORDERS, &[id.into(), tx.now().into()])? || tx.exists(HAS_TICKETS, &[id.into()])?)
}

/// Whether something of the event has an amount in its currency.
pub(crate) fn has_amounts(tx: &Transaction<'_>, id: EventId) -> Result<bool> {
    for sql in [HAS_ORDERS, HAS_PRICES, HAS_DISCOUNTS_WITH_AMOUNTS] {
        if tx.exists(sql, &[id.into()])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Deletes an event that was never ordered or issued, with its ticket types and discounts.
pub(crate) fn delete(tx: &Transaction<'_>, organization: OrganizationId, id: EventId) -> Result<()> {
    tx.debug_assert_event_locked();
    if tx.execute(DELETE, &[id.into(), organization.into()])? == 1 {
        return Ok(());
    }
    get(tx, organization, id)?;
    Err(Error::conflict(Reason::InUse, "the event has orders or tickets"))
}

/// Whether an event is over that is not written so.
pub(crate) fn any_over(tx: &Transaction<'_>) -> Result<bool> {
    tx.exists(ANY_OVER, &[tx.now().into()])
}

/// Writes down which events are over.
pub(crate) fn expire(tx: &Transaction<'_>) -> Result<usize> {
    tx.execute(EXPIRE, &[tx.now().into()])
}

/// Closes the sale of an event whose last place was just sold.
pub(crate) fn close_if_sold_out(tx: &Transaction<'_>, id: EventId) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(SOLD_OUT, &[id.into(), tx.now().into()]).map(drop)
}

/// Opens the sale of a sold-out event again whose only unsold places are the `returned` ones.
pub(crate) fn reopen_if_first_unsold(tx: &Transaction<'_>, id: EventId, returned: i64) -> Result<()> {
    tx.debug_assert_event_locked();
    tx.execute(REOPEN, &[id.into(), tx.now().into(), returned.into()]).map(drop)
}
