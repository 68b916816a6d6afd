//! Order creation: everything that happens in its one transaction.

use std::time::Duration;

use super::discount_use::{self, OrderPricing, Priced};
use super::inventory;
use super::references::{TicketTypeReference, UNKNOWN_EVENT, UNKNOWN_TICKET_TYPE, check_ticket_types};
use crate::error::{Error, FieldErrors, Result};
use crate::model::id::{OrganizationId, TicketTypeId};
use crate::model::notification::{NotificationData, OrderCompleted};
use crate::model::order::{CreateOrder, Order, OrderItem};
use crate::model::text_enum::TextEnum;
use crate::rules::Checked;
use crate::rules::money::decimals_of_stored;
use crate::rules::order::Sale;
use crate::rules::pricing::{self, OrderPrice};
use crate::rules::ticket_type::Offer;
use crate::store::orders::NewOrder;
use crate::store::seat_counts::Seats;
use crate::store::tickets::TicketHolder;
use crate::store::{CommitEvent, Transaction, customers, events, order_items, orders, outbox, ticket_types, tickets};

/// An order that was just created.
pub(crate) struct CreatedOrder {
    pub(crate) order: Order,
    pub(crate) currency: String,
}

/// The seats that an order asks for of one ticket type, added up over its entries.
#[derive(Debug, Clone, Copy)]
struct RequestedSeats {
    ticket_type: TicketTypeId,
    count: i64,
}

/// Adds an error for each reference of a request to an event or ticket type that does not exist. Called for requests
/// that are already invalid, so that the caller gets all field errors at once.
pub(crate) fn check_references(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &CreateOrder,
    errors: &mut FieldErrors,
) -> Result<()> {
    if !events::exists(tx, organization, request.event_id)? {
        errors.add("eventId", UNKNOWN_EVENT);
        return Ok(());
    }
    let path = |index| format!("items[{index}].ticketId");
    let items = request.items.iter().enumerate();
    let references = items.map(|(index, item)| TicketTypeReference { path: path(index), id: item.ticket_type_id });
    check_ticket_types(tx, request.event_id, references.collect(), errors)
}

/// Creates an order. An order that costs nothing is completed at once, and its tickets are issued. Any other reserves
/// its seats for the duration of `hold`.
pub(crate) fn create(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<CreateOrder>,
    hold: Duration,
) -> Result<CreatedOrder> {
    tx.lock_event(request.event_id)?;
    let sale = events::sale(tx, organization, request.event_id)?;
    let sale = sale.ok_or_else(|| Error::field("eventId", UNKNOWN_EVENT))?;
    sale.check_on_sale(tx.now())?;
    let offers = load_offers(tx, request)?;
    let requested = requested_seats(request);
    check_offers(tx, request, &offers, &requested)?;

    let full_price = full_price(request, &offers)?;
    let pricing = choose_discount(tx, organization, request, &full_price)?;
    let free = matches!(&pricing, OrderPricing::Priced(priced) if priced.price.total == 0);

    // A discount that does not apply is reported last: the seats and the buyer are checked before it.
    claim_seats(tx, request, &requested, free)?;
    sale.check_buyer(request)?;
    let priced = match pricing {
        OrderPricing::Priced(priced) => priced,
        OrderPricing::Refused(refusal) => return Err(Error::field("discountCode", refusal.as_str())),
    };
    if let Some(discount) = &priced.discount {
        discount_use::claim(tx, request.event_id, discount)?;
    }
    insert(tx, organization, request, &sale, *priced, hold)
}

/// The ticket type of each entry, in the order of the request.
fn load_offers(tx: &Transaction<'_>, request: &CreateOrder) -> Result<Vec<Offer>> {
    let mut errors = FieldErrors::default();
    let mut offers = Vec::with_capacity(request.items.len());
    for (index, item) in request.items.iter().enumerate() {
        match ticket_types::offer(tx, request.event_id, item.ticket_type_id)? {
            Some(offer) => offers.push(offer),
            None => errors.add(format!("items[{index}].ticketId"), UNKNOWN_TICKET_TYPE),
        }
    }
    errors.into_result()?;
    Ok(offers)
}

