//! Orders: their details, lists, and creation. Transitions of the status are in `order_status`.

use std::collections::HashMap;
use std::time::Duration;

use super::columns::{self, Column};
use super::engine::ids::first_of;
use super::lists::{can_sort, cursor_bound, limit_plus_one};
use super::order_items::{self, StoredItem};
use super::pages::PageItems;
use super::{Bind, Row, Transaction, customers, order_details, ticket_types, tickets};
use crate::error::{Error, ResourceKind, Result};
use crate::model::amount::Amount;
use crate::model::currency::Decimals;
use crate::model::customer::Customer;
use crate::model::discount::Discount;
use crate::model::id::{OrderId, OrderItemId, OrganizationId};
use crate::model::order::{CreateOrder, ListOrders, Order, OrderItem, OrderStatus, OrderSummary, OrderTicket, Payment};
use crate::model::page::Page;
use crate::model::timestamp::Timestamp;
use crate::rules::Checked;
use crate::rules::order::status_at_hold;
use crate::text_enum::TextEnum;

/// How many items of all orders on a page are read at once. Orders of version 0.1 may have more: their items are read
/// order by order, until the page is full.
const MAX_ITEMS_AT_ONCE: usize = 10_000;

/// No item of an order has more bytes as JSON.
const MAX_ITEM_BYTES: usize = 512;

/// The columns are in the order in which `decode` reads them, which saves searches for their names.
macro_rules! select {
    ($rest:expr) => {
        concat!(
            "SELECT o.currency, o.status, o.hold_until, o.updated_at, o.customer_id, o.id, o.organization_id, o.event_id,
                o.customer_name, c.email, c.metadata AS customer_metadata, o.total, o.discounted_amount, o.discount_code, o.affiliate_code,
                o.reference, o.metadata, o.reminder_sent, o.created_at, o.payment_link, o.payment_status
            FROM orders o JOIN customers c ON c.id = o.customer_id WHERE ",
            $rest
        )
    };
}

/// A list that uses one index. The unary plus keeps the planner from choosing another one.
///
/// `updated_at` has no index: one would be written three times for each sale. The filter reads the orders that the
/// index of the list finds, as the filter by status does. So does the filter by ticket type, among the orders of its
/// event. The time of creation is a range of ids.
macro_rules! list {
    ($anchor:literal) => {
        list!($anchor, "o.id", "o.id")
    };
    ($anchor:literal, $id:literal, $from:literal) => {
        select!(concat!(
            $anchor,
            " AND ",
            $id,
            " < ?2 AND ",
            $from,
            " >= ?16
                AND (CAST(?4 AS TEXT) IS NULL OR ?4 =
                    CASE WHEN o.status = 'PENDING' AND o.hold_until <= ?5 THEN 'EXPIRED' ELSE o.status END)
                AND (CAST(?6 AS BIGINT) IS NULL OR o.created_at >= ?6)
                AND (CAST(?7 AS BIGINT) IS NULL OR o.created_at < ?7)
                AND (CAST(?8 AS BIGINT) IS NULL OR +o.event_id = ?8)
                AND (CAST(?9 AS BIGINT) IS NULL OR +o.customer_id = ?9)
                AND (CAST(?10 AS BIGINT) IS NULL OR +o.completed_at >= ?10)
                AND (CAST(?11 AS BIGINT) IS NULL OR o.completed_at < ?11)
                AND (CAST(?12 AS BIGINT) IS NULL OR ?12 <=
                    CASE WHEN o.status = 'PENDING' AND o.hold_until BETWEEN o.updated_at AND ?5
                        THEN o.hold_until ELSE o.updated_at END)
                AND (CAST(?13 AS BIGINT) IS NULL OR ?13 >
                    CASE WHEN o.status = 'PENDING' AND o.hold_until BETWEEN o.updated_at AND ?5
                        THEN o.hold_until ELSE o.updated_at END)
                AND (CAST(?14 AS BIGINT) IS NULL OR +o.discount_id = ?14)
                AND (CAST(?15 AS BIGINT) IS NULL OR EXISTS
                    (SELECT 1 FROM order_items i WHERE i.order_id = o.id AND i.ticket_type_id = ?15))
            ORDER BY ",
            $id,
            " DESC LIMIT ?3"
        ))
    };
}

