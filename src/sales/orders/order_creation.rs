//! Order creation: everything that happens in the one transaction that creates an order.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use crate::error::{Error, FieldErrors, Result};
use crate::model::notifications::handler_notification::OrderCreated;
use crate::model::notifications::notification_data::OrderCompleted;
use crate::model::notifications::notification_types::NotificationDetails;
use crate::model::sale::discount::DiscountRefusal;
use crate::model::sale::new_order::CreateOrder;
use crate::model::sale::order::{Order, OrderItem};
use crate::model::values::id::{OrganizationId, TicketTypeId};
use crate::rules::money::amount_limits::decimals_of_stored;
use crate::rules::money::pricing::{self, ItemPrice, OrderPrice};
use crate::rules::order::Sale;
use crate::rules::ticket_type::Offer;
use crate::rules::{self, Checked};
use crate::sales::catalog::discount_use::{self, OrderPricing, Priced};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::catalog::holds::HoldTerms;
use crate::sales::catalog::inventory;
use crate::sales::catalog::references::{UNKNOWN_EVENT, UNKNOWN_TICKET_TYPE, check_ticket_types};
use crate::sales::mail_causes::{self, MailedOrder};
use crate::sales::tickets::ticket_issuing;
use crate::store::order::orders;
use crate::store::order::orders::NewOrder;
use crate::store::sale::customers::StoredCustomer;
use crate::store::sale::seat_counts::Seats;
use crate::store::sale::{customers, events, order_items, ticket_types};
use crate::store::tickets::issued_tickets::{self, TicketHolder};
use crate::store::webhooks::handlers;
use crate::store::{CommitEvent, LockedEvent, Transaction};

/// An order that was just created, the currency of its amounts, and the title of its event.
pub(crate) struct CreatedOrder {
    pub(crate) order: Order,
    pub(crate) currency: String,
    pub(crate) event_title: String,
}

/// The terms of a new order.
pub(in crate::sales) struct NewOrderTerms<'a> {
    pub(in crate::sales) hold: HoldTerms,
    /// Returns the least amount in minor units of a currency that can be paid.
    pub(in crate::sales) step: &'a dyn Fn(&str) -> i64,
    /// The total in minor units that the page of an event has shown: the order costs this, and its checkout leads back
    /// to its own page. `None` for an order from elsewhere.
    pub(in crate::sales) shown_total: Option<i64>,
}

/// An entry of the request, with the fields of its ticket type that decide whether it can be ordered.
struct Entry {
    ticket_type: TicketTypeId,
    quantity: i64,
    offer: Offer,
}

/// Adds an error for each reference of a request to an event or ticket type that does not exist. Called for requests
/// that are already invalid, so that the client gets all field errors at once.
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
    if errors.covers("items") {
        // Nobody reads further errors, and there may be very many items.
        return Ok(());
    }
    let ids = request.items.iter().map(|item| item.ticket_type_id);
    check_ticket_types(tx, request.event_id, ids, path_of_type, errors)
}

fn path_of_type(index: usize) -> String {
    format!("items[{index}].ticketId")
}

/// Whether an order has so many items that [`check_sale`] checks it first. The look-ups of a few items cost less than
/// the additional transaction.
pub(crate) fn has_many_items(request: &CreateOrder) -> bool {
    request.items.len() > 10
}

/// Checks an order on a reader before it is created, so that one which cannot succeed costs the writer nothing. The
/// transaction that creates it checks the same again, because it may have changed.
pub(crate) fn check_sale(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<CreateOrder>,
) -> Result<()> {
    load(tx, organization, request).map(drop)
}

/// Like [`check_sale`], and checks that enough seats are available. Passes if seats of expired holds may be enough. The limit
/// of a customer, which is reported before too few seats, is not checked.
pub(crate) fn check_seats(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<CreateOrder>,
) -> Result<()> {
    let (_, entries) = load(tx, organization, request)?;
    full_price(&entries)?;
    for (ticket_type, count) in quantities(&entries) {
        inventory::check_available(tx, Seats::uncounted(request.event_id, ticket_type, count))?;
    }
    Ok(())
}

/// Loads the event and the ticket types of an order, and checks that they are on sale.
fn load(tx: &Transaction<'_>, organization: OrganizationId, request: &CreateOrder) -> Result<(Sale, Vec<Entry>)> {
    let sale = events::sale(tx, organization, request.event_id)?;
    let sale = sale.ok_or_else(|| Error::field("eventId", UNKNOWN_EVENT))?;
    sale.check_on_sale(tx.now())?;
    let entries = load_entries(tx, request)?;
    check_offers(tx, &entries)?;
    Ok((sale, entries))
}

