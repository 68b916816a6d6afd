//! Every operation over HTTP: its status, its `Location` header, its scope, and its isolation between organizations.

use crate::common::http::{EventOnSale, Server, event_on_sale, id, order_of, other_organization_key};
use crate::common::{FakeGateway, GatewayBehavior, outbox};
use serde_json::{Value, json};
use ticketing::Builder;
use ticketing::organization::{CreateApiKey, ListOrganizations, Scope, Scopes};

fn new_event(slug: &str) -> Value {
    json!({"title": "Jazz Night", "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"})
}

fn guest(ticket_type: &str) -> Value {
    json!({"ticketId": ticket_type, "quantity": 2, "customer": {"name": "Ada", "email": "ada@example.com"}})
}

#[test]
fn events_are_created_listed_read_updated_and_deleted() {
    let server = Server::start();
    let mut client = server.client();
    let created = client.post("/v1/events", &new_event("jazz-night")).expect(201);
    assert_eq!(created.header("content-type"), Some("application/json"));
    let event = id(&created);
    let path = format!("/v1/events/{event}");
    assert_eq!(created.header("location"), Some(path.as_str()));
    assert_eq!(client.get(&path).expect(200).json(), created.json());
    let other = id(&client.post("/v1/events", &new_event("second-night")).expect(201));
    let first_page = client.get("/v1/events?limit=1").expect(200).json();
    assert_eq!(first_page["data"][0]["id"], other);
    assert_eq!(first_page["nextCursor"], other);
    let second_page = client.get(&format!("/v1/events?limit=1&cursor={other}")).expect(200).json();
    assert_eq!(second_page["data"][0]["id"], event);
    assert_eq!(second_page["nextCursor"], Value::Null);
    assert_eq!(client.get("/v1/events?q=JAZZ-n&status=DRAFTED").expect(200).json()["data"][0]["id"], event);
    let changed = client.patch(&path, &json!({"description": "Late and loud"})).expect(200).json();
    assert_eq!(changed["description"], "Late and loud");
    assert_eq!(changed["title"], "Jazz Night");
    let settings = json!({"tags": ["jazz"], "trackingPixels": {"a": [1]}});
    let changed = client.patch(&format!("{path}/settings"), &settings).expect(200).json();
    assert_eq!(changed["tags"], settings["tags"]);
    assert_eq!(changed["trackingPixels"], settings["trackingPixels"]);
    let viewed = client.post_empty(&format!("{path}/page-views")).expect(204);
    assert!(viewed.body.is_empty() && viewed.header("content-type").is_none());
    assert_eq!(viewed.header("content-length"), None);
    server.service.run_maintenance().expect("a run");
    assert_eq!(client.get(&path).json()["pageViews"], 1);
    assert!(client.delete(&path).expect(204).body.is_empty());
    assert_eq!(client.get(&path).expect(404).code(), "not-found");
}

#[test]
fn ticket_types_are_created_listed_read_updated_and_deleted() {
    let server = Server::start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    let list = format!("/v1/events/{event}/ticket-types");
    let created = client.post(&list, &json!({"name": "Box", "price": 99.99, "quantity": 4.0})).expect(201);
    let path = format!("/v1/ticket-types/{}", id(&created));
    assert_eq!(created.header("location"), Some(path.as_str()));
    assert_eq!(created.json()["price"], json!(99.99));
    assert_eq!(created.json()["quantity"], json!(4));
    assert_eq!(client.get(&path).expect(200).json(), created.json());
    let page = client.get(&format!("{list}?status=ON_SALE")).expect(200).json();
    let names: Vec<_> =
        page["data"].as_array().unwrap().iter().map(|ticket_type| ticket_type["name"].clone()).collect();
    assert_eq!(names, ["Seat", "Box"]);
    assert_eq!(client.patch(&path, &json!({"name": "Loge"})).expect(200).json()["name"], "Loge");
    client.delete(&path).expect(204);
    client.get(&path).expect(404);
}

