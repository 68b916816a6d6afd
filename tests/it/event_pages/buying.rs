//! From the link of an event to a ticket, with nothing but links and forms.

use serde_json::json;

use super::shop::{self, ADA, Form, Shop, event, followed, pay, ticket_type};

#[test]
fn a_customer_buys_with_links_and_forms_only_and_the_ticket_admits() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let page = customer.get(&shop.page).expect(200);
    for text in
        ["<h1>Summer Night</h1>", "Saturday, 12 June 2027, 19:30 – 23:00", "Botanical Garden<br>Berlin", "€12.50"]
    {
        assert!(shop::text(&page).contains(text), "{text}: {}", page.text());
    }
    assert!(page.text().contains("action=\"summer-night/order\""));
    assert!(page.text().contains(&format!("name=\"t.{}\" min=\"0\" max=\"10\" value=\"0\"", shop.ticket_type)));

    let form = shop.form(&shop.chosen(2));
    assert_eq!(form.get("total"), "2500");
    let checkout = followed(&form.filled(&ADA).send(&mut customer).expect(303), &form.action);
    assert!(checkout.starts_with("/checkout/"), "{checkout}");
    assert!(customer.get(&checkout).expect(200).text().contains("Pay €25.00"));
    let order = pay(&mut customer, &checkout, "success");
    let tickets = customer.get(&order).expect(200);
    assert!(order.starts_with("/orders/") && tickets.text().contains("Your tickets (2)"), "{order}");

    let mut api = shop.api();
    let sold = api.get("/v1/orders").expect(200).json()["data"][0].clone();
    assert_eq!((&sold["customer"]["name"], &sold["status"]), (&json!("Ada Lovelace"), &json!("COMPLETED")));
    let issued = api.get("/v1/tickets").expect(200).json()["data"][0].clone();
    let scan = json!({"code": issued["code"], "eventId": shop.event});
    assert_eq!(api.post("/v1/tickets/check-in", &scan).expect(200).json()["status"], "CHECKED_IN");
}

#[test]
fn an_order_that_costs_nothing_leads_straight_to_its_tickets() {
    let shop = Shop::new();
    shop.update_type(&json!({"price": 0}));
    let mut customer = shop.customer();
    assert!(customer.get(&shop.page).expect(200).text().contains("<span>Free</span>"));
    let form = shop.form(&shop.chosen(3));
    let order = followed(&form.filled(&ADA).send(&mut customer).expect(303), &form.action);
    assert!(customer.get(&order).expect(200).text().contains("Your tickets (3)"));
}

#[test]
fn a_code_in_the_link_reduces_the_total_and_is_used_once() {
    let shop = Shop::new();
    let discount = json!({"eventId": shop.event, "code": "Früh", "type": "PERCENTAGE", "value": 20, "usageLimit": 1,
        "validFrom": "2027-01-01T00:00:00Z", "validTo": "2027-06-01T00:00:00Z"});
    shop.api().post("/v1/discounts", &discount).expect(201);
    let mut customer = shop.customer();
    let query = format!("{}&code=FR%C3%9CH&ref=poster&lang=de", shop.chosen(2));
    let linked = customer.get(&format!("{}?{query}", shop.page)).expect(200);
    assert!(linked.text().contains("max=\"10\" value=\"2\"") && linked.text().contains("value=\"poster\""));
    let form = shop.form(&query);
    // 25.00 less 20 %.
    assert_eq!((form.get("total"), form.get("code"), form.get("lang")), ("2000", "FRÜH", "de"));
    let sent = form.filled(&ADA).send(&mut customer).expect(303);
    assert!(customer.get(&followed(&sent, &form.action)).expect(200).text().contains("20,00\u{A0}€ bezahlen"));
    let orders = shop.api().get("/v1/orders").expect(200).json();
    assert_eq!(orders["data"][0]["affiliateCode"], "poster");

    // Shown while it could still be used.
    let wrong = customer.get(&format!("{}/order?{}&code=nothing", shop.page, shop.chosen(2))).expect(200);
    assert!(wrong.text().contains("This code does not exist.") && wrong.text().contains("<b>€25.00</b>"));
    let second = customer.get(&format!("{}/order?{query}", shop.page)).expect(200);
    assert!(second.text().contains("Dieser Code ist aufgebraucht."), "{}", second.text());
    assert_eq!(Form::of(&second, &shop.page).get("total"), "2500");
}

