//! Operations on discounts.

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{DiscountsRead, DiscountsWrite};
use crate::error::Reason::{CodeTaken, InUse, LimitReached};
use crate::model::sale::discount::{CreateDiscount, ListDiscounts, UpdateDiscount, ValidateDiscount};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_discounts::<ListDiscounts>(caller), "/discounts", DiscountsRead)
            .docs("List discounts", "Newest first."),
        operation!(create, create_discount::<CreateDiscount>(keyed), "/discounts", DiscountsWrite, |discount| {
            &discount.id
        })
        .docs("Create a discount", "At most 20 automatic discounts of an event may be enabled.")
        .conflicts(&[CodeTaken, LimitReached]),
        operation!(action, validate_discount::<ValidateDiscount>(keyed), "/discounts/validate", DiscountsRead).docs(
            "Validate a discount code",
            "Calculates what a code takes off a basket, without using the discount. If the code does not apply, \
             the response is 200 too, and `error` says why.",
        ),
        operation!(get_with_etag, get_discount(caller, id), "/discounts/{discountId}", DiscountsRead)
            .docs("Get a discount", ""),
        operation!(
            update,
            update_discount::<UpdateDiscount>(conditional, id),
            "/discounts/{discountId}",
            DiscountsWrite
        )
        .docs("Update a discount", "Absent fields keep their value. Existing orders keep their discount.")
        .conflicts(&[CodeTaken, LimitReached]),
        operation!(delete, delete_discount(conditional, id), "/discounts/{discountId}", DiscountsWrite)
            .docs("Delete a discount", "A discount that was ever used by an order cannot be deleted.")
            .conflicts(&[InUse]),
    ]
}