#[test]
fn orders_are_created_listed_read_paid_and_cancelled() {
    let server = Server::with(|builder| builder, |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut request = order_of(&event, &ticket_type, 2);
    request["language"] = json!("de");
    let created = client.post("/v1/orders", &request).expect(201);
    let order = created.json()["order"].clone();
    let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
    assert_eq!(created.header("location"), Some(path.as_str()));
    assert_eq!(created.json()["checkoutUrl"], Value::Null);
    assert_eq!(order["paymentGateway"], Value::Null);
    assert_eq!(client.get(&path).expect(200).json(), order);
    assert_eq!(client.get(&format!("{path}/details")).expect(200).json()["language"], "de");
    let page = client.get(&format!("/v1/orders?eventId={event}&customerEmail=ADA%40example.com")).expect(200).json();
    assert_eq!(page["data"][0]["id"], order["id"]);
    assert!(page["data"][0]["items"][0].get("issuedTickets").is_none());
    assert_eq!(client.post_empty(&format!("{path}/reminder-sent")).expect(200).json()["checkoutReminderSent"], true);
    assert_eq!(client.post(&format!("{path}/mark-paid"), &json!({})).expect(200).json()["status"], "COMPLETED");
    assert_eq!(client.post_empty(&format!("{path}/mark-paid")).expect(409).problem()["reason"], "order-not-pending");
    let cancelled = client.post_empty(&format!("{path}/cancel")).expect(200).json();
    assert_eq!(cancelled, json!({"success": true, "requiresManualRefund": true}));
    let again = client.post_empty(&format!("{path}/cancel")).expect(409);
    assert_eq!(again.code(), "conflict");
    assert_eq!(again.json()["reason"], "order-not-cancellable");
}

#[test]
fn a_cash_sale_is_one_request_and_lists_tell_how_orders_were_paid() {
    let gateway = FakeGateway::new();
    let server = Server::with(|builder| builder.payment_gateway(gateway.clone()), |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut sale = order_of(&event, &ticket_type, 2);
    sale["payment"] = json!("PAID");
    let sold = client.post_with_key("till-1", "/v1/orders", &sale).expect(201);
    let again = client.post_with_key("till-1", "/v1/orders", &sale).expect(201);
    assert_eq!((sold.json(), again.header("idempotent-replayed")), (again.json(), Some("true")));
    let sold = sold.json();
    assert_eq!((&sold["order"]["status"], &sold["checkoutUrl"]), (&json!("COMPLETED"), &Value::Null));
    assert_eq!(sold["issuedTickets"].as_array().unwrap().len(), 2);
    let pending = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"].clone();

    let mut shop = server.client_with(&server.key_with([Scope::OrdersWrite]));
    let refused = shop.post("/v1/orders", &sale).expect(403);
    assert_eq!(refused.code(), "forbidden");
    assert!(refused.json()["detail"].as_str().unwrap().contains("payments:write"));
    sale["checkoutRedirectUrls"] =
        json!({"success": "https://a.example", "failure": "https://a.example", "cancel": "https://a.example"});
    assert_eq!(client.post("/v1/orders", &sale).expect(422).paths(), ["checkoutRedirectUrls"]);

    let mut list = |query: &str| client.get(&format!("/v1/orders{query}")).expect(200).json()["data"].clone();
    let all = list("");
    let told = |index: usize| json!([all[index]["id"], all[index]["paymentMethod"], all[index]["currency"]]);
    assert_eq!(told(0), json!([pending["id"], null, "EUR"]));
    assert_eq!(told(1), json!([sold["order"]["id"], "MANUAL", "EUR"]));
    assert_eq!(all[0]["completedAt"], Value::Null);
    assert_eq!(all[1]["completedAt"], sold["order"]["createdAt"]);
    assert_eq!(list("?paymentMethod=MANUAL"), json!([all[1]]));
    assert_eq!(list("?paymentMethod=GATEWAY"), json!([]));
    client.get("/v1/orders?paymentMethod=CASH").expect(422);
}

#[test]
fn a_key_without_the_scope_of_payments_cancels_only_orders_that_were_not_paid() {
    let server = Server::with(|builder| builder, |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut order = |is_paid: bool| {
        let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"].clone();
        let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
        if is_paid {
            client.post_empty(&format!("{path}/mark-paid")).expect(200);
        }
        format!("{path}/cancel")
    };
    let (paid, pending) = (order(true), order(false));
    let mut shop = server.client_with(&server.key_with([Scope::OrdersWrite]));
    let refused = shop.post_empty(&paid).expect(403);
    assert_eq!(refused.code(), "forbidden");
    assert!(refused.json()["detail"].as_str().unwrap().contains("payments:write"));
    shop.post_empty(&pending).expect(200);
    let mut both = server.client_with(&server.key_with([Scope::OrdersWrite, Scope::PaymentsWrite]));
    assert_eq!(both.post_empty(&paid).expect(200).json()["requiresManualRefund"], true);
}

#[test]
fn an_amount_is_refunded_only_with_an_idempotency_key() {
    let server = Server::with(|builder| builder, |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let mut sale = order_of(&event, &ticket_type, 2);
    sale["payment"] = json!("PAID");
    let sold = client.post("/v1/orders", &sale).expect(201).json();
    let path = format!("/v1/orders/{}/refunds", sold["order"]["id"].as_str().unwrap());
    for amount in [json!(3), json!(0)] {
        let refused = client.post(&path, &json!({"amount": amount})).expect(400);
        assert_eq!(refused.code(), "idempotency-key-required");
    }
    assert_eq!(client.post_with_key("nothing", &path, &json!({"amount": 0})).expect(422).paths(), ["amount"]);
    for replayed in [None, Some("true")] {
        let refunded = client.post_with_key("apology", &path, &json!({"amount": 3})).expect(200);
        assert_eq!((&refunded.json()["amount"], refunded.header("idempotent-replayed")), (&json!(3), replayed));
    }
    let summary = client.get(&format!("/v1/events/{event}/summary")).expect(200).json();
    assert_eq!(summary["manualRefundTotal"], 3);
    let ticket = &sold["issuedTickets"][0]["id"];
    assert_eq!(client.post(&path, &json!({"tickets": [ticket]})).expect(200).json()["amount"], 12.5);
}

#[test]
fn orders_and_tickets_are_filtered_by_time_discount_and_ticket_type() {
    let server = Server::with(|builder| builder, |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"].clone();
    client.post(&format!("/v1/orders/{}/mark-paid", order["id"].as_str().unwrap()), &json!({})).expect(200);
    let issued = client.post("/v1/tickets/issue", &guest(&ticket_type)).expect(201).json();
    client.post("/v1/tickets/check-in", &json!({"code": issued["issuedTickets"][0]["code"]})).expect(200);
    let mut number = |path: &str| client.get(path).expect(200).json()["data"].as_array().unwrap().len();
    let (long_ago, some_day) = ("2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z");
    for (list, from, before) in [
        ("orders", "completedFrom", "completedBefore"),
        ("orders", "updatedFrom", "updatedBefore"),
        ("tickets", "firstScanFrom", "firstScanBefore"),
    ] {
        assert_eq!(number(&format!("/v1/{list}?{from}={long_ago}&{before}={some_day}")), 1, "{from}");
        assert_eq!(number(&format!("/v1/{list}?{from}={some_day}")), 0, "{from}");
        assert_eq!(number(&format!("/v1/{list}?{before}={long_ago}")), 0, "{before}");
    }
    assert_eq!(number(&format!("/v1/orders?ticketId={ticket_type}")), 1);
    assert_eq!(number("/v1/orders?discountId=discount_0000000000001"), 0);
    client.get("/v1/orders?completedFrom=yesterday").expect(422);
}

#[test]
fn an_event_is_found_by_its_slug() {
    let server = Server::start();
    let mut client = server.client();
    event_on_sale(&mut client, "summer");
    let EventOnSale { event, .. } = event_on_sale(&mut client, "summer-night");
    let found = client.get("/v1/events?slug=summer-night").expect(200).json();
    assert_eq!((found["data"][0]["id"].as_str(), found["data"].as_array().unwrap().len()), (Some(event.as_str()), 1));
    assert_eq!(client.get("/v1/events?slug=night").expect(200).json()["data"], json!([]));
    assert_eq!(client.get(&format!("/v1/events?slug={}", "a".repeat(256))).expect(422).paths(), ["slug"]);
}

#[test]
fn refunds_are_listed_without_the_text_of_the_gateway() {
    let gateway = FakeGateway::new();
    let server = Server::with(|builder| builder.payment_gateway(gateway.clone()), |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let caller = server
        .service
        .act_for(server.service.list_organizations(ListOrganizations::default()).unwrap().data[0].id)
        .unwrap();
    let mut cancelled = |behavior: GatewayBehavior| {
        gateway.on_refund(behavior);
        let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 2)).expect(201).json()["order"].clone();
        let id = order["id"].as_str().unwrap();
        server.service.payment_completed(&caller, id.parse().unwrap()).unwrap();
        client.post_empty(&format!("/v1/orders/{id}/cancel")).expect(200);
        order
    };
    let done = cancelled(GatewayBehavior::Succeed);
    let refused = cancelled(GatewayBehavior::Refuse);
    let mut list = |query: &str| client.get(&format!("/v1/refunds{query}")).expect(200).json();
    let page = list("?limit=1");
    let newest = &page["data"][0];
    assert_eq!(
        *newest,
        json!({
            "id": newest["id"], "orderId": refused["id"], "paymentId": newest["paymentId"], "gateway": "gateway",
            "source": "ORDER", "amount": refused["total"], "returned": 0, "owed": refused["total"], "currency": "EUR",
            "reason": null, "reference": null, "status": "REFUSED", "attempts": 1,
            "lastError": "the payment gateway does not make the refund; return the money manually",
            "requiresManualRefund": true,
            "createdAt": newest["createdAt"], "updatedAt": newest["updatedAt"],
        })
    );
    assert!(newest["id"].as_str().unwrap().starts_with("refund_"));
    assert!(newest["paymentId"].as_str().unwrap().starts_with("payment_"));
    assert_eq!(page["nextCursor"], newest["id"]);
    let last = list(&format!("?limit=1&cursor={}", newest["id"].as_str().unwrap()));
    assert_eq!((&last["data"][0]["orderId"], &last["nextCursor"]), (&done["id"], &Value::Null));
    assert_eq!(list(&format!("?status=DONE&eventId={event}"))["data"], last["data"]);
    assert_eq!(list("?eventId=event_0000000000001")["data"], json!([]));
    assert_eq!(list(&format!("?orderId={}", done["id"].as_str().unwrap()))["data"], last["data"]);
    client.get("/v1/refunds?status=PAID").expect(422);
}

#[test]
fn money_by_hand_is_taken_given_back_in_part_and_the_rest_is_kept() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 2)).expect(201).json();
    let path = format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap());
    assert_eq!(client.post(&format!("{path}/mark-paid"), &json!({"how": "GATEWAY"})).expect(422).paths(), ["how"]);
    client.post(&format!("{path}/mark-paid"), &json!({"how": "CASH", "note": "At the door"})).expect(200);
    client.post_empty(&format!("{path}/cancel")).expect(200);
    let of_order = format!("orderId={}", created["order"]["id"].as_str().unwrap());
    let refund = client.get(&format!("/v1/refunds?{of_order}")).expect(200).json()["data"][0].clone();
    assert_eq!((&refund["status"], &refund["owed"], &refund["returned"]), (&json!("DUE"), &json!(25), &json!(0)));
    assert_eq!((&refund["gateway"], &refund["lastError"]), (&Value::Null, &Value::Null));

    let part = json!({"how": "TRANSFER", "amount": 15.5});
    let settled = client.post(&format!("{path}/mark-refunded"), &part).expect(200).json()["settled"].clone();
    assert_eq!(settled, json!([{"refundId": refund["id"], "amount": 15.5, "currency": "EUR"}]));
    let withdraw = format!("/v1/refunds/{}/withdraw", refund["id"].as_str().unwrap());
    let withdrawn = client.post_empty(&withdraw).expect(200).json();
    assert_eq!((&withdrawn["status"], &withdrawn["owed"]), (&json!("WITHDRAWN"), &json!(0)));
    assert_eq!((&withdrawn["amount"], &withdrawn["returned"]), (&json!(25), &json!(15.5)));
    assert_eq!(client.post_empty(&withdraw).expect(409).problem()["reason"], "refund-settled");
    let nothing = client.post_empty(&format!("{path}/mark-refunded")).expect(409);
    assert_eq!(nothing.problem()["reason"], "no-manual-refund-due");

    let balance = client.get(&format!("{path}/balance")).expect(200).json();
    let sums = ["received", "returned", "taken", "promised", "inFlight", "onHold", "owed"].map(|sum| &balance[sum]);
    assert_eq!(sums, [&json!(25), &json!(15.5), &json!(0), &json!(15.5), &json!(0), &json!(0), &json!(0)]);
    let payment = client.get(&format!("/v1/payments?{of_order}")).expect(200).json()["data"][0].clone();
    assert_eq!((&payment["manualMethod"], &payment["note"]), (&json!("CASH"), &json!("At the door")));
    assert_eq!((&payment["purpose"], &payment["mode"]), (&json!("ORDER"), &json!("LIVE")));
    let entries = client.get(&format!("/v1/ledger-entries?{of_order}")).expect(200).json()["data"].clone();
    let of_entry = |index: usize| ["kind", "amount", "manualMethod"].map(|field| entries[index][field].clone());
    assert_eq!(of_entry(0), [json!("REFUND"), json!(-15.5), json!("TRANSFER")]);
    assert_eq!(of_entry(1), [json!("PAYMENT"), json!(25), json!("CASH")]);
    assert_eq!(entries.as_array().unwrap().len(), 2);
}

