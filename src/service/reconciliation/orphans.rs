//! Payments at the provider whose order does not exist here: it was lost when a backup was restored.

use std::mem::take;

use sha2::{Digest, Sha256};

use super::progress::{AccountRun, LineFacts, Orphan, Resolution};
use crate::error::Result;
use crate::model::payments::checkout::{CheckoutState, GatewayPayment};
use crate::model::payments::dispute::DisputeStatus;
use crate::model::payments::gateway_report::{GatewayRefund, RefundState};
use crate::model::payments::statement::{StatementEvent, StatementLine};
use crate::model::sale::refund::RefundSource;
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{OrderId, OrganizationId, RefundId};
use crate::payment::{LookUp, PaymentLookUp, RefundRequest, Waiting};
use crate::payments::gateway_facts::{Ask, list_facts};
use crate::sales::money::statement_lines::Comparison;
use crate::sales::orders::gateway_facts::Listing;
use crate::store::money::checkouts::CheckoutOrder;

struct OrphanedPayment {
    organization: OrganizationId,
    order: OrderId,
    /// The gateway's id of the checkout, if it is known.
    checkout: Option<String>,
    look_up: PaymentLookUp,
}

/// What is left of such a payment at the provider.
struct Left {
    payment: GatewayPayment,
    decimals: Decimals,
    /// In minor units.
    amount: i64,
    listing: Listing,
}

impl AccountRun<'_, '_> {
    /// Asks the gateway what is left of the payments that were collected. Those of which something is left are listed,
    /// and refunded if that is wanted.
    pub(in crate::service) fn settle_orphans(&mut self) -> Result<()> {
        for (reference, orphan) in take(&mut self.orphans).by_payment {
            self.settle_orphan(&reference, orphan)?;
            self.run.report()?;
        }
        Ok(())
    }

    fn settle_orphan(&mut self, reference: &str, orphan: Orphan) -> Result<()> {
        let Orphan { organization, lines } = orphan;
        let Some(order) = lines.iter().find_map(|line| line.order_id) else { return Ok(()) };
        let look_up = PaymentLookUp::new(reference).organization(organization).account(self.account.account.clone());
        let checkout = lines.iter().find_map(|line| line.checkout_reference.clone());
        let payment = OrphanedPayment { organization, order, checkout, look_up };
        let resolution = match self.left_of(&payment, &lines) {
            Ok(left) if left.amount <= 0 => {
                for line in &lines {
                    self.count_returned(line);
                }
                return Ok(());
            }
            Ok(left) => self.return_rest(&payment, &left, &lines)?,
            Err(problem) => Resolution::unresolved(&format!("the order does not exist; {problem}")),
        };
        let lost = CheckoutOrder { organization, id: order };
        for line in &lines {
            if resolution.is_resolved {
                self.count_returned(line);
            }
            let discrepancy = self.discrepancy(line, lost, resolution.clone());
            self.run.result.missing_here.add(discrepancy);
        }
        Ok(())
    }

    fn count_returned(&mut self, line: &StatementLine) {
        self.run.returned.add(line, LineFacts::of(line).moved, self.account.mode);
    }

    /// Asks what is left of a payment. The text says why that is not known.
    fn left_of(&self, payment: &OrphanedPayment, lines: &[StatementLine]) -> Result<Left, String> {
        let listed = lines.iter().find_map(|line| match &line.event {
            StatementEvent::Payment(payment) => Some(payment.clone()),
            StatementEvent::Refund(_) | StatementEvent::Dispute(_) => None,
        });
        let found = match listed {
            Some(listed) => listed,
            None => self.find_payment(payment)?,
        };
        let decimals = Decimals::of_currency(&found.currency).ok_or("the currency of the payment is not known")?;
        let minor_units = |amount: Amount| amount.minor_with(decimals.get());
        let gateway = self.run.gateway;
        let ask = Ask::RefundsAndDisputes;
        let look_up = payment.look_up.clone();
        let listing = list_facts(gateway, payment.organization, look_up, ask, Waiting::Maintenance);
        let listing = listing.map_err(|failure| failure.to_string())?;
        let listing = listing.ok_or("the payment gateway does not list the refunds of a payment")?;
        let made = listing.refunds.iter().filter(|refund| !refund.has_failed());
        let refunded = made.map(|refund| minor_units(refund.amount));
        let taken = listing.disputes.iter().map(|dispute| minor_units(dispute.taken));
        let gone = refunded.chain(taken).try_fold(0_i64, |sum, part| sum.checked_add(part?));
        let left = minor_units(found.amount).zip(gone).and_then(|(paid, gone)| paid.checked_sub(gone));
        let amount = left.ok_or("its amounts cannot be expressed in its currency")?;
        Ok(Left { payment: found, decimals, amount, listing })
    }

