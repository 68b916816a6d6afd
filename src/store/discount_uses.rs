//! Uses of discounts: claimed and given back by conditional updates, so that no more orders use a discount than its limit
//! allows, whoever else is at it.

use super::{Transaction, discounts, settlement};
use crate::error::{Error, Result};
use crate::model::discount::{Discount, DiscountRefusal};
use crate::model::id::{DiscountId, EventId, OrganizationId, TicketTypeId};
use crate::rules::discount::apply;
use crate::rules::pricing::OrderPrice;

const CLAIM: &str = "UPDATE discounts SET used_count = used_count + 1, used = 1
    WHERE id = ?1 AND event_id = ?2 AND (usage_limit IS NULL OR used_count < usage_limit)";
const GIVE_BACK: &str =
    "UPDATE discounts SET used_count = used_count - 1 WHERE id = ?1 AND event_id = ?2 AND used_count > 0";

/// What an order costs, and the discount of which it has claimed a use.
#[derive(Debug, Clone)]
pub(super) struct Priced {
    pub(super) price: OrderPrice,
    pub(super) discount: Option<Discount>,
}

/// Claims a use; says whether one was left. A use of an order whose hold has run out is free: where there is none else,
/// those are collected first.
pub(super) fn claim(tx: &Transaction<'_>, event: EventId, discount: DiscountId) -> Result<bool> {
    let take = || tx.execute(CLAIM, &[discount.into(), event.into()]).map(|rows| rows == 1);
    Ok(take()? || (settlement::expire_holds_of(tx, event)? > 0 && take()?))
}

/// Gives back the use of an order that was made with this discount.
pub(super) fn give_back(tx: &Transaction<'_>, event: EventId, discount: DiscountId) -> Result<()> {
    match tx.execute(GIVE_BACK, &[discount.into(), event.into()])? {
        0 => Err(Error::Internal(format!("{discount} has fewer uses counted than it has orders"))),
        _ => Ok(()),
    }
}

/// Prices an order with the discount of this code, of which it claims a use, or says why it does not apply.
pub(super) fn claim_named(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    code: &str,
    types: &[TicketTypeId],
    full: &OrderPrice,
) -> Result<Result<Priced, DiscountRefusal>> {
    let Some(discount) = discounts::by_code(tx, organization, event, code)? else {
        return Ok(Err(DiscountRefusal::NotFound));
    };
    match apply(&discount, types, full, tx.now()) {
        Ok(price) if claim(tx, event, discount.id)? => Ok(Ok(Priced { price, discount: Some(discount) })),
        Ok(_) => Ok(Err(DiscountRefusal::UsedUp)),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// Prices an order with the automatic discount that takes off most, of which it claims a use: of equal ones the oldest,
/// and none where none takes anything off.
pub(super) fn claim_best(
    tx: &Transaction<'_>,
    event: EventId,
    types: &[TicketTypeId],
    full: OrderPrice,
) -> Result<Priced> {
    let mut offers: Vec<(OrderPrice, Discount)> = Vec::new();
    for discount in discounts::automatic(tx, event)? {
        match apply(&discount, types, &full, tx.now()) {
            Ok(price) if price.total < full.total => offers.push((price, discount)),
            _ => {}
        }
    }
    // The sort is stable: the oldest stays first.
    offers.sort_by_key(|(price, _)| price.total);
    for (price, discount) in offers {
        if claim(tx, event, discount.id)? {
            return Ok(Priced { price, discount: Some(discount) });
        }
    }
    Ok(Priced { price: full, discount: None })
}
