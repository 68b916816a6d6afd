//! How much a client may do with the form.

use std::time::Duration;

use super::shop::{ADA, Shop};

#[test]
fn a_network_makes_sixty_orders_of_an_event_in_ten_minutes_and_repeated_ones_do_not_count() {
    let shop = Shop::with(|builder| builder, |options| options.orders_per_network = 3);
    let mut customer = shop.customer();
    let send = |shop: &Shop, customer: &mut _| shop.form(&shop.chosen(1)).filled(&ADA).send(customer).status;
    let form = shop.form(&shop.chosen(1)).filled(&ADA);
    let repeated: Vec<_> = (0..5).map(|_| form.send(&mut customer).status).collect();
    assert_eq!(repeated, [303; 5]);
    assert_eq!([send(&shop, &mut customer), send(&shop, &mut customer)], [303, 303]);
    let refused = shop.form(&shop.chosen(1)).filled(&ADA).send(&mut customer).expect(429);
    assert!(
        refused.text().contains("Too many orders from your network")
            && refused.text().contains("Please try again in 10 minutes.")
    );
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 500);
    assert_eq!(send(&shop, &mut shop.server.client_from(9)), 303, "another network");
    shop.clock.advance(Duration::from_mins(10));
    assert_eq!(send(&shop, &mut customer), 303);
    assert_eq!(shop.orders(), 5);
}

#[test]
fn behind_a_proxy_the_last_address_of_the_header_counts() {
    let header = "x-forwarded-for".parse().unwrap();
    let shop = Shop::with(
        |builder| builder,
        |options| {
            options.orders_per_network = 1;
            options.client_address_header = Some(header);
        },
    );
    let mut proxy = shop.customer();
    let mut send = |addresses: &str| {
        let form = shop.form(&shop.chosen(1)).filled(&ADA);
        form.send_with(&mut proxy, &[&format!("X-Forwarded-For: {addresses}")]).status
    };
    assert_eq!(
        [send("203.0.113.1"), send("198.51.100.7, 203.0.113.1"), send("203.0.113.1, 203.0.113.2")],
        [303, 429, 303]
    );
    // A network of IPv6 is a /64.
    assert_eq!([send("2001:db8::1"), send("2001:db8::2"), send("2001:db8:0:1::1")], [303, 429, 303]);
    // What is no address is that of the proxy.
    assert_eq!([send("unknown"), send("none")], [303, 429]);
}

#[test]
fn without_the_option_clients_cannot_choose_their_address() {
    let shop = Shop::with(|builder| builder, |options| options.orders_per_network = 1);
    let mut client = shop.customer();
    let mut send = |address: &str| {
        let form = shop.form(&shop.chosen(1)).filled(&ADA);
        form.send_with(&mut client, &[&format!("X-Forwarded-For: {address}")]).status
    };
    assert_eq!([send("203.0.113.1"), send("203.0.113.2")], [303, 429]);
}

#[test]
fn a_customer_reserves_no_more_than_the_limit_of_the_service() {
    let shop = Shop::with(|builder| builder.max_reserved_per_customer(3), |_| {});
    let mut customer = shop.customer();
    shop.form(&shop.chosen(2)).filled(&ADA).send(&mut customer).expect(303);
    let refused = shop.form(&shop.chosen(2)).filled(&ADA).send(&mut customer).expect(409);
    assert!(refused.text().contains("You have reserved as many tickets as one customer may."));
    assert_eq!(shop.orders(), 1);
}

#[test]
fn a_form_of_another_kind_or_size_is_refused() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let form = shop.form(&shop.chosen(1)).filled(&ADA);
    for (kind, status) in [("text/plain", 415), ("application/json", 415), ("multipart/form-data; boundary=x", 415)] {
        let response = customer.send("POST", &form.action, &[&format!("Content-Type: {kind}")], form.body().as_bytes());
        assert_eq!(response.status, status, "{kind}");
    }
    customer.send("POST", &form.action, &[], form.body().as_bytes()).expect(415);
    let large = form.filled(&[("street", &"x".repeat(16 * 1024))]);
    assert_eq!(large.send(&mut shop.customer()).status, 413);
    customer.send("DELETE", &form.action, &[], b"").expect(405);
    assert_eq!(shop.orders(), 0);
    form.send(&mut customer).expect(303);
}
