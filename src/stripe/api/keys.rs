//! Idempotency keys: what is asked for again with another key, because Stripe repeats an error under the first one.
//!
//! Stripe keeps the first answer to a key for a day, also if it is an error:
//! <https://docs.stripe.com/api/idempotent_requests>.

/// How many idempotency keys are used for the same thing within the day for which Stripe keeps them.
pub(in crate::stripe) const MAX_KEYS: usize = 5;

/// What is said if all keys are used up.
pub(in crate::stripe) const REPEATED: &str = "Stripe repeats errors that it has stored, for up to a day";

/// The key itself, and then `<key><separator>2`, `<key><separator>3` and so on.
pub(in crate::stripe) fn numbered(key: &str, separator: char, index: usize) -> String {
    match index {
        0 => key.to_owned(),
        index => format!("{key}{separator}{}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_after_the_first_have_a_number() {
        let keys: Vec<String> = (0..3).map(|index| numbered("refund-1", '-', index)).collect();
        assert_eq!(keys, ["refund-1", "refund-1-2", "refund-1-3"]);
    }
}
