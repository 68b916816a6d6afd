//! The price of tickets that a customer has chosen on the page of an event, before there is an order.

use crate::error::Result;
use crate::model::sale::customer::NewCustomer;
use crate::model::sale::discount::DiscountRefusal;
use crate::model::sale::event_page::{EventPage, Quote, QuotedItem};
use crate::model::sale::new_order::{CreateOrder, NewOrderItem};
use crate::model::values::amount::Amount;
use crate::rules::money::amount_limits::decimals_of_stored;
use crate::rules::money::pricing::{self, ItemPrice};
use crate::sales::catalog::discount_use::{self, OrderPricing};
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::store::Transaction;

/// Prices these tickets of an event, each type once, as an order of them would be. With a code that does not apply,
/// returns the price without it, and why it does not.
pub(crate) fn quote(
    tx: &Transaction<'_>,
    page: &EventPage,
    chosen: &[NewOrderItem],
    code: Option<&str>,
    step: &dyn Fn(&str) -> i64,
) -> Result<(Quote, Option<DiscountRefusal>)> {
    let types = chosen.iter().filter_map(|item| Some((page.ticket_type(item.ticket_type_id)?, item.quantity)));
    let types: Vec<_> = types.collect();
    let prices =
        types.iter().map(|(ticket_type, quantity)| ItemPrice::full(ticket_type.price.minor_units(), *quantity));
    let full = pricing::full_price(prices.collect()).ok_or_else(|| pricing::too_expensive("items"))?;
    let items = types.iter().map(|(ticket_type, quantity)| NewOrderItem::new(ticket_type.id, *quantity));
    // Discounts depend on nothing else of an order.
    let mut order = CreateOrder::with_items(page.event.id, NewCustomer::default(), items);
    order.discount_code = code.map(str::to_owned);
    let (organization, step) = (page.event.organizer_id, step(&page.event.currency));
    let price = |order: &CreateOrder| {
        discount_use::price(tx, organization, order, full.clone(), true, step, &ReleaseLimit::of_reader())
    };
    let (pricing, refusal) = match price(&order)? {
        OrderPricing::Refused(refusal) => (price(&CreateOrder { discount_code: None, ..order })?, Some(refusal)),
        pricing @ OrderPricing::Priced(_) => (pricing, None),
    };
    let (price, discount) = match pricing {
        OrderPricing::Priced(applied) => (applied.price, applied.discount),
        OrderPricing::Refused(_) => (full, None),
    };
    let decimals = decimals_of_stored(&page.event.currency)?;
    let amount = |minor| Amount::in_currency(minor, decimals);
    let items = types.iter().zip(&price.items).map(|((ticket_type, quantity), item)| QuotedItem {
        ticket_type_id: ticket_type.id,
        name: ticket_type.name.clone(),
        quantity: *quantity,
        price: ticket_type.price,
        subtotal: amount(item.subtotal()),
    });
    let quote = Quote {
        items: items.collect(),
        discounted: amount(price.discounted.unwrap_or_default()),
        total: amount(price.total),
        code: discount.map(|discount| discount.code),
    };
    Ok((quote, refusal))
}
