//! Disputes at Stripe.

use serde_json::Value;

use super::client::{Call, Client};
use super::failure::Failure;
use super::form::Form;
use super::refunds::payment_of;
use super::session_state::{is_plain, money};
use crate::model::amount::Amount;
use crate::payment::{DisputeStatus, GatewayDispute};

/// Whether the customer has the money back. A dispute that was prevented is decided before the bank has opened it: its case
/// was blocked, and the payment is kept, or it was resolved, which means that the payment was refunded.
pub(super) fn status(dispute: &Value) -> DisputeStatus {
    let case = dispute.pointer("/payment_method_details/card/case_type").and_then(Value::as_str);
    match dispute.get("status").and_then(Value::as_str) {
        Some("won" | "warning_closed") => DisputeStatus::Won,
        Some("prevented") if case == Some("block") => DisputeStatus::Won,
        Some("lost" | "prevented") => DisputeStatus::Lost,
        _ => DisputeStatus::Open,
    }
}

/// A dispute for the service. `None` if it has no id, amount or currency.
pub(super) fn report(dispute: &Value) -> Option<GatewayDispute> {
    let text = |name: &str| dispute.get(name).and_then(Value::as_str).filter(|text| is_plain(text));
    let (amount, currency) = money(dispute, "amount")?;
    let mut report = GatewayDispute::new(text("id")?, amount, currency)
        .reason(text("reason").unwrap_or("general"))
        .status(status(dispute))
        .taken(taken(dispute, amount));
    report.payment_reference = payment_of(dispute).filter(|id| is_plain(id)).map(str::to_owned);
    Some(report)
}

/// What Stripe has taken for a dispute and has not given back. It takes the amount of a dispute when it begins, except of an
/// inquiry and of one that was prevented, and gives it back if the dispute is won.
fn taken(dispute: &Value, amount: Amount) -> Amount {
    match dispute.get("status").and_then(Value::as_str) {
        Some("won" | "prevented") => Amount::ZERO,
        Some(status) if status.starts_with("warning_") => Amount::ZERO,
        _ => amount,
    }
}

/// The disputes of a payment.
pub(super) fn of_payment(
    client: &Client,
    account: Option<&str>,
    payment: &str,
) -> Result<Vec<GatewayDispute>, Failure> {
    let mut form = Form::default();
    form.add("payment_intent", payment);
    form.add("limit", 100);
    let list = client.get(&Call { path: "disputes", form, account, ..Call::default() })?.body;
    let disputes = list.get("data").and_then(Value::as_array);
    let disputes = disputes.ok_or_else(|| Failure::Unexpected("it is not a list of disputes".to_owned()))?;
    disputes.iter().map(|dispute| report(dispute).ok_or_else(no_dispute)).collect()
}

/// The dispute with this id.
pub(super) fn find(client: &Client, account: Option<&str>, id: &str) -> Result<GatewayDispute, Failure> {
    let path = format!("disputes/{id}");
    let dispute = client.get(&Call { path: &path, account, ..Call::default() })?.body;
    report(&dispute).ok_or_else(no_dispute)
}

fn no_dispute() -> Failure {
    Failure::Unexpected("it is not a dispute".to_owned())
}

/// Whether a bank has taken a payment back for good.
pub(super) fn is_lost(client: &Client, account: Option<&str>, payment: &str) -> Result<bool, Failure> {
    let disputes = of_payment(client, account, payment)?;
    Ok(disputes.iter().any(|dispute| dispute.status == DisputeStatus::Lost))
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
}
