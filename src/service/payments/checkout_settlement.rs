//! Checkouts that are settled: their outcomes are recorded, as the gateway says when it is asked or in a notice.

use super::gateway_facts::{Ask, list_facts};
use crate::error::{Error, Result, Unavailable};
use crate::model::payments::checkout::{CheckoutState, GatewayPayment, SettledCheckout};
use crate::model::payments::notice::NoticeOutcome;
use crate::model::sale::gateway_account::{GatewayAccount, GatewayIdentity};
use crate::model::values::id::OrganizationId;
use crate::payment::{GatewayError, LookUp, PaymentLookUp, Waiting};
use crate::sales::checkouts::hosted_checkout::ToSettle;
use crate::sales::checkouts::{checkout_attempts, hosted_checkout};
use crate::sales::orders::gateway_facts::Listing;
use crate::service::TicketingService;
use crate::service::state::look_up_limit::LookUpPermission;
use crate::store::money::checkouts::{self, CheckoutOrder};

/// # Settling checkouts
impl TicketingService {
    /// Asks the gateway for the outcome of a checkout, and records it: for the page to which the gateway sends the
    /// customer back, which must not trust what the browser says. `reference` is the gateway's id of the checkout, or the
    /// last part of [`CheckoutRequest::return_url`](crate::payment::CheckoutRequest::return_url).
    ///
    /// The gateway is asked only if it has the checkout, and the order is pending, or the order has expired or was
    /// cancelled and its checkout is not closed. It is asked at most once in 4 seconds about a checkout, and 80 times
    /// about all of them. One organization alone gets half of that, so a page that is loaded again and again keeps
    /// nobody from paying. Otherwise the result is what is stored, and the state is [`CheckoutState::Unknown`]. There
    /// is no [`Caller`](crate::Caller): the reference authorizes the call.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if no checkout has this reference.
    /// - [`Error::Unavailable`] if the gateway does not answer.
    ///
    /// ```
    /// use ticketing::payment::CheckoutState;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let checkout = service.get_checkout(&caller, created.order.id)?;
    /// let reference = checkout.reference.expect("the gateway has answered");
    /// let settled = service.settle_checkout(&reference)?;
    /// assert_eq!(settled.state, CheckoutState::Open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle_checkout(&self, reference: &str) -> Result<SettledCheckout> {
        let found = self.store()?.read(|tx| hosted_checkout::to_settle(tx, reference))?;
        let mut answered = (!found.asks_gateway).then_some(CheckoutState::Unknown);
        if found.asks_gateway
            && let Some(gateway) = self.gateway_of(found.gateway.as_ref().map(GatewayIdentity::key))
            && let Some(reference) = &found.reference
            && self.may_look_up(found.order.organization, reference)
        {
            let request = look_up_of(&found, reference);
            if let Some(answer) =
                gateway.call_for_page(found.order.organization, move |gateway| gateway.look_up(&request))
            {
                let state = state_of(answer)?;
                self.settle(found.order, Some(reference), &state)?;
                answered = Some(state);
            }
        }
        self.store_in_operation().read(|tx| hosted_checkout::settled(tx, found.order, answered))
    }

    /// Settles a checkout as [`settle_checkout`](Self::settle_checkout) does, for the page to which the customer comes
    /// back. If the gateway does not answer, the outcome is not known yet.
    #[cfg(feature = "server")]
    pub(crate) fn settle_for_page(&self, reference: &str) -> Result<SettledCheckout> {
        match self.settle_checkout(reference) {
            Err(Error::Unavailable(Unavailable::GatewaySilent)) => self.store()?.read(|tx| {
                let found = hosted_checkout::to_settle(tx, reference)?;
                hosted_checkout::settled(tx, found.order, None)
            }),
            settled => settled,
        }
    }

    /// Records the outcome of a checkout. `reference` is the gateway's id of it, if it is known.
    pub(in crate::service) fn settle(
        &self,
        order: CheckoutOrder,
        reference: Option<&str>,
        state: &CheckoutState,
    ) -> Result<NoticeOutcome> {
        let id = order.id;
        match state {
            CheckoutState::Paid(payment) | CheckoutState::Returned(payment) => {
                let is_returned = matches!(state, CheckoutState::Returned(_));
                let listing = self.facts_about(order, payment, is_returned)?;
                if is_returned {
                    tracing::warn!(
                        target: "ticketing::payment",
                        order = %id,
                        payment = payment.payment_reference,
                        "a payment has gone back before its order was completed; it completes nothing"
                    );
                }
                self.receive_payment(order, reference, payment, is_returned, listing.as_ref())
            }
            CheckoutState::Closed => {
                let reference = reference.map(str::to_owned);
                self.store_in_operation().write_event(order.organization, id.into(), move |tx| {
                    checkout_attempts::closed(tx, id, reference.as_deref())
                })?;
                Ok(NoticeOutcome::Processed)
            }
            CheckoutState::Open | CheckoutState::Processing | CheckoutState::Unknown => Ok(NoticeOutcome::Processed),
        }
    }

    /// What the gateway lists of a payment that was disputed, or has gone back: it may complete no order.
    fn facts_about(
        &self,
        order: CheckoutOrder,
        payment: &GatewayPayment,
        is_returned: bool,
    ) -> Result<Option<Listing>> {
        if !is_returned && !payment.is_disputed {
            return Ok(None);
        }
        let recorded = self.store()?.read_one(|tx| checkouts::gateway(tx, order.id))?;
        let gateway = self.gateway_of(recorded.as_ref().map(GatewayIdentity::key));
        let gateway = gateway.ok_or(Error::Unavailable(Unavailable::GatewayMissing))?;
        let look_up = PaymentLookUp::new(&payment.payment_reference).organization(order.organization);
        let look_up = look_up.account(GatewayAccount::of(recorded.as_ref()));
        let listed = list_facts(gateway, order.organization, look_up, Ask::RefundsAndDisputes, Waiting::Caller);
        listed.map_err(|_| Error::Unavailable(Unavailable::GatewaySilent))
    }

    fn may_look_up(&self, organization: OrganizationId, reference: &str) -> bool {
        let permission = self.inner.page_look_ups.request(organization, reference, self.inner.environment.now());
        permission == LookUpPermission::Granted
    }

    /// Returns the organization whose checkout has this reference, as [`settle_checkout`](Self::settle_checkout) takes
    /// it.
    #[cfg(feature = "server")]
    pub(crate) fn organization_of_checkout(&self, reference: &str) -> Result<OrganizationId> {
        self.store()?.read(|tx| hosted_checkout::to_settle(tx, reference)).map(|found| found.order.organization)
    }
}

pub(in crate::service) fn look_up_of(found: &ToSettle, reference: &str) -> LookUp {
    let CheckoutOrder { organization, id } = found.order;
    LookUp::of((organization, id), found.event, GatewayAccount::of(found.gateway.as_ref()), reference)
}

pub(in crate::service) fn state_of(answer: Result<CheckoutState, GatewayError>) -> Result<CheckoutState> {
    match answer {
        Ok(state) => Ok(state),
        Err(GatewayError::Refused(_) | GatewayError::NothingLeft(_) | GatewayError::LessLeft(_)) => {
            Ok(CheckoutState::Unknown)
        }
        Err(_) => Err(Error::Unavailable(Unavailable::GatewaySilent)),
    }
}
