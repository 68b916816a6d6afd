//! Organizations with a Stripe account of their own, of whose payments the platform receives a fee.

use std::time::Duration;

use ticketing::Amount;
use ticketing::discount::Percentage;
use ticketing::environment::ManualClock;
use ticketing::payment::{CheckoutItem, CheckoutRequest, PaymentGateway, RefundRequest, RefundSource};
use ticketing::stripe::{ConnectedAccount, StripeGateway};

use crate::common::fake_stripe::{FakeStripe, WEBHOOK_SECRET};
use crate::common::{NOW, amount, at};

const REFUNDS: &str = "/v1/refunds";

fn gateway(fake: &FakeStripe, fee: &str) -> StripeGateway {
    let fee: Percentage = fee.parse().unwrap();
    let account = ConnectedAccount::new("acct_1").application_fee(fee);
    let builder = StripeGateway::builder(fake.secret_key()).webhook_secret(WEBHOOK_SECRET).api_base(fake.url());
    builder.account_for(move |_| Some(account.clone())).build().unwrap()
}

fn checkout(number: usize, price: Amount, currency: &str) -> CheckoutRequest {
    let order = format!("order_1NR6E9XB{number:05}").parse().unwrap();
    let request = CheckoutRequest::new(order, price, currency).items([CheckoutItem::new("Seat", 1, price)]);
    request.created_at(at(NOW)).hold_until(at(NOW).saturating_add(Duration::from_mins(30)))
}

/// "5.124 KWD must be rounded to 5120 or 5130", and the two decimals of ISK and UGX must be 0: also of a fee.
#[test]
fn an_application_fee_is_a_multiple_of_what_stripe_can_express() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    fake.accept_small_amounts();
    for (number, (price, currency, fee, expected)) in [
        // 3 % of 5.120 are 0.1536.
        (amount(5120, 3), "KWD", "3", Some(150)),
        // 2.5 % of 1111 are 27.775.
        (amount(1111, 0), "ISK", "2.5", Some(2700)),
        // 2.5 % of 11 are 0.275.
        (amount(11, 0), "UGX", "2.5", None),
        // 2.5 % of 1001.00 ariary are 25.025.
        (amount(100_100, 2), "MGA", "2.5", Some(25)),
        // 2.5 % of 19.99 are 0.49975.
        (amount(1999, 2), "EUR", "2.5", Some(49)),
        // The highest amount that Stripe takes.
        (amount(999_999_999_999, 2), "EUR", "100", Some(999_999_999_999)),
    ]
    .into_iter()
    .enumerate()
    {
        let session = gateway(&fake, fee).start_checkout(&checkout(number, price, currency)).expect(currency).reference;
        let intent = fake.pay(&session).unwrap();
        assert_eq!(fake.get(&intent)["application_fee_amount"].as_i64(), expected, "{currency}");
    }
}

#[test]
fn the_fee_goes_back_with_a_payment_that_has_sold_nothing() {
    for (fee, source, returned) in [
        ("3", RefundSource::LatePayment, true),
        ("3", RefundSource::OtherPayment, true),
        ("3", RefundSource::Order, false),
        // Stripe refuses to return a fee that there is not.
        ("0", RefundSource::LatePayment, false),
    ] {
        let fake = FakeStripe::start(ManualClock::new(at(NOW)));
        let gateway = gateway(&fake, fee);
        let price = amount(2500, 2);
        let request = checkout(1, price, "EUR");
        let session = gateway.start_checkout(&request).unwrap().reference;
        let intent = fake.pay(&session).unwrap();
        let refund = RefundRequest::new(request.order_id, price, "EUR").source(source).payment_reference(&intent);
        gateway.refund(&refund).unwrap();
        let sent = &fake.requests_to("POST", REFUNDS)[0].request;
        let sent = String::from_utf8_lossy(&sent.body);
        assert_eq!(sent.contains("refund_application_fee=true"), returned, "{fee} {source}: {sent}");
        assert_eq!(fake.all("refund").len(), 1, "{fee} {source}");
    }
}
