//! What the customer does on the payment page, and the PaymentIntents and charges that result.

use serde_json::{Value, json};

use super::balance;
use super::state::{State, Stored};

/// Payment methods that report the outcome later, often days later:
/// <https://docs.stripe.com/payments/payment-methods/payment-method-support>, "delayed notification".
pub const DELAYED_METHODS: &[&str] = &[
    "acss_debit",
    "au_becs_debit",
    "bacs_debit",
    "boleto",
    "customer_balance",
    "konbini",
    "multibanco",
    "nz_bank_account",
    "oxxo",
    "pay_by_bank",
    "payto",
    "sepa_debit",
    "sofort",
    "us_bank_account",
];

/// Why a customer cannot pay on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotPayable {
    NoSuchSession,
    /// The session is complete or expired.
    Ended(String),
    /// The page does not offer this payment method.
    NotOffered,
}

/// The customer pays with a card. Returns the id of the PaymentIntent.
pub fn pay(state: &mut State, session: &str) -> Result<String, NotPayable> {
    check_open(state, session)?;
    let intent = create_intent(state, session);
    succeed(state, &intent);
    let fields = json!({ "status": "complete", "payment_status": "paid", "payment_intent": intent, "url": null });
    complete(state, session, &fields);
    Ok(intent)
}

/// The customer's card is declined. The session stays open.
pub fn decline(state: &mut State, session: &str) -> Result<String, NotPayable> {
    check_open(state, session)?;
    let intent = create_intent(state, session);
    fail(state, &intent, "card_declined");
    Ok(intent)
}

/// The customer pays with a method whose outcome comes later.
pub fn pay_later(state: &mut State, session: &str, method: &str) -> Result<String, NotPayable> {
    check_open(state, session)?;
    let excluded = &state.get(session).value["excluded_payment_method_types"];
    if excluded.as_array().is_some_and(|excluded| excluded.iter().any(|excluded| excluded == method)) {
        return Err(NotPayable::NotOffered);
    }
    let intent = create_intent(state, session);
    state.change(&intent, &json!({ "status": "processing" }));
    state.emit("payment_intent.processing", &intent);
    complete(state, session, &json!({ "status": "complete", "payment_intent": intent, "url": null }));
    Ok(intent)
}

/// A payment that was delayed succeeds or fails.
pub fn settle_later(state: &mut State, session: &str, is_paid: bool) {
    let intent = state.text(session, "payment_intent");
    assert_eq!(state.text(&intent, "status"), "processing", "{session} waits for no payment");
    if is_paid {
        succeed(state, &intent);
        state.change(session, &json!({ "payment_status": "paid" }));
        state.emit("checkout.session.async_payment_succeeded", session);
    } else {
        fail(state, &intent, "generic_decline");
        state.emit("checkout.session.async_payment_failed", session);
    }
}

fn check_open(state: &State, session: &str) -> Result<(), NotPayable> {
    let stored = state.find(session).filter(|stored| stored.hidden["unheard"].is_null());
    let Some(stored) = stored else { return Err(NotPayable::NoSuchSession) };
    match stored.value["status"].as_str() {
        Some("open") => Ok(()),
        status => Err(NotPayable::Ended(status.unwrap_or_default().to_owned())),
    }
}

/// Creates the PaymentIntent of a session, or returns the one of an earlier attempt, which is over what the session is over
/// now.
fn create_intent(state: &mut State, session: &str) -> String {
    let stored = state.get(session);
    if let Some(existing) = stored.hidden["intent"].as_str().map(str::to_owned) {
        let fields = json!({ "amount": stored.value["amount_total"], "currency": stored.value["currency"] });
        state.change(&existing, &fields);
        return existing;
    }
    let id = state.new_id("pi_3", 24);
    let stored = state.get(session);
    let (account, value, data) = (stored.account.clone(), &stored.value, &stored.hidden["payment_intent_data"]);
    let intent = json!({
        "id": id,
        "object": "payment_intent",
        "amount": value["amount_total"],
        "amount_received": 0,
        "application_fee_amount": data["application_fee_amount"],
        "canceled_at": null,
        "created": state.now_seconds(),
        "currency": value["currency"],
        "description": data["description"],
        "last_payment_error": null,
        "latest_charge": null,
        "livemode": false,
        "metadata": data["metadata"],
        "status": "requires_payment_method",
    });
    state.insert(Stored { account, value: intent, hidden: Value::Null });
    state.hide(session, "intent", &id);
    state.emit("payment_intent.created", &id);
    id
}

fn succeed(state: &mut State, intent: &str) {
    let charge = create_charge(state, intent, "succeeded");
    let amount = state.number(intent, "amount");
    // A connected account pays the application fee together with that of Stripe.
    let fee = balance::payment_fee(amount) + state.number(intent, "application_fee_amount");
    let transaction = balance::change(state, &charge, "charge", amount, fee);
    state.change(&charge, &json!({ "balance_transaction": transaction["id"] }));
    state.change(intent, &json!({ "status": "succeeded", "amount_received": amount, "latest_charge": charge }));
    state.emit("charge.succeeded", &charge);
    state.emit("payment_intent.succeeded", intent);
}

fn fail(state: &mut State, intent: &str, code: &str) {
    let charge = create_charge(state, intent, "failed");
    let error = json!({ "type": "card_error", "code": code, "message": "Your card was declined." });
    let fields = json!({ "status": "requires_payment_method", "last_payment_error": error, "latest_charge": charge });
    state.change(intent, &fields);
    state.emit("charge.failed", &charge);
    state.emit("payment_intent.payment_failed", intent);
}

fn create_charge(state: &mut State, intent: &str, status: &str) -> String {
    let id = state.new_id("ch_3", 24);
    let stored = state.get(intent);
    let (account, value) = (stored.account.clone(), &stored.value);
    let charge = json!({
        "id": id,
        "object": "charge",
        "amount": value["amount"],
        "amount_captured": if status == "succeeded" { value["amount"].clone() } else { 0.into() },
        "amount_refunded": 0,
        "balance_transaction": null,
        "captured": status == "succeeded",
        "created": state.now_seconds(),
        "currency": value["currency"],
        "disputed": false,
        "livemode": false,
        // A charge has the metadata of its PaymentIntent at the time of the payment.
        "metadata": value["metadata"],
        "paid": status == "succeeded",
        "payment_intent": intent,
        "payment_method_details": { "type": "card", "card": { "brand": "visa", "last4": "4242" } },
        "refunded": false,
        "status": status,
    });
    state.insert(Stored { account, value: charge, hidden: Value::Null });
    id
}

fn complete(state: &mut State, session: &str, fields: &Value) {
    let email = state.get(session).value["customer_email"].as_str().unwrap_or("jenny.rosen@example.com").to_owned();
    state.change(session, fields);
    state.change(session, &json!({ "customer_details": { "email": email, "name": "Jenny Rosen" } }));
    state.emit("checkout.session.completed", session);
}