/// The seats of each ticket type, in the order in which the request names the types.
fn requested_seats(request: &CreateOrder) -> Vec<RequestedSeats> {
    let mut requested: Vec<RequestedSeats> = Vec::new();
    for item in &request.items {
        match requested.iter_mut().find(|seats| seats.ticket_type == item.ticket_type_id) {
            Some(same_type) => same_type.count = same_type.count.saturating_add(item.quantity),
            None => requested.push(RequestedSeats { ticket_type: item.ticket_type_id, count: item.quantity }),
        }
    }
    requested
}

fn check_offers(
    tx: &Transaction<'_>,
    request: &CreateOrder,
    offers: &[Offer],
    requested: &[RequestedSeats],
) -> Result<()> {
    for offer in offers {
        offer.check_on_sale()?;
    }
    for offer in offers {
        offer.check_sale_window(tx.now())?;
    }
    for seats in requested {
        let entry = request.items.iter().position(|item| item.ticket_type_id == seats.ticket_type);
        if let Some(offer) = entry.and_then(|index| offers.get(index)) {
            offer.check_quantity(seats.count)?;
        }
    }
    Ok(())
}

fn full_price(request: &CreateOrder, offers: &[Offer]) -> Result<OrderPrice> {
    let items = offers.iter().zip(&request.items).map(|(offer, item)| (offer.price, item.quantity));
    pricing::full_price(items).ok_or_else(|| pricing::too_expensive("items"))
}

fn choose_discount(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &CreateOrder,
    full_price: &OrderPrice,
) -> Result<OrderPricing> {
    let types: Vec<_> = request.items.iter().map(|item| item.ticket_type_id).collect();
    match &request.discount_code {
        Some(code) => discount_use::choose_named(tx, organization, request.event_id, code, &types, full_price),
        None => discount_use::choose_best(tx, request.event_id, &types, full_price),
    }
}

/// Sells the seats of a free order, and reserves those of any other, ticket types in the order in which they are locked.
fn claim_seats(tx: &Transaction<'_>, request: &CreateOrder, requested: &[RequestedSeats], free: bool) -> Result<()> {
    let mut requested = requested.to_vec();
    requested.sort_by_key(|seats| seats.ticket_type);
    for RequestedSeats { ticket_type, count } in requested {
        let seats = Seats { event: request.event_id, ticket_type, count };
        if free { inventory::sell(tx, seats)? } else { inventory::reserve(tx, seats)? }
    }
    Ok(())
}

fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &CreateOrder,
    sale: &Sale,
    priced: Priced,
    hold: Duration,
) -> Result<CreatedOrder> {
    let decimals = decimals_of_stored(&sale.currency)?;
    let customer = customers::find_or_insert(tx, organization, &request.customer)?;
    let free = priced.price.total == 0;
    let new = NewOrder {
        organization,
        request,
        customer,
        currency: &sale.currency,
        decimals,
        total: priced.price.total,
        discounted: priced.price.discounted,
        discount: priced.discount.as_ref(),
        hold_until: (!free).then(|| tx.now().plus(hold)),
    };
    let mut order = orders::insert(tx, new)?;
    for (item, price) in request.items.iter().zip(priced.price.items) {
        let stored = order_items::insert(tx, order.id, item.ticket_type_id, price)?;
        let item = stored.summary(decimals, order.created_at);
        let issued_tickets = if free { tickets::issue_for_item(tx, &holder(&order), stored)? } else { Vec::new() };
        order.items.push(OrderItem { item, issued_tickets });
    }
    tx.record(CommitEvent::OrderCreated);
    if free {
        tx.record(CommitEvent::OrderCompleted);
        report_completed(tx, &order, &sale.currency)?;
    }
    Ok(CreatedOrder { order, currency: sale.currency.clone() })
}

fn holder(order: &Order) -> TicketHolder<'_> {
    TicketHolder {
        organization: order.organizer_id,
        event: order.event_id,
        customer: order.customer_id,
        customer_name: &order.customer.name,
    }
}

fn report_completed(tx: &Transaction<'_>, order: &Order, currency: &str) -> Result<()> {
    let mut notifications = vec![NotificationData::OrderCompleted(OrderCompleted {
        order_id: order.id,
        event_id: order.event_id,
        customer_id: order.customer_id,
        total: order.total,
        currency: currency.to_owned(),
    })];
    for ticket in order.items.iter().flat_map(|item| &item.issued_tickets) {
        notifications.push(tickets::issued_notification(ticket, order.event_id, order.id));
    }
    outbox::report(tx, order.organizer_id, notifications)
}
