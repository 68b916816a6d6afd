//! Operations on discounts.

use super::operation::Operation;
use crate::enums::scope::Scope::{DiscountsRead, DiscountsWrite};
use crate::error::Reason::{CodeTaken, InUse, LimitReached};
use crate::form::request::Request;
use crate::model::sale::discount::{CreateDiscount, ListDiscounts, UpdateDiscount, ValidateDiscount};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list("list_discounts", "/discounts", DiscountsRead, |call, request: ListDiscounts| {
            call.service.list_discounts(call.caller, request)
        })
        .docs("List discounts", "Newest first."),
        Operation::create(
            "create_discount",
            "/discounts",
            DiscountsWrite,
            |call, request: Request<CreateDiscount>| call.service.create_discount(call.keyed, request),
            |discount| format!("discounts/{}", discount.id),
        )
        .docs("Create a discount", "At most 20 automatic discounts of an event may be enabled.")
        .conflicts(&[CodeTaken, LimitReached]),
        Operation::action(
            "validate_discount",
            "/discounts/validate",
            DiscountsRead,
            |call, request: Request<ValidateDiscount>| call.service.validate_discount(call.keyed, request),
        )
        .docs(
            "Validate a discount code",
            "Calculates what a code takes off a basket, without using the discount. If the code does not apply, the \
             response is 200 too, and `error` says why.",
        ),
        Operation::get_with_etag("get_discount", "/discounts/{discountId}", DiscountsRead, |call| {
            call.service.get_discount(call.caller, call.id())
        })
        .docs("Get a discount", ""),
        Operation::update(
            "update_discount",
            "/discounts/{discountId}",
            DiscountsWrite,
            |call, changes: Request<UpdateDiscount>| call.service.update_discount(call.conditional, call.id(), changes),
        )
        .docs("Update a discount", "Absent fields keep their value. Existing orders keep their discount.")
        .conflicts(&[CodeTaken, LimitReached]),
        Operation::delete("delete_discount", "/discounts/{discountId}", DiscountsWrite, |call| {
            call.service.delete_discount(call.conditional, call.id())
        })
        .docs("Delete a discount", "A discount that was ever used by an order cannot be deleted.")
        .conflicts(&[InUse]),
    ]
}
