//! The links of tickets and orders. A link opens the page of its ticket or order without an API key.

#[cfg(feature = "event-pages")]
use hmac::Mac;

use super::link_token::{LinkSecret, LinkToken};
use crate::model::values::id::{OrderId, TicketId};

/// The bytes of the code of an order form.
#[cfg(feature = "event-pages")]
pub(crate) const FORM_CODE_BYTES: usize = 28;

/// Makes and checks the links of one store.
#[derive(Debug)]
pub(crate) struct DocumentLinks {
    secret: LinkSecret,
    /// Where the pages are, without a trailing slash.
    base_url: String,
    /// Whether events have pages.
    #[cfg(feature = "event-pages")]
    pub(crate) has_event_pages: bool,
}

impl DocumentLinks {
    /// Links of the store with this secret, whose pages are at `base_url`.
    pub(crate) fn new(secret: LinkSecret, base_url: &str) -> Self {
        Self {
            secret,
            base_url: base_url.trim_end_matches('/').to_owned(),
            #[cfg(feature = "event-pages")]
            has_event_pages: false,
        }
    }

    /// The URL of the document of a ticket. `version` is how often the link of the ticket was renewed.
    pub(crate) fn ticket_document(&self, ticket: TicketId, version: i64) -> String {
        format!("{}/tickets/{}/ticket.pdf", self.base_url, self.secret.token("ticket", ticket.raw(), version))
    }

    /// The URL of the page of an order.
    pub(crate) fn order(&self, order: OrderId) -> String {
        format!("{}/orders/{}", self.base_url, self.secret.token("order", order.raw(), 0))
    }

    /// The URL of the page of an event. `organization` is its id or its page name.
    #[cfg(feature = "event-pages")]
    pub(crate) fn event(&self, organization: &str, slug: &str) -> String {
        format!("{}/e/{organization}/{slug}", self.base_url)
    }

    /// The last part of the URL of the page of an order.
    #[cfg(feature = "event-pages")]
    pub(crate) fn order_token(&self, order: OrderId) -> String {
        self.secret.token("order", order.raw(), 0).to_string()
    }

    /// Whether the token is that of its ticket, whose link was renewed so often. Takes the same time for every token.
    pub(crate) fn is_of_ticket(&self, token: LinkToken, version: i64) -> bool {
        self.secret.is("ticket", token, version)
    }

    /// Whether the token is that of its order. Takes the same time for every token.
    pub(crate) fn is_of_order(&self, token: LinkToken) -> bool {
        self.secret.is("order", token, 0)
    }

    /// The code of an order form with this content: a part of the HMAC-SHA256 of it.
    #[cfg(feature = "event-pages")]
    pub(crate) fn form_code(&self, content: &[u8]) -> [u8; FORM_CODE_BYTES] {
        let mut code = [0; FORM_CODE_BYTES];
        code.copy_from_slice(
            &self.secret.mac("order form").chain_update(content).finalize().into_bytes()[..FORM_CODE_BYTES],
        );
        code
    }

    /// Whether the code is that of an order form with this content. Takes the same time for every code.
    #[cfg(feature = "event-pages")]
    pub(crate) fn is_form_code(&self, code: &[u8], content: &[u8]) -> bool {
        self.secret.mac("order form").chain_update(content).verify_truncated_left(code).is_ok()
            && code.len() == FORM_CODE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::values::id::crockford;

    const SECRET: LinkSecret = LinkSecret(*b"0123456789abcdef0123456789ABCDEF");

    fn links() -> DocumentLinks {
        DocumentLinks::new(SECRET, "https://tickets.example.com/")
    }

    fn token(text: &str) -> LinkToken {
        LinkToken::parse(text).expect(text)
    }

    // Computed with Python:
    // code = hmac.new(secret, kind + struct.pack(">qq", id, version), "sha256").digest()
    // bits = f"{id:064b}" + "".join(f"{byte:08b}" for byte in code)[:130] + "0"
    // "".join(alphabet[int(bits[i:i + 5], 2)] for i in range(0, 195, 5))
    const TICKETS: &[(i64, i64, &str)] = &[
        (1, 0, "0000000000002MS9V8EZVW2TR4KV83YR15RKG4G"),
        (1, 1, "00000000000024CYFFMS16DSPCTDPVCFRTZ5ZHC"),
        (9_223_372_036_854_775_807, 0, "FZZZZZZZZZZZYW39WFRHNKMKB2QZDF8P3SPZQTJ"),
        (123_456_789_012_345_678, 0, "06V9PJX663SMX9BWSJ9CAJX4TTNKKFGZR0RWY6M"),
        (123_456_789_012_345_678, 41, "06V9PJX663SMW5TS07D42XH9KHGVX4BFPBHPXV6"),
    ];
    const ORDERS: &[(i64, &str)] = &[
        (1, "0000000000003JA6PQCKXFNPWXS1WVS7S1349GC"),
        (9_223_372_036_854_775_807, "FZZZZZZZZZZZYC2QFHD3FFHW12FYP49PA23PBZG"),
        (123_456_789_012_345_678, "06V9PJX663SMX1P68GYXZAEJTA7GXBK7VGXXQSR"),
    ];

    #[test]
    fn tokens_are_those_that_another_implementation_makes() {
        for (id, version, text) in TICKETS {
            let made = links().secret.token("ticket", *id, *version);
            assert_eq!(made.to_string(), *text, "{id} {version}");
            assert_eq!(token(text).ticket(), TicketId::from_raw(*id));
            assert!(links().is_of_ticket(token(text), *version));
            assert!(!links().is_of_ticket(token(text), version + 1), "a renewed link");
            assert!(!links().is_of_order(token(text)));
        }
        for (id, text) in ORDERS {
            assert_eq!(links().order(OrderId::from_raw(*id)), format!("https://tickets.example.com/orders/{text}"));
            assert_eq!(token(text).order(), OrderId::from_raw(*id));
            assert!(links().is_of_order(token(text)));
            assert!(!links().is_of_ticket(token(text), 0));
        }
    }

    #[test]
    fn the_document_of_a_ticket_is_below_its_page() {
        let (id, version, text) = TICKETS[0];
        let expected = format!("https://tickets.example.com/tickets/{text}/ticket.pdf");
        assert_eq!(links().ticket_document(TicketId::from_raw(id), version), expected);
    }

    #[test]
    fn another_secret_makes_other_tokens() {
        let other = DocumentLinks::new(LinkSecret([7; 32]), "https://tickets.example.com");
        assert!(!other.is_of_ticket(token(TICKETS[0].2), TICKETS[0].1));
    }

    #[test]
    fn a_token_has_one_spelling() {
        let text = TICKETS[0].2;
        let (start, last) = text.split_at(text.len() - 1);
        let odd = char::from(
            crockford::ALPHABET[crockford::ALPHABET.iter().position(|c| last.as_bytes()[0] == *c).unwrap() + 1],
        );
        let others = [
            text.to_lowercase(),
            format!("{text}0"),
            format!("0{text}"),
            start.to_owned(),
            format!("{start}{odd}"),
            format!("{start}="),
            format!("{start}U"),
            format!(" {text}"),
            String::new(),
            "Ü".repeat(text.len()),
        ];
        assert!(LinkToken::parse(text).is_some());
        for other in others {
            assert!(LinkToken::parse(&other).is_none(), "{other}");
        }
    }
}
