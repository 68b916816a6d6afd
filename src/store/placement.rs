//! Taking an order: everything that happens in its one transaction.

use std::time::Duration;

use super::discount_uses::{self, Priced};
use super::order_items;
use super::places::{self, Places};
use super::{Counted, Transaction, customers, events, orders, outbox, ticket_types, tickets};
use crate::error::{Error, FieldErrors, Result};
use crate::model::amount::Amount;
use crate::model::customer::Customer;
use crate::model::id::{OrderId, OrganizationId, TicketTypeId};
use crate::model::notification::{NotificationData, OrderCompleted};
use crate::model::order::{CreateOrder, Order, OrderItem, OrderStatus};
use crate::model::text_enum::TextEnum;
use crate::rules::Checked;
use crate::rules::money::decimals;
use crate::rules::pricing;
use crate::rules::ticket_type::Offer;

const INSERT: &str =
    "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency,
        total, discounted_amount, discount_id, discount_code, affiliate_code, details, completed_at, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?16)";

const NO_EVENT: &str = "is no event of this organization";
const NO_TICKET_TYPE: &str = "is no ticket type of this event";

/// Adds what an order refers to and what is not there to the errors of its form.
pub(crate) fn check_references(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &CreateOrder,
    errors: &mut FieldErrors,
) -> Result<()> {
    if !events::exists(tx, organization, request.event_id)? {
        errors.add("eventId", NO_EVENT);
        return Ok(());
    }
    for (index, item) in request.items.iter().enumerate() {
        let known = ticket_types::offer(tx, request.event_id, item.ticket_type_id)?.is_some();
        errors.check(known, format!("items[{index}].ticketId"), NO_TICKET_TYPE);
    }
    Ok(())
}

/// Takes an order: judges it, takes its places, and completes it at once where it costs nothing. Otherwise it holds its
/// places for `hold`. Gives the currency of its amounts too.
pub(crate) fn place(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<CreateOrder>,
    hold: Duration,
) -> Result<(Order, String)> {
    let sale = events::sale(tx, organization, request.event_id)?.ok_or_else(|| Error::field("eventId", NO_EVENT))?;
    sale.check_on_sale(tx.now())?;
    let offers = offers(tx, request)?;
    let wanted = quantities(request);
    check_offers(tx, &offers, &wanted)?;
    let full =
        pricing::full_price(offers.iter().zip(&request.items).map(|((_, offer), item)| (offer.price, item.quantity)));
    let full = full.ok_or_else(|| pricing::too_expensive("items"))?;
    // Whether it is free depends on the discount, whose refusal is told last.
    let types: Vec<_> = request.items.iter().map(|item| item.ticket_type_id).collect();
    let priced = match &request.discount_code {
        Some(code) => discount_uses::claim_named(tx, organization, request.event_id, code, &types, &full)?,
        None => Ok(discount_uses::claim_best(tx, request.event_id, &types, full)?),
    };
    let free = priced.as_ref().is_ok_and(|priced| priced.price.total == 0);
    for (ticket_type, number) in &wanted {
        let places = Places { event: request.event_id, ticket_type: *ticket_type, number: *number };
        if free { places::sell(tx, places)? } else { places::hold(tx, places)? }
    }
    sale.check_buyer(request)?;
    let priced = priced.map_err(|refusal| Error::field("discountCode", refusal.as_str()))?;
    let customer = customers::find_or_insert(tx, organization, &request.customer)?;
    let decimals =
        decimals(&sale.currency).ok_or_else(|| Error::Internal(format!("unknown currency {}", sale.currency)))?;
    let mut order = insert(tx, organization, request, customer, &priced, (&sale.currency, decimals), hold)?;
    for (item, price) in request.items.iter().zip(priced.price.items) {
        let stored = order_items::insert(tx, order.id, item.ticket_type_id, price)?;
        let item = stored.summary(decimals, order.created_at);
        let issued_tickets = if free { tickets::issue_for_item(tx, &owner(&order), stored)? } else { Vec::new() };
        order.items.push(OrderItem { item, issued_tickets });
    }
    tx.count(Counted::OrderPlaced);
    if free {
        tx.count(Counted::OrderCompleted);
        report_completed(tx, &order, &sale.currency)?;
    }
    Ok((order, sale.currency))
}

