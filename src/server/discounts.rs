//! Discounts over HTTP.

use super::operation::Operation;
use crate::form::request::Request;
use crate::model::discount::{CreateDiscount, ListDiscounts, UpdateDiscount, ValidateDiscount};
use crate::model::scope::Scope::{DiscountsRead, DiscountsWrite};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::list(("list_discounts", "/discounts", DiscountsRead), |call, request: Request<ListDiscounts>| {
            call.service.list_discounts(call.caller, request)
        }),
        Operation::create(
            ("create_discount", "/discounts", DiscountsWrite),
            |call, request: Request<CreateDiscount>| call.service.create_discount(call.caller, request),
            |discount| format!("discounts/{}", discount.id),
        ),
        Operation::act(
            ("validate_discount", "/discounts/validate", DiscountsRead),
            |call, request: Request<ValidateDiscount>| call.service.validate_discount(call.caller, request),
        ),
        Operation::get_revised(("get_discount", "/discounts/{discountId}", DiscountsRead), |call| {
            call.service.get_discount(call.caller, call.id())
        }),
        Operation::update(
            ("update_discount", "/discounts/{discountId}", DiscountsWrite),
            |call, changes: Request<UpdateDiscount>| call.service.update_discount(call.caller, call.id(), changes),
        ),
        Operation::delete(("delete_discount", "/discounts/{discountId}", DiscountsWrite), |call| {
            call.service.delete_discount(call.caller, call.id())
        }),
    ]
}
