//! Asks the gateway what it knows of a payment, and records what it says.

use crate::error::{Error, Result, Unavailable};
use crate::model::values::id::OrganizationId;
use crate::payment::{GatewayCalls, GatewayError, PaymentLookUp, Waiting};
use crate::payments::Payments;
use crate::sales::orders::gateway_facts::{self, Listing};
use crate::store::money::checkouts::CheckoutOrder;
use crate::store::money::payments::StoredPayment;

pub(crate) const FACTS_AT_ONCE: usize = 50;

/// What the gateway is asked to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Refunds,
    Disputes,
    RefundsAndDisputes,
}

/// A question about a payment that is stored. `None` if the gateway's id of it is not known.
pub(crate) fn look_up_of(payment: &StoredPayment) -> Option<PaymentLookUp> {
    let look_up = PaymentLookUp::new(payment.reference.clone()?).organization(payment.organization);
    Some(look_up.account(payment.account.clone()))
}

/// Asks the gateway what it lists of a payment. `None` if it cannot tell.
pub(crate) fn list_facts(
    gateway: &GatewayCalls,
    organization: OrganizationId,
    payment: PaymentLookUp,
    ask: Ask,
    waiting: Waiting,
) -> Result<Option<Listing>, GatewayError> {
    gateway.call_for(waiting, organization, move |gateway| {
        let Some(reports) = gateway.refund_reports() else { return Ok(None) };
        let refunds = if ask == Ask::Disputes { Vec::new() } else { reports.refunds_of(&payment)? };
        let disputes = if ask == Ask::Refunds { Vec::new() } else { reports.disputes_of(&payment)? };
        Ok(Some(Listing { refunds, disputes }))
    })
}

impl Payments {
    /// Asks the gateway at once what it lists of the payments for an order, and records it.
    pub(crate) fn list_all(&self, order: CheckoutOrder, payments: &[StoredPayment]) -> Result<()> {
        for payment in payments {
            let gateway = self.gateway_of(payment.gateway_key());
            let (Some(gateway), Some(look_up)) = (gateway, look_up_of(payment)) else { continue };
            let listed = list_facts(gateway, order.organization, look_up, Ask::RefundsAndDisputes, Waiting::Caller);
            let listed = listed.map_err(|_| Error::Unavailable(Unavailable::GatewaySilent))?;
            self.record_facts(order, payment.reference.as_deref(), &listed.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Records what the gateway lists of a payment. `payment` is the gateway's id of it, if it is known. Returns whether
    /// the payment was found.
    pub(crate) fn record_facts(&self, order: CheckoutOrder, payment: Option<&str>, listing: &Listing) -> Result<bool> {
        let CheckoutOrder { organization, id } = order;
        let mut is_known = true;
        for part in parts(listing) {
            let payment = payment.map(str::to_owned);
            is_known &= self.writes.store_in_operation().write_event(organization, id.into(), move |tx| {
                gateway_facts::record(tx, organization, id, payment.as_deref(), &part)
            })?;
        }
        Ok(is_known)
    }
}

/// The facts of a listing, a few at a time.
pub(crate) fn parts(listing: &Listing) -> Vec<Listing> {
    let part = |refunds: &[_], disputes: &[_]| Listing { refunds: refunds.to_vec(), disputes: disputes.to_vec() };
    let refunds = listing.refunds.chunks(FACTS_AT_ONCE).map(|refunds| part(refunds, &[]));
    let disputes = listing.disputes.chunks(FACTS_AT_ONCE).map(|disputes| part(&[], disputes));
    refunds.chain(disputes).collect()
}
