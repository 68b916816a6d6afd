//! The comparison of 10,000 movements with the statement of a fake Stripe, and reading the statement only: the rest is
//! ours.

use std::ops::ControlFlow;
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::payment::{NoticeHeaders, PaymentGateway as _, Reconcile, StatementRequest};
use ticketing::stripe::StripeGateway;

use crate::common::fake_stripe::{FakeStripe, WEBHOOK_SECRET};
use crate::common::{Fixture, NOW, at};
use crate::ratio::{Bench, median, time};

/// The payments, each of which is refunded in nine parts.
const PAYMENTS: usize = 1_000;
const REFUNDS: usize = 9;

pub fn bench(bench: &mut Bench) {
    let name = "reconcile, 10,000 movements";
    if !bench.includes(name) {
        return;
    }
    println!("Creating 10,000 movements at a fake Stripe …");
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    let fixture = Fixture::with(|builder| builder.payment_gateway(gateway(&fake)));
    sell_and_refund(&fixture, &fake);
    let (from, to) = (at("2026-06-01T00:00:00Z"), at("2026-07-01T00:00:00Z"));
    let compare = |apply| {
        let request = Reconcile::new(from, to).apply(apply);
        let result = fixture.service.reconcile(&request, |_| ControlFlow::Continue(())).expect("compared");
        assert!(result.is_explained());
        let matched: u64 = result.matched.iter().map(|total| total.count).sum();
        assert_eq!(matched, (PAYMENTS * (1 + REFUNDS)) as u64);
    };
    let applied = time(|| compare(true));
    let reader = gateway(&fake);
    let read = || {
        let statements = reader.statements().expect("it lists periods");
        statements.statement(&StatementRequest::new(from, to), &mut |_| Ok(())).expect("the statement");
    };
    let (mut comparisons, mut statements) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        comparisons.push(seconds(time(|| compare(false))));
        statements.push(seconds(time(read)));
    }
    let (compared, read) = (median(&mut comparisons), median(&mut statements));
    let applied = seconds(applied);
    let ratio = read / compared;
    bench.report(format!(
        "{name}: ratio {ratio:.2} to the statement ({compared:.2} s, the statement {read:.2} s, recording all refunds {applied:.2} s)"
    ));
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn gateway(fake: &FakeStripe) -> StripeGateway {
    let builder = StripeGateway::builder(fake.secret_key()).webhook_secret(WEBHOOK_SECRET).api_base(fake.url());
    builder.build().expect("a gateway")
}

/// Sells orders, and refunds them at Stripe, of which the service gets no notices.
fn sell_and_refund(fixture: &Fixture, fake: &FakeStripe) {
    let ticket_type = fixture.new_ticket_type(1250, 20_000);
    let mut sold = Vec::with_capacity(PAYMENTS);
    for _ in 0..PAYMENTS {
        let order = fixture.order(&ticket_type, 2);
        let checkout = fixture.service.get_checkout(&fixture.caller, order.id).expect("its checkout");
        sold.push(fake.pay(&checkout.reference.expect("a session")).expect("paid"));
        for notice in fake.take_notices() {
            let headers = NoticeHeaders::from_iter([("stripe-signature", fake.sign(&notice))]);
            fixture.service.receive_gateway_notice(&headers, notice.body.as_bytes()).expect("received");
        }
    }
    fake.refund_often(&sold, 200, REFUNDS);
    fake.take_notices();
}
