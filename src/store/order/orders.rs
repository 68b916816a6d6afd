//! Orders: their details and their creation. Lists are in `order_lists`, transitions of the status in `order_status`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::order_details;
use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::customer::Customer;
use crate::model::sale::new_order::CreateOrder;
use crate::model::sale::order::{Order, OrderItem, OrderStatus, OrderSummary, OrderTicket, Payment};
use crate::model::sale::ticket::TicketStatus;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{CustomerId, EventId, OrderId, OrderItemId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::discount::DiscountTerms;
use crate::rules::order::{payment_method, status_at_hold};
use crate::store::columns::Column;
use crate::store::lists::list_query::ListQuery;
use crate::store::sale::order_items;
use crate::store::tickets::issued_tickets;
use crate::store::{LockedEvent, Row, Transaction};

/// The columns are in the order in which `decode` reads them, which saves searches for their names.
macro_rules! select {
    ($rest:expr) => {
        concat!(
            "SELECT o.currency, o.status, o.hold_until, o.updated_at, o.customer_id, o.id, o.organization_id, o.event_id,
                o.customer_name, c.email, c.metadata AS customer_metadata, o.total, o.discounted_amount, o.discount_code, o.affiliate_code,
                o.reference, o.metadata, o.reminder_sent, o.created_at, o.payment_link, o.payment_status,
                o.completed_at, o.paid_by_gateway
            FROM orders o JOIN customers c ON c.id = o.customer_id WHERE ",
            $rest
        )
    };
}

/// All orders. The conditions of the filters would add a tenth to the cost of a page.
pub(in crate::store) const ALL: &str = select!("o.organization_id = ?1 AND o.id < ?2 ORDER BY o.id DESC LIMIT ?3");
pub(in crate::store) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::new(select!("o.id"), "ORDER BY o.id DESC"));
const BY_ID: &str = select!("o.id = ?1 AND o.organization_id = ?2");
pub(in crate::store) const INSERT: &str =
    "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency,
        total, discounted_amount, discount_id, discount_code, affiliate_code, details, reference, metadata,
        completed_at, created_at, updated_at, limited_seats, ordered_seats)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18, ?19, ?20)
    ON CONFLICT (id) DO NOTHING";
pub(in crate::store) const SEATS_WITH_LIMIT: &str =
    "SELECT CAST(COALESCE(SUM(limited_seats), 0) AS BIGINT) AS seats FROM orders
    WHERE customer_id = ?1 AND event_id = ?2 AND status = 'PENDING' AND limited_seats IS NOT NULL AND hold_until > ?3";
const REMINDED: &str = "UPDATE orders SET reminder_sent = 1, updated_at = ?3
    WHERE id = ?1 AND organization_id = ?2 AND status || '' = 'PENDING' AND hold_until > ?3";

/// Reads an order without its items, and the decimals of its currency.
pub(in crate::store) fn decode(row: &Row<'_>, now: Timestamp) -> Result<(OrderSummary, Decimals)> {
    let currency = row.get("currency")?;
    let decimals: Decimals = row.get("currency")?;
    let stored: OrderStatus = row.get("status")?;
    let hold_until: Option<Timestamp> = row.get("hold_until")?;
    let status = status_at_hold(stored, hold_until, now);
    let changed_at: Timestamp = row.get("updated_at")?;
    // The same instant that the expiry will have when it is stored, unless a payment link was stored later.
    let updated_at = if status == stored { changed_at } else { changed_at.max(hold_until.unwrap_or(now)) };
    let customer_id = row.get("customer_id")?;
    let mut order = OrderSummary {
        customer_id,
        id: row.get("id")?,
        organizer_id: row.get("organization_id")?,
        event_id: row.get("event_id")?,
        customer: Customer {
            id: customer_id,
            name: row.get("customer_name")?,
            email: row.get("email")?,
            metadata: row.get("customer_metadata")?,
        },
        status,
        total: Amount::in_currency(row.get("total")?, decimals),
        discounted_amount: row
            .get::<Option<i64>>("discounted_amount")?
            .map(|minor| Amount::in_currency(minor, decimals)),
        discount_code: row.get("discount_code")?,
        affiliate_code: row.get("affiliate_code")?,
        reference: row.get("reference")?,
        metadata: row.get("metadata")?,
        checkout_reminder_sent: row.get("reminder_sent")?,
        created_at: row.get("created_at")?,
        updated_at,
        payment_gateway: match row.get("payment_link")? {
            Some(link) => Some(Payment { link, status: row.get("payment_status")? }),
            None => None,
        },
        completed_at: row.get("completed_at")?,
        payment_method: None,
        currency,
        items: Vec::new(),
    };
    let by_gateway = row.get("paid_by_gateway")?;
    order.payment_method = order.completed_at.map(|_| payment_method(order.total.is_zero(), by_gateway));
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
    pub(crate) discount: Option<&'a DiscountTerms>,
    /// When the hold of a pending order expires; `None` for an order that is completed at once.
    pub(crate) hold_until: Option<Timestamp>,
    /// The seats of a pending order, if a limit applies to its customer.
    pub(crate) limited_seats: Option<i64>,
    /// Whether its checkout leads back to the page of the order.
    pub(crate) returns_to_its_page: bool,
}

/// Inserts an order without its items.
pub(crate) fn insert(tx: &LockedEvent<'_>, new: NewOrder<'_>) -> Result<Order> {
    let now = tx.now();
    let status = if new.hold_until.is_some() { OrderStatus::Pending } else { OrderStatus::Completed };
    let completed_at = if new.hold_until.is_some() { None } else { Some(now) };
    let discount_code = new.discount.map(|discount| discount.code.clone());
    let metadata = new.request.metadata.clone().unwrap_or_default();
    let ordered_seats: i64 = new.request.items.iter().map(|item| item.quantity).sum();
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
            order_details::column(new.request, new.returns_to_its_page)?.into(),
            new.request.reference.as_ref().into(),
            metadata.bind()?,
            completed_at.into(),
            now.into(),
            new.limited_seats.into(),
            ordered_seats.into(),
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
        currency: new.currency.to_owned(),
        payment_method: completed_at.map(|_| payment_method(new.total == 0, false)),
        completed_at,
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
    for (item, ticket) in issued_tickets::of_order(tx, id)? {
        issued.entry(item).or_default().push(ticket);
    }
    let mut items = Vec::new();
    for (stored, name) in order_items::with_names(tx, id)? {
        let tickets = issued.remove(&stored.id).unwrap_or_default();
        let cancelled = tickets.iter().enumerate().filter(|(_, ticket)| ticket.status == TicketStatus::Cancelled);
        let item = stored.summary(decimals, order.created_at, cancelled.map(|(index, _)| index));
        items.push(OrderItem::with_fields_of(item, name, tickets));
    }
    Ok(Order::with_fields_of(order, items))
}

/// Records that the customer was reminded, if the order is still PENDING. Returns whether it was.
pub(crate) fn mark_reminder_sent(tx: &LockedEvent<'_>, organization: OrganizationId, id: OrderId) -> Result<bool> {
    tx.execute_counted(REMINDED, &[id.into(), organization.into(), tx.now().into()]).map(|rows| rows == 1)
}

/// Counts the seats in the pending orders of a customer for an event, of those that were created with a limit.
pub(crate) fn seats_with_limit(tx: &LockedEvent<'_>, customer: CustomerId, event: EventId) -> Result<i64> {
    let binds = [customer.into(), event.into(), tx.now().into()];
    Ok(tx.query_opt(SEATS_WITH_LIMIT, &binds, |row| row.get("seats"))?.unwrap_or_default())
}
