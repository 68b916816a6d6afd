//! Addresses and names in headers.

use lettre::address::{Address, AddressError};
use lettre::message::Mailbox;

use crate::rules::printed_text;
use crate::rules::text::ascii_domain;

/// An address with its domain in ASCII (RFC 5890).
pub(crate) fn ascii_address(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((local, domain)) => format!("{local}@{}", ascii_domain(domain)),
        None => address.to_owned(),
    }
}

/// A mailbox with a name and an address.
pub(super) fn mailbox_of(name: Option<&str>, address: &str) -> Result<Mailbox, AddressError> {
    let name = name.map(header_text).filter(|name| !name.is_empty());
    Ok(Mailbox::new(name, ascii_address(address).parse::<Address>()?))
}

/// A text as it may stand in a header: on one line, and without the beginning of an encoded word (RFC 2047), in which a
/// mail program would find what nobody has written.
pub(super) fn header_text(text: &str) -> String {
    printed_text::line(text).replace("=?", "= ?")
}