/// Announces what the transaction that creates an order will read.
pub(in crate::sales) fn read_ahead(tx: &LockedEvent<'_>, organization: OrganizationId, request: &Checked<CreateOrder>) {
    let (event, email) = (request.event_id, &request.customer.email);
    tx.read_ahead(|| events::sale(tx, organization, event));
    if !has_many_items(request) {
        let types: BTreeSet<_> = request.items.iter().map(|item| item.ticket_type_id).collect();
        for ticket_type in types {
            tx.read_ahead(|| ticket_types::offer(tx, event, ticket_type));
        }
    }
    tx.read_ahead(|| customers::find_or_lock(tx, organization, email));
}

/// Creates an order. An order that costs nothing is completed at once, and its tickets are issued. Any other reserves
/// its seats.
pub(in crate::sales) fn create(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    request: &Checked<CreateOrder>,
    terms: &NewOrderTerms<'_>,
    release_limit: &ReleaseLimit,
) -> Result<CreatedOrder> {
    let (sale, entries) = load(tx, organization, request)?;
    let known_customer = customers::find_or_lock(tx, organization, &request.customer.email)?;
    let (full_price, step) = (full_price(&entries)?, (terms.step)(&sale.currency));
    let pricing =
        discount_use::price(tx, organization, request, full_price, sale.has_automatic_discounts, step, release_limit)?;

    // If there are several reasons to refuse an order, the first one is reported: the limit of the customer, too few
    // seats, the buyer, the discount.
    if let (Some(most), false) = (terms.hold.max_seats_per_customer, pricing.is_free() || is_paid(request)) {
        check_customer_limit(tx, request, known_customer.as_ref(), most)?;
    }
    claim_seats(tx, request, &entries, &pricing, release_limit)?;
    sale.check_buyer(request)?;
    let priced = match pricing {
        OrderPricing::Priced(priced) => *priced,
        OrderPricing::Refused(refusal) => return Err(Error::field("discountCode", refusal.as_str())),
    };
    if let Some(discount) = &priced.discount
        && !discount_use::try_claim(tx, request.event_id, discount.id, release_limit)?
    {
        return Err(Error::field("discountCode", DiscountRefusal::UsedUp.as_str()));
    }
    if terms.shown_total.is_some_and(|shown| shown != priced.price.total) {
        return Err(Error::field("total", "must be what the order costs now"));
    }
    insert(tx, organization, (request, known_customer), sale, entries, priced, terms)
}

/// Loads the ticket types of the items, each one once.
fn load_entries(tx: &Transaction<'_>, request: &CreateOrder) -> Result<Vec<Entry>> {
    let mut errors = FieldErrors::default();
    let mut offers: BTreeMap<TicketTypeId, Option<Offer>> = BTreeMap::new();
    let mut entries = Vec::with_capacity(request.items.len());
    for (index, item) in request.items.iter().enumerate() {
        let offer = match offers.entry(item.ticket_type_id) {
            btree_map::Entry::Occupied(loaded) => loaded.get().clone(),
            btree_map::Entry::Vacant(new) => {
                new.insert(ticket_types::offer(tx, request.event_id, item.ticket_type_id)?).clone()
            }
        };
        match offer {
            Some(offer) => entries.push(Entry { ticket_type: item.ticket_type_id, quantity: item.quantity, offer }),
            None => errors.add(path_of_type(index), UNKNOWN_TICKET_TYPE),
        }
    }
    errors.into_result()?;
    Ok(entries)
}

fn check_offers(tx: &Transaction<'_>, entries: &[Entry]) -> Result<()> {
    for entry in entries {
        entry.offer.check_on_sale()?;
    }
    for entry in entries {
        entry.offer.check_sale_window(tx.now())?;
    }
    let quantities = quantities(entries);
    for entry in entries {
        entry.offer.check_quantity(quantities.get(&entry.ticket_type).copied().unwrap_or_default())?;
    }
    Ok(())
}

/// How many seats of each ticket type an order wants.
fn quantities(entries: &[Entry]) -> BTreeMap<TicketTypeId, i64> {
    let mut quantities: BTreeMap<TicketTypeId, i64> = BTreeMap::new();
    for entry in entries {
        let quantity = quantities.entry(entry.ticket_type).or_default();
        *quantity = quantity.saturating_add(entry.quantity);
    }
    quantities
}

fn full_price(entries: &[Entry]) -> Result<OrderPrice> {
    let items = entries.iter().map(|entry| ItemPrice::full(entry.offer.price, entry.quantity));
    pricing::full_price(items.collect()).ok_or_else(|| pricing::too_expensive("items"))
}

