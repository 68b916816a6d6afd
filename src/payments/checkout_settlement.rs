//! Checkouts that are settled: their outcomes are recorded, as the gateway says when it is asked or in a notice.

use super::gateway_facts::{Ask, list_facts};
use crate::error::{Error, Result, Unavailable};
use crate::model::payments::checkout::{CheckoutState, GatewayPayment, SettledCheckout};
use crate::model::payments::notice::NoticeOutcome;
use crate::model::sale::gateway_account::{GatewayAccount, GatewayIdentity};
use crate::model::values::id::OrganizationId;
use crate::payment::{GatewayError, LookUp, PaymentLookUp, Waiting};
use crate::payments::Payments;
use crate::payments::look_up_limit::LookUpPermission;
use crate::sales::checkouts::hosted_checkout::ToSettle;
use crate::sales::checkouts::{checkout_attempts, hosted_checkout};
use crate::sales::orders::gateway_facts::Listing;
use crate::store::money::checkouts::{self, CheckoutOrder};

impl Payments {
    /// See [`TicketingService::settle_checkout`](crate::TicketingService::settle_checkout).
    pub(crate) fn settle_by_reference(&self, reference: &str) -> Result<SettledCheckout> {
        let found = self.writes.store()?.read(|tx| hosted_checkout::to_settle(tx, reference))?;
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
        self.writes.store_in_operation().read(|tx| hosted_checkout::settled(tx, found.order, answered))
    }

    /// Settles a checkout as [`settle_by_reference`](Self::settle_by_reference) does, for the page to which the customer comes
    /// back. If the gateway does not answer, the outcome is not known yet.
    #[cfg(feature = "server")]
    pub(crate) fn settle_for_page(&self, reference: &str) -> Result<SettledCheckout> {
        match self.settle_by_reference(reference) {
            Err(Error::Unavailable(Unavailable::GatewaySilent)) => self.writes.store()?.read(|tx| {
                let found = hosted_checkout::to_settle(tx, reference)?;
                hosted_checkout::settled(tx, found.order, None)
            }),
            settled => settled,
        }
    }

    /// Records the outcome of a checkout. `reference` is the gateway's id of it, if it is known.
    pub(crate) fn settle(
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
                self.writes.store_in_operation().write_event(order.organization, id.into(), move |tx| {
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
        let recorded = self.writes.store()?.read_one(|tx| checkouts::gateway(tx, order.id))?;
        let gateway = self.gateway_of(recorded.as_ref().map(GatewayIdentity::key));
        let gateway = gateway.ok_or(Error::Unavailable(Unavailable::GatewayMissing))?;
        let look_up = PaymentLookUp::new(&payment.payment_reference).organization(order.organization);
        let look_up = look_up.account(GatewayAccount::of(recorded.as_ref()));
        let listed = list_facts(gateway, order.organization, look_up, Ask::RefundsAndDisputes, Waiting::Caller);
        listed.map_err(|_| Error::Unavailable(Unavailable::GatewaySilent))
    }

    fn may_look_up(&self, organization: OrganizationId, reference: &str) -> bool {
        let permission = self.page_look_ups.request(organization, reference, self.environment.now());
        permission == LookUpPermission::Granted
    }

    /// Returns the organization whose checkout has this reference, as [`settle_by_reference`](Self::settle_by_reference) takes
    /// it.
    #[cfg(feature = "server")]
    pub(crate) fn organization_of_checkout(&self, reference: &str) -> Result<OrganizationId> {
        self.writes.store()?.read(|tx| hosted_checkout::to_settle(tx, reference)).map(|found| found.order.organization)
    }
}

pub(crate) fn look_up_of(found: &ToSettle, reference: &str) -> LookUp {
    let CheckoutOrder { organization, id } = found.order;
    LookUp::of((organization, id), found.event, GatewayAccount::of(found.gateway.as_ref()), reference)
}

pub(crate) fn state_of(answer: Result<CheckoutState, GatewayError>) -> Result<CheckoutState> {
    match answer {
        Ok(state) => Ok(state),
        Err(GatewayError::Refused(_) | GatewayError::NothingLeft(_) | GatewayError::LessLeft(_)) => {
            Ok(CheckoutState::Unknown)
        }
        Err(_) => Err(Error::Unavailable(Unavailable::GatewaySilent)),
    }
}