#[test]
fn tickets_are_issued_listed_read_checked_in_checked_out_and_cancelled() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let issued = client.post("/v1/tickets/issue", &guest(&ticket_type)).expect(201);
    assert_eq!(issued.header("location"), None);
    assert_eq!(issued.json()["success"], true);
    let first = issued.json()["issuedTickets"][0].clone();
    let path = format!("/v1/tickets/{}", first["id"].as_str().unwrap());
    assert_eq!(client.get(&path).expect(200).json()["code"], first["code"]);
    let page = client.get(&format!("/v1/tickets?eventId={event}&ticketId={ticket_type}&limit=1")).expect(200).json();
    assert!(page["nextCursor"].is_string());
    let scan = json!({"code": first["code"]});
    assert_eq!(client.post("/v1/tickets/check-in", &scan).expect(200).json()["status"], "CHECKED_IN");
    assert_eq!(client.post("/v1/tickets/check-out", &scan).expect(200).json()["status"], "NOT_CHECKED_IN");
    let cancelled = client.post_empty(&format!("{path}/cancel")).expect(200).json();
    assert_eq!(cancelled["status"], "CANCELLED");
    assert!(cancelled.get("ticket").is_none() && cancelled.get("customer").is_none());
    assert_eq!(client.post("/v1/tickets/check-in", &scan).expect(409).problem()["reason"], "ticket-cancelled");
    let unknown = client.post("/v1/tickets/check-in", &json!({"code": "00000000000000000000"}));
    assert_eq!(unknown.expect(404).code(), "not-found");
}