/// Whether the order is completed in the transaction that creates it, although it costs something.
fn is_paid(request: &CreateOrder) -> bool {
    request.payment_taken().is_some()
}

fn seat_count(request: &CreateOrder) -> i64 {
    request.items.iter().fold(0, |seats, item| seats.saturating_add(item.quantity))
}

/// Checks that the pending orders of a customer for the event reserve at most this many seats, together with this
/// order.
fn check_customer_limit(
    tx: &LockedEvent<'_>,
    request: &CreateOrder,
    customer: Option<&StoredCustomer>,
    most: u32,
) -> Result<()> {
    let reserved = match customer {
        Some(customer) => orders::seats_with_limit(tx, customer.id, request.event_id)?,
        None => 0,
    };
    rules::order::check_customer_limit(most, reserved, seat_count(request))
}

/// Sells the seats of a free order, and reserves those of any other, in the order in which ticket types are locked.
fn claim_seats(
    tx: &LockedEvent<'_>,
    request: &CreateOrder,
    entries: &[Entry],
    pricing: &OrderPricing,
    release_limit: &ReleaseLimit,
) -> Result<()> {
    let types = entries.iter().map(|entry| entry.ticket_type);
    let seats = match pricing {
        OrderPricing::Priced(priced) => {
            Seats::of_order(request.event_id, types.zip(priced.price.items.iter().copied()))
        }
        OrderPricing::Refused(_) => {
            let prices = entries.iter().map(|entry| ItemPrice::full(entry.offer.price, entry.quantity));
            Seats::of_order(request.event_id, types.zip(prices))
        }
    };
    let free = pricing.is_free();
    for seats in seats {
        if free { inventory::sell(tx, seats, release_limit)? } else { inventory::reserve(tx, seats, release_limit)? }
    }
    Ok(())
}

/// Inserts the order and its items. Issues the tickets of a free order and reports it.
fn insert(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    (request, known_customer): (&CreateOrder, Option<StoredCustomer>),
    sale: Sale,
    entries: Vec<Entry>,
    priced: Priced,
    terms: &NewOrderTerms<'_>,
) -> Result<CreatedOrder> {
    let hold = terms.hold;
    let decimals = decimals_of_stored(&sale.currency)?;
    let customer = customers::update_or_insert(tx, organization, known_customer, &request.customer)?;
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
        hold_until: (!free).then(|| tx.now().saturating_add(hold.duration)),
        limited_seats: (!free && !is_paid(request) && hold.max_seats_per_customer.is_some())
            .then(|| seat_count(request)),
        returns_to_its_page: terms.shown_total.is_some(),
    };
    let mut order = orders::insert(tx, new)?;
    for (entry, price) in entries.into_iter().zip(priced.price.items) {
        let stored = order_items::insert(tx, order.id, entry.ticket_type, price)?;
        let item = stored.summary(decimals, order.created_at, []);
        let issued_tickets =
            if free { issued_tickets::issue_for_item(tx, &holder(&order), stored)? } else { Vec::new() };
        order.items.push(OrderItem::with_fields_of(item, entry.offer.name, issued_tickets));
    }
    tx.record(CommitEvent::OrderCreated);
    report_created(tx, &order, &sale.currency)?;
    if free {
        let completed = OrderCompleted {
            order_id: order.id,
            event_id: order.event_id,
            customer_id: order.customer_id,
            total: order.total,
            currency: sale.currency.clone(),
        };
        ticket_issuing::report_completed(tx, organization, completed, order.tickets())?;
        mail_causes::order_completed(tx, MailedOrder::of_new(&order, sale.disable_notifications))?;
    } else if !is_paid(request) {
        mail_causes::order_pending(tx, MailedOrder::of_new(&order, sale.disable_notifications), hold.duration)?;
    }
    Ok(CreatedOrder { order, currency: sale.currency, event_title: sale.title })
}

fn holder(order: &Order) -> TicketHolder<'_> {
    TicketHolder {
        organization: order.organizer_id,
        event: order.event_id,
        customer: order.customer_id,
        customer_name: &order.customer.name,
        locale: None,
    }
}

fn report_created(tx: &Transaction<'_>, order: &Order, currency: &str) -> Result<()> {
    let notification = NotificationDetails::OrderCreated(OrderCreated {
        order_id: order.id,
        event_id: order.event_id,
        customer_id: order.customer_id,
        total: order.total,
        currency: currency.to_owned(),
    });
    handlers::enqueue(tx, order.organizer_id, [notification])
}
