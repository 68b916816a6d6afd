//! What a discount may be, and whether it applies to a basket.

use std::collections::BTreeSet;

use super::pricing::{self, OrderPrice};
use super::ticket_type::MAX_QUANTITY;
use super::{Checked, money, text};
use crate::error::{FieldErrors, Result};
use crate::model::amount::Amount;
use crate::model::discount::{
    CreateDiscount, Discount, DiscountErrorData, DiscountRefusal, DiscountType, DiscountValidationResponse,
    ListDiscounts, UpdateDiscount, ValidateDiscount, ValidatedDiscount,
};
use crate::model::id::{EventId, TicketTypeId};
use crate::model::timestamp::Timestamp;

/// The most decimals of a percentage: with them it is still exact in JSON.
const PERCENT_DECIMALS: u8 = 12;

/// Everything that creating and updating a discount decides. Once checked, its amounts are in minor units of the event's
/// currency.
#[derive(Debug, Clone)]
pub(crate) struct DiscountFields {
    pub(crate) code: String,
    pub(crate) discount_type: DiscountType,
    pub(crate) value: Amount,
    pub(crate) description: Option<String>,
    pub(crate) auto_apply: bool,
    pub(crate) usage_limit: Option<i64>,
    pub(crate) valid_from: Timestamp,
    pub(crate) valid_to: Timestamp,
    pub(crate) is_active: bool,
    pub(crate) minimum_purchase: Option<Amount>,
    pub(crate) applicable_ticket_types: Vec<TicketTypeId>,
}

impl DiscountFields {
    /// A new discount, with the defaults.
    pub(crate) fn create(request: CreateDiscount) -> Self {
        Self {
            code: request.code,
            discount_type: request.discount_type,
            value: request.value,
            description: request.description,
            auto_apply: request.auto_apply.unwrap_or(false),
            usage_limit: request.usage_limit,
            valid_from: request.valid_from,
            valid_to: request.valid_to,
            is_active: request.is_active.unwrap_or(true),
            minimum_purchase: request.minimum_purchase,
            applicable_ticket_types: request.applicable_ticket_types.unwrap_or_default(),
        }
    }

    /// The discount as it stands, with the changes laid over it.
    pub(crate) fn update(current: &Discount, changes: UpdateDiscount) -> Self {
        let mut fields = Self {
            code: current.code.clone(),
            discount_type: current.discount_type,
            value: current.value,
            description: current.description.clone(),
            auto_apply: current.auto_apply,
            usage_limit: current.usage_limit,
            valid_from: current.valid_from,
            valid_to: current.valid_to,
            is_active: current.is_active,
            minimum_purchase: current.minimum_purchase,
            applicable_ticket_types: current.applicable_ticket_types.clone(),
        };
        changes.code.apply(&mut fields.code);
        changes.discount_type.apply(&mut fields.discount_type);
        changes.value.apply(&mut fields.value);
        changes.description.map(Some).apply(&mut fields.description);
        changes.auto_apply.apply(&mut fields.auto_apply);
        changes.usage_limit.apply(&mut fields.usage_limit);
        changes.valid_from.apply(&mut fields.valid_from);
        changes.valid_to.apply(&mut fields.valid_to);
        changes.is_active.apply(&mut fields.is_active);
        changes.minimum_purchase.apply(&mut fields.minimum_purchase);
        changes.applicable_ticket_types.apply(&mut fields.applicable_ticket_types);
        fields
    }
}

/// Checks a discount of an event whose currency has `decimals` decimals.
pub(crate) fn check(
    mut fields: DiscountFields,
    decimals: u8,
    mut errors: FieldErrors,
) -> Result<Checked<DiscountFields>> {
    text::check_text(&mut errors, "code", &fields.code, 3);
    text::check_at_most(&mut errors, "code", Some(&fields.code), 20);
    match fields.discount_type {
        // It stands in for a type that could not be read: nobody knows what the value is.
        _ if errors.covers("type") => errors.check(fields.value.minor() >= 0, "value", "must be at least 0"),
        DiscountType::Percentage => check_percentage(&mut errors, "value", fields.value),
        DiscountType::FixedAmount => fields.value = check_amount(&mut errors, "value", fields.value, decimals),
    }
    text::check_at_most(&mut errors, "description", fields.description.as_deref(), 255);
    if let Some(limit) = fields.usage_limit {
        errors.check(limit >= 1, "usageLimit", "must be at least 1");
        errors.check(limit <= MAX_QUANTITY, "usageLimit", format!("must be at most {MAX_QUANTITY}"));
    }
    errors.check(fields.valid_from < fields.valid_to, "validTo", "must be after validFrom");
    let minimum = fields.minimum_purchase;
    fields.minimum_purchase = minimum.map(|amount| check_amount(&mut errors, "minimumPurchase", amount, decimals));
    errors.into_result().map(|()| Checked(fields))
}

fn check_amount(errors: &mut FieldErrors, path: &str, amount: Amount, decimals: u8) -> Amount {
    Amount::new(money::check_price(errors, path, amount, decimals), decimals)
}

fn check_percentage(errors: &mut FieldErrors, path: &str, percent: Amount) {
    errors.check(percent.minor() >= 0, path, "must be at least 0");
    let whole = percent.minor() / 10_i64.pow(u32::from(percent.decimals()));
    errors.check(whole < 100 || percent == Amount::new(100, 0), path, "must be at most 100");
    let exact = percent.minor_with(PERCENT_DECIMALS).is_some();
    errors.check(exact, path, format!("must have at most {PERCENT_DECIMALS} decimals"));
}

