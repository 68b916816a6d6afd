//! The fake of Stripe as a provider.

use ticketing::environment::ManualClock;
use ticketing::id::OrderId;
use ticketing::payment::{NoticeHeaders, NoticeOutcome};
use ticketing::{Builder, Result, TicketingService};

use super::{Call, Provider, Trouble};
use crate::common::fake_stripe::{FakeStripe, Fault, Notice};
use crate::money::book::{Book, number, text};
use crate::stripe::gateway::gateway;

/// A payment method that reports the payment later. It is newer than the list of those that our sessions exclude.
const DELAYED_METHOD: &str = "a_method_of_next_year";

/// The method and the path of a request.
const fn target(call: Call) -> (&'static str, &'static str) {
    match call {
        Call::Checkout => ("POST", "/v1/checkout/sessions"),
        Call::LookUp => ("GET", "/v1/checkout/sessions"),
        Call::Refund => ("POST", "/v1/refunds"),
        Call::ListRefunds => ("GET", "/v1/refunds"),
    }
}

impl Provider for FakeStripe {
    type Notice = Notice;

    fn start(clock: ManualClock) -> Self {
        Self::start(clock)
    }

    fn configure(&self, builder: Builder) -> Builder {
        builder.payment_gateway(gateway(self))
    }

    fn checkouts(&self, order: OrderId) -> Vec<String> {
        self.sessions_of(&order.to_string())
    }

    fn is_payable(&self, checkout: &str) -> bool {
        self.is_payable(checkout)
    }

    fn pay(&self, checkout: &str) -> String {
        self.pay(checkout).expect("a session that is open")
    }

    fn pay_later(&self, checkout: &str) {
        self.pay_later(checkout, DELAYED_METHOD).expect("a session that is open");
    }

    fn end_payment(&self, checkout: &str, is_paid: bool) {
        self.settle_later(checkout, is_paid);
    }

    fn change_total(&self, checkout: &str, cents: i64) {
        self.change_total(checkout, cents);
    }

    fn expire(&self, checkout: &str) {
        self.expire(checkout);
    }

    fn refund(&self, payment: &str, cents: Option<i64>) -> String {
        text(&self.refund_outside(payment, cents), "id")
    }

    fn fail_refund(&self, refund: &str) {
        self.fail_refund(refund);
    }

    fn remove_refund(&self, refund: &str) {
        self.remove_refund(refund);
    }

    fn dispute(&self, payment: &str, cents: Option<i64>) -> String {
        match cents {
            Some(cents) => self.dispute_part(payment, cents),
            None => self.dispute(payment),
        }
    }

    fn close_dispute(&self, dispute: &str, is_won: bool) {
        self.close_dispute(dispute, is_won);
    }

    fn fail(&self, call: Call, trouble: Trouble) {
        let fault = match trouble {
            Trouble::NotExecuted => Fault::RateLimitedForLong,
            Trouble::NoAnswer => Fault::BadGateway,
            Trouble::AnswerLost => Fault::CloseAfter,
        };
        let (method, path) = target(call);
        self.fail(method, path, fault, usize::MAX);
    }

    fn repair(&self) {
        self.repair();
    }

    fn take_notices(&self) -> Vec<Notice> {
        self.take_notices()
    }

    fn send(&self, service: &TicketingService, notice: &Notice) -> Result<Vec<NoticeOutcome>> {
        let headers = NoticeHeaders::from_iter([("stripe-signature", self.sign(notice))]);
        service.receive_gateway_notice(&headers, notice.body.as_bytes())
    }

    fn is_about_payment(notice: &Notice) -> bool {
        notice.kind == "checkout.session.completed"
    }

    fn requests(&self, call: Call) -> usize {
        let (method, path) = target(call);
        self.requests_to(method, path).len()
    }

    fn refunds(&self) -> Vec<(String, i64)> {
        let mut refunds = self.all("refund");
        refunds.retain(|refund| refund["status"] != "failed");
        refunds.iter().map(|refund| (text(refund, "id"), number(refund, "amount"))).collect()
    }

    fn kept(&self, order: OrderId) -> i64 {
        Book::of(self, &[]).of_order(order).kept()
    }
}
