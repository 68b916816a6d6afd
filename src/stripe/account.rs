//! The Stripe accounts of organizations.

use std::fmt;
use std::sync::Arc;

use crate::model::values::id::OrganizationId;
use crate::model::values::percentage::Percentage;
use crate::payment::{CheckoutRequest, GatewayAccount};

/// The Stripe account of an organization, which is connected to the platform that owns the secret key.
///
/// Payments are direct charges: the organization's account receives the money, pays Stripe's fees, and answers for
/// refunds and disputes. The platform receives the application fee.
///
/// ```
/// use ticketing::discount::Percentage;
/// use ticketing::stripe::ConnectedAccount;
///
/// let account = ConnectedAccount::new("acct_1NR6E9XB00000").application_fee(Percentage::whole(3)?);
/// # drop(account);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedAccount {
    pub(super) id: String,
    pub(super) application_fee: Percentage,
}

impl ConnectedAccount {
    /// Creates an account without an application fee, with Stripe's id of it, such as `acct_1NR6E9XB00000`.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), application_fee: Percentage::ZERO }
    }

    /// Sets the part of each payment that the platform receives. The fee is rounded down to the smallest unit that
    /// Stripe takes. It is returned with a payment that came too late or that is not what its order costs, and not with
    /// other refunds.
    #[must_use]
    pub const fn application_fee(mut self, fee: Percentage) -> Self {
        self.application_fee = fee;
        self
    }
}

/// Which account an organization has. Clones share the function.
#[derive(Clone, Default)]
pub(super) struct Accounts(Option<Arc<AccountFor>>);

type AccountFor = dyn Fn(OrganizationId) -> Option<ConnectedAccount> + Send + Sync;

impl Accounts {
    pub(super) fn new(
        account_for: impl Fn(OrganizationId) -> Option<ConnectedAccount> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(account_for)))
    }

    /// Whether organizations may have accounts of their own.
    pub(super) fn are_set(&self) -> bool {
        self.0.is_some()
    }

    /// The id of the account that has a checkout or a payment. `None` for the account that owns the secret key.
    pub(super) fn id_of(
        &self,
        recorded: &GatewayAccount,
        organization: impl Into<Option<OrganizationId>>,
    ) -> Option<String> {
        match recorded {
            GatewayAccount::Own => None,
            GatewayAccount::Connected(id) => Some(id.clone()),
            GatewayAccount::Unrecorded => organization.into().and_then(|id| self.of(id)).map(|account| account.id),
        }
    }

    /// The account that takes the payment of a checkout. If the organization has another one by now, there is no fee.
    pub(super) fn for_checkout(&self, request: &CheckoutRequest) -> Option<ConnectedAccount> {
        match &request.account {
            GatewayAccount::Own => None,
            GatewayAccount::Connected(id) => {
                let account = self.of(request.organization_id).filter(|account| account.id == *id);
                Some(account.unwrap_or_else(|| ConnectedAccount::new(id)))
            }
            GatewayAccount::Unrecorded => self.of(request.organization_id),
        }
    }

    /// The account of an organization; `None` for the account that owns the secret key.
    pub(super) fn of(&self, organization: OrganizationId) -> Option<ConnectedAccount> {
        self.0.as_ref().and_then(|account_for| account_for(organization))
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Accounts(…)" } else { "Accounts" })
    }
}
