//! Notices: signatures, secrets, and hostile input.

use ticketing::order::OrderStatus;
use ticketing::payment::{NoticeError, NoticeHeaders, PaymentWebhooks};
use ticketing::stripe::StripeGateway;

use crate::common::fake_stripe::{Notice, WEBHOOK_SECRET, signature};
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;
use crate::common::{NOW, at};
use crate::stripe::Shop;

fn secrets(secrets: &[&str]) -> Vec<String> {
    secrets.iter().map(|secret| (*secret).to_owned()).collect()
}

fn read(gateway: &StripeGateway, header: &str, body: &[u8]) -> Result<usize, NoticeError> {
    let headers = NoticeHeaders::from_iter([("Stripe-Signature", header)]);
    gateway.read(&headers, body, at(NOW)).map(|notices| notices.len())
}

/// A notice about a payment.
fn paid_notice(shop: &Shop) -> Notice {
    let (_, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    let notices = shop.fake.take_notices();
    notices.into_iter().find(|notice| notice.kind == "checkout.session.completed").unwrap()
}

#[test]
fn a_signature_is_valid_for_five_minutes_both_ways() {
    let shop = Shop::open();
    let notice = paid_notice(&shop);
    let gateway = crate::stripe::gateway::gateway(&shop.fake);
    let seconds = at(NOW).millis() / 1000;
    for (offset, is_valid) in [(-301, false), (-300, true), (0, true), (300, true), (301, false)] {
        let header = signature(&secrets(&[WEBHOOK_SECRET]), seconds + offset, &notice.body);
        let accepted = read(&gateway, &header, notice.body.as_bytes());
        assert_eq!(accepted.is_ok(), is_valid, "{offset}: {accepted:?}");
    }
}

#[test]
fn thousands_of_changed_notices_are_refused() {
    let shop = Shop::open();
    let notice = paid_notice(&shop);
    let header = shop.fake.sign(&notice);
    let gateway = crate::stripe::gateway::gateway(&shop.fake);
    let end = header.find(",v0=").unwrap();
    let mut random = Random::new(first_seed());
    for _ in 0..repetitions("TICKETING_FUZZ_INPUTS", 1000) {
        let mut body = notice.body.clone().into_bytes();
        let index = random.below(body.len());
        match random.below(4) {
            0 => body.truncate(index),
            1 => body[index] ^= 1 << random.below(8),
            2 => body.insert(index, b' '),
            _ => drop(body.remove(index)),
        }
        assert_eq!(read(&gateway, &header, &body), Err(NoticeError::InvalidSignature));

        // A digit of the time or of the signature is another one, is missing, or is doubled.
        let mut changed = header.clone();
        let digits: Vec<_> = header.char_indices().take(end).filter(|(_, digit)| digit.is_ascii_hexdigit()).collect();
        let (index, digit) = digits[random.below(digits.len())];
        let other = if digit == '7' { "8" } else { "7" };
        let doubled = format!("{digit}{digit}");
        changed.replace_range(index..=index, random.pick(&[other, "", &doubled]));
        assert_eq!(read(&gateway, &changed, notice.body.as_bytes()), Err(NoticeError::InvalidSignature), "{changed}");
    }
}

#[test]
fn signed_notices_with_any_content_neither_panic_nor_complete_an_order() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    // Both shops draw the same ids. The notice is about an order that this one does not have.
    let other = Shop::open();
    other.order();
    let notice = paid_notice(&other);
    let mut random = Random::new(first_seed());
    let seconds = at(NOW).millis() / 1000;
    let lines: Vec<_> = notice.body.lines().collect();
    for _ in 0..repetitions("TICKETING_FUZZ_INPUTS", 1000) {
        // Values that do not fit, and lines that are missing or doubled.
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for _ in 0..=random.below(3) {
            let index = random.below(changed.len());
            match random.below(3) {
                0 => {
                    changed.remove(index);
                }
                1 => changed.insert(index, changed[index].clone()),
                _ => {
                    let value =
                        random.pick(&["null", "-1", "1e400", "\"\"", "[]", "{}", "9223372036854775808", "true"]);
                    if let Some((name, _)) = changed[index].split_once(": ") {
                        changed[index] = format!("{name}: {value},");
                    }
                }
            }
        }
        let body = changed.join("\n");
        let header = signature(&secrets(&[WEBHOOK_SECRET]), seconds, &body);
        let headers = NoticeHeaders::from_iter([("Stripe-Signature", header)]);
        let _ = shop.service().receive_gateway_notice(&headers, body.as_bytes());
    }
    assert_eq!(shop.status(order), OrderStatus::Pending);
    assert!(shop.fake.is_payable(&session));
    shop.run(1);
}

