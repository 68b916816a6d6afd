//! Sales at a box office: an order that is paid already when it is created, in one call.

use ticketing::error::{Error, Reason};
use ticketing::event::EventSummary;
use ticketing::id::{EventId, OrderId};
use ticketing::order::{CheckoutRedirectUrls, CreateOrder, OrderDetails, OrderStatus, PaymentChoice, PaymentMethod};
use ticketing::organization::Scope;
use ticketing::payment::ManualMethod;
use ticketing::ticket_type::TicketType;
use ticketing::webhook::EventType;

use crate::common::*;

/// An order of two tickets that is paid already.
fn sale_of(ticket_type: &TicketType) -> CreateOrder {
    new_order(ticket_type.event_id, ticket_type.id, 2).payment(PaymentChoice::Paid)
}

fn details(fixture: &Fixture, order: OrderId) -> OrderDetails {
    fixture.service.get_order_details(&fixture.caller, order).expect("the details")
}

fn summary(fixture: &Fixture, event: EventId) -> EventSummary {
    fixture.service.get_event_summary(&fixture.caller, event).expect("a summary")
}

#[test]
fn a_cash_sale_is_one_transaction_that_issues_the_tickets() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let webhook = fixture.webhook([EventType::OrderCompleted, EventType::TicketIssued]).endpoint.id;
    fixture.gateway.on_checkout(GatewayBehavior::Unavailable);
    let commits = fixture.commits();
    let sold = fixture.service.create_order(&fixture.caller, sale_of(&ticket_type)).expect("sold");
    assert_eq!(fixture.commits(), commits + 1);
    assert_eq!((sold.order.status, sold.order.total), (OrderStatus::Completed, eur(2500)));
    assert_eq!((&sold.checkout_url, &sold.order.payment_gateway), (&None, &None));
    assert_eq!(sold.issued_tickets, sold.order.items[0].issued_tickets);
    assert_eq!(sold.issued_tickets.len(), 2);
    assert_eq!(fixture.read_order(sold.order.id), sold.order);
    assert_eq!(details(&fixture, sold.order.id).payment_method, Some(PaymentMethod::Manual));
    assert!(fixture.gateway.checkouts().is_empty());
    let kinds: Vec<_> = outbox::rows(&fixture.database()).into_iter().map(|row| (row.webhook, row.kind)).collect();
    assert_eq!(kinds, ["order.completed", "ticket.issued", "ticket.issued"].map(|kind| (webhook, kind.to_owned())));
}

#[test]
fn a_cash_sale_leaves_what_an_order_leaves_that_is_then_marked_as_paid() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (one, two) = (fixture.event(), fixture.event());
    let [one, two] = [&one, &two].map(|event| {
        fixture.discount(percent_off(event, "TEN", 10));
        fixture.ticket_type(event, 1250, 10)
    });
    let sold = fixture.service.create_order(&fixture.caller, sale_of(&one).discount_code("ten")).expect("sold").order;
    let request = sale_of(&two).discount_code("ten").payment(PaymentChoice::Manual);
    let marked = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    let marked = fixture.service.mark_order_paid(&fixture.caller, marked.id, ManualMethod::Cash).expect("paid");
    // 25.00 less 10 %.
    assert_eq!((sold.total, marked.total), (eur(2250), eur(2250)));
    let summary_of = |ticket_type: &TicketType| {
        let mut summary = summary(&fixture, ticket_type.event_id);
        summary.event_id = event.id;
        summary.ticket_types.clear();
        summary
    };
    assert_eq!(summary_of(&one), summary_of(&two));
    let details_of = |order| {
        let mut details = details(&fixture, order);
        details.order_id = sold.id;
        details
    };
    assert_eq!(details_of(sold.id), details_of(marked.id));
    assert_eq!((fixture.sold(&one), fixture.sold(&two)), (2, 2));
    // Nobody but the organizer can give the money back.
    assert!(fixture.service.cancel_order(&fixture.caller, sold.id).expect("cancelled").requires_manual_refund);
    assert_eq!(summary(&fixture, one.event_id).manual_refund_total, eur(2250));
}

#[test]
fn a_cash_sale_that_is_repeated_with_its_key_sells_once() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let keyed = fixture.caller_with_key("till-1");
    let sell = || fixture.service.create_order(&keyed, sale_of(&ticket_type)).expect("sold");
    let (first, again) = (sell(), sell());
    assert_eq!((first.replayed, again.replayed, first.value == again.value), (false, true, true));
    let elsewhere = fixture.second_service().create_order(&keyed, sale_of(&ticket_type)).expect("sold");
    assert_eq!((elsewhere.replayed, elsewhere.value), (true, first.value));
    assert_eq!(fixture.sold(&ticket_type), 2);
    let by_gateway = fixture.service.create_order(&keyed, sale_of(&ticket_type).payment(PaymentChoice::Gateway));
    assert_eq!(by_gateway, Err(Error::IdempotencyKeyReused));
}

#[test]
fn a_cash_sale_needs_the_scopes_of_orders_and_of_payments() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let sell = |scopes: &[Scope]| {
        let caller = fixture.caller.with_scopes(scopes.iter().copied());
        fixture.service.create_order(&caller, sale_of(&ticket_type)).map(|sold| sold.order.status)
    };
    let before = fixture.all_rows();
    assert_eq!(sell(&[Scope::OrdersWrite]), Err(Error::Forbidden(Scope::PaymentsWrite)));
    assert_eq!(sell(&[Scope::PaymentsWrite]), Err(Error::Forbidden(Scope::OrdersWrite)));
    assert_eq!(fixture.all_rows(), before);
    assert_eq!(sell(&[Scope::OrdersWrite, Scope::PaymentsWrite]), Ok(OrderStatus::Completed));
}

#[test]
fn a_cash_sale_obeys_the_rules_of_orders_and_has_no_checkout() {
    let fixture = Fixture::with_gateway(|builder| builder.max_reserved_per_customer(1));
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 3), fixture.ticket_type(&event, 0, 10));
    let urls = ["https://example.com/a", "https://example.com/b", "https://example.com/c"];
    let urls = CheckoutRedirectUrls::new(urls[0], urls[1], urls[2]);
    let before = fixture.all_rows();
    let with_urls = sale_of(&seat).checkout_redirect_urls(urls);
    let refused = fixture.service.create_order(&fixture.caller, with_urls).expect_err("no checkout");
    assert_eq!(refused.fields()[0].path, "checkoutRedirectUrls");
    assert_eq!(refused.fields()[0].message, "must be absent if the payment is PAID: there is no checkout");
    assert_eq!(fixture.all_rows(), before);

    // It is paid, so that the limit on what unpaid orders reserve does not apply.
    fixture.service.create_order(&fixture.caller, sale_of(&seat)).expect("sold");
    let sold_out = fixture.service.create_order(&fixture.caller, sale_of(&seat));
    assert_eq!(reason(sold_out), Reason::SoldOut);
    assert_eq!(fixture.sold(&seat), 2);

    let of_free = fixture.service.create_order(&fixture.caller, sale_of(&free)).expect("issued").order;
    assert_eq!((of_free.status, of_free.tickets().count()), (OrderStatus::Completed, 2));
    assert_eq!(details(&fixture, of_free.id).payment_method, Some(PaymentMethod::Free));
    assert_eq!(summary(&fixture, event.id).manual_refund_total, eur(0));
}
