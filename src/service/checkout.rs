//! The hosted checkout of the sandbox gateway: the token in its link is what lets in, no key.

use super::TicketingService;
use crate::error::{Error, Result};
use crate::model::caller::Caller;
use crate::model::id::{OrderId, OrganizationId};
use crate::model::order::{CheckoutRedirectUrls, Order, OrderStatus};
use crate::model::scope::Scopes;
use crate::model::text_enum::text_enum;
use crate::payment::sandbox_reference;
use crate::sales::order_lifecycle;
use crate::store::{checkouts, events, orders, refunds};

text_enum! {
    /// What a click on the sandbox's page says about the payment.
    pub enum CheckoutOutcome {
        /// The customer paid.
        Success = "success",
        /// The attempt failed.
        Failure = "failure",
        /// The customer gave up.
        Cancel = "cancel",
    }
}

/// What the hosted checkout page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedCheckout {
    /// The order.
    pub order: Order,
    /// The currency of its amounts: an ISO 4217 code.
    pub currency: String,
    /// The title of its event.
    pub event_title: String,
    /// The name of each item's ticket type, in the order of the items.
    pub item_names: Vec<String>,
    /// Where the customer goes afterwards, where the order says so.
    pub redirect_urls: Option<CheckoutRedirectUrls>,
}

/// What came of a click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutResult {
    /// What it came to: a success that came too late is a failure.
    pub outcome: CheckoutOutcome,
    /// Where the customer goes now; `None` where the order names no addresses.
    pub redirect_url: Option<String>,
}

impl TicketingService {
    /// What the sandbox's page of this token shows, whatever has become of the order.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such token, or the gateway is not the sandbox.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let link = placed.checkout_url.expect("the order is to be paid");
    /// let (_, token) = link.rsplit_once('/').expect("a token");
    /// assert_eq!(service.hosted_checkout(token)?.event_title, "Summer Night");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hosted_checkout(&self, token: &str) -> Result<HostedCheckout> {
        let (id, organization) = self.order_of_token(token)?;
        self.store().read(|tx| {
            let order = orders::get(tx, organization, id)?;
            let item_names = orders::item_names(tx, id)?;
            let event_title = events::get(tx, organization, order.event_id)?.title;
            let redirect_urls = orders::details(tx, organization, id)?.checkout_redirect_urls;
            Ok(HostedCheckout { order, currency: orders::currency(tx, id)?, event_title, item_names, redirect_urls })
        })
    }

    /// Does what a click on the sandbox's page says. A cancellation of an order that is not pending changes nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such token, or the gateway is not the sandbox.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let placed = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let link = placed.checkout_url.expect("the order is to be paid");
    /// let (_, token) = link.rsplit_once('/').expect("a token");
    /// service.finish_hosted_checkout(token, CheckoutOutcome::Success)?;
    /// assert_eq!(service.get_order(&caller, placed.order.id)?.status, OrderStatus::Completed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_hosted_checkout(&self, token: &str, outcome: CheckoutOutcome) -> Result<CheckoutResult> {
        let (id, organization) = self.order_of_token(token)?;
        let caller = Caller::new(organization, Scopes::all(), None);
        let outcome = match outcome {
            CheckoutOutcome::Success => {
                let completed = self.payment_completed(&caller, id)?.status == OrderStatus::Completed;
                let goes_back = self.store().read(|tx| refunds::exists(tx, organization, id))?;
                if completed && !goes_back { CheckoutOutcome::Success } else { CheckoutOutcome::Failure }
            }
            CheckoutOutcome::Failure => self.payment_failed(&caller, id).map(|_| outcome)?,
            CheckoutOutcome::Cancel => self.cancel_if_pending(organization, id).map(|()| outcome)?,
        };
        let details = self.store().read(|tx| orders::details(tx, organization, id))?;
        let redirect_url = details.checkout_redirect_urls.map(|urls| match outcome {
            CheckoutOutcome::Success => urls.success,
            CheckoutOutcome::Failure => urls.failure,
            CheckoutOutcome::Cancel => urls.cancel,
        });
        Ok(CheckoutResult { outcome, redirect_url })
    }

    fn cancel_if_pending(&self, organization: OrganizationId, id: OrderId) -> Result<()> {
        self.store().write(move |tx| order_lifecycle::cancel_if_pending(tx, organization, id))
    }

    fn order_of_token(&self, token: &str) -> Result<(OrderId, OrganizationId)> {
        let unknown = Error::NotFound("checkout");
        if !self.inner.sandbox {
            return Err(unknown);
        }
        self.store().read(|tx| checkouts::find(tx, &sandbox_reference(token)))?.ok_or(unknown)
    }
}