const BY_ID: &str = select!("o.id = ?1 AND o.organization_id = ?2");
/// All orders. The conditions of the other lists would add a tenth to the cost of a page.
pub(super) const LIST_OF_ALL: &str = select!("o.organization_id = ?1 AND o.id < ?2 ORDER BY o.id DESC LIMIT ?3");
pub(super) const LIST: &str = list!("o.organization_id = ?1");
pub(super) const LIST_OF_EVENT: &str = list!("o.event_id = ?8 AND +o.organization_id = ?1");
pub(super) const LIST_OF_CUSTOMER: &str = list!("o.customer_id = ?9 AND +o.organization_id = ?1");
pub(super) const LIST_OF_DISCOUNT: &str = list!("o.discount_id = ?14 AND +o.organization_id = ?1");
/// Sorts the orders of the requested time by id. The unary plus keeps the planner from walking all orders by id.
pub(super) const LIST_OF_COMPLETED: &str = list!("o.organization_id = ?1 AND o.completed_at >= ?10", "+o.id", "+o.id");
pub(super) const LIST_BY_REFERENCE: &str = list!("o.organization_id = ?1 AND o.reference = ?17", "o.id", "+o.id");
pub(super) const NTH_COMPLETED: &str = "SELECT 1 FROM orders
    WHERE organization_id = ?1 AND completed_at >= ?2 AND completed_at < ?3 LIMIT 1 OFFSET ?4";
/// The highest id that has a later time than the order, because the clock was set back, of the orders that were created
/// before `?2`.
pub(super) const LATER_ID: &str = "SELECT id FROM orders
    WHERE organization_id = ?1 AND created_at < (id >> 20) - 1000 AND created_at < ?2 ORDER BY id DESC LIMIT 1";
const EXISTS: &str = "SELECT 1 FROM orders WHERE id = ?1 AND organization_id = ?2";
const HOLD_UNTIL: &str = "SELECT id, hold_until FROM orders WHERE id = ?1";
const CURRENCY: &str = "SELECT id, currency FROM orders WHERE id = ?1";
const INSERT: &str =
    "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency,
        total, discounted_amount, discount_id, discount_code, affiliate_code, details, reference, metadata,
        completed_at, created_at, updated_at, limited_seats)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18, ?19)
    ON CONFLICT (id) DO NOTHING";
const REMINDED: &str = "UPDATE orders SET reminder_sent = 1, updated_at = ?3
    WHERE id = ?1 AND organization_id = ?2 AND status = 'PENDING' AND hold_until > ?3";

/// Reads an order without its items, and the decimals of its currency.
fn decode(row: &Row<'_>, now: Timestamp) -> Result<(OrderSummary, Decimals)> {
    let currency: String = row.get("currency")?;
    let decimals =
        Decimals::of_currency(&currency).ok_or_else(|| row.corrupt("currency", "is not a known currency"))?;
    let stored: OrderStatus = row.text_enum("status")?;
    let hold_until: Option<Timestamp> = row.get("hold_until")?;
    let status = status_at_hold(stored, hold_until, now);
    let changed_at: Timestamp = row.get("updated_at")?;
    // The same instant that the expiry will have when it is stored, unless a payment link was stored later.
    let updated_at = if status == stored { changed_at } else { changed_at.max(hold_until.unwrap_or(now)) };
    let customer_id = row.get("customer_id")?;
    let order = OrderSummary {
        customer_id,
        id: row.get("id")?,
        organizer_id: row.get("organization_id")?,
        event_id: row.get("event_id")?,
        customer: Customer {
            id: customer_id,
            name: row.get("customer_name")?,
            email: row.get("email")?,
            metadata: columns::read(row, "customer_metadata")?,
        },
        status,
        total: Amount::in_currency(row.get("total")?, decimals),
        discounted_amount: row
            .get::<Option<i64>>("discounted_amount")?
            .map(|minor| Amount::in_currency(minor, decimals)),
        discount_code: row.get("discount_code")?,
        affiliate_code: row.get("affiliate_code")?,
        reference: row.get("reference")?,
        metadata: columns::read(row, "metadata")?,
        checkout_reminder_sent: row.get("reminder_sent")?,
        created_at: row.get("created_at")?,
        updated_at,
        payment_gateway: match row.get("payment_link")? {
            Some(link) => Some(Payment { link, status: row.text_enum("payment_status")? }),
            None => None,
        },
        items: Vec::new(),
    };
    Ok((order, decimals))
}

