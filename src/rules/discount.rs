//! Validation of discounts, and whether a discount applies to a basket.

use std::collections::BTreeSet;

use super::Checked;
use super::money::amount_limits;
use super::money::pricing::{self, ItemPrice, OrderPrice};
use crate::error::{FieldErrors, Result};
use crate::model::sale::discount::{
    DiscountErrorData, DiscountFields, DiscountRefusal, DiscountValidationResponse, ValidateDiscount, ValidatedDiscount,
};
use crate::model::sale::discount_value::{DiscountType, DiscountValue};
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{DiscountId, TicketTypeId};
use crate::model::values::percentage::Percentage;
use crate::model::values::timestamp::Timestamp;

/// Checks a discount whose fields are within their limits, for an event whose currency has `decimals` decimals.
/// Converts its amounts into minor units of that currency.
pub(crate) fn check(
    mut fields: DiscountFields,
    decimals: Decimals,
    mut errors: FieldErrors,
) -> Result<Checked<DiscountFields>> {
    match fields.discount_type {
        // The type could not be read, so that it is unknown what the value means.
        _ if errors.covers("type") => {}
        DiscountType::Percentage => {
            if let Err(error) = Percentage::try_from(fields.number) {
                errors.add("value", error.to_string());
            }
        }
        DiscountType::FixedAmount => fields.number = check_amount(&mut errors, "value", fields.number, decimals),
    }
    errors.check(fields.valid_from < fields.valid_to, "validTo", "must be after validFrom");
    let minimum = fields.minimum_purchase;
    fields.minimum_purchase = minimum.map(|amount| check_amount(&mut errors, "minimumPurchase", amount, decimals));
    errors.into_result().map(|()| Checked(fields))
}

fn check_amount(errors: &mut FieldErrors, path: &str, amount: Amount, decimals: Decimals) -> Amount {
    Amount::in_currency(amount_limits::check_decimals(errors, || path.to_owned(), amount, decimals), decimals)
}

/// The fields of a discount that decide whether it applies to an order, and how much it deducts.
#[derive(Debug, Clone)]
pub(crate) struct DiscountTerms {
    pub(crate) id: DiscountId,
    pub(crate) code: String,
    pub(crate) value: DiscountValue,
    pub(crate) is_active: bool,
    pub(crate) valid_from: Timestamp,
    pub(crate) valid_to: Timestamp,
    pub(crate) usage_limit: Option<i64>,
    pub(crate) used_count: i64,
    /// In minor units.
    pub(crate) minimum_purchase: Option<i64>,
    /// Empty means all ticket types of the event.
    pub(crate) applicable_ticket_types: Vec<TicketTypeId>,
    /// The currency of the event.
    pub(crate) currency: String,
}

/// A basket to which a discount may apply.
#[derive(Debug, Clone)]
pub(crate) struct Basket {
    types: Vec<TicketTypeId>,
    full: OrderPrice,
    /// The decimals of the currency of the event.
    decimals: Decimals,
}

/// Checks a basket whose fields are within their limits, for an event whose currency has `decimals` decimals.
pub(crate) fn check_basket(
    request: &ValidateDiscount,
    decimals: Decimals,
    mut errors: FieldErrors,
) -> Result<Checked<Basket>> {
    let mut priced = Vec::with_capacity(request.ticket_items.len());
    for (index, item) in request.ticket_items.iter().enumerate() {
        let path = || format!("ticketItems[{index}].price");
        let price = amount_limits::check_decimals(&mut errors, path, item.price, decimals);
        priced.push(ItemPrice::full(price, item.quantity));
    }
    errors.into_result()?;
    let full = pricing::full_price(priced).ok_or_else(|| pricing::too_expensive("ticketItems"))?;
    let types = request.ticket_items.iter().map(|item| item.ticket_type_id).collect();
    Ok(Checked(Basket { types, full, decimals }))
}