fn new_discount(event: &str, code: &str) -> Value {
    json!({
        "eventId": event, "code": code, "type": "PERCENTAGE", "value": 12.5,
        "validFrom": "2020-01-01T00:00:00Z", "validTo": "9000-01-01T00:00:00Z",
    })
}

#[test]
fn discounts_are_created_listed_validated_used_updated_and_deleted() {
    let server = Server::start();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let created = client.post("/v1/discounts", &new_discount(&event, "Early")).expect(201);
    let path = format!("/v1/discounts/{}", id(&created));
    assert_eq!(created.header("location"), Some(path.as_str()));
    assert_eq!(created.json()["value"], json!(12.5));
    assert_eq!(created.json()["usedCount"], json!(0));
    assert_eq!(client.get(&path).expect(200).json(), created.json());
    let again = client.post("/v1/discounts", &new_discount(&event, "EARLY")).expect(409);
    assert_eq!(again.problem()["reason"], "code-taken");

    let basket = json!({
        "eventId": event, "code": "early", "orderAmount": 25,
        "ticketItems": [{"ticketId": ticket_type, "quantity": 2, "price": 12.5}],
    });
    // 12.5 percent of 25.00 is 3.125, which is rounded up.
    let valid = client.post("/v1/discounts/validate", &basket).expect(200).json();
    assert_eq!(valid["valid"], true);
    assert_eq!(valid["discount"]["discountedAmount"], json!(3.13));
    client.get("/v1/discounts/validate").expect(405);
    let mut order = order_of(&event, &ticket_type, 2);
    order["discountCode"] = json!("EARLY");
    let order = client.post("/v1/orders", &order).expect(201).json()["order"].clone();
    assert_eq!(order["total"], json!(21.87));
    assert_eq!(order["discountedAmount"], json!(3.13));
    assert_eq!(order["discountCode"], "Early");
    let page = client.get(&format!("/v1/discounts?eventId={event}&code=eaRLY&isActive=true")).expect(200).json();
    assert_eq!(page["data"][0]["usedCount"], json!(1));
    assert_eq!(page["nextCursor"], Value::Null);
    assert_eq!(client.delete(&path).expect(409).problem()["reason"], "in-use");

    let changed = client.patch(&path, &json!({"isActive": false, "usageLimit": 3})).expect(200).json();
    assert_eq!(changed["isActive"], false);
    assert_eq!(changed["usageLimit"], json!(3));
    let mut order = order_of(&event, &ticket_type, 1);
    order["discountCode"] = json!("Early");
    let refused = client.post("/v1/orders", &order).expect(422);
    assert_eq!(refused.paths(), ["discountCode"]);
    assert_eq!(refused.json()["errors"][0]["message"], "Discount code is not active");
    let spare = format!("/v1/discounts/{}", id(&client.post("/v1/discounts", &new_discount(&event, "Late"))));
    client.delete(&spare).expect(204);
    client.get(&spare).expect(404);
}

