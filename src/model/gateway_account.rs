//! Where the money of a payment is: the mode, and the account at the provider.

use crate::text_enum::text_enum;

text_enum! {
    /// Whether a payment gateway takes real money.
    pub enum PaymentMode {
        /// Customers pay real money.
        Live = "LIVE",
        /// A test or a demonstration: no money moves.
        Test = "TEST",
    }
}

/// The account at the provider that has a checkout or a payment.
///
/// The service records what [`PaymentGateway::account`] says when it asks for a checkout, and names it in every later
/// request about that checkout and its payment: the organization may have another account by then.
///
/// [`PaymentGateway::account`]: crate::payment::PaymentGateway::account
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GatewayAccount {
    /// It was not recorded: the checkout is older than the record. The gateway uses the account that it would use for a new
    /// checkout of the organization.
    #[default]
    Unrecorded,
    /// The account of the gateway itself.
    Own,
    /// The account with this id at the provider.
    Connected(String),
}

impl GatewayAccount {
    /// The provider's id of a connected account. `None` for the gateway's own account, and for one that was not recorded.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Connected(id) => Some(id),
            Self::Own | Self::Unrecorded => None,
        }
    }
}

impl From<Option<String>> for GatewayAccount {
    /// The account that [`PaymentGateway::account`](crate::payment::PaymentGateway::account) has named: `None` is the
    /// account of the gateway itself.
    fn from(account: Option<String>) -> Self {
        account.map_or(Self::Own, Self::Connected)
    }
}
