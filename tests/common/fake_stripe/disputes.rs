//! Disputes: a cardholder asks the bank for the money back.

use serde_json::{Value, json};

use super::state::{State, Stored};

/// The cardholder disputes a payment. Returns the id of the dispute.
pub fn open(state: &mut State, intent: &str, reason: &str) -> String {
    let charge = state.text(intent, "latest_charge");
    let id = state.new_id("du_1", 24);
    let left = state.number(&charge, "amount") - state.number(&charge, "amount_refunded");
    let dispute = json!({
        "id": id,
        "object": "dispute",
        "amount": left,
        "charge": charge,
        "created": state.now_seconds(),
        "currency": state.text(&charge, "currency"),
        "is_charge_refundable": false,
        "livemode": false,
        "metadata": {},
        "payment_intent": intent,
        "reason": reason,
        "status": "needs_response",
    });
    let account = state.get(&charge).account.clone();
    state.insert(Stored { account, value: dispute, hidden: Value::Null });
    state.change(&charge, &json!({ "disputed": true }));
    state.emit("charge.dispute.created", &id);
    state.emit("charge.dispute.funds_withdrawn", &id);
    id
}

/// The dispute ends: the organizer has won or lost.
pub fn close(state: &mut State, id: &str, is_won: bool) {
    state.change(id, &json!({ "status": if is_won { "won" } else { "lost" } }));
    if is_won {
        state.emit("charge.dispute.funds_reinstated", id);
    }
    state.emit("charge.dispute.closed", id);
}
