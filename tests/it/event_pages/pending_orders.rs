//! The page of an order that waits for its payment, or ended without one.

use std::time::Duration;

use serde_json::json;

use super::shop::{self, ADA, Shop, followed, pay};
use crate::common::http::{Client, Response};

/// Orders two tickets. Returns the checkout, and the page of the order.
fn ordered(shop: &Shop, customer: &mut Client) -> (String, String) {
    let form = shop.form(&shop.chosen(2)).filled(&ADA);
    let checkout = followed(&form.send(customer).expect(303), &form.action);
    let id = shop.api().get("/v1/orders").expect(200).json()["data"][0]["id"].as_str().unwrap().to_owned();
    let details = shop.api().get(&format!("/v1/orders/{id}/details")).expect(200).json();
    let url = details["orderUrl"].as_str().unwrap();
    assert_eq!(details["documentsUrl"], serde_json::Value::Null);
    assert_eq!(details["checkoutRedirectUrls"], json!({"success": url, "failure": url, "cancel": url}));
    (checkout, format!("/{}", url.splitn(4, '/').nth(3).unwrap()))
}

fn post(client: &mut Client, path: &str, headers: &[&str]) -> Response {
    client.send("POST", path, &[&["Content-Type: application/x-www-form-urlencoded"], headers].concat(), b"")
}

#[test]
fn a_payment_that_failed_is_made_again_from_the_page_of_the_order() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let (checkout, page) = ordered(&shop, &mut customer);
    let waiting = customer.get(&page).expect(200);
    // Half an hour from 13:00:10 in Berlin.
    for text in ["2 × €12.50", "Reserved until Monday, 1 March 2027, 13:30", "Pay €25.00", "Cancel the order"] {
        assert!(shop::text(&waiting).contains(text), "{text}: {}", waiting.text());
    }
    assert_eq!(
        (waiting.header("referrer-policy"), waiting.header("cache-control")),
        (Some("same-origin"), Some("no-store"))
    );
    assert_eq!(pay(&mut customer, &checkout, "failure"), page, "the checkout leads back");
    assert!(customer.get(&page).expect(200).text().contains("Payment failed"));

    let again = followed(&post(&mut customer, &format!("{page}/pay"), &[]).expect(303), &format!("{page}/pay"));
    assert_ne!(again, checkout, "the failed checkout was replaced");
    assert_eq!(pay(&mut customer, &again, "success"), page);
    let paid = customer.get(&page).expect(200);
    assert!(paid.text().contains("Your tickets (2)"));
    let document = customer.get(&format!("{page}/tickets.pdf")).expect(200);
    assert_eq!(document.header("referrer-policy"), Some("no-referrer"), "what has no form");
    // There is nothing left to pay or to cancel.
    assert_eq!(followed(&post(&mut customer, &format!("{page}/pay"), &[]).expect(303), &format!("{page}/pay")), page);
    post(&mut customer, &format!("{page}/cancel"), &[]).expect(303);
    assert!(customer.get(&page).expect(200).text().contains("Your tickets (2)"));
}

#[test]
fn a_pending_order_is_cancelled_only_after_a_question() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let (_, page) = ordered(&shop, &mut customer);
    let question = customer.get(&format!("{page}/cancel")).expect(200);
    assert!(question.text().contains("Cancel this order?") && question.text().contains("Keep the order"));
    assert!(customer.get(&page).expect(200).text().contains("Pay €25.00"), "asking changes nothing");
    let foreign = post(&mut customer, &format!("{page}/cancel"), &["Sec-Fetch-Site: cross-site"]).expect(403);
    assert!(foreign.text().contains("This form comes from another site"));
    assert!(customer.get(&page).expect(200).text().contains("Pay €25.00"));

    let cancelled = post(&mut customer, &format!("{page}/cancel"), &["Sec-Fetch-Site: same-origin"]).expect(303);
    assert_eq!(followed(&cancelled, &format!("{page}/cancel")), page);
    let shown = customer.get(&page).expect(200);
    assert!(
        shown.text().contains("This order is cancelled") && shown.text().contains("Order again"),
        "{}",
        shown.text()
    );
    assert!(shown.text().contains(&format!("../e/{}/summer-night", shop.organization)));
    let left = shop.api().get(&format!("/v1/ticket-types/{}", shop.ticket_type)).expect(200).json();
    assert_eq!(left["available"], 100);
    // To ask again leads to the page.
    customer.get(&format!("{page}/cancel")).expect(303);
}

#[test]
fn an_order_that_expired_leads_back_to_the_event() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let (_, page) = ordered(&shop, &mut customer);
    shop.clock.advance(Duration::from_mins(31));
    let expired = customer.get(&page).expect(200);
    assert!(expired.text().contains("This order was not paid in time.") && expired.text().contains("Order again"));
    assert!(!expired.text().contains("<form"));
}

#[test]
fn a_wrong_link_leads_nowhere_and_counts_against_its_address() {
    let shop = Shop::with(|builder| builder, |options| options.failed_authentications = 5);
    let mut customer = shop.customer();
    let (_, page) = ordered(&shop, &mut customer);
    let (start, end) = page.split_at(page.len() - 5);
    let wrong = format!("{start}{}{}", if end.starts_with('7') { '8' } else { '7' }, &end[1..]);
    let statuses: Vec<_> = (0..7).map(|_| post(&mut customer, &format!("{wrong}/cancel"), &[]).status).collect();
    assert_eq!(statuses, [404, 404, 404, 404, 404, 429, 429]);
    // A right one still works.
    customer.get(&page).expect(200);
}
