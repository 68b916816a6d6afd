//! Refunds: `POST /v1/refunds`, and those that somebody makes in Stripe's dashboard.

use serde_json::{Value, json};

use super::answers::{Answer, Answered};
use super::balance;
use super::currencies;
use super::form::Reader;
use super::state::{State, Stored};

pub fn create(state: &mut State, account: Option<&str>, params: &Reader<'_>) -> Answered {
    let charge = match (params.text("payment_intent")?, params.text("charge")?) {
        (Some(_), Some(_)) => return Err(params.invalid("charge", "Pass payment_intent or charge, not both.")),
        (None, None) => {
            let message = "One of the following params should be provided for this request: payment_intent or charge.";
            return Err(Answer::invalid(message, None, None));
        }
        (Some(intent), None) => {
            let found = state
                .find(intent)
                .filter(|found| found.account.as_deref() == account && found.value["object"] == "payment_intent");
            let intent_value = &found.ok_or_else(|| Answer::missing("payment_intent", intent, "payment_intent"))?.value;
            let charge = intent_value["latest_charge"].as_str().filter(|_| intent_value["status"] == "succeeded");
            let message = format!("This PaymentIntent ({intent}) does not have a successful charge to refund.");
            charge.ok_or_else(|| Answer::refused(message, Some("payment_intent"), None))?.to_owned()
        }
        (None, Some(charge)) => {
            let found = state.find(charge).filter(|found| found.account.as_deref() == account);
            found.ok_or_else(|| Answer::missing("charge", charge, "charge"))?.id()
        }
    };
    let amount = params.integer("amount")?;
    let metadata = params.metadata("metadata")?;
    let reason = params.word("reason", &["duplicate", "fraudulent", "requested_by_customer"])?;
    if params.boolean("refund_application_fee")? == Some(true) {
        let intent = state.text(&charge, "payment_intent");
        if state.number(&intent, "application_fee_amount") == 0 {
            let message = "You cannot refund an application fee on a charge that has none.";
            return Err(Answer::refused(message, Some("refund_application_fee"), None));
        }
    }
    params.boolean("reverse_transfer")?;
    super::api::check_expand(params, &["charge", "payment_intent"])?;
    params.finish()?;
    refund(state, &charge, amount, metadata, reason)
}

/// Refunds a charge, or what is left of it.
pub fn refund(state: &mut State, charge: &str, amount: Option<i64>, metadata: Value, reason: Option<&str>) -> Answered {
    let currency = state.text(charge, "currency");
    let left = state.number(charge, "amount") - state.number(charge, "amount_refunded");
    if left == 0 {
        let message = format!("Charge {charge} has already been refunded.");
        return Err(Answer::refused(message, None, Some("charge_already_refunded")));
    }
    let taken = state.all("dispute").filter(|dispute| dispute["charge"] == charge);
    let taken: Vec<i64> = taken
        .filter(|dispute| dispute["is_charge_refundable"] == false)
        .filter_map(|dispute| dispute["amount"].as_i64())
        .collect();
    let left = left - if state.refunds_undisputed_rest { taken.iter().sum() } else { 0 };
    if left <= 0 || !(taken.is_empty() || state.refunds_undisputed_rest) {
        let message = format!("Charge {charge} has been charged back; cannot issue a refund.");
        return Err(Answer::refused(message, None, Some("charge_disputed")));
    }
    let amount = amount.unwrap_or(left);
    currencies::check(&currency, amount, "amount")?;
    if amount == 0 {
        let code = Some("parameter_invalid_integer");
        return Err(Answer::invalid("This value must be greater than or equal to 1.", Some("amount"), code));
    }
    if amount > left {
        let message =
            format!("Refund amount ({amount} {currency}) is greater than unrefunded amount on charge ({left})");
        return Err(Answer::refused(message, Some("amount"), None));
    }
    let id = state.new_id("re_3", 24);
    let refund = json!({
        "id": id,
        "object": "refund",
        "amount": amount,
        "balance_transaction": null,
        "charge": charge,
        "created": state.now_seconds(),
        "currency": currency,
        "destination_details": { "type": "card" },
        "metadata": metadata,
        "payment_intent": state.text(charge, "payment_intent"),
        "reason": reason,
        "status": state.refund_status,
    });
    let account = state.get(charge).account.clone();
    state.insert(Stored { account, value: refund, hidden: Value::Null });
    // The money leaves the balance when it is known where it goes.
    if state.refund_status != "requires_action" {
        take_from_balance(state, &id);
    }
    set_refunded(state, charge, amount);
    // The refunds of a charge are not in it: since the version 2022-11-15 they have to be listed.
    state.emit("refund.created", &id);
    state.emit("charge.refunded", charge);
    Ok(state.get(&id).value.clone())
}

/// A refund is canceled before it is sent. There is no `refund.failed`: <https://docs.stripe.com/refunds>.
pub fn cancel(state: &mut State, id: &str) {
    let (charge, previous) = (state.text(id, "charge"), state.text(id, "status"));
    state.change(id, &json!({ "status": "canceled" }));
    return_to_balance(state, id);
    let amount = state.number(id, "amount");
    set_refunded(state, &charge, -amount);
    for kind in ["refund.updated", "charge.refund.updated"] {
        state.emit_change(kind, id, &json!({ "status": previous }));
    }
}

/// Forgets a refund: no list has it, no notice tells it, and the charge has its money again.
pub fn remove(state: &mut State, id: &str) {
    let charge = state.text(id, "charge");
    let amount = state.number(id, "amount");
    set_refunded(state, &charge, -amount);
    state.change(id, &json!({ "object": "removed.refund", "charge": null, "payment_intent": null }));
}

/// The money of a refund has arrived.
pub fn succeed(state: &mut State, id: &str) {
    let previous = state.text(id, "status");
    state.change(id, &json!({ "status": "succeeded" }));
    if state.text(id, "balance_transaction").is_empty() {
        take_from_balance(state, id);
    }
    for kind in ["refund.updated", "charge.refund.updated"] {
        state.emit_change(kind, id, &json!({ "status": previous }));
    }
}

/// A refund fails after it was accepted: the money is back on the account.
pub fn fail(state: &mut State, id: &str, reason: &str) {
    let (charge, previous) = (state.text(id, "charge"), state.text(id, "status"));
    state.change(id, &json!({ "status": "failed", "failure_reason": reason }));
    return_to_balance(state, id);
    let amount = state.number(id, "amount");
    set_refunded(state, &charge, -amount);
    let previous = json!({ "status": previous, "failure_reason": null });
    for kind in ["refund.updated", "charge.refund.updated"] {
        state.emit_change(kind, id, &previous);
    }
    state.emit("refund.failed", id);
}

fn take_from_balance(state: &mut State, id: &str) {
    let amount = state.number(id, "amount");
    let transaction = balance::change(state, id, "refund", -amount, 0);
    state.change(id, &json!({ "balance_transaction": transaction["id"] }));
}

/// "If a refund fails or you cancel it, the amount of the refund returns to your Stripe balance."
fn return_to_balance(state: &mut State, id: &str) {
    if state.text(id, "balance_transaction").is_empty() {
        return;
    }
    let amount = state.number(id, "amount");
    let transaction = balance::change(state, id, "refund_failure", amount, 0);
    state.change(id, &json!({ "failure_balance_transaction": transaction["id"] }));
}

fn set_refunded(state: &mut State, charge: &str, change: i64) {
    let refunded = state.number(charge, "amount_refunded") + change;
    let is_whole = refunded == state.number(charge, "amount");
    state.change(charge, &json!({ "amount_refunded": refunded, "refunded": is_whole }));
}