#[test]
fn a_code_that_is_used_up_between_the_pages_is_a_field_error_and_nothing_is_ordered() {
    let shop = Shop::new();
    let discount = json!({"eventId": shop.event, "code": "ONCE", "type": "PERCENTAGE", "value": 20, "usageLimit": 1,
        "validFrom": "2027-01-01T00:00:00Z", "validTo": "2027-06-01T00:00:00Z"});
    shop.api().post("/v1/discounts", &discount).expect(201);
    let mut customer = shop.customer();
    let query = format!("{}&code=ONCE", shop.chosen(1));
    let [first, second] = [shop.form(&query), shop.form(&query)];
    first.filled(&ADA).send(&mut customer).expect(303);
    let refused = second.filled(&[("name", "Grace"), ("email", "grace@example.com")]).send(&mut customer).expect(422);
    assert!(refused.text().contains("This code has been used up.") && refused.text().contains("value=\"Grace\""));
    assert_eq!(shop.orders(), 1);
}

#[test]
fn a_form_that_is_sent_twice_makes_one_order() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let form = shop.form(&shop.chosen(1)).filled(&ADA);
    let first = form.send(&mut customer).expect(303);
    let again = form.send(&mut customer).expect(303);
    assert_eq!(first.header("location"), again.header("location"));
    // Hours later too: reloading the answer sends the form again.
    shop.clock.advance(std::time::Duration::from_hours(3));
    assert_eq!(form.send(&mut customer).expect(303).header("location"), first.header("location"));
    assert_eq!(shop.orders(), 1);
    // With other entries it is another order, for which there is no form.
    let other = form.filled(&[("name", "Grace Hopper")]).send(&mut customer).expect(409);
    assert!(other.text().contains("This form was sent already") && other.text().contains("../../../orders/"));
    assert_eq!(shop.orders(), 1);
    // The control: a new form makes another.
    shop.form(&shop.chosen(1)).filled(&ADA).send(&mut customer).expect(303);
    assert_eq!(shop.orders(), 2);
}

