//! Disputes at Stripe.

use serde_json::Value;

use super::client::{Call, Client};
use super::failure::Failure;
use super::form::Form;
use crate::payment::DisputeStatus;

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

/// Whether a bank has taken a payment back for good.
pub(super) fn is_lost(client: &Client, account: Option<&str>, payment: &str) -> Result<bool, Failure> {
    let mut form = Form::default();
    form.add("payment_intent", payment);
    form.add("limit", 100);
    let list = client.get(&Call { path: "disputes", form, account, ..Call::default() })?.body;
    let disputes = list.get("data").and_then(Value::as_array);
    let disputes = disputes.ok_or_else(|| Failure::Unexpected("it is not a list of disputes".to_owned()))?;
    Ok(disputes.iter().any(|dispute| status(dispute) == DisputeStatus::Lost))
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
