//! The amounts that are sent to Stripe, from its page on currencies: <https://docs.stripe.com/currencies>.

use std::time::Duration;

use ticketing::payment::{
    CheckoutItem, CheckoutRequest, CheckoutState, CheckoutTerms, Checkouts, LookUp, PaymentGateway,
};
use ticketing::payment::{GatewayPayment, Limits};

use crate::common::fake_stripe::FakeStripe;
use crate::common::{NOW, amount, at, percent_off};
use crate::gateways::Provider;
use crate::stripe::Shop;
use crate::stripe::gateway::gateway;
use ticketing::environment::ManualClock;
use ticketing::order::OrderStatus;

/// A currency, an amount with the decimals of ISO 4217, and the number that Stripe expects for it.
const AMOUNTS: &[(&str, i64, u8, i64)] = &[
    // "to charge 10 USD, provide an amount value of 1000"
    ("USD", 1000, 2, 1000),
    ("EUR", 1250, 2, 1250),
    ("EUR", 1, 2, 1),
    // Zero-decimal currencies: "to charge ¥500, provide an amount value of 500".
    ("BIF", 5000, 0, 5000),
    ("CLP", 5000, 0, 5000),
    ("DJF", 5000, 0, 5000),
    ("GNF", 5000, 0, 5000),
    ("JPY", 500, 0, 500),
    ("KMF", 5000, 0, 5000),
    ("KRW", 5000, 0, 5000),
    ("PYG", 5000, 0, 5000),
    ("RWF", 5000, 0, 5000),
    ("VND", 50_000, 0, 50_000),
    ("VUV", 5000, 0, 5000),
    ("XAF", 5000, 0, 5000),
    ("XOF", 5000, 0, 5000),
    ("XPF", 5000, 0, 5000),
    // Zero-decimal at Stripe, two decimals in ISO 4217: 5000 ariary.
    ("MGA", 500_000, 2, 5000),
    // "to charge 5 ISK, provide an amount value of 500", and the same for UGX. Both have no decimals in ISO 4217.
    ("ISK", 5, 0, 500),
    ("UGX", 5, 0, 500),
    // "12 digits for most card payments, for a maximum of 999,999,999,999 in minor units"
    ("IDR", 999_999_999_999, 2, 999_999_999_999),
    ("GBP", 999_999_999_999, 2, 999_999_999_999),
    ("COP", 25_000_000, 2, 25_000_000),
    // Whole units only for payouts; charges may have two decimals.
    ("HUF", 100_045, 2, 100_045),
    ("TWD", 80_045, 2, 80_045),
    // Three decimals, the last of which is 0: "5.124 KWD must be rounded to 5120 or 5130".
    ("BHD", 5120, 3, 5120),
    ("JOD", 5120, 3, 5120),
    ("KWD", 5120, 3, 5120),
    ("KWD", 5130, 3, 5130),
    ("OMR", 5120, 3, 5120),
    ("TND", 5120, 3, 5120),
];

/// Amounts that Stripe cannot take.
const REFUSED: &[(&str, i64, u8)] = &[
    ("KWD", 5124, 3),
    ("BHD", 5121, 3),
    ("MGA", 500_020, 2),
    ("EUR", 1_000_000_000_000, 2),
    ("ISK", 10_000_000_000, 0),
];

fn checkout(index: usize, currency: &str, minor: i64, decimals: u8) -> CheckoutRequest {
    let order = format!("order_1NR6E9XB000{:02}", index).parse().unwrap();
    let price = amount(minor, decimals);
    let request = CheckoutRequest::new(order, price, currency).items(vec![CheckoutItem::new("Seat", 1, price)]);
    request.created_at(at(NOW)).hold_until(at(NOW).saturating_add(Duration::from_mins(30)))
}

#[test]
fn every_amount_arrives_in_the_unit_that_stripe_expects_and_comes_back_as_it_was() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    fake.accept_small_amounts();
    let gateway = gateway(&fake);
    for (index, (currency, minor, decimals, expected)) in AMOUNTS.iter().enumerate() {
        let request = checkout(index, currency, *minor, *decimals);
        gateway.check_terms(&CheckoutTerms::new(request.amount, *currency)).expect(currency);
        let created = gateway.start_checkout(&request).expect(currency);
        let session = fake.get(&created.reference);
        assert_eq!(session["amount_total"], *expected, "{currency}");
        assert_eq!(session["currency"], currency.to_lowercase(), "{currency}");
        let intent = fake.pay(&created.reference).unwrap();
        let state = gateway.look_up(&LookUp::new(request.order_id, &created.reference)).expect(currency);
        let payment = GatewayPayment::new(intent, request.amount, *currency);
        assert_eq!(state, CheckoutState::Paid(payment), "{currency}");
    }
}