fn new_webhook() -> Value {
    json!({"url": "https://example.com/hook", "events": ["ticket.issued"]})
}

#[test]
fn webhooks_are_created_read_updated_and_deleted_and_their_deliveries_resent() {
    let server = Server::start();
    let mut client = server.client();
    let created = client.post("/v1/webhooks", &new_webhook()).expect(201);
    let path = format!("/v1/webhooks/{}", id(&created));
    assert_eq!(created.header("location"), Some(path.as_str()));
    assert_eq!(created.header("etag"), None);
    let mut shown = created.json();
    let secret = shown.as_object_mut().unwrap().remove("secret").unwrap();
    assert!(secret.as_str().unwrap().starts_with("whsec_"));
    assert_eq!(shown["enabled"], true);
    assert_eq!(shown["description"], Value::Null);
    assert_eq!(client.get(&path).expect(200).json(), shown);
    assert_eq!(client.get("/v1/webhooks").expect(200).json(), json!({"data": [shown], "nextCursor": null}));
    let changed = client.patch(&path, &json!({"description": "Ours"})).expect(200);
    assert_eq!(changed.json()["description"], "Ours");
    assert_eq!(changed.header("etag"), Some("\"2\""));
    let rotated = client.post_empty(&format!("{path}/rotate-secret")).expect(200).json();
    assert_eq!(rotated["id"], shown["id"]);
    assert_eq!(rotated.as_object().unwrap().len(), 2);
    assert_ne!(rotated["secret"], secret);
    client.post(&format!("{path}/rotate-secret"), &json!({})).expect(200);
    assert_eq!(client.get(&path).expect(200).header("etag"), Some("\"4\""));

    let ticket_type = event_on_sale(&mut client, "summer-night").ticket_type;
    client.post("/v1/tickets/issue", &guest(&ticket_type)).expect(201);
    let database = server.database();
    for (number, row) in outbox::rows(&database).into_iter().enumerate() {
        outbox::record_attempt(&database, row.id, 1, (number == 0).then_some(503));
        outbox::record_attempt(&database, row.id, 2, Some(204));
    }
    let list = format!("{path}/deliveries");
    let failures = client.get(&format!("{list}?success=false&eventType=TICKET_ISSUED")).expect(200).json();
    assert_eq!(failures["data"][0]["responseStatus"], Value::Null);
    assert_eq!(failures["data"][1]["responseStatus"], json!(503));
    let page = client.get(&format!("{list}?limit=3")).expect(200).json();
    let rest = client.get(&format!("{list}?limit=3&cursor={}", page["nextCursor"].as_str().unwrap())).expect(200);
    assert_eq!(rest.json(), json!({"data": [failures["data"][1]], "nextCursor": null}));
    assert_eq!(client.get(&format!("{list}?eventType=ticket.issued&success=1&limit=0")).paths().len(), 3);

    let resend = format!("{list}/{}/resend", failures["data"][0]["id"].as_str().unwrap());
    let resent = client.post_empty(&resend).expect(202);
    assert_eq!(resent.header("location"), None);
    assert_eq!(resent.json().as_object().unwrap().len(), 1);
    assert!(resent.json()["outboxId"].as_str().unwrap().starts_with("outbox_"));
    let swapped =
        format!("/v1/webhooks/{}/deliveries/{}/resend", &resend[resend.len() - 29..resend.len() - 7], id(&created));
    assert_eq!(client.post_empty(&swapped).expect(404).code(), "not-found");
    client.patch(&path, &json!({"events": ["order.cancelled"]})).expect(200);
    assert_eq!(client.post_empty(&resend).expect(409).problem()["reason"], "invalid-transition");
    client.delete(&path).expect(204);
    for deleted in [&path, &list] {
        assert_eq!(client.get(deleted).expect(404).code(), "not-found");
    }
    assert_eq!(client.post_empty(&resend).expect(404).code(), "not-found");
}