#[test]
fn a_notice_that_is_deep_or_large_is_unreadable_and_harmless() {
    let shop = Shop::open();
    let gateway = crate::stripe::gateway::gateway(&shop.fake);
    let seconds = at(NOW).millis() / 1000;
    let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
    let bodies = [
        nested("[", "]", 100_000),
        nested("{\"data\":", "}", 40_000),
        "[".repeat(250_000),
        format!("{{\"id\": \"{}\"}}", "x".repeat(250_000)),
        "1".repeat(250_000),
        String::new(),
        "null".to_owned(),
        "\u{0}".repeat(1000),
    ];
    for body in bodies {
        let header = signature(&secrets(&[WEBHOOK_SECRET]), seconds, &body);
        let read = read(&gateway, &header, body.as_bytes());
        assert!(matches!(read, Err(NoticeError::Unreadable(_))), "{read:?}");
    }
    // JSON, but not UTF-8.
    let body = b"{\"id\": \"\xff\"}";
    assert_eq!(read(&gateway, "t=1,v1=00", body), Err(NoticeError::InvalidSignature));
}

#[test]
fn a_signature_header_of_any_form_is_refused() {
    let shop = Shop::open();
    let gateway = crate::stripe::gateway::gateway(&shop.fake);
    let notice = paid_notice(&shop);
    let good = shop.fake.sign(&notice);
    let genuine = good.split(",v0=").next().unwrap();
    let (time, hex) = genuine.split_once(",v1=").unwrap();
    let headers = [
        String::new(),
        ",".repeat(10_000),
        "=".repeat(10_000),
        "v1=".to_owned() + hex,
        format!("v1={hex},v1={hex}"),
        format!("t=,v1={hex}"),
        format!("t=99999999999999999999,v1={hex}"),
        format!("t=-1,v1={hex}"),
        format!("{time}.0,v1={hex}"),
        format!("{time},t=1,v1={hex}x"),
        format!("{time},V1={hex}"),
        format!("{time},v1={}", &hex[1..]),
        format!("{time},v1={hex}{hex}"),
        format!("{time}{}", ",v1=00".repeat(10_000)),
        format!("{time},v1={}", "é".repeat(32)),
        format!("{time},v1={}", "zz".repeat(32)),
        time.to_owned(),
        format!("{time},v0={hex}"),
        format!("{time},{time},v1={hex}"),
        format!("{time}0,v1={hex}"),
        format!("{},v1={hex}", time.replace('=', "=+")),
    ];
    for header in headers {
        let read = read(&gateway, &header, notice.body.as_bytes());
        assert_eq!(read, Err(NoticeError::InvalidSignature), "{header:.100}");
    }
    let twice = NoticeHeaders::from_iter([("Stripe-Signature", &good), ("stripe-signature", &good)]);
    let refused = gateway.read(&twice, notice.body.as_bytes(), at(NOW));
    assert_eq!(refused, Err(NoticeError::InvalidSignature), "two headers");
    assert!(read(&gateway, genuine, notice.body.as_bytes()).is_ok());
}
