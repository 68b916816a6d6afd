//! Permission scopes, named resource:action.

use std::fmt;

use super::text_enum::text_enum;

text_enum! {
    /// A permission of a caller, such as `orders:read`. No scope implies another.
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
        /// Create orders, and cancel those that were not paid.
        OrdersWrite = "orders:write",
        /// Record that orders were paid, or that a payment failed, and give money back. With `orders:write`, sell for
        /// cash, and cancel orders that were paid.
        PaymentsWrite = "payments:write",
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
        /// Read the mail settings, and the list of mails with their recipients.
        MailRead = "mail:read",
        /// Change the mail settings, and send tickets again.
        MailWrite = "mail:write",
    }
}

/// A set of scopes.
///
/// ```
/// use ticketing::organization::{Scope, Scopes};
/// let mut scanner = Scopes::from([Scope::TicketsCheckIn]);
/// assert!(scanner.contains(Scope::TicketsCheckIn) && !scanner.contains(Scope::OrdersRead));
/// scanner.extend([Scope::OrdersRead]);
/// assert_eq!(scanner.to_string(), "orders:read tickets:check-in");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
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
    #[must_use]
    pub fn iter(self) -> ScopesIter {
        ScopesIter { scopes: self, all: Scope::ALL.iter() }
    }

    /// Reads the text that `Display` writes, as it is stored with a key. Returns `None` if a name is unknown or out of
    /// order. The names are in the order of the declaration, so one pass over both lists is enough. Every request reads
    /// the scopes of its key.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut scopes = Self::default();
        let mut rest = Some(text);
        for scope in Scope::ALL {
            let Some(after) = rest.and_then(|rest| rest.strip_prefix(scope.as_str())) else { continue };
            if after.is_empty() || after.starts_with(' ') {
                scopes.extend([*scope]);
                rest = after.strip_prefix(' ');
            }
        }
        rest.is_none().then_some(scopes)
    }
}

/// The scopes of a set, in the order of their declaration.
#[derive(Debug, Clone)]
pub struct ScopesIter {
    scopes: Scopes,
    all: std::slice::Iter<'static, Scope>,
}

impl Iterator for ScopesIter {
    type Item = Scope;

    fn next(&mut self) -> Option<Scope> {
        self.all.find(|scope| self.scopes.contains(**scope)).copied()
    }
}

impl IntoIterator for Scopes {
    type Item = Scope;
    type IntoIter = ScopesIter;

    fn into_iter(self) -> ScopesIter {
        self.iter()
    }
}

impl Extend<Scope> for Scopes {
    fn extend<I: IntoIterator<Item = Scope>>(&mut self, scopes: I) {
        for scope in scopes {
            self.0 |= 1 << scope as u16;
        }
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        let mut set = Self::default();
        set.extend(scopes);
        set
    }
}

impl From<Scope> for Scopes {
    fn from(scope: Scope) -> Self {
        [scope].into()
    }
}

impl From<&[Scope]> for Scopes {
    fn from(scopes: &[Scope]) -> Self {
        scopes.iter().copied().collect()
    }
}

impl From<Vec<Scope>> for Scopes {
    fn from(scopes: Vec<Scope>) -> Self {
        scopes.into_iter().collect()
    }
}

impl<const N: usize> From<[Scope; N]> for Scopes {
    fn from(scopes: [Scope; N]) -> Self {
        scopes.into_iter().collect()
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Scopes {
    /// Writes the names of the scopes, separated by spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            write!(f, "{separator}{scope}")?;
        }
        Ok(())
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
    fn a_scope_is_padded_like_text() {
        assert_eq!(format!("{0:>13}|{0:13}|", Scope::EventsRead), "  events:read|events:read  |");
    }

    #[test]
    fn a_set_lists_its_scopes_once_and_in_the_order_of_their_declaration() {
        let mut scopes = Scopes::from([Scope::WebhooksWrite, Scope::EventsRead, Scope::WebhooksWrite]);
        assert_eq!(scopes.into_iter().collect::<Vec<_>>(), [Scope::EventsRead, Scope::WebhooksWrite]);
        assert_eq!(scopes.to_string(), "events:read webhooks:write");
        assert_eq!(format!("{scopes:?}"), "{EventsRead, WebhooksWrite}");
        scopes.extend([Scope::EventsWrite, Scope::EventsRead]);
        assert_eq!(scopes, [Scope::EventsRead, Scope::EventsWrite, Scope::WebhooksWrite].into());
        assert_eq!(Scopes::default().to_string(), "");
        assert_eq!(Scopes::from(Scope::OrdersRead), [Scope::OrdersRead].into());
        assert_eq!(Scopes::all().into_iter().collect::<Scopes>(), Scopes::all());
    }

    #[test]
    fn a_set_reads_back_from_its_text_and_from_no_other() {
        for scopes in [
            Scopes::all(),
            [Scope::TicketsCheckIn].into_iter().collect(),
            [Scope::WebhooksWrite, Scope::EventsRead].into_iter().collect(),
        ] {
            assert_eq!(Scopes::from_text(&scopes.to_string()), Some(scopes));
        }
        for text in ["", "events", "events:read ", "events:read  orders:read", "events:read all", "EVENTS:READ"] {
            assert_eq!(Scopes::from_text(text), None, "{text:?}");
        }
    }
}
