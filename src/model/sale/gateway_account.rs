//! Where the money of a payment is: the gateway, the mode, and the account at the provider.

use crate::enums::text_enum::text_enum;

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
/// When the service creates a checkout, it records the account that [`PaymentGateway::account`] returns, and passes it
/// with every later request about that checkout and its payment: by then, the organization may use another account.
///
/// [`PaymentGateway::account`]: crate::payment::PaymentGateway::account
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GatewayAccount {
    /// No account was recorded: the payment is manual, or the checkout was created before accounts were recorded. The
    /// gateway uses the account that it would use for a new checkout of the organization.
    #[default]
    Unrecorded,
    /// The account of the gateway itself.
    Own,
    /// The account with this id at the provider.
    Connected(String),
}

impl GatewayAccount {
    /// The provider's id of a connected account. `None` for the gateway's own account, and for one that was not
    /// recorded.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Connected(id) => Some(id),
            Self::Own | Self::Unrecorded => None,
        }
    }

    /// The account of a checkout or a payment that has this gateway. `Unrecorded` if no gateway was recorded.
    pub(crate) fn of(gateway: Option<&GatewayIdentity>) -> Self {
        gateway.map_or(Self::Unrecorded, |gateway| gateway.account.clone())
    }
}

/// The gateway of a checkout or a payment, and where its money is. The service records it with the checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GatewayIdentity {
    /// What [`PaymentGateway::name`](crate::payment::PaymentGateway::name) returned.
    pub(crate) name: String,
    pub(crate) account: GatewayAccount,
    pub(crate) mode: PaymentMode,
}

impl GatewayIdentity {
    pub(crate) fn key(&self) -> GatewayKey<'_> {
        GatewayKey { name: &self.name, mode: self.mode }
    }
}

/// What decides whether a gateway is asked about a checkout or a payment: see `rules::money::gateway_choice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GatewayKey<'a> {
    pub(crate) name: &'a str,
    pub(crate) mode: PaymentMode,
}

impl From<Option<String>> for GatewayAccount {
    /// The account that [`PaymentGateway::account`](crate::payment::PaymentGateway::account) has named: `None` is the
    /// account of the gateway itself.
    fn from(account: Option<String>) -> Self {
        account.map_or(Self::Own, Self::Connected)
    }
}
