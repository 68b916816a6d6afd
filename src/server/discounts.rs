//! Discounts over HTTP.

use super::operation::{Answer, Call, Operation};
use super::problem::Problem;
use crate::model::scope::Scope::{DiscountsRead, DiscountsWrite};

pub(super) const OPERATIONS: [Operation; 6] = [
    Operation::get("/discounts", DiscountsRead, list),
    Operation::post("/discounts", DiscountsWrite, create),
    Operation::post("/discounts/validate", DiscountsRead, validate),
    Operation::get("/discounts/{discountId}", DiscountsRead, get),
    Operation::patch("/discounts/{discountId}", DiscountsWrite, update),
    Operation::delete("/discounts/{discountId}", DiscountsWrite, delete),
];

fn list(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.list_discounts(call.caller, call.query()?)?)
}

fn create(call: &Call<'_>) -> Result<Answer, Problem> {
    let discount = call.service.create_discount(call.caller, call.json()?)?;
    Ok(Answer::created(&discount)?.at("discounts", discount.id))
}

fn validate(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.validate_discount(call.caller, call.json()?)?)
}

fn get(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.get_discount(call.caller, call.id()?)?)
}

fn update(call: &Call<'_>) -> Result<Answer, Problem> {
    Answer::ok(&call.service.update_discount(call.caller, call.id()?, call.json()?)?)
}

fn delete(call: &Call<'_>) -> Result<Answer, Problem> {
    call.service.delete_discount(call.caller, call.id()?)?;
    Ok(Answer::nothing())
}
