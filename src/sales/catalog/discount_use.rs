//! The discount of an order: which one applies, and the claim of its use.
//!
//! A use is claimed with a conditional UPDATE, so that no more pending and completed orders use a discount than its
//! limit allows.

use super::hold_releases::{ReleaseLimit, count_uses, release_uses};
use crate::error::Result;
use crate::model::sale::discount::DiscountRefusal;
use crate::model::sale::new_order::CreateOrder;
use crate::model::values::id::{DiscountId, EventId, OrganizationId, TicketTypeId};
use crate::rules::discount::{self as rules, DiscountTerms, apply, choose_best};
use crate::rules::money::pricing::OrderPrice;
use crate::store::sale::discounts;
use crate::store::{LockedEvent, Transaction};

/// The price of an order, and the discount that it uses.
#[derive(Debug, Clone)]
pub(in crate::sales) struct Priced {
    pub(in crate::sales) price: OrderPrice,
    pub(in crate::sales) discount: Option<DiscountTerms>,
}

pub(in crate::sales) enum OrderPricing {
    Priced(Box<Priced>),
    /// The discount that the order names does not apply.
    Refused(DiscountRefusal),
}

impl OrderPricing {
    pub(in crate::sales) fn is_free(&self) -> bool {
        matches!(self, Self::Priced(priced) if priced.price.total == 0)
    }
}

/// Prices an order with the discount code that it names, or else with the automatic discount that saves the most. Of
/// equal automatic discounts the oldest applies. `has_automatic` is `false` if the event has none. `step` is the least
/// amount in minor units that the gateway can take.
pub(in crate::sales) fn price(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &CreateOrder,
    full_price: OrderPrice,
    has_automatic: bool,
    step: i64,
    release_limit: &ReleaseLimit,
) -> Result<OrderPricing> {
    let types: Vec<TicketTypeId> = request.items.iter().map(|item| item.ticket_type_id).collect();
    let priced = match &request.discount_code {
        Some(code) => {
            let Some(mut discount) = discounts::by_code(tx, organization, request.event_id, code)? else {
                return Ok(OrderPricing::Refused(DiscountRefusal::NotFound));
            };
            subtract_expired_uses(tx, &mut discount, release_limit)?;
            match apply(&discount, &types, &full_price, step, tx.now()) {
                Ok(price) => Priced { price, discount: Some(discount) },
                Err(refusal) => return Ok(OrderPricing::Refused(refusal)),
            }
        }
        None => {
            let mut automatic = if has_automatic { discounts::automatic(tx, request.event_id)? } else { Vec::new() };
            for discount in &mut automatic {
                subtract_expired_uses(tx, discount, release_limit)?;
            }
            match choose_best(automatic, &types, &full_price, step, tx.now()) {
                Some((price, discount)) => Priced { price, discount: Some(discount) },
                None => Priced { price: full_price, discount: None },
            }
        }
    };
    Ok(OrderPricing::Priced(Box::new(priced)))
}

/// Subtracts uses of expired holds from the stored number of uses, if only they may keep the discount from being used.
pub(in crate::sales) fn subtract_expired_uses(
    tx: &Transaction<'_>,
    discount: &mut DiscountTerms,
    release_limit: &ReleaseLimit,
) -> Result<()> {
    if let Some(needed) = rules::uses_above_limit(discount, tx.now()) {
        discount.used_count -= count_uses(tx, discount.id, needed, release_limit)?;
    }
    Ok(())
}

/// Claims a use. If none is left, releases a use of an expired hold, and tries once more. Returns whether it succeeded.
pub(in crate::sales) fn try_claim(
    tx: &LockedEvent<'_>,
    event: EventId,
    discount: DiscountId,
    release_limit: &ReleaseLimit,
) -> Result<bool> {
    if discounts::claim_use(tx, event, discount)? {
        return Ok(true);
    }
    let needed = discounts::missing_uses(tx, event, discount)?;
    let found = release_uses(tx, discount, needed, release_limit)?;
    Ok(found >= needed && discounts::claim_use(tx, event, discount)?)
}
