//! What a Checkout Session says: the outcome of its payment, and in which mode of Stripe it is.

use serde_json::Value;

use crate::model::values::amount::Amount;
use crate::payment::{CheckoutState, GatewayPayment};
use crate::stripe::amounts;

/// Whether the text is an id of Stripe. Ids go into logs and paths.
pub(in crate::stripe) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.len() <= 255 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(in crate::stripe) fn is_session_id(text: &str) -> bool {
    text.starts_with("cs_") && is_plain(text)
}

/// Whether a session is one of live mode, by its id. `None` if the id does not tell.
pub(in crate::stripe) fn livemode(id: &str) -> Option<bool> {
    match id.split('_').nth(1) {
        Some("live") => Some(true),
        Some("test") => Some(false),
        _ => None,
    }
}

/// What must be expanded in a session, so that it tells the outcome of its payment.
pub(in crate::stripe) const EXPANDED: &str = "payment_intent.latest_charge";

/// What a session says of its payment. If its charge is [expanded](EXPANDED), a payment that failed later is told from
/// one that is not decided, and one that was refunded or disputed from one that was kept.
pub(in crate::stripe) fn state(session: &Value) -> CheckoutState {
    let text = |name: &str| session.get(name).and_then(Value::as_str);
    match (text("status"), text("payment_status")) {
        (_, Some("paid")) => match payment(session) {
            Some(payment) if charge_is(session, "refunded") => CheckoutState::Returned(payment),
            Some(payment) => CheckoutState::Paid(payment),
            None => CheckoutState::Unknown,
        },
        (Some("open"), _) => CheckoutState::Open,
        (Some("expired"), _) => CheckoutState::Closed,
        (Some("complete"), Some("unpaid")) => {
            let intent = session.pointer("/payment_intent/status").and_then(Value::as_str);
            match intent {
                Some("requires_payment_method" | "canceled") => CheckoutState::Closed,
                _ => CheckoutState::Processing,
            }
        }
        _ => CheckoutState::Unknown,
    }
}

fn charge_is(session: &Value, field: &str) -> bool {
    let charge = session.pointer("/payment_intent/latest_charge");
    charge.and_then(|charge| charge.get(field)?.as_bool()) == Some(true)
}

fn payment(session: &Value) -> Option<GatewayPayment> {
    let intent = id_of(session.get("payment_intent")?)?;
    let (amount, currency) = money(session, "amount_total")?;
    let payment = GatewayPayment::new(intent, amount, currency);
    Some(if charge_is(session, "disputed") { payment.disputed() } else { payment })
}

/// The amount in a field of an object, and the object's currency, in upper case.
pub(in crate::stripe) fn money(object: &Value, field: &str) -> Option<(Amount, String)> {
    let units = object.get(field)?.as_i64()?;
    let currency = object.get("currency")?.as_str()?.to_ascii_uppercase();
    Some((amounts::from_stripe(units, &currency)?, currency))
}

/// The id in a field that has an id, or an object if it is expanded.
pub(in crate::stripe) fn id_of(field: &Value) -> Option<&str> {
    field.as_str().or_else(|| field.get("id")?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_state_follows_from_the_statuses_of_session_and_payment() {
        let paid = json!({
            "status": "complete", "payment_status": "paid", "payment_intent": "pi_1", "amount_total": 1250,
            "currency": "eur", "anything": {"else": []},
        });
        let payment = GatewayPayment::new("pi_1", Amount::cents(1250), "EUR");
        assert_eq!(state(&paid), CheckoutState::Paid(payment.clone()));
        let mut expanded = paid.clone();
        expanded["payment_intent"] = json!({"id": "pi_1", "status": "succeeded"});
        assert_eq!(state(&expanded), CheckoutState::Paid(payment.clone()));
        for (charge, expected) in [
            (json!("ch_1"), CheckoutState::Paid(payment.clone())),
            (json!({"id": "ch_1", "refunded": false, "amount_refunded": 500}), CheckoutState::Paid(payment.clone())),
            (json!({"id": "ch_1", "refunded": true}), CheckoutState::Returned(payment.clone())),
            (json!({"id": "ch_1", "refunded": "yes"}), CheckoutState::Paid(payment.clone())),
            (json!({"id": "ch_1", "refunded": false, "disputed": true}), CheckoutState::Paid(payment.disputed())),
        ] {
            expanded["payment_intent"]["latest_charge"] = charge;
            assert_eq!(state(&expanded), expected, "{expanded}");
        }
        for (session, expected) in [
            (json!({"status": "open", "payment_status": "unpaid"}), CheckoutState::Open),
            (json!({"status": "expired", "payment_status": "unpaid"}), CheckoutState::Closed),
            (json!({"status": "complete", "payment_status": "unpaid"}), CheckoutState::Processing),
            (
                json!({"status": "complete", "payment_status": "unpaid", "payment_intent": {"status": "processing"}}),
                CheckoutState::Processing,
            ),
            (
                json!({
                    "status": "complete", "payment_status": "unpaid",
                    "payment_intent": {"status": "requires_payment_method"},
                }),
                CheckoutState::Closed,
            ),
            (json!({"status": "complete", "payment_status": "no_payment_required"}), CheckoutState::Unknown),
            (json!({"status": "complete", "payment_status": "paid"}), CheckoutState::Unknown),
            (json!({"status": "new"}), CheckoutState::Unknown),
            (json!([]), CheckoutState::Unknown),
        ] {
            assert_eq!(state(&session), expected, "{session}");
        }
    }

    #[test]
    fn only_ids_of_sessions_are_put_into_paths() {
        assert!(is_session_id("cs_test_a1Ae6ClgOkjygKwrf9B3L6ITtUuZW4Xx9FivL6DZYoYFdfAefQxsYpJJd3"));
        for text in ["", "cs", "pi_1", "cs_1/expire", "cs_../x", "cs_1?x=1", "cs_ü", "sandbox_cs_1"] {
            assert!(!is_session_id(text), "{text}");
        }
    }

    #[test]
    fn the_id_of_a_session_tells_its_mode() {
        for (id, expected) in
            [("cs_live_a1", Some(true)), ("cs_test_a1", Some(false)), ("cs_a1", None), ("cs_alive_", None)]
        {
            assert_eq!(livemode(id), expected, "{id}");
        }
    }
}