/// An order to insert. Amounts are in minor units of `currency`, which has `decimals` decimals.
pub(crate) struct NewOrder<'a> {
    pub(crate) organization: OrganizationId,
    pub(crate) request: &'a CreateOrder,
    pub(crate) customer: Customer,
    pub(crate) currency: &'a str,
    pub(crate) decimals: Decimals,
    pub(crate) total: i64,
    pub(crate) discounted: Option<i64>,
    pub(crate) discount: Option<&'a Discount>,
    /// When the hold of a pending order expires; `None` for an order that is completed at once.
    pub(crate) hold_until: Option<Timestamp>,
    /// The seats of a pending order, if a limit applies to its customer.
    pub(crate) limited_seats: Option<i64>,
}

/// Inserts an order without its items.
pub(crate) fn insert(tx: &Transaction<'_>, new: NewOrder<'_>) -> Result<Order> {
    tx.debug_assert_event_locked();
    let now = tx.now();
    let status = if new.hold_until.is_some() { OrderStatus::Pending } else { OrderStatus::Completed };
    let completed_at = if new.hold_until.is_some() { None } else { Some(now) };
    let discount_code = new.discount.map(|discount| discount.code.clone());
    let metadata = new.request.metadata.clone().unwrap_or_default();
    let id: OrderId = tx.insert(
        INSERT,
        &[
            new.organization.into(),
            new.request.event_id.into(),
            new.customer.id.into(),
            (&new.customer.name).into(),
            status.as_str().into(),
            new.hold_until.into(),
            new.currency.into(),
            new.total.into(),
            new.discounted.into(),
            new.discount.map(|discount| discount.id).into(),
            discount_code.as_ref().into(),
            new.request.affiliate_code.as_ref().into(),
            order_details::column(new.request)?.into(),
            new.request.reference.as_ref().into(),
            metadata.bind()?,
            completed_at.into(),
            now.into(),
            new.limited_seats.into(),
        ],
    )?;
    Ok(Order {
        id,
        total: Amount::in_currency(new.total, new.decimals),
        discounted_amount: new.discounted.map(|minor| Amount::in_currency(minor, new.decimals)),
        status,
        customer_id: new.customer.id,
        event_id: new.request.event_id,
        organizer_id: new.organization,
        affiliate_code: new.request.affiliate_code.clone(),
        discount_code,
        reference: new.request.reference.clone(),
        metadata,
        checkout_reminder_sent: false,
        created_at: now,
        updated_at: now,
        customer: new.customer,
        payment_gateway: None,
        items: Vec::with_capacity(new.request.items.len()),
    })
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<Order> {
    let found = tx.query_opt(BY_ID, &[id.into(), organization.into()], |row| decode(row, tx.now()))?;
    let (order, decimals) = found.ok_or(Error::NotFound(ResourceKind::Order))?;
    let mut issued: HashMap<OrderItemId, Vec<OrderTicket>> = HashMap::new();
    for (item, ticket) in tickets::of_order(tx, id)? {
        issued.entry(item).or_default().push(ticket);
    }
    let mut items = Vec::new();
    for (stored, name) in order_items::with_names(tx, id)? {
        let item = stored.summary(decimals, order.created_at);
        items.push(OrderItem::with_fields_of(item, name, issued.remove(&stored.id).unwrap_or_default()));
    }
    Ok(Order::with_fields_of(order, items))
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListOrders>,
) -> Result<Page<OrderSummary, OrderId>> {
    let cursor = cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    if !request.has_filters() {
        return read_page(tx, LIST_OF_ALL, &[organization.into(), cursor, limit_plus_one(&request.page)], request);
    }
    let below = request.page.cursor.map_or(i64::MAX, OrderId::raw);
    let customer = match &request.customer_email {
        None => None,
        Some(email) => match customers::find(tx, organization, email)? {
            None => return Ok(Page { data: Vec::new(), next_cursor: None }),
            found => found,
        },
    };
    // The orders with a ticket type are listed by the index of its event. If the type does not exist, there are none.
    let event = match (request.event_id, request.ticket_type_id) {
        (None, Some(ticket_type)) => match ticket_types::find_name(tx, organization, ticket_type)? {
            None => return Ok(Page { data: Vec::new(), next_cursor: None }),
            Some(ticket_type) => Some(ticket_type.event_id),
        },
        (event, _) => event,
    };
    let sql = if request.reference.is_some() {
        LIST_BY_REFERENCE
    } else if customer.is_some() {
        LIST_OF_CUSTOMER
    } else if request.discount_id.is_some() {
        LIST_OF_DISCOUNT
    } else if request.completed_from.is_some()
        && can_sort(tx, NTH_COMPLETED, organization.into(), request.completed_from, request.completed_before)?
    {
        LIST_OF_COMPLETED
    } else if event.is_some() {
        LIST_OF_EVENT
    } else {
        LIST
    };
    let below = match request.created_before {
        Some(before) => below.min(above_created_before(tx, organization, before)?),
        None => below,
    };
    let mut binds = vec![
        organization.into(),
        below.into(),
        limit_plus_one(&request.page),
        request.status.map(TextEnum::as_str).into(),
        tx.now().into(),
        request.created_from.into(),
        request.created_before.into(),
        event.into(),
        customer.into(),
        request.completed_from.into(),
        request.completed_before.into(),
        request.updated_from.into(),
        request.updated_before.into(),
        request.discount_id.into(),
        request.ticket_type_id.into(),
        request.created_from.map_or(0, first_of).into(),
    ];
    // Only the list by reference has this parameter.
    binds.extend(request.reference.as_ref().map(Bind::from));
    read_page(tx, sql, &binds, request)
}

fn read_page(
    tx: &Transaction<'_>,
    sql: &str,
    binds: &[Bind<'_>],
    request: &ListOrders,
) -> Result<Page<OrderSummary, OrderId>> {
    let found = PageItems::read(tx, sql, binds, &request.page, |row| decode(row, tx.now()), |(order, _)| order)?;
    Ok(with_items(tx, found)?.into_page(|order| order.id))
}

/// Returns a number above the ids of all orders of an organization that were created before this time.
///
/// An id begins with the time at which the order was created, or with a later one: if there are many orders in a
/// millisecond, or after the clock was set back.
fn above_created_before(tx: &Transaction<'_>, organization: OrganizationId, before: Timestamp) -> Result<i64> {
    let by_time = match first_of(before.saturating_add(Duration::from_millis(1001))) {
        // The time of ids ends in the year 2248.
        last if last == first_of(Timestamp::MAX) => i64::MAX,
        by_time => by_time,
    };
    let later = tx.query_opt(LATER_ID, &[organization.into(), before.into()], |row| row.get::<i64>("id"))?;
    Ok(later.map_or(by_time, |later| by_time.max(later.saturating_add(1))))
}

/// Adds their items to the orders of a page, which ends early if it gets too large by them.
fn with_items(tx: &Transaction<'_>, found: PageItems<(OrderSummary, Decimals)>) -> Result<PageItems<OrderSummary>> {
    let mut page = PageItems::new(found.has_more());
    page.upper_bound = found.upper_bound;
    let ids: Vec<_> = found.items.iter().map(|(order, _)| order.id).collect();
    let items = order_items::of_orders_up_to(tx, &ids, MAX_ITEMS_AT_ONCE)?;
    let items_of_all = items.map(|mut items| {
        // The items of each order stay in their order.
        items.sort_by_key(|item| item.order_id);
        items
    });
    for (mut order, decimals) in found.items {
        let summary = |item: &StoredItem| item.summary(decimals, order.created_at);
        order.items = match &items_of_all {
            Some(items) => {
                let first = items.partition_point(|item| item.order_id < order.id);
                items[first..].iter().take_while(|item| item.order_id == order.id).map(summary).collect()
            }
            None => order_items::of_orders(tx, &[order.id])?.iter().map(summary).collect(),
        };
        let upper_bound = MAX_ITEM_BYTES * order.items.len();
        if page.push(order, upper_bound, |order| order)?.is_break() {
            break;
        }
    }
    Ok(page)
}

/// Returns the currency of an order's amounts.
pub(crate) fn currency(tx: &Transaction<'_>, id: OrderId) -> Result<String> {
    tx.query_opt(CURRENCY, &[id.into()], |row| row.get("currency"))?.ok_or(Error::NotFound(ResourceKind::Order))
}

/// Returns when the hold of an order expires. `None` if the order was completed when it was created.
pub(crate) fn hold_until(tx: &Transaction<'_>, id: OrderId) -> Result<Option<Timestamp>> {
    tx.query_opt(HOLD_UNTIL, &[id.into()], |row| row.get("hold_until"))?.ok_or(Error::NotFound(ResourceKind::Order))
}

/// Records that the customer was reminded, if the order is still PENDING. Returns whether it was.
pub(crate) fn mark_reminder_sent(tx: &Transaction<'_>, organization: OrganizationId, id: OrderId) -> Result<bool> {
    tx.debug_assert_event_locked();
    tx.execute(REMINDED, &[id.into(), organization.into(), tx.now().into()]).map(|rows| rows == 1)
}
