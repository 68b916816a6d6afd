//! From the link of an event to a ticket, with a payment at Stripe's own page. With the variable `BUY_IN_BROWSER`, which
//! names a script, Chromium buys too: `.ci/pages/run` sets it.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use ticketing::environment::SystemClock;

use super::shop::{ADA, Shop, followed, pay};
use crate::common::fake_stripe::FakeStripe;
use crate::common::http::Client;
use crate::stripe::gateway::gateway;

#[test]
fn a_customer_pays_at_stripe_and_comes_back_to_the_tickets() {
    let fake = FakeStripe::start(SystemClock);
    let shop = Shop::with(
        |builder| builder.payment_gateway(gateway(&fake)).clock(SystemClock),
        |options| options.rate_limit = None,
    );
    let mut customer = shop.customer();
    let form = shop.form(&shop.chosen(2)).filled(&ADA);
    // The server does not accept younger forms.
    sleep(Duration::from_millis(2100));
    let sent = form.send(&mut customer).expect(303);
    assert!(sent.header("location").unwrap().starts_with(&format!("{}/c/pay/", fake.url())));
    let checkout = followed(&sent, &form.action);
    let mut at_stripe = Client::new(fake.address, "");
    assert!(at_stripe.get(&checkout).expect(200).text().contains("2500 eur"));

    // The link "Back" of that page leads to the order, which is still to be paid, and from there to the same page.
    let session = checkout.rsplit('/').next().unwrap();
    let back = fake.get(session)["cancel_url"].as_str().unwrap().to_owned();
    let back = format!("/{}", back.splitn(4, '/').nth(3).unwrap());
    let order = followed(&customer.get(&back).expect(303), &back);
    assert!(order.starts_with("/orders/"), "{order}");
    assert!(
        customer.get(&order).expect(200).text().contains(&format!("action=\"{}/pay\"", &order["/orders/".len()..]))
    );
    let again = customer.send("POST", &format!("{order}/pay"), &[], b"").expect(303);
    assert_eq!(again.header("location"), sent.header("location"));

    // Stripe was asked a moment ago, when the customer went back, so the page asks to wait, and reloads itself.
    let paid = pay(&mut at_stripe, &checkout, "success");
    let mut page = customer.get(&paid);
    for _ in 0..150 {
        if page.header("refresh").is_none() {
            break;
        }
        sleep(Duration::from_millis(200));
        page = customer.get(&paid);
    }
    let tickets = customer.get(&followed(&page.expect(303), &paid)).expect(200);
    assert!(tickets.text().contains("Your tickets (2)"), "{}", tickets.text());

    let Some(script) = std::env::var_os("BUY_IN_BROWSER") else { return };
    let page = format!("http://{}{}", shop.server.address, shop.page);
    let bought = Command::new("node").arg(script).args(["stripe", &page, &shop.ticket_type, "/dev/null"]).status();
    assert!(bought.unwrap().success());
}
