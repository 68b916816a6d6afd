//! The names of payment gateways.

/// The name of the sandbox.
pub(crate) const SANDBOX: &str = "sandbox";

const MAX_NAME_LENGTH: usize = 50;

/// Whether a gateway may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_up_to_50_lower_case_letters_digits_and_hyphens() {
        for name in ["stripe", "a", "pay-2", &"a".repeat(50)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "Stripe", "pay_2", "pay 2", "pay.2", "zahlung-ä", "a\n", &"a".repeat(51)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
