//! The names of payment gateways, and which gateway is asked about a checkout or a payment.

use crate::model::sale::gateway_account::GatewayKey;

pub(crate) const SANDBOX: &str = "sandbox";

const MAX_NAME_LENGTH: usize = 50;

pub(crate) fn is_name(name: &str) -> bool {
    let is_allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Whether a gateway is asked about a checkout or a payment: only the gateway that has it is, in the mode in which it
/// took the money. The account is part of each request. `recorded` is `None` for what an earlier version has recorded
/// without a gateway: every gateway but the sandbox is asked about it, because that of the sandbox is recorded.
pub(crate) fn is_asked(gateway: GatewayKey<'_>, recorded: Option<GatewayKey<'_>>) -> bool {
    recorded.map_or(gateway.name != SANDBOX, |recorded| recorded == gateway)
}

/// The kind of work that asks a gateway about a checkout: to close it if its order has ended, else for its outcome.
pub(crate) const CHECKOUT: &str = "checkout";

/// The kinds of work about checkouts, as a pattern of SQL's LIKE.
pub(crate) const CHECKOUT_KINDS: &str = "checkout %";

/// The kind of work that asks a gateway to check a payment.
pub(crate) const CHECK: &str = "check";

/// The kind of work that asks a gateway for a refund.
pub(crate) const REFUND: &str = "refund";

/// The kind of work that asks the recorded gateway for something: a process looks for the kinds of its own gateway only.
pub(crate) fn work_kind(asked_for: &str, recorded: Option<GatewayKey<'_>>) -> String {
    match recorded {
        Some(GatewayKey { name, mode }) => format!("{asked_for} {name} {mode}"),
        None => format!("{asked_for} ?"),
    }
}

/// The kinds of work that ask a gateway for something: that of the gateway, and that of what an earlier version has
/// recorded without one, if [it is asked](is_asked) about it.
pub(crate) fn work_kinds(asked_for: &str, gateway: GatewayKey<'_>) -> Vec<String> {
    let asked = [Some(gateway), None].into_iter().filter(|recorded| is_asked(gateway, *recorded));
    asked.map(|recorded| work_kind(asked_for, recorded)).collect()
}

/// Why the gateway of a checkout is not asked.
pub(crate) fn is_missing(recorded: Option<GatewayKey<'_>>) -> String {
    match recorded {
        Some(GatewayKey { name, mode }) => {
            format!("the checkout is at the payment gateway {name:?} in mode {mode}, which the program does not have")
        }
        None => "the program does not have the payment gateway of the checkout".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::sale::gateway_account::PaymentMode;

    #[test]
    fn a_process_looks_for_the_work_of_its_gateway_and_for_what_was_recorded_without_one() {
        let key = |name, mode| GatewayKey { name, mode };
        let stripe = key("stripe", PaymentMode::Live);
        assert_eq!(work_kinds(REFUND, stripe), ["refund stripe LIVE", "refund ?"]);
        assert_eq!(work_kinds(CHECK, key("stripe", PaymentMode::Test)), ["check stripe TEST", "check ?"]);
        assert_eq!(work_kinds(REFUND, key(SANDBOX, PaymentMode::Test)), ["refund sandbox TEST"]);
        assert_eq!(work_kind(REFUND, Some(stripe)), work_kinds(REFUND, stripe)[0]);
        assert_eq!(work_kind(REFUND, None), work_kinds(REFUND, stripe)[1]);
    }
}