/// The method and path of every operation, and the scope that it requires.
const OPERATIONS: [(&str, &str, Scope); 56] = [
    ("GET", "/v1/events", Scope::EventsRead),
    ("POST", "/v1/events", Scope::EventsWrite),
    ("GET", "/v1/events/event_0000000000001", Scope::EventsRead),
    ("PATCH", "/v1/events/event_0000000000001", Scope::EventsWrite),
    ("PATCH", "/v1/events/event_0000000000001/settings", Scope::EventsWrite),
    ("POST", "/v1/events/event_0000000000001/page-views", Scope::EventsRead),
    ("DELETE", "/v1/events/event_0000000000001", Scope::EventsWrite),
    ("GET", "/v1/events/event_0000000000001/summary", Scope::EventsRead),
    ("GET", "/v1/events/event_0000000000001/ticket-types", Scope::TicketTypesRead),
    ("POST", "/v1/events/event_0000000000001/ticket-types", Scope::TicketTypesWrite),
    ("GET", "/v1/ticket-types/type_0000000000001", Scope::TicketTypesRead),
    ("PATCH", "/v1/ticket-types/type_0000000000001", Scope::TicketTypesWrite),
    ("DELETE", "/v1/ticket-types/type_0000000000001", Scope::TicketTypesWrite),
    ("GET", "/v1/orders", Scope::OrdersRead),
    ("POST", "/v1/orders", Scope::OrdersWrite),
    ("GET", "/v1/orders/order_0000000000001", Scope::OrdersRead),
    ("GET", "/v1/orders/order_0000000000001/details", Scope::OrdersRead),
    ("GET", "/v1/orders/order_0000000000001/checkout", Scope::OrdersRead),
    ("POST", "/v1/orders/order_0000000000001/cancel", Scope::OrdersWrite),
    ("POST", "/v1/orders/order_0000000000001/mark-paid", Scope::PaymentsWrite),
    ("POST", "/v1/orders/order_0000000000001/reminder-sent", Scope::OrdersWrite),
    ("POST", "/v1/orders/order_0000000000001/refunds", Scope::PaymentsWrite),
    ("POST", "/v1/orders/order_0000000000001/mark-refunded", Scope::PaymentsWrite),
    ("GET", "/v1/orders/order_0000000000001/balance", Scope::OrdersRead),
    ("GET", "/v1/refunds", Scope::OrdersRead),
    ("POST", "/v1/refunds/refund_0000000000001/withdraw", Scope::PaymentsWrite),
    ("GET", "/v1/payments", Scope::OrdersRead),
    ("GET", "/v1/ledger-entries", Scope::OrdersRead),
    ("GET", "/v1/disputes", Scope::OrdersRead),
    ("GET", "/v1/tickets", Scope::TicketsRead),
    ("POST", "/v1/tickets/issue", Scope::TicketsWrite),
    ("POST", "/v1/tickets/check-in", Scope::TicketsCheckIn),
    ("POST", "/v1/tickets/check-out", Scope::TicketsCheckIn),
    ("POST", "/v1/tickets/scans", Scope::TicketsCheckIn),
    ("GET", "/v1/events/event_0000000000001/roster", Scope::TicketsCheckIn),
    ("GET", "/v1/events/event_0000000000001/roster/orders/order_0000000000001", Scope::TicketsCheckIn),
    ("GET", "/v1/events/event_0000000000001/scans", Scope::TicketsRead),
    ("POST", "/v1/events/event_0000000000001/door-links", Scope::EventsWrite),
    ("GET", "/v1/events/event_0000000000001/door-links", Scope::EventsWrite),
    ("DELETE", "/v1/events/event_0000000000001/door-links/key_0000000000001", Scope::EventsWrite),
    ("GET", "/v1/tickets/ticket_0000000000001", Scope::TicketsRead),
    ("POST", "/v1/tickets/ticket_0000000000001/cancel", Scope::TicketsWrite),
    ("GET", "/v1/discounts", Scope::DiscountsRead),
    ("POST", "/v1/discounts", Scope::DiscountsWrite),
    ("POST", "/v1/discounts/validate", Scope::DiscountsRead),
    ("GET", "/v1/discounts/discount_0000000000001", Scope::DiscountsRead),
    ("PATCH", "/v1/discounts/discount_0000000000001", Scope::DiscountsWrite),
    ("DELETE", "/v1/discounts/discount_0000000000001", Scope::DiscountsWrite),
    ("GET", "/v1/webhooks", Scope::WebhooksRead),
    ("POST", "/v1/webhooks", Scope::WebhooksWrite),
    ("GET", "/v1/webhooks/webhook_0000000000001", Scope::WebhooksRead),
    ("PATCH", "/v1/webhooks/webhook_0000000000001", Scope::WebhooksWrite),
    ("DELETE", "/v1/webhooks/webhook_0000000000001", Scope::WebhooksWrite),
    ("POST", "/v1/webhooks/webhook_0000000000001/rotate-secret", Scope::WebhooksWrite),
    ("GET", "/v1/webhooks/webhook_0000000000001/deliveries", Scope::WebhooksRead),
    ("POST", "/v1/webhooks/webhook_0000000000001/deliveries/delivery_0000000000001/resend", Scope::WebhooksWrite),
];