fn report_completed(tx: &Transaction<'_>, order: &Order, currency: &str) -> Result<()> {
    let completed = NotificationData::OrderCompleted(OrderCompleted {
        order_id: order.id,
        event_id: order.event_id,
        customer_id: order.customer_id,
        total: order.total,
        currency: currency.to_owned(),
    });
    let tickets = order.items.iter().flat_map(|item| &item.issued_tickets);
    let issued = tickets.map(|ticket| tickets::reported(ticket, order.event_id, order.id));
    outbox::report(tx, order.organizer_id, std::iter::once(completed).chain(issued))
}

fn owner(order: &Order) -> tickets::Owner<'_> {
    tickets::Owner {
        organization: order.organizer_id,
        event: order.event_id,
        customer: order.customer_id,
        customer_name: &order.customer.name,
    }
}

/// The ticket type of each entry, in the order of the request.
fn offers(tx: &Transaction<'_>, request: &CreateOrder) -> Result<Vec<(TicketTypeId, Offer)>> {
    let mut errors = FieldErrors::default();
    let mut offers = Vec::with_capacity(request.items.len());
    for (index, item) in request.items.iter().enumerate() {
        match ticket_types::offer(tx, request.event_id, item.ticket_type_id)? {
            Some(offer) => offers.push((item.ticket_type_id, offer)),
            None => errors.add(format!("items[{index}].ticketId"), NO_TICKET_TYPE),
        }
    }
    errors.into_result().map(|()| offers)
}

/// How many of each ticket type, added up over the entries.
fn quantities(request: &CreateOrder) -> Vec<(TicketTypeId, i64)> {
    let mut wanted: Vec<(TicketTypeId, i64)> = Vec::new();
    for item in &request.items {
        match wanted.iter_mut().find(|(ticket_type, _)| *ticket_type == item.ticket_type_id) {
            Some((_, number)) => *number = number.saturating_add(item.quantity),
            None => wanted.push((item.ticket_type_id, item.quantity)),
        }
    }
    wanted
}

fn check_offers(tx: &Transaction<'_>, offers: &[(TicketTypeId, Offer)], wanted: &[(TicketTypeId, i64)]) -> Result<()> {
    offers.iter().try_for_each(|(_, offer)| offer.check_on_sale())?;
    offers.iter().try_for_each(|(_, offer)| offer.check_sale_window(tx.now()))?;
    wanted.iter().try_for_each(|(ticket_type, number)| {
        let offer = offers.iter().find(|(id, _)| id == ticket_type);
        offer.map_or(Ok(()), |(_, offer)| offer.check_quantity(*number))
    })
}

fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &CreateOrder,
    customer: Customer,
    Priced { price, discount }: &Priced,
    (currency, decimals): (&str, u8),
    hold: Duration,
) -> Result<Order> {
    let now = tx.now();
    let free = price.total == 0;
    let discount_code = discount.as_ref().map(|discount| discount.code.clone());
    let status = if free { OrderStatus::Completed } else { OrderStatus::Pending };
    let id: OrderId = tx.insert(
        INSERT,
        &[
            organization.into(),
            request.event_id.into(),
            customer.id.into(),
            (&customer.name).into(),
            status.as_str().into(),
            (!free).then(|| now.plus(hold)).into(),
            currency.into(),
            price.total.into(),
            price.discounted.into(),
            discount.as_ref().map(|discount| discount.id).into(),
            discount_code.as_ref().into(),
            request.affiliate_code.as_ref().into(),
            orders::details_column(request)?.into(),
            free.then_some(now).into(),
            now.into(),
        ],
    )?;
    Ok(Order {
        id,
        total: Amount::new(price.total, decimals),
        discounted_amount: price.discounted.map(|minor| Amount::new(minor, decimals)),
        status,
        customer_id: customer.id,
        event_id: request.event_id,
        organizer_id: organization,
        affiliate_code: request.affiliate_code.clone(),
        discount_code,
        checkout_reminder_sent: false,
        created_at: now,
        updated_at: now,
        customer,
        payment_gateway: None,
        items: Vec::with_capacity(request.items.len()),
    })
}
