//! Disputes at Stripe.

use serde_json::Value;

use super::refunds_of_payment::payment_of;
use super::session_state::{is_plain, money};
use crate::model::values::amount::Amount;
use crate::payment::{DisputeStatus, GatewayDispute};
use crate::stripe::amounts;
use crate::stripe::api::client::Client;
use crate::stripe::api::failure::Failure;
use crate::stripe::api::form::Form;

/// Whether the customer has the money back. A dispute that was prevented is decided before the bank has opened it: its
/// case was blocked, and the payment is kept, or it was resolved, which means that the payment was refunded.
pub(in crate::stripe) fn status(dispute: &Value) -> DisputeStatus {
    let case = dispute.pointer("/payment_method_details/card/case_type").and_then(Value::as_str);
    match dispute.get("status").and_then(Value::as_str) {
        Some("won" | "warning_closed") => DisputeStatus::Won,
        Some("prevented") if case == Some("block") => DisputeStatus::Won,
        Some("lost" | "prevented") => DisputeStatus::Lost,
        _ => DisputeStatus::Open,
    }
}

/// A dispute for the service. `None` if it has no id, amount or currency.
pub(in crate::stripe) fn report(dispute: &Value) -> Option<GatewayDispute> {
    let text = |name: &str| dispute.get(name).and_then(Value::as_str).filter(|text| is_plain(text));
    let (amount, currency) = money(dispute, "amount")?;
    let mut report = GatewayDispute::new(text("id")?, amount, currency)
        .reason(text("reason").unwrap_or("general"))
        .status(status(dispute))
        .taken(taken(dispute, amount));
    report.payment_reference = payment_of(dispute).filter(|id| is_plain(id)).map(str::to_owned);
    Some(report)
}

/// What Stripe has taken for a dispute and has not given back, out of the amount of the dispute.
///
/// A dispute lists its withdrawal and what was reinstated. A dispute that is lost may be [won in
/// part](https://support.stripe.com/questions/dispute-for-full-charge-amount-after-a-partial-refund-was-issued).
/// Without the list, Stripe has taken the amount, except for an inquiry, a dispute that was prevented, and one that was
/// won.
fn taken(dispute: &Value, amount: Amount) -> Amount {
    if let Some(movements) = dispute.get("balance_transactions").and_then(Value::as_array) {
        return withdrawn(dispute, movements, amount);
    }
    match dispute.get("status").and_then(Value::as_str) {
        Some("won" | "prevented") => Amount::ZERO,
        Some(status) if status.starts_with("warning_") => Amount::ZERO,
        _ => amount,
    }
}

/// What these balance transactions have taken. They are in the currency of the account's balance: if it is another one
/// than that of the dispute, all that is known is whether anything is taken.
fn withdrawn(dispute: &Value, movements: &[Value], amount: Amount) -> Amount {
    let units = |movement: &Value| movement.get("amount").and_then(Value::as_i64).unwrap_or(0);
    let taken = movements.iter().map(units).fold(0, i64::saturating_sub);
    if taken <= 0 {
        return Amount::ZERO;
    }
    let currency = dispute.get("currency").and_then(Value::as_str).unwrap_or_default();
    if movements.iter().any(|movement| movement.get("currency").and_then(Value::as_str) != Some(currency)) {
        return amount;
    }
    amounts::from_stripe(taken, currency).map_or(amount, |taken| taken.min(amount))
}

/// The disputes of a payment.
pub(in crate::stripe) fn of_payment(client: &Client, payment: &str) -> Result<Vec<GatewayDispute>, Failure> {
    client.list_all("disputes", Form::default().with("payment_intent", payment), |dispute| {
        report(dispute).ok_or_else(|| Failure::Unexpected("it is not a dispute".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Stripe's pages "Dispute prevention" and "The Dispute object".
    #[test]
    fn a_prevented_dispute_is_won_only_if_it_was_blocked() {
        let prevented = |case: &str| {
            let dispute = json!({"status": "prevented", "payment_method_details": {"card": {"case_type": case}}});
            status(&dispute)
        };
        assert_eq!(prevented("block"), DisputeStatus::Won);
        assert_eq!(prevented("resolution"), DisputeStatus::Lost);
        assert_eq!(status(&json!({"status": "prevented"})), DisputeStatus::Lost);
        for (word, expected) in [
            ("won", DisputeStatus::Won),
            ("warning_closed", DisputeStatus::Won),
            ("lost", DisputeStatus::Lost),
            ("needs_response", DisputeStatus::Open),
            ("under_review", DisputeStatus::Open),
            ("warning_needs_response", DisputeStatus::Open),
            ("warning_under_review", DisputeStatus::Open),
            ("appeal_needs_response", DisputeStatus::Open),
            ("appeal_under_review", DisputeStatus::Open),
        ] {
            assert_eq!(status(&json!({"status": word})), expected, "{word}");
        }
    }

    /// Stripe's pages "The Dispute object", "How disputes work", and the one on disputes of payments that were refunded
    /// in part.
    #[test]
    fn what_is_taken_follows_from_the_balance_transactions_else_from_the_status() {
        let taken = |status: &str, movements: Value| {
            let mut dispute = json!({"id": "du_1", "amount": 2500, "currency": "eur", "status": status});
            if !movements.is_null() {
                dispute["balance_transactions"] = movements;
            }
            report(&dispute).expect("a dispute").taken
        };
        let euros = |amounts: &[i64]| {
            amounts.iter().map(|amount| json!({"amount": amount, "currency": "eur", "fee": 2000})).collect::<Value>()
        };
        for (status, movements, expected) in [
            ("needs_response", euros(&[-2500]), 2500),
            // The funds are withdrawn later, or never, because the payment was refunded.
            ("needs_response", json!([]), 0),
            ("warning_needs_response", json!([]), 0),
            ("won", euros(&[-2500, 2500]), 0),
            ("lost", euros(&[-2500]), 2500),
            ("lost", euros(&[-2500, 1000]), 1500),
            ("lost", euros(&[]), 0),
            // 25.00 EUR of an account in dollars.
            ("lost", json!([{"amount": -2712, "currency": "usd"}]), 2500),
            ("won", json!([{"amount": -2712, "currency": "usd"}, {"amount": 2712, "currency": "usd"}]), 0),
            ("needs_response", Value::Null, 2500),
            ("under_review", Value::Null, 2500),
            ("lost", Value::Null, 2500),
            ("won", Value::Null, 0),
            ("warning_under_review", Value::Null, 0),
            ("prevented", Value::Null, 0),
        ] {
            assert_eq!(taken(status, movements.clone()), Amount::cents(expected), "{status} {movements}");
        }
    }
}