/// Applies a discount to the full price of items, or returns why it does not apply. `types` are the ticket types of the
/// items, and `step` is the least amount in minor units that the gateway can take.
pub(crate) fn apply(
    discount: &DiscountTerms,
    types: &[TicketTypeId],
    full: &OrderPrice,
    step: i64,
    now: Timestamp,
) -> Result<OrderPrice, DiscountRefusal> {
    // A set, because both lists may be long.
    let listed: BTreeSet<TicketTypeId> = discount.applicable_ticket_types.iter().copied().collect();
    let applies: Vec<bool> = types.iter().map(|id| listed.is_empty() || listed.contains(id)).collect();
    match refusal(discount, full, now) {
        Some(refusal) => Err(refusal),
        None if !applies.contains(&true) => Err(DiscountRefusal::NotApplicable),
        None => Ok(pricing::reduce(full, discount.value, &applies, step)),
    }
}

/// How many of the stored uses must have ended for the discount to apply at this time. `None` if it applies without, or
/// does not apply for another reason.
pub(crate) fn uses_above_limit(discount: &DiscountTerms, now: Timestamp) -> Option<i64> {
    let limit = discount.usage_limit.filter(|_| discount.is_active)?;
    let is_in_time = discount.valid_from <= now && now < discount.valid_to;
    (is_in_time && discount.used_count >= limit).then(|| discount.used_count - limit + 1)
}

/// The first reason for which a discount does not apply to any item of a basket.
fn refusal(discount: &DiscountTerms, full: &OrderPrice, now: Timestamp) -> Option<DiscountRefusal> {
    if !discount.is_active {
        return Some(DiscountRefusal::NotActive);
    }
    if now < discount.valid_from {
        return Some(DiscountRefusal::NotYetValid);
    }
    if now >= discount.valid_to {
        return Some(DiscountRefusal::Expired);
    }
    if discount.usage_limit.is_some_and(|limit| discount.used_count >= limit) {
        return Some(DiscountRefusal::UsedUp);
    }
    let is_below_minimum = discount.minimum_purchase.is_some_and(|minimum| full.total < minimum);
    is_below_minimum.then_some(DiscountRefusal::BelowMinimum)
}

/// Chooses the discount that saves the most, and the price with it; the first one if several save the same. Returns
/// `None` if no discount saves anything.
pub(crate) fn choose_best(
    discounts: Vec<DiscountTerms>,
    types: &[TicketTypeId],
    full: &OrderPrice,
    step: i64,
    now: Timestamp,
) -> Option<(OrderPrice, DiscountTerms)> {
    let mut best: Option<(OrderPrice, DiscountTerms)> = None;
    for discount in discounts {
        let Ok(price) = apply(&discount, types, full, step, now) else { continue };
        let lowest = best.as_ref().map_or(full.total, |(price, _)| price.total);
        if price.total < lowest {
            best = Some((price, discount));
        }
    }
    best
}

/// The response for a basket. `discount` is the discount of the event with the code. Of the gateway, `step` is the unit
/// of its amounts, and `least` the least amount of an order, in minor units.
pub(crate) fn validate(
    discount: Option<DiscountTerms>,
    basket: &Checked<Basket>,
    step: i64,
    least: i64,
    now: Timestamp,
) -> DiscountValidationResponse {
    let refused =
        |error, error_data| DiscountValidationResponse { valid: false, error: Some(error), discount: None, error_data };
    let Some(discount) = discount else { return refused(DiscountRefusal::NotFound, None) };
    let amount = |minor| DiscountErrorData { amount: Amount::in_currency(minor, basket.decimals) };
    match apply(&discount, &basket.types, &basket.full, step, now) {
        Ok(price) => DiscountValidationResponse {
            valid: true,
            error: None,
            discount: Some(ValidatedDiscount {
                id: discount.id,
                code: discount.code,
                value: discount.value,
                applicable_ticket_types: discount.applicable_ticket_types,
                discounted_amount: Amount::in_currency(price.discounted.unwrap_or(0), basket.decimals),
            }),
            error_data: (1..least).contains(&price.total).then(|| amount(least)),
        },
        Err(refusal) => {
            let minimum = discount.minimum_purchase.filter(|_| refusal == DiscountRefusal::BelowMinimum);
            refused(refusal, minimum.map(amount))
        }
    }
}
