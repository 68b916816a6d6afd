//! Which e-mail addresses are sent to Stripe.

/// Whether Stripe accepts the address for its checkout page. Stripe refuses a session with an address that it takes for
/// invalid, and documents no rule, so this is stricter than the standards: letters, digits and marks of ASCII, and a
/// host name with a top-level domain. Without an address, Checkout asks the customer for one.
pub(super) fn is_accepted(address: &str) -> bool {
    let Some((local, domain)) = address.split_once('@') else { return false };
    let is_mark = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&byte);
    let local_is_valid =
        local.len() <= 64 && local.split('.').all(|part| !part.is_empty() && part.bytes().all(is_mark));
    let labels: Vec<&str> = domain.split('.').collect();
    let is_label = |label: &&str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        !label.is_empty() && label.len() <= 63 && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    let top_level = labels.last().copied().unwrap_or_default();
    let top_level_is_valid = top_level.len() >= 2 && top_level.bytes().all(|byte| byte.is_ascii_alphabetic());
    address.len() <= 254 && local_is_valid && labels.len() >= 2 && labels.iter().all(is_label) && top_level_is_valid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_with_a_top_level_domain_are_sent() {
        for address in ["ada@example.com", "a.b+tag@sub.example.co.uk", "o'neil_1@exa-mple.org"] {
            assert!(is_accepted(address), "{address}");
        }
        for address in [
            "ada@localhost",
            "ada",
            "ada@",
            "@example.com",
            "ada@@example.com",
            "ada@example.c",
            "ada@127.0.0.1",
            "ada@[127.0.0.1]",
            ".ada@example.com",
            "a..b@example.com",
            "ada@-example.com",
            "ada@example..com",
            "ada@example.com.",
            "\"a b\"@example.com",
            "ünal@example.com",
            "ada@exämple.com",
            "ada @example.com",
        ] {
            assert!(!is_accepted(address), "{address}");
        }
        assert!(!is_accepted(&format!("{}@example.com", "a".repeat(65))));
    }
}