#[test]
fn every_operation_requires_its_scope_and_no_other() {
    let server = Server::start();
    for (method, path, scope) in OPERATIONS {
        let other_scopes = Scopes::all().iter().filter(|other| *other != scope);
        let mut client_without_scope = server.client_with(&server.key_with(other_scopes));
        let refused = client_without_scope.send(method, path, &[], b"").expect(403);
        assert_eq!(refused.code(), "forbidden", "{method} {path}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(&scope.to_string()), "{method} {path}");
        let mut client_with_scope = server.client_with(&server.key_with([scope]));
        let status = client_with_scope.send(method, path, &[], b"").status;
        assert!(![401, 403, 405, 500].contains(&status), "{method} {path}: {status}");
    }
}

#[test]
fn a_key_of_one_event_is_refused_by_every_other_operation() {
    let server = Server::start();
    let event = event_on_sale(&mut server.client(), "summer-night").event;
    let organization = server.service.list_organizations(ListOrganizations::default()).unwrap().data[0].id;
    let key = CreateApiKey::new("Gate A").scopes([Scope::TicketsCheckIn]).event(event.parse().unwrap());
    let key = server.service.create_api_key(organization, key).unwrap().key;
    let mut gate = server.client_with(key.expose());
    for (method, path, scope) in OPERATIONS {
        let status = gate.send(method, path, &[], b"").status;
        let expected = match (scope, method) {
            // Another event.
            (Scope::TicketsCheckIn, "GET") => 404,
            // No body.
            (Scope::TicketsCheckIn, _) => 400,
            _ => 403,
        };
        assert_eq!(status, expected, "{method} {path}");
    }
    let roster = gate.get(&format!("/v1/events/{event}/roster")).expect(200).json();
    assert_eq!((&roster["gate"], &roster["complete"]), (&json!("Gate A"), &json!(true)));
    let scan = json!({"id": "0192f0c1-2a3b-7c4d-8e5f-0123456789ab", "code": "0000", "kind": "IN", "scannedAt": "2026-06-01T12:00:00Z"});
    let report = json!({"device": "Phone", "scans": [scan]});
    let result = gate.post("/v1/tickets/scans", &report).expect(200).json()["results"][0].clone();
    assert_eq!(result["outcome"], "UNKNOWN_CODE");
    let bad = json!({"device": "Phone", "scans": [{"id": "1", "kind": "SIDEWAYS", "scannedAt": "now"}]});
    let paths = gate.post("/v1/tickets/scans", &bad).expect(422).paths();
    assert_eq!(paths, ["scans[0].kind", "scans[0].scannedAt", "scans[0].id", "scans[0].code"]);
}

#[test]
fn door_links_are_created_listed_and_revoked_and_a_revoked_one_ends_at_once() {
    let server = Server::start();
    let mut client = server.client();
    let event = event_on_sale(&mut client, "summer-night").event;
    let list = format!("/v1/events/{event}/door-links");
    let created = client.post(&list, &json!({"name": "Gate A"})).expect(201);
    let (path, body) = (format!("{list}/{}", id(&created)), created.json());
    assert_eq!(created.header("location"), None, "no operation returns it again");
    assert_eq!((&body["eventId"], &body["name"], &body["revokedAt"]), (&json!(event), &json!("Gate A"), &Value::Null));
    let (page, key) = body["url"].as_str().unwrap().rsplit_once('/').unwrap();
    assert!(page.ends_with(&format!("/door/#{event}")), "{page}");
    let until = json!({"name": "Gate B", "until": "9000-06-01T20:00:00Z"});
    let second = client.post(&list, &until).expect(201).json();
    assert_eq!(second["expiresAt"], "9000-06-01T20:00:00.000Z");

    let roster = format!("/v1/events/{event}/roster");
    let mut gate = server.client_with(key);
    gate.get(&roster).expect(200);
    server.service.run_maintenance().expect("a run");
    let links = client.get(&list).expect(200).json();
    let names: Vec<_> = links["data"].as_array().unwrap().iter().map(|link| &link["name"]).collect();
    assert_eq!(names, ["Gate B", "Gate A"]);
    assert!(links["data"][1]["lastUsedAt"].is_string() && links["data"][0]["lastUsedAt"].is_null(), "{links}");
    assert!(!links.to_string().contains(key), "the link is in the first answer alone: {links}");
    let first_page = client.get(&format!("{list}?limit=1")).expect(200).json();
    let rest = format!("{list}?cursor={}", first_page["nextCursor"].as_str().unwrap());
    assert_eq!(client.get(&rest).expect(200).json()["data"], json!([links["data"][1]]));

    for _ in 0..2 {
        assert!(client.delete(&path).expect(204).body.is_empty());
        assert_eq!(gate.get(&roster).expect(401).code(), "unauthenticated", "on the same connection");
    }
    assert!(client.get(&list).expect(200).json()["data"][1]["revokedAt"].is_string());
    let other_event = event_on_sale(&mut client, "winter-night").event;
    let elsewhere = format!("/v1/events/{other_event}/door-links/{}", second["id"].as_str().unwrap());
    assert_eq!(client.delete(&elsewhere).expect(404).problem()["detail"], "there is no such door link");
    assert_eq!(client.post(&list, &json!({"name": "", "until": "2020-01-01T00:00:00Z"})).paths(), ["name", "until"]);
    client.patch(&format!("/v1/events/{event}"), &json!({"status": "CANCELLED"})).expect(200);
    assert_eq!(client.post(&list, &json!({"name": "Gate C"})).expect(409).json()["reason"], "event-cancelled");
}

#[test]
#[cfg(feature = "documents")]
fn the_document_of_an_order_needs_both_documented_scopes() {
    let server = Server::start();
    let document = server.client().get("/openapi.json").expect(200).json();
    let operation = &document["paths"]["/v1/orders/{orderId}/document"]["get"];
    let scopes = [Scope::OrdersRead, Scope::TicketsRead];
    let names = scopes.map(|scope| scope.to_string());
    assert_eq!(operation["security"], json!([{"ApiKey": names}]));
    assert_eq!(operation["x-scope"], json!(names.join(" ")));
    let status = |scopes: &[Scope]| {
        let mut client = server.client_with(&server.key_with(scopes.iter().copied()));
        client.send("GET", "/v1/orders/order_1KT1GW6G01VJ8/document", &[], b"").status
    };
    assert_eq!([status(&scopes[..1]), status(&scopes[1..]), status(&scopes)], [403, 403, 404]);
}

#[test]
fn resources_of_another_organization_are_not_found() {
    let server = Server::with(Builder::sandbox_gateway, |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"]["id"].clone();
    let issued = client.post("/v1/tickets/issue", &guest(&ticket_type)).expect(201).json()["issuedTickets"][0].clone();
    let discount = id(&client.post("/v1/discounts", &new_discount(&event, "EARLY")).expect(201));
    let webhook = id(&client.post("/v1/webhooks", &new_webhook()).expect(201));
    let door_link = id(&client.post(&format!("/v1/events/{event}/door-links"), &json!({"name": "Gate"})).expect(201));
    let other_key = other_organization_key(&server.service);
    let mut other_client = server.client_with(&other_key);
    let order = order.as_str().unwrap();
    let paid = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"]["id"].clone();
    for step in ["mark-paid", "cancel"] {
        client.post_empty(&format!("/v1/orders/{}/{step}", paid.as_str().unwrap())).expect(200);
    }
    let refund = client.get("/v1/refunds").expect(200).json()["data"][0]["id"].as_str().unwrap().to_owned();
    let ticket = issued["id"].as_str().unwrap();
    let existing = [
        ("GET", format!("/v1/events/{event}")),
        ("PATCH", format!("/v1/events/{event}")),
        ("PATCH", format!("/v1/events/{event}/settings")),
        ("DELETE", format!("/v1/events/{event}")),
        ("POST", format!("/v1/events/{event}/page-views")),
        ("GET", format!("/v1/events/{event}/summary")),
        ("GET", format!("/v1/events/{event}/roster")),
        ("GET", format!("/v1/events/{event}/roster/orders/{order}")),
        ("GET", format!("/v1/events/{event}/scans")),
        ("GET", format!("/v1/events/{event}/door-links")),
        ("DELETE", format!("/v1/events/{event}/door-links/{door_link}")),
        ("GET", format!("/v1/events/{event}/ticket-types")),
        ("GET", format!("/v1/ticket-types/{ticket_type}")),
        ("PATCH", format!("/v1/ticket-types/{ticket_type}")),
        ("DELETE", format!("/v1/ticket-types/{ticket_type}")),
        ("GET", format!("/v1/orders/{order}")),
        ("GET", format!("/v1/orders/{order}/details")),
        ("GET", format!("/v1/orders/{order}/checkout")),
        ("POST", format!("/v1/orders/{order}/cancel")),
        ("POST", format!("/v1/orders/{order}/mark-paid")),
        ("POST", format!("/v1/orders/{order}/refunds")),
        ("POST", format!("/v1/orders/{order}/mark-refunded")),
        ("GET", format!("/v1/orders/{order}/balance")),
        ("POST", format!("/v1/refunds/{refund}/withdraw")),
        ("GET", format!("/v1/tickets/{ticket}")),
        ("POST", format!("/v1/tickets/{ticket}/cancel")),
        ("GET", format!("/v1/discounts/{discount}")),
        ("PATCH", format!("/v1/discounts/{discount}")),
        ("DELETE", format!("/v1/discounts/{discount}")),
        ("GET", format!("/v1/webhooks/{webhook}")),
        ("PATCH", format!("/v1/webhooks/{webhook}")),
        ("DELETE", format!("/v1/webhooks/{webhook}")),
        ("POST", format!("/v1/webhooks/{webhook}/rotate-secret")),
        ("GET", format!("/v1/webhooks/{webhook}/deliveries")),
    ];
    for (method, path) in existing {
        let (head, tail) = path.rsplit_once('_').unwrap();
        let unknown_path = format!("{head}_0000000000001{}", tail.get(13..).unwrap());
        let of_other_organization = other_client.json(method, &path, &json!({})).expect(404);
        let unknown = other_client.json(method, &unknown_path, &json!({})).expect(404);
        assert_eq!(of_other_organization.problem()["detail"], unknown.problem()["detail"], "{method} {path}");
    }
    assert_eq!(
        other_client.post("/v1/tickets/check-in", &json!({"code": issued["code"]})).expect(404).code(),
        "not-found"
    );
    assert_eq!(other_client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).paths(), ["eventId"]);
    for list in [
        "/v1/events",
        "/v1/orders",
        "/v1/refunds",
        "/v1/payments",
        "/v1/ledger-entries",
        "/v1/disputes",
        "/v1/tickets",
        "/v1/discounts",
        "/v1/webhooks",
    ] {
        assert_eq!(other_client.get(list).expect(200).json(), json!({"data": [], "nextCursor": null}));
        if !["/v1/events", "/v1/webhooks"].contains(&list) {
            assert_eq!(other_client.get(&format!("{list}?eventId={event}")).expect(200).json()["data"], json!([]));
        }
    }
    assert_eq!(other_client.get(&format!("/v1/events?cursor={event}")).paths(), ["cursor"]);
}

#[test]
fn health_checks_need_no_key() {
    let server = Server::start();
    let mut client = server.client_with("");
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(client.get(path).expect(200).json(), json!({"status": "ok"}));
        assert!(client.send("HEAD", path, &[], b"").expect(200).body.is_empty());
    }
}
