//! What must hold after each step, and at the end.

use ticketing::order::OrderStatus;
use ticketing::payment::{ListRefunds, RefundSource, RefundStatus};

use super::{CLOSED_AFTER, Case, Sale, TOTAL, id, payments_of, sessions_of};

impl Case {
    /// No order is payable twice, and nothing is payable a minute after its order has ended.
    pub(super) fn check_payable(&mut self) {
        let now = self.now();
        for sale in &mut self.sales {
            let sessions = sessions_of(&self.shop, sale.order);
            let payable: Vec<_> = sessions.iter().map(id).filter(|id| self.shop.fake.is_payable(id)).collect();
            assert!(payable.len() <= 1, "seed {}: {} can be paid at {payable:?}", self.seed, sale.order);
            let ended_at = match sale.ended_at {
                Some(ended_at) => ended_at,
                None if self.shop.fixture.order_status(sale.order) == OrderStatus::Pending => continue,
                None => *sale.ended_at.insert(now),
            };
            if now > ended_at.saturating_add(CLOSED_AFTER) {
                assert!(payable.is_empty(), "seed {}: {payable:?} can be paid", self.seed);
            }
        }
    }

    pub(super) fn check_money(&self) {
        let seed = self.seed;
        for sale in &self.sales {
            let status = self.status(sale.order);
            let payments = payments_of(&self.shop, sale.order);
            let expected = if payments.is_empty() { OrderStatus::Completed } else { OrderStatus::Pending };
            assert_ne!(status, expected, "seed {seed}: {} and its payments {payments:?}", sale.order);
            if payments.is_empty() {
                continue;
            }
            let checkout = self.shop.service().get_checkout(&self.shop.fixture.caller, sale.order).unwrap();
            if status == OrderStatus::Completed {
                let kept = checkout.payment_reference.clone().expect("a payment");
                assert!(payments.contains(&kept), "seed {seed}: {kept}");
            }
            for payment in &payments {
                let is_kept = status == OrderStatus::Completed && checkout.payment_reference.as_ref() == Some(payment);
                self.check_payment(sale, payment, if is_kept { sale.given_back } else { TOTAL });
            }
        }
    }

    /// Checks that `wanted` cents of a payment have gone back: by us, by somebody in the Dashboard, or by the bank.
    /// What Stripe refuses to give back is still listed.
    fn check_payment(&self, sale: &Sale, payment: &str, wanted: i64) {
        let (mut ours, mut others) = (0, 0);
        for refund in self.shop.fake.all("refund") {
            if refund["payment_intent"] == payment && refund["status"] != "failed" {
                let amount = refund["amount"].as_i64().unwrap();
                *if refund["metadata"]["refund"].is_null() { &mut others } else { &mut ours } += amount;
            }
        }
        for dispute in self.shop.fake.all("dispute") {
            if dispute["payment_intent"] == payment && dispute["status"] == "lost" {
                others += dispute["amount"].as_i64().unwrap();
            }
        }
        let all = ListRefunds::default().order(sale.order);
        let refunds = self.shop.service().list_refunds(&self.shop.fixture.caller, all).unwrap().data;
        let context = format!("seed {}: {payment} of {}: {refunds:#?}", self.seed, sale.order);
        assert!(ours <= wanted && ours + others <= TOTAL, "{context}: {ours} and {others}; wanted: {wanted}");
        if !self.touched.contains(payment) {
            return assert_eq!((ours, others), (wanted, 0), "{context}");
        }
        let left = refunds.iter().filter(|it| it.status != RefundStatus::Done && it.source != RefundSource::Outside);
        let left: i64 = left.map(|refund| refund.amount.minor_units()).sum();
        assert!(ours + others + left >= wanted, "{context}: {ours}, {others}, {left}; wanted: {wanted}");
    }
}
