//! Which discount an order uses. A use is claimed with a conditional UPDATE, so that no more orders use a discount than
//! its limit allows.

use super::holds;
use crate::error::{Error, Result};
use crate::model::discount::{Discount, DiscountRefusal};
use crate::model::id::{DiscountId, EventId, OrganizationId, TicketTypeId};
use crate::model::text_enum::TextEnum;
use crate::rules::discount::apply;
use crate::rules::pricing::OrderPrice;
use crate::store::{Transaction, discount_uses, discounts};

/// What an order costs, and the discount that it uses.
#[derive(Debug, Clone)]
pub(super) struct Priced {
    pub(super) price: OrderPrice,
    pub(super) discount: Option<Discount>,
}

/// The result of pricing an order, with the discount code that it names or with an automatic discount.
pub(super) enum OrderPricing {
    Priced(Box<Priced>),
    Refused(DiscountRefusal),
}

/// Chooses the discount with this code, if it applies.
pub(super) fn choose_named(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    code: &str,
    types: &[TicketTypeId],
    full_price: &OrderPrice,
) -> Result<OrderPricing> {
    let Some(discount) = discounts::by_code(tx, organization, event, code)? else {
        return Ok(OrderPricing::Refused(DiscountRefusal::NotFound));
    };
    Ok(match apply(&discount, types, full_price, tx.now()) {
        Ok(price) => OrderPricing::Priced(Box::new(Priced { price, discount: Some(discount) })),
        Err(refusal) => OrderPricing::Refused(refusal),
    })
}

/// Chooses the automatic discount that saves the most. Of equal ones it is the oldest; if none saves anything, the order
/// has no discount.
pub(super) fn choose_best(
    tx: &Transaction<'_>,
    event: EventId,
    types: &[TicketTypeId],
    full_price: &OrderPrice,
) -> Result<OrderPricing> {
    let mut best = Priced { price: full_price.clone(), discount: None };
    for discount in discounts::automatic(tx, event)? {
        if let Ok(price) = apply(&discount, types, full_price, tx.now())
            && price.total < best.price.total
        {
            best = Priced { price, discount: Some(discount) };
        }
    }
    Ok(OrderPricing::Priced(Box::new(best)))
}

/// Claims a use of a discount that was chosen in this transaction. If none is left, expires the event's expired holds
/// and tries once more.
pub(super) fn claim(tx: &Transaction<'_>, event: EventId, discount: &Discount) -> Result<()> {
    if try_claim(tx, event, discount.id)? {
        return Ok(());
    }
    Err(Error::field("discountCode", DiscountRefusal::UsedUp.as_str()))
}

/// Claims a use. If none is left, expires the event's expired holds and tries once more. Returns whether it succeeded.
pub(super) fn try_claim(tx: &Transaction<'_>, event: EventId, discount: DiscountId) -> Result<bool> {
    if discount_uses::claim(tx, event, discount)? {
        return Ok(true);
    }
    Ok(holds::expire_of_event(tx, event)? > 0 && discount_uses::claim(tx, event, discount)?)
}
