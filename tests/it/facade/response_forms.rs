//! The form of responses: exactly the fields of the specification and the revision. Fields that may be null are always
//! there.

use crate::common::*;
use serde_json::{Value, json};
use ticketing::discount::{BasketItem, ValidateDiscount};
use ticketing::event::ListEvents;
use ticketing::order::{CreateOrder, ListOrders};
use ticketing::payment::{ListLedgerEntries, ListPayments, ListRefunds};
use ticketing::ticket::{CheckInTicket, IssueTickets, ListTickets};
use ticketing::ticket_type::ListTicketTypes;
use ticketing::webhook::{ListWebhookDeliveries, ListWebhooks};

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("JSON")
}

#[track_caller]
fn has_fields(value: &Value, fields: &str) {
    let mut found: Vec<_> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut expected: Vec<_> = fields.split_whitespace().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

const EVENT: &str = "id title description location locationMetadata currency timezone startDate startTime endDate endTime
    coverImage status organizerId slug tags isFeatured dayStartsAt pageViews isPublic trackingPixels deliveryMethod shippingCountries
    acceptsCompany disableOrganizerOrderNotifications ticketPdfDesignVersion pageUrl reference metadata createdAt updatedAt revision";
const TICKET_TYPE: &str = "id name description price quantity sold available saleState eventId status displayRemaining validFrom validUntil
    allowedDates validityDays validityHours accessAreas maxPerOrder saleStartDate saleEndDate sortOrder ticketText ticketLogo
    reference metadata createdAt updatedAt revision";
const DISCOUNT: &str =
    "id eventId code type value description autoApply usageLimit usedCount validFrom validTo isActive
    minimumPurchase applicableTicketTypes createdAt updatedAt revision";
const ORDER: &str = "id total discountedAmount status customerId eventId organizerId affiliateCode discountCode
    reference metadata checkoutReminderSent currency paymentMethod completedAt createdAt updatedAt customer paymentGateway
    items";
const ITEM: &str = "id quantity price itemSubtotal itemDiscount finalAmount cancelledQuantity cancelledAmount orderId ticketId createdAt updatedAt";
const TICKET: &str =
    "id ticketId orderItemId customerId code downloadTicketUrl status checkInDate checkOutDate checkedInById
    isInternal internalAllocationId ticketLabel firstScanDate expiresAt lastScanDate scanCount createdAt updatedAt";
const WEBHOOK: &str = "id url description events enabled createdAt updatedAt secretHint revision";
const DELIVERY: &str =
    "id endpointId outboxId eventType eventId requestBody responseStatus responseBody success attempt
    durationMs errorMessage createdAt";

#[test]
fn every_response_has_exactly_the_fields_of_its_shape() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let caller = &fixture.caller;
    let event = fixture.event();
    has_fields(&json_of(&event), EVENT);
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    has_fields(&json_of(&ticket_type), TICKET_TYPE);

    let mut new = percent_off(&event, "EARLY", 10);
    new.minimum_purchase = Some(eur(2000));
    let discount = json_of(&fixture.discount(new));
    has_fields(&discount, DISCOUNT);
    assert_eq!(discount["type"], "PERCENTAGE");
    let validate = |quantity, code: &str| {
        let ticket_items = vec![BasketItem::new(ticket_type.id, quantity, ticket_type.price)];
        let event_id = event.id;
        let code = code.to_owned();
        let request = ValidateDiscount::new(event_id, code, ticket_items);
        json_of(&service.validate_discount(caller, request).expect("an answer"))
    };
    let valid = validate(2, "early");
    has_fields(&valid, "valid error discount");
    has_fields(&valid["discount"], "id code type value applicableTicketTypes discountedAmount");
    assert_eq!((&valid["valid"], &valid["error"]), (&json!(true), &Value::Null));
    assert_eq!((&valid["discount"]["value"], &valid["discount"]["discountedAmount"]), (&json!(10), &json!(2.5)));
    assert_eq!(validate(2, "late"), json!({"valid": false, "error": "Discount code not found", "discount": null}));
    let below = json!({
        "valid": false, "error": "Minimum purchase amount not reached", "discount": null, "errorData": {"amount": 20},
    });
    assert_eq!(validate(1, "early"), below);

    let placed = json_of(
        &service.create_order(caller, CreateOrder::new(event.id, new_customer(), ticket_type.id, 2)).expect("an order"),
    );
    has_fields(&placed, "order checkoutUrl issuedTickets");
    has_fields(&placed["order"], ORDER);
    has_fields(&placed["order"]["customer"], "id name email metadata");
    has_fields(&placed["order"]["paymentGateway"], "link status");
    has_fields(&placed["order"]["items"][0], &format!("{ITEM} ticketTypeName issuedTickets"));
    let order = fixture.paid_order(&ticket_type, 1);
    has_fields(&json_of(&order)["items"][0]["issuedTickets"][0], "id code status ticketId");
    let orders = json_of(&service.list_orders(caller, ListOrders::default()).expect("a page"));
    has_fields(&orders, "data nextCursor");
    has_fields(&orders["data"][0], ORDER);
    has_fields(&orders["data"][0]["items"][0], ITEM);
    let details = json_of(&service.get_order_details(caller, order.id).expect("details"));
    has_fields(
        &details,
        "orderId companyName locale language shippingAddress checkoutRedirectUrls holdUntil completedAt cancelledAt
        paymentMethod refunded manualRefundDue documentsUrl orderUrl",
    );

    let request = IssueTickets::new(ticket_type.id, new_customer(), 1);
    let issued = service.issue_tickets(caller, request).expect("tickets");
    has_fields(&json_of(&issued), "success message issuedTickets");
    has_fields(&json_of(&issued)["issuedTickets"][0], "id code");
    let new = &issued.issued_tickets[0];
    let ticket = json_of(&service.check_in_ticket(caller, CheckInTicket::new(&new.code)).expect("checked in"));
    has_fields(&ticket, &format!("{TICKET} ticket customer"));
    has_fields(&ticket["ticket"], "id name eventId");
    has_fields(&ticket["customer"], "id name email metadata");
    has_fields(&json_of(&service.cancel_ticket(caller, new.id).expect("cancelled")), TICKET);

    let cancelled = json_of(&service.cancel_order(caller, order.id).expect("cancelled"));
    assert_eq!(cancelled, json!({"success": true, "requiresManualRefund": false}));
    let refunds = json_of(&service.list_refunds(caller, ListRefunds::default()).expect("a page"));
    has_fields(
        &refunds["data"][0],
        "id orderId paymentId gateway source amount currency reason reference status returned owed requiresManualRefund
        attempts lastError createdAt updatedAt",
    );
    let payments = json_of(&service.list_payments(caller, ListPayments::default()).expect("a page"));
    has_fields(
        &payments["data"][0],
        "id orderId eventId purpose amount currency manualMethod gateway account mode reference checkoutReference note
        returned taken promised owed recordedBy recordedByName backfilled createdAt",
    );
    let entries = json_of(&service.list_ledger_entries(caller, ListLedgerEntries::default()).expect("a page"));
    has_fields(
        &entries["data"][0],
        "id kind amount currency orderId eventId paymentId refundId disputeId manualMethod gateway account mode reference
        note happenedAt recordedAt recordedBy recordedByName backfilled",
    );
    let balance = json_of(&service.get_order_balance(caller, order.id).expect("a balance"));
    let sums = "received returned taken promised inFlight onHold owed";
    has_fields(&balance, &format!("orderId currency mode payments {sums}"));
    has_fields(&balance["payments"][0], &format!("paymentId currency mode {sums}"));
    for page in [
        json_of(&service.list_events(caller, ListEvents::default()).expect("a page")),
        json_of(&service.list_ticket_types(caller, event.id, ListTicketTypes::default()).expect("a page")),
        json_of(&service.list_tickets(caller, ListTickets::default()).expect("a page")),
    ] {
        has_fields(&page, "data nextCursor");
        assert_eq!(page["nextCursor"], Value::Null);
    }
}

