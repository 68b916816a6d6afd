//! Customers: one for each organization and e-mail address.

use crate::form::declare::fields::form;
use crate::form::limits::TextLimit::{Email, MaxLength, MinLength};
use crate::form::limits::{EMAIL_LENGTH, LINE_LENGTH};
use crate::model::values::id::CustomerId;
use crate::model::values::metadata::Metadata;
use crate::model::values::responses::responses;

/// The e-mail address of a new walk-in. It is stored as [`walk_in_address`].
const NEW_WALK_IN: &str = "new@walk-in.invalid";

/// Whether a new customer has no e-mail address and gets one of its own.
pub(crate) fn is_new_walk_in(email: &str) -> bool {
    email.eq_ignore_ascii_case(NEW_WALK_IN)
}

/// The e-mail address of a customer without one.
pub(crate) fn walk_in_address(id: CustomerId) -> String {
    format!("{id}@walk-in.invalid")
}

responses! {
    /// A customer as shown in an order or a ticket.
    pub struct Customer {
        /// The id. It is the same for all orders with the same e-mail address.
        pub id: CustomerId,
        /// The name given with this order or ticket.
        pub name: String,
        /// The e-mail address as it was first given. A customer who gave none has one under `walk-in.invalid`,
        /// which reaches nobody.
        pub email: String,
        /// What the organization has attached to the customer. It is the same in all orders and tickets of the
        /// customer.
        pub metadata: Metadata [default],
    }
}

impl Customer {
    /// Creates a customer without metadata, for tests. Operations return customers and do not take them: see
    /// [`NewCustomer`].
    #[must_use]
    pub fn new(id: CustomerId, name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { id, name: name.into(), email: email.into(), metadata: Metadata::new() }
    }

    /// Returns the e-mail address if mail can be sent to it: `None` for an address under `.invalid` (RFC 6761), such as
    /// that of a [walk-in](NewCustomer::walk_in). The service passes on no other address, and no program should send
    /// mail to one.
    ///
    /// ```
    /// use ticketing::order::NewCustomer;
    /// use ticketing::payment::ManualMethod;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let sale = CreateOrder::new(event.id, NewCustomer::walk_in("Walk-in"), ticket_type.id, 1);
    /// let sold = service.create_order(&caller, sale.paid(ManualMethod::Cash))?.order;
    /// assert!(sold.customer.email.ends_with("@walk-in.invalid"));
    /// assert_eq!(sold.customer.mailbox(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn mailbox(&self) -> Option<&str> {
        mailbox(&self.email)
    }
}

/// Returns an e-mail address if mail can be sent to it, and `None` for one under `.invalid`.
pub(crate) fn mailbox(email: &str) -> Option<&str> {
    let (_, domain) = email.rsplit_once('@')?;
    let top_level = domain.trim_end_matches('.').rsplit('.').next();
    (!top_level.is_some_and(|last| last.eq_ignore_ascii_case("invalid"))).then_some(email)
}

/// # Constructors
impl NewCustomer {
    /// Creates a customer with a name and an e-mail address.
    #[must_use]
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { email: email.into(), name: name.into(), company_name: None, locale: None, metadata: None }
    }

    /// Creates a customer who gives no e-mail address, such as one at a box office. Each order, and each issue of
    /// tickets, creates a customer of its own, whose address is the id of the customer at `walk-in.invalid`. Nothing is
    /// ever sent to it: see [`Customer::mailbox`].
    ///
    /// ```
    /// use ticketing::order::NewCustomer;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let sell = || CreateOrder::new(event.id, NewCustomer::walk_in("Walk-in"), ticket_type.id, 1);
    /// let first = service.create_order(&caller, sell())?.order;
    /// let second = service.create_order(&caller, sell())?.order;
    /// assert_ne!(first.customer_id, second.customer_id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn walk_in(name: impl Into<String>) -> Self {
        Self::new(name, NEW_WALK_IN)
    }
}

form! {
    /// The customer of a new order or ticket.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct NewCustomer {
        /// The e-mail address: at most 254 characters. It identifies the customer; upper and lower case are equivalent,
        /// and so are both spellings of an international domain. With `new@walk-in.invalid`, for a customer who gives no
        /// address, a customer with an address of its own is created.
        pub email: String [MaxLength(EMAIL_LENGTH), Email],
        /// The name: 1 to 255 characters.
        pub name: String [MinLength(1), MaxLength(LINE_LENGTH)],
        /// The company that buys: at most 255 characters. Only allowed in orders for events that accept companies.
        pub company_name: Option<String> [nullable, MaxLength(LINE_LENGTH)],
        /// The language and country of the customer, such as `de-AT`, or the header `Accept-Language` of the browser,
        /// whose first tag with the highest weight counts: at most 255 characters.
        pub locale: Option<String> [nullable, MaxLength(LINE_LENGTH)],
        /// What the organization attaches to the customer: strings by name, at most 16,384 bytes. It replaces what
        /// earlier orders and tickets have attached. Without it, that is kept. Of two requests at the same time,
        /// the metadata of one are kept.
        pub metadata: Option<Metadata> [nullable],
    }
}
