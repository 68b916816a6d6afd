//! Disputes: a cardholder asks the bank for the money back.

use serde_json::{Value, json};

use super::balance;
use super::state::{State, Stored};

/// What Stripe charges for a dispute, in cents.
const FEE: i64 = 2000;

/// The cardholder disputes a payment, or this part of what is left of it. Returns the id of the dispute.
pub fn open(state: &mut State, intent: &str, amount: Option<i64>) -> String {
    let id = create(state, intent, amount, "needs_response");
    state.emit("charge.dispute.created", &id);
    withdraw(state, &id);
    id
}

/// The bank only asks questions, and takes no money. The payment can still be refunded. Returns the id of the dispute.
pub fn inquire(state: &mut State, intent: &str) -> String {
    let id = create(state, intent, None, "warning_needs_response");
    state.emit("charge.dispute.created", &id);
    id
}

/// An inquiry becomes a dispute that takes the money.
pub fn escalate(state: &mut State, id: &str) {
    state.change(id, &json!({ "status": "needs_response", "is_charge_refundable": false }));
    state.emit_change("charge.dispute.updated", id, &json!({ "status": "warning_needs_response" }));
    withdraw(state, id);
}

/// The bank changes the amount of a dispute, and Stripe gives the difference back.
pub fn change(state: &mut State, id: &str, amount: i64) {
    let before = state.number(id, "amount");
    state.change(id, &json!({ "amount": amount }));
    move_money(state, id, before - amount, 0);
    state.emit_change("charge.dispute.updated", id, &json!({ "amount": before }));
}

/// The dispute ends, and Stripe gives this part of the amount back: all of it if the organizer has won, and maybe some
/// of it otherwise.
pub fn close(state: &mut State, id: &str, is_won: bool, returned: i64) {
    let is_inquiry = state.text(id, "status").starts_with("warning_");
    let status = match (is_inquiry, is_won) {
        (true, _) => "warning_closed",
        (false, true) => "won",
        (false, false) => "lost",
    };
    state.change(id, &json!({ "status": status, "is_charge_refundable": is_inquiry || is_won }));
    if !is_inquiry && returned > 0 {
        move_money(state, id, returned, 0);
        state.emit("charge.dispute.funds_reinstated", id);
    }
    state.emit("charge.dispute.closed", id);
}

fn create(state: &mut State, intent: &str, amount: Option<i64>, status: &str) -> String {
    let charge = state.text(intent, "latest_charge");
    let id = state.new_id("du_1", 24);
    let left = state.number(&charge, "amount") - state.number(&charge, "amount_refunded");
    let dispute = json!({
        "id": id,
        "object": "dispute",
        "amount": amount.unwrap_or(left),
        "balance_transactions": [],
        "charge": charge,
        "created": state.now_seconds(),
        "currency": state.text(&charge, "currency"),
        "is_charge_refundable": status.starts_with("warning_"),
        "livemode": false,
        "metadata": {},
        "payment_intent": intent,
        "reason": "fraudulent",
        "status": status,
    });
    let account = state.get(&charge).account.clone();
    state.insert(Stored { account, value: dispute, hidden: Value::Null });
    state.change(&charge, &json!({ "disputed": true }));
    id
}

fn withdraw(state: &mut State, id: &str) {
    let amount = state.number(id, "amount");
    move_money(state, id, -amount, FEE);
    state.emit("charge.dispute.funds_withdrawn", id);
}

/// Adds a balance transaction to a dispute.
fn move_money(state: &mut State, id: &str, amount: i64, fee: i64) {
    let transaction = balance::change(state, id, "adjustment", amount, fee);
    let mut transactions = state.get(id).value["balance_transactions"].clone();
    transactions.as_array_mut().expect("a list").push(transaction);
    state.change(id, &json!({ "balance_transactions": transactions }));
}
