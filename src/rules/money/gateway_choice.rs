//! The names of payment gateways, and which gateway is asked about a checkout.

pub(crate) const SANDBOX: &str = "sandbox";

const MAX_NAME_LENGTH: usize = 50;

pub(crate) fn is_name(name: &str) -> bool {
    let is_allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Whether the gateway with this name is asked about a checkout: only the gateway that has it is. `recorded` is the
/// name of that one, or `None` if an earlier version asked for the checkout. Every gateway but the sandbox is asked
/// about such a checkout: those of the sandbox are recorded. Queries contain the same rule.
pub(crate) fn is_asked(name: &str, recorded: Option<&str>) -> bool {
    recorded.map_or(name != SANDBOX, |recorded| recorded == name)
}

/// Why the gateway of a checkout is not asked. `recorded` is its name.
pub(crate) fn is_missing(recorded: Option<&str>) -> String {
    match recorded {
        Some(name) => format!("the checkout is at the payment gateway {name:?}, which the program does not have"),
        None => "the program does not have the payment gateway of the checkout".to_owned(),
    }
}
