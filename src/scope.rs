//! Permission scopes, named resource:action.

use super::text_enum::{TextEnum, text_enum};

text_enum! {
    /// What a caller may do. No scope implies another.
    pub enum Scope {
        /// Read events.
        EventsRead = "events:read",
        /// Create, change and delete events.
        EventsWrite = "events:write",
        /// Read ticket types.
        TicketTypesRead = "ticket-types:read",
        /// Create, change and delete ticket types.
        TicketTypesWrite = "ticket-types:write",
        /// Read orders.
        OrdersRead = "orders:read",
        /// Create and cancel orders, and record their payment.
        OrdersWrite = "orders:write",
        /// Read issued tickets.
        TicketsRead = "tickets:read",
        /// Issue and cancel tickets.
        TicketsWrite = "tickets:write",
        /// Check tickets in and out.
        TicketsCheckIn = "tickets:check-in",
        /// Read and validate discounts.
        DiscountsRead = "discounts:read",
        /// Create, change and delete discounts.
        DiscountsWrite = "discounts:write",
        /// Read webhook endpoints and their deliveries.
        WebhooksRead = "webhooks:read",
        /// Register, change and delete webhook endpoints.
        WebhooksWrite = "webhooks:write",
    }
}

/// A set of scopes.
///
/// ```
/// use ticketing::organization::{Scope, Scopes};
/// let scanner = Scopes::from([Scope::TicketsCheckIn]);
/// assert!(scanner.contains(Scope::TicketsCheckIn) && !scanner.contains(Scope::OrdersRead));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scopes(u16);

impl Scopes {
    /// Every scope.
    #[must_use]
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    /// Whether the scope is in the set.
    #[must_use]
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & (1 << scope as u16) != 0
    }

    /// Whether the set has no scope.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes, in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.contains(*scope))
    }

    /// The names of the scopes, separated by spaces, as they are stored with a key.
    pub(crate) fn to_text(self) -> String {
        self.iter().map(TextEnum::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Reads the text that [`Scopes::to_text`] writes. Returns `None` if a name is unknown or out of order. The names
    /// are in the order of the declaration, so one pass over both lists is enough. Every request reads the scopes of
    /// its key.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut known = Scope::ALL.iter().copied();
        text.split(' ').map(|name| known.find(|scope| scope.as_str() == name)).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | 1 << scope as u16))
    }
}

impl<const N: usize> From<[Scope; N]> for Scopes {
    fn from(scopes: [Scope; N]) -> Self {
        scopes.into_iter().collect()
    }
}

impl serde::Serialize for Scopes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> serde::Deserialize<'de> for Scopes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Scope>::deserialize(deserializer).map(Self::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_back_from_its_text_and_from_no_other() {
        for scopes in [
            Scopes::all(),
            [Scope::TicketsCheckIn].into_iter().collect(),
            [Scope::WebhooksWrite, Scope::EventsRead].into_iter().collect(),
        ] {
            assert_eq!(Scopes::from_text(&scopes.to_text()), Some(scopes));
        }
        for text in ["", "events", "events:read ", "events:read  orders:read", "events:read all", "EVENTS:READ"] {
            assert_eq!(Scopes::from_text(text), None, "{text:?}");
        }
    }
}