pub(crate) fn check_list(request: ListDiscounts, mut errors: FieldErrors) -> Result<Checked<ListDiscounts>> {
    super::page::check(&mut errors, &request.page);
    text::check_optional(&mut errors, "code", request.code.as_deref(), 0);
    errors.into_result().map(|()| Checked(request))
}

/// A code, and the basket for which somebody asks about it.
#[derive(Debug, Clone)]
pub(crate) struct Basket {
    pub(crate) event: EventId,
    pub(crate) code: String,
    types: Vec<TicketTypeId>,
    full: OrderPrice,
    /// Of the event's currency.
    decimals: u8,
}

/// Checks a basket for an event whose currency has `decimals` decimals.
pub(crate) fn check_basket(
    request: ValidateDiscount,
    decimals: u8,
    mut errors: FieldErrors,
) -> Result<Checked<Basket>> {
    text::check_text(&mut errors, "code", &request.code, 1);
    money::check_total(&mut errors, "orderAmount", request.order_amount, decimals);
    let mut priced = Vec::with_capacity(request.ticket_items.len());
    for (index, item) in request.ticket_items.iter().enumerate() {
        errors.check(item.quantity >= 1, format!("ticketItems[{index}].quantity"), "must be at least 1");
        let price = money::check_price(&mut errors, &format!("ticketItems[{index}].price"), item.price, decimals);
        priced.push((price, item.quantity));
    }
    errors.into_result()?;
    let full = pricing::full_price(priced).ok_or_else(|| pricing::too_expensive("ticketItems"))?;
    let types = request.ticket_items.iter().map(|item| item.ticket_type_id).collect();
    Ok(Checked(Basket { event: request.event_id, code: request.code, types, full, decimals }))
}

/// Prices what costs the `full` price with a discount, or says why the discount does not apply. `types` are the ticket
/// types of its items.
pub(crate) fn apply(
    discount: &Discount,
    types: &[TicketTypeId],
    full: &OrderPrice,
    now: Timestamp,
) -> Result<OrderPrice, DiscountRefusal> {
    // Either may be long.
    let listed: BTreeSet<TicketTypeId> = discount.applicable_ticket_types.iter().copied().collect();
    let applies: Vec<bool> = types.iter().map(|of| listed.is_empty() || listed.contains(of)).collect();
    let refusals = [
        (!discount.is_active, DiscountRefusal::NotActive),
        (now < discount.valid_from, DiscountRefusal::NotYetValid),
        (now >= discount.valid_to, DiscountRefusal::Expired),
        (discount.usage_limit.is_some_and(|limit| discount.used_count >= limit), DiscountRefusal::UsedUp),
        (discount.minimum_purchase.is_some_and(|least| full.total < least.minor()), DiscountRefusal::BelowMinimum),
        (!applies.contains(&true), DiscountRefusal::NotApplicable),
    ];
    match refusals.into_iter().find(|(refused, _)| *refused) {
        Some((_, refusal)) => Err(refusal),
        None => Ok(pricing::reduce(full, discount.discount_type, discount.value, &applies)),
    }
}

/// A discount that applies, and the price with it.
#[derive(Debug, Clone)]
pub(crate) struct AppliedDiscount {
    pub(crate) discount: Discount,
    pub(crate) price: OrderPrice,
}

/// Chooses the discount that saves the most. Of equal ones it is the first. Returns `None` if none saves anything.
pub(crate) fn choose_best(
    discounts: Vec<Discount>,
    types: &[TicketTypeId],
    full: &OrderPrice,
    now: Timestamp,
) -> Option<AppliedDiscount> {
    let mut best: Option<AppliedDiscount> = None;
    for discount in discounts {
        let Ok(price) = apply(&discount, types, full, now) else { continue };
        let lowest = best.as_ref().map_or(full.total, |best| best.price.total);
        if price.total < lowest {
            best = Some(AppliedDiscount { discount, price });
        }
    }
    best
}

/// The answer about a basket, where `discount` is what the event has under its code.
pub(crate) fn validate(
    discount: Option<Discount>,
    basket: &Checked<Basket>,
    now: Timestamp,
) -> DiscountValidationResponse {
    let refused =
        |error, error_data| DiscountValidationResponse { valid: false, error: Some(error), discount: None, error_data };
    let Some(discount) = discount else { return refused(DiscountRefusal::NotFound, None) };
    match apply(&discount, &basket.types, &basket.full, now) {
        Ok(price) => DiscountValidationResponse {
            valid: true,
            error: None,
            discount: Some(ValidatedDiscount {
                id: discount.id,
                code: discount.code,
                discount_type: discount.discount_type,
                value: discount.value,
                applicable_ticket_types: discount.applicable_ticket_types,
                discounted_amount: Amount::new(price.discounted.unwrap_or(0), basket.decimals),
            }),
            error_data: None,
        },
        Err(refusal) => {
            let missed = discount.minimum_purchase.filter(|_| refusal == DiscountRefusal::BelowMinimum);
            refused(refusal, missed.map(|amount| DiscountErrorData { amount }))
        }
    }
}