#[test]
fn every_response_about_webhooks_has_exactly_the_fields_of_its_shape() {
    let fixture = Fixture::new();
    let service = &fixture.service;
    let caller = &fixture.caller;
    let created = fixture.webhook(ticketing::webhook::EventType::ALL.iter().copied());
    has_fields(&json_of(&created), &format!("{WEBHOOK} secret"));
    let id = created.endpoint.id;
    let shown = json_of(&service.get_webhook(caller, id).expect("the endpoint"));
    has_fields(&shown, WEBHOOK);
    let types = [
        ["order.completed", "order.cancelled", "ticket.issued"],
        ["ticket.checked_in", "refund.succeeded", "refund.failed"],
        ["dispute.opened", "dispute.closed", "payment.returned"],
    ];
    assert_eq!(shown["events"], json!(types.concat()));
    assert_eq!((&shown["description"], &shown["enabled"]), (&Value::Null, &json!(true)));
    has_fields(&json_of(&service.list_webhooks(caller, ListWebhooks::default()).expect("a page")), "data nextCursor");
    has_fields(&json_of(&service.rotate_webhook_secret(caller, id).expect("rotated")), "id secret");

    fixture.issue(&fixture.ticket_type(&fixture.event(), 0, 10), 1);
    let row = outbox::rows(&fixture.database())[0].id;
    outbox::record_attempt(&fixture.database(), row, 1, None);
    outbox::record_attempt(&fixture.database(), row, 2, Some(204));
    let page = service.list_webhook_deliveries(caller, id, ListWebhookDeliveries::default()).expect("a page");
    let page = json_of(&page);
    has_fields(&page, "data nextCursor");
    let [delivered, failed] = [0, 1].map(|index| &page["data"][index]);
    has_fields(delivered, DELIVERY);
    has_fields(failed, DELIVERY);
    assert_eq!((&delivered["eventType"], &delivered["errorMessage"]), (&json!("TICKET_ISSUED"), &Value::Null));
    assert_eq!((&failed["responseStatus"], &failed["responseBody"]), (&Value::Null, &Value::Null));
    let delivery = fixture.deliveries(id)[0].id;
    has_fields(&json_of(&service.resend_webhook_delivery(caller, id, delivery).expect("queued")), "outboxId");
}