    /// Asks for a payment that the statement does not list: it was made before the period.
    fn find_payment(&self, payment: &OrphanedPayment) -> Result<GatewayPayment, String> {
        let OrphanedPayment { organization, order, look_up, .. } = payment;
        let (organization, order, asked) = (*organization, *order, look_up.clone());
        let account = look_up.account.clone();
        let found = self.run.gateway.call_for(Waiting::Maintenance, organization, move |gateway| {
            let Some(reference) = gateway.find_checkout(&asked)? else { return Ok(CheckoutState::Unknown) };
            gateway.look_up(&LookUp::new(order, reference).organization(organization).account(account))
        });
        match found {
            Ok(CheckoutState::Paid(found) | CheckoutState::Returned(found))
                if found.payment_reference == look_up.payment_reference =>
            {
                Ok(found)
            }
            Ok(_) => Err("the payment gateway does not tell its payment".to_owned()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    /// Refunds what is left of a payment, if that is wanted.
    fn return_rest(&mut self, payment: &OrphanedPayment, left: &Left, lines: &[StatementLine]) -> Result<Resolution> {
        let amount = Amount::in_currency(left.amount, left.decimals);
        let currency = &left.payment.currency;
        let problem = format!("the order does not exist, and {amount} {currency} of its payment is left");
        let unresolved = |why: &str| Ok(Resolution::unresolved(&format!("{problem}; {why}")));
        if !self.run.request.apply {
            return Ok(Resolution::unresolved(&problem));
        }
        if left.listing.disputes.iter().any(|dispute| dispute.status == DisputeStatus::Open) {
            return unresolved("a bank decides about a dispute of it first");
        }
        if !self.run.gateway.can_refund() {
            return unresolved("the payment gateway cannot refund it");
        }
        // It may have been created since, by a program that is restored too.
        if let Some(line) = lines.first()
            && !matches!(self.compare_again(line)?, Comparison::NoOrder(_))
        {
            return unresolved("the order exists by now");
        }
        let request = self.refund_request(payment, left, amount);
        let answer = self
            .run
            .gateway
            .call_for(Waiting::Maintenance, payment.organization, move |gateway| gateway.refund(&request));
        let made = match answer {
            Ok(GatewayRefund { state: RefundState::Failed(reason), .. }) => {
                return unresolved(&format!("its refund has failed: {reason}"));
            }
            Ok(made) => made,
            Err(failure) => return unresolved(&failure.to_string()),
        };
        tracing::warn!(
            target: "ticketing::payment",
            order = %payment.order,
            organization = %payment.organization,
            payment = payment.look_up.payment_reference,
            refund = made.reference,
            amount = %made.amount,
            currency = made.currency,
            "a payment was refunded, because its order does not exist in this database"
        );
        let resolved = Resolution::resolved(format!("{problem}; it was refunded now"));
        let now = self.run.payments.environment.now();
        let line = StatementLine::new(StatementEvent::Refund(made), &payment.look_up.payment_reference, now);
        let lost = CheckoutOrder { organization: payment.organization, id: payment.order };
        let done = Resolution::resolved("the order of the payment does not exist".to_owned());
        let discrepancy = self.discrepancy(&line, lost, done);
        self.run.result.refunded.add(discrepancy);
        Ok(resolved)
    }

    /// A request for the refund of what is left of a payment, after its refunds were listed. A second run asks for the
    /// same one.
    fn refund_request(&self, payment: &OrphanedPayment, left: &Left, amount: Amount) -> RefundRequest {
        let reference = &payment.look_up.payment_reference;
        let id = refund_of(reference);
        let is_earlier = |refund: &&GatewayRefund| refund.refund_id == Some(id);
        let earlier = left.listing.refunds.iter().filter(is_earlier).map(|refund| refund.reference.clone());
        let mut request = RefundRequest::new(payment.order, amount, &left.payment.currency)
            .organization(payment.organization)
            .refund(id)
            .source(RefundSource::OtherPayment)
            .account(payment.look_up.account.clone())
            .attempt(2)
            .payment_reference(reference)
            .earlier_refunds(earlier)
            .asked_at(self.run.payments.environment.now())
            .idempotency_key(format!("reconcile-{reference}-of-{}", left.amount));
        request.reference.clone_from(&payment.checkout);
        request
    }
}

/// The id of the refund of a payment whose order does not exist: always the same one for a payment.
fn refund_of(payment_reference: &str) -> RefundId {
    let digest = Sha256::new().chain_update("reconciliation").chain_update(payment_reference).finalize();
    let bytes = std::array::from_fn(|index| digest[index]);
    RefundId::from_raw(i64::from_be_bytes(bytes) & i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refund_of_a_payment_has_always_the_same_id() {
        let id = refund_of("pi_1");
        // A later version must not refund what this one has refunded.
        assert_eq!(id.raw(), 1_906_566_611_820_188_233);
        assert_ne!(id, refund_of("pi_2"));
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}