#[test]
fn forms_that_are_sent_at_the_same_time_make_one_order() {
    let shop = Shop::new();
    let form = shop.form(&shop.chosen(1)).filled(&ADA);
    let targets: Vec<_> = std::thread::scope(|scope| {
        let send =
            || scope.spawn(|| form.send(&mut shop.customer()).expect(303).header("location").unwrap().to_owned());
        let sent: Vec<_> = (0..8).map(|_| send()).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert!(targets.iter().all(|target| *target == targets[0]), "{targets:?}");
    assert_eq!(shop.orders(), 1);
}

#[test]
fn a_form_whose_total_is_not_true_any_more_shows_the_new_one_and_orders_nothing() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let form = shop.form(&shop.chosen(2)).filled(&ADA);
    shop.update_type(&json!({"price": 13}));
    let refused = form.send(&mut customer).expect(409);
    assert!(refused.text().contains("The total has changed.") && refused.text().contains("€26.00"));
    assert_eq!(shop.orders(), 0);
    let renewed = Form::of(&refused, &shop.page);
    assert_eq!((renewed.get("total"), renewed.get("name")), ("2600", "Ada Lovelace"));
    shop.clock.advance(std::time::Duration::from_secs(5));
    renewed.send(&mut customer).expect(303);
}

#[test]
fn what_is_missing_or_wrong_is_said_beside_its_field_with_what_was_entered() {
    let shop = Shop::new();
    let mut api = shop.api();
    let mail = event(
        &mut api,
        "by-mail",
        &json!({"deliveryMethod": "PHYSICAL", "shippingCountries": ["DE", "AT"], "acceptsCompany": true}),
    );
    let seat = ticket_type(&mut api, &mail, &json!({}));
    let page = format!("/e/{}/by-mail", shop.organization);
    let mut customer = shop.customer();
    let shown = Form::of(&customer.get(&format!("{page}/order?t.{seat}=1")).expect(200), &page);
    shop.clock.advance(std::time::Duration::from_secs(10));
    let empty = shown.send(&mut customer).expect(422);
    for field in ["name", "email", "street", "zip", "city", "country"] {
        assert!(
            empty.text().contains(&format!("<p class=\"error\" id=\"{field}-error\">Please fill in this field.</p>")),
            "{field}"
        );
        assert!(empty.text().contains(&format!("<a href=\"#{field}\">")), "the summary leads to {field}");
    }
    let entries = [
        ("name", "Ada & Co <b>"),
        ("email", "ada@"),
        ("company", "Ada Ltd"),
        ("street", "Main St 1"),
        ("zip", "1"),
        ("city", "Wien"),
        ("country", "fr"),
    ];
    let wrong = Form::of(&empty, &page).filled(&entries);
    shop.clock.advance(std::time::Duration::from_secs(10));
    let wrong = wrong.send(&mut customer).expect(422);
    assert!(wrong.text().contains("Please enter a valid e-mail address."));
    assert!(
        wrong.text().contains("value=\"Ada &#38; Co &#60;b&#62;\"") && wrong.text().contains("value=\"Main St 1\"")
    );
    let country = Form::of(&wrong, &page).filled(&[("name", "Ada & Co <b>"), ("email", "ada@example.com")]);
    shop.clock.advance(std::time::Duration::from_secs(10));
    let country = country.send(&mut customer).expect(422);
    assert!(country.text().contains("Tickets are not sent to this country."), "{}", country.text());
    let right = Form::of(&country, &page).filled(&[("name", "Ada & Co <b>"), ("country", "at")]);
    shop.clock.advance(std::time::Duration::from_secs(10));
    right.send(&mut customer).expect(303);
    let order = shop.api().get("/v1/orders").expect(200).json()["data"][0]["id"].as_str().unwrap().to_owned();
    let details = shop.api().get(&format!("/v1/orders/{order}/details")).expect(200).json();
    assert_eq!(details["shippingAddress"]["country"], "AT");
    assert_eq!(details["companyName"], "Ada Ltd");
    // An address that belongs to nobody would lose the tickets.
    let form = shop.form(&shop.chosen(1)).filled(&[("name", "Ada"), ("email", "new@walk-in.invalid")]);
    assert!(form.send(&mut customer).expect(422).text().contains("Please enter a valid e-mail address."));
}

#[test]
fn what_can_no_longer_be_had_is_said_with_what_is_left() {
    let shop = Shop::new();
    shop.update_type(&json!({"quantity": 3}));
    let mut customer = shop.customer();
    let [first, second] = [shop.form(&shop.chosen(2)), shop.form(&shop.chosen(2))];
    first.filled(&ADA).send(&mut customer).expect(303);
    let refused = second.filled(&[("name", "Grace"), ("email", "grace@example.com")]).send(&mut customer).expect(409);
    assert!(refused.text().contains("There are not enough tickets left."), "{}", refused.text());
    let left = Form::of(&refused, &shop.page);
    assert_eq!((left.get(&format!("t.{}", shop.ticket_type)), left.get("total")), ("1", "1250"));
    let many = customer.get(&format!("{}/order?{}", shop.page, shop.chosen(9))).expect(200);
    assert!(many.text().contains("Not all of these tickets can be had.") && many.text().contains("1 × €12.50"));
    assert_eq!(shop.orders(), 1);

    let form = shop.form(&shop.chosen(1)).filled(&ADA);
    shop.update_type(&json!({"saleEndDate": "2027-03-01T12:00:01Z"}));
    assert!(form.send(&mut customer).expect(409).text().contains("These tickets are not on sale any more."));
    assert_eq!(shop.orders(), 1);
}

#[test]
fn nothing_chosen_leads_back_to_the_event_with_a_sentence() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let path = format!("{}/order", shop.page);
    for query in [String::new(), format!("?{}", shop.chosen(0)), "?t.type_unknown=x&lang=it".to_owned()] {
        let response = customer.get(&format!("{path}{query}")).expect(303);
        let back = followed(&response, &path);
        let page = customer.get(&back).expect(200);
        let sentence =
            if query.contains("it") { "Scelga almeno un biglietto." } else { "Please choose at least one ticket." };
        assert!(back.starts_with(&shop.page) && page.text().contains(sentence), "{back}");
    }
}

#[test]
fn after_a_failure_of_the_gateway_the_form_comes_again_and_nothing_is_reserved() {
    use crate::common::{FakeGateway, GatewayBehavior};

    let gateway = FakeGateway::new();
    gateway.on_checkout(GatewayBehavior::Refuse);
    let shop = Shop::with(|builder| builder.payment_gateway(gateway), |_| {});
    let mut customer = shop.customer();
    let form = shop.form(&shop.chosen(2)).filled(&ADA);
    let failed = form.send(&mut customer).expect(502);
    assert!(failed.text().contains("The payment could not be started, and nothing was ordered."), "{}", failed.text());
    assert_eq!(Form::of(&failed, &shop.page).get("email"), "ada@example.com");
    let left = shop.api().get(&format!("/v1/ticket-types/{}", shop.ticket_type)).expect(200).json();
    assert_eq!(left["available"], 100);
}