#[test]
fn an_amount_that_stripe_cannot_take_is_refused_before_any_call() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    let gateway = gateway(&fake);
    for (currency, minor, decimals) in REFUSED {
        let terms = CheckoutTerms::new(amount(*minor, *decimals), *currency);
        assert!(gateway.check_terms(&terms).is_err(), "{minor} {currency}");
    }
    let day = CheckoutTerms::new(amount(1250, 2), "EUR").hold(Duration::from_hours(24));
    assert!(gateway.check_terms(&day).is_err());
    assert!(fake.requests().is_empty());
}

/// The table "Minimum charge amount" of the same page. Of other currencies, it names none.
#[test]
fn an_order_below_the_minimum_of_its_currency_is_refused_before_stripe_is_asked() {
    let gateway = gateway(&FakeStripe::start(ManualClock::new(at(NOW))));
    for (currency, decimals, minimum) in [
        ("USD", 2, 50),
        ("AED", 2, 200),
        ("AUD", 2, 50),
        ("BGN", 2, 100),
        ("BRL", 2, 50),
        ("CAD", 2, 50),
        ("CHF", 2, 50),
        ("CZK", 2, 1500),
        ("DKK", 2, 250),
        ("EUR", 2, 50),
        ("GBP", 2, 30),
        ("HKD", 2, 400),
        ("HUF", 2, 17_500),
        ("INR", 2, 50),
        ("JPY", 0, 50),
        ("MXN", 2, 1000),
        ("MYR", 2, 200),
        ("NOK", 2, 300),
        ("NZD", 2, 50),
        ("PLN", 2, 200),
        ("RON", 2, 200),
        ("SEK", 2, 300),
        ("SGD", 2, 50),
        ("THB", 2, 1000),
        ("KRW", 0, 1),
        ("KWD", 3, 1),
    ] {
        assert_eq!(gateway.limits().smallest_payment(currency), minimum, "{currency} with {decimals} decimals");
    }
    let shop = Shop::open();
    let event = shop.fixture.event();
    let ticket_type = shop.fixture.ticket_type(&event, 49, 10);
    let asked = shop.fake.requests().len();
    let refused = shop.fixture.try_order(&ticket_type, 1).expect_err("0.49 is too little");
    assert_eq!(refused.fields()[0].path, "items");
    assert_eq!(shop.fake.requests().len(), asked);
    shop.fixture.order(&ticket_type, 2);
}

#[test]
fn every_basket_with_a_discount_can_be_paid_in_currencies_that_stripe_takes_in_steps() {
    // The currency, its decimals, the price, what 33 % leave of it, and what Stripe gets.
    for (currency, decimals, price, total, units) in [
        // 333.00 less 109.89, rounded to 110.
        ("MGA", 2, 33_300, 22_300, 223),
        // 9.990 less 3.297, rounded to 3.300.
        ("KWD", 3, 9_990, 6_690, 6_690),
        ("BHD", 3, 9_990, 6_690, 6_690),
        ("OMR", 3, 9_990, 6_690, 6_690),
        ("JOD", 3, 9_990, 6_690, 6_690),
        ("TND", 3, 9_990, 6_690, 6_690),
        // 999 less 329.67, rounded to 330 as in every currency without decimals.
        ("JPY", 0, 999, 669, 669),
        ("EUR", 2, 999, 669, 669),
    ] {
        let shop = Shop::open();
        shop.fake.accept_small_amounts();
        let event = shop.fixture.event_with(|new| new.currency = Some(currency.to_owned()));
        let ticket_type = shop.fixture.ticket_type_with(&event, |new| new.price = amount(price, decimals));
        shop.fixture.discount(percent_off(&event, "THIRD", 33));
        let order = shop.fixture.order_with_code(&ticket_type, 1, "THIRD");
        assert_eq!(order.total, amount(total, decimals), "{currency}");
        let session = &shop.fake.checkouts(order.id)[0];
        assert_eq!(shop.fake.get(session)["amount_total"], units, "{currency}");
        shop.fake.pay(session).unwrap();
        shop.deliver_all();
        assert_eq!(shop.status(order.id), OrderStatus::Completed, "{currency}");
    }
}
