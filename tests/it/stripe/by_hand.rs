//! The fake as a server of its own, to try a sale by hand.

use std::io::Read;

use ticketing::environment::SystemClock;

use crate::common::fake_stripe::{FakeStripe, WEBHOOK_SECRET};

/// Serves until its standard input ends. The address is `TICKETING_FAKE_STRIPE`, and `TICKETING_STRIPE_ENDPOINT` is the
/// URL that receives the events:
///
/// ```sh
/// TICKETING_STRIPE_ENDPOINT=http://127.0.0.1:8080/gateway/notices \
///     cargo test --all-features --test stripe -- --ignored --nocapture serve_the_fake
/// ```
#[test]
#[ignore = "serves until its standard input ends"]
fn serve_the_fake() {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let address = variable("TICKETING_FAKE_STRIPE", "127.0.0.1:12111");
    let endpoint = variable("TICKETING_STRIPE_ENDPOINT", "http://127.0.0.1:8080/gateway/notices");
    let mut fake = FakeStripe::listen(&address, SystemClock);
    fake.set_endpoint(&endpoint);
    fake.deliver_automatically();
    println!("\nFake Stripe: {}", fake.url());
    println!("Secret key: {}", fake.secret_key());
    println!("Webhook secret: {WEBHOOK_SECRET}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
