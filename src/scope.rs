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
        /// Take, cancel and settle orders.
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
/// use ticketing::{Scope, Scopes};
/// let door: Scopes = [Scope::TicketsCheckIn].into_iter().collect();
/// assert!(door.contains(Scope::TicketsCheckIn) && !door.contains(Scope::OrdersRead));
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

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes, in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.contains(*scope))
    }

    /// The scopes by name, separated by blanks; the form in which a key is stored.
    pub(crate) fn to_text(self) -> String {
        self.iter().map(TextEnum::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Reads [`Scopes::to_text`]; `None` where a name is unknown. The names stand in the order of their declaration, so that
    /// one walk over both finds them all: every request reads the scopes of its key.
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
