//! Customers: one for each organization and e-mail address.

use super::id::CustomerId;
use crate::form::fields::{Fields, FromFields, object_value};

/// A customer as an order or a ticket shows it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Customer {
    /// Its id: the same for every order with the same e-mail address.
    pub id: CustomerId,
    /// The name that was given at the time.
    pub name: String,
    /// The e-mail address, as it was given first.
    pub email: String,
}

/// Who an order or a ticket is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct NewCustomer {
    /// An e-mail address with one `@` and a domain. Upper and lower case name the same customer.
    pub email: String,
    /// At least 1 character.
    pub name: String,
    /// The company that buys; only where the event accepts companies. Orders only.
    pub company_name: Option<String>,
    /// The customer's language and country.
    pub locale: Option<String>,
}

impl NewCustomer {
    /// A customer with a name and an e-mail address.
    #[must_use]
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { email: email.into(), name: name.into(), company_name: None, locale: None }
    }
}

impl FromFields for NewCustomer {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            email: fields.required("email"),
            name: fields.required("name"),
            company_name: fields.nullable("companyName"),
            locale: fields.nullable("locale"),
        }
    }
}

object_value!(NewCustomer);
