//! Customers: one for each organization and e-mail address.

use crate::form::declare::fields::form;
use crate::form::limits::TextLimit::{Email, MaxLength, MinLength};
use crate::form::limits::{EMAIL_LENGTH, LINE_LENGTH};
use crate::model::values::id::CustomerId;
use crate::model::values::metadata::Metadata;
use crate::model::values::responses::responses;

responses! {
    /// A customer as shown in an order or a ticket.
    pub struct Customer {
        /// The id. It is the same for all orders with the same e-mail address.
        pub id: CustomerId,
        /// The name given with this order or ticket.
        pub name: String,
        /// The e-mail address as it was first given.
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
}

/// # Constructors
impl NewCustomer {
    /// Creates a customer with a name and an e-mail address.
    #[must_use]
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { email: email.into(), name: name.into(), company_name: None, locale: None, metadata: None }
    }
}

form! {
    /// The customer of a new order or ticket.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct NewCustomer {
        /// The e-mail address: at most 254 characters. It identifies the customer; upper and lower case are equivalent,
        /// and so are both spellings of an international domain.
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