#[test]
fn values_are_written_as_the_conventions_say() {
    let fixture = Fixture::new();
    let event = fixture.event_with(|new| new.start_date = at("2026-07-01T18:00:00.5Z"));
    let text = json_of(&event);
    assert_eq!(text["startDate"], "2026-07-01T18:00:00.500Z");
    assert_eq!(text["endDate"], "2026-07-01T22:00:00.000Z");
    assert_eq!((&text["status"], &text["deliveryMethod"]), (&json!("PUBLISHED"), &json!("DIGITAL")));
    assert_eq!((&text["description"], &text["tags"], &text["pageViews"]), (&Value::Null, &json!([]), &json!(0)));
    assert_eq!(text["organizerId"], fixture.caller.organization().to_string());
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    assert_eq!(json_of(&ticket_type)["price"], json!(12.5));
    assert_eq!(
        (&json_of(&ticket_type)["quantity"], &json_of(&ticket_type)["validityDays"]),
        (&json!(100), &Value::Null)
    );
    let order = json_of(&fixture.order(&ticket_type, 4));
    assert_eq!(order["total"], json!(50));
    assert_eq!((&order["discountedAmount"], &order["items"][0]["itemDiscount"]), (&Value::Null, &json!(0)));
    assert_eq!(order["items"][0]["ticketId"], ticket_type.id.to_string());
    assert_eq!(order["paymentGateway"]["status"], "WAITING");
    let ticket = fixture.issue(&ticket_type, 1).remove(0);
    let ticket = json_of(&fixture.service.get_ticket(&fixture.caller, ticket.id).expect("the ticket"));
    assert_eq!(
        (&ticket["isInternal"], &ticket["orderItemId"], &ticket["scanCount"]),
        (&json!(true), &Value::Null, &json!(0))
    );
    assert_eq!(ticket["status"], "NOT_CHECKED_IN");
}

#[test]
fn every_id_carries_the_prefix_of_its_kind_and_reads_back() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 10);
    let webhook = fixture.webhook([ticketing::webhook::EventType::OrderCompleted]).endpoint.id;
    let order = fixture.order(&ticket_type, 1);
    let item = &order.items[0];
    fixture.fail_all_deliveries();
    let delivery = fixture.deliveries(webhook).remove(0);
    let texts = [
        event.id.to_string(),
        ticket_type.id.to_string(),
        order.id.to_string(),
        item.id.to_string(),
        item.issued_tickets[0].id.to_string(),
        order.customer_id.to_string(),
        fixture.caller.organization().to_string(),
        fixture.discount(percent_off(&event, "EARLY", 10)).id.to_string(),
        webhook.to_string(),
        delivery.id.to_string(),
        delivery.notification_id.to_string(),
        delivery.outbox_id.expect("its item").to_string(),
    ];
    let prefixes: std::collections::HashSet<_> =
        texts.iter().map(|text| text.split_once('_').expect("a prefix").0).collect();
    assert_eq!(prefixes.len(), texts.len(), "{texts:?}");
    assert_eq!(event.id.to_string().parse(), Ok(event.id));
    assert!(event.id.to_string().parse::<ticketing::id::OrderId>().is_err());
}
