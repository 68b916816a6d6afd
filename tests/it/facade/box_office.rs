//! Sales at a box office: an order that is paid already when it is created, in one call.

use ticketing::error::{Error, Reason};
use ticketing::event::EventSummary;
use ticketing::id::{EventId, OrderId};
use ticketing::order::{
    CheckoutRedirectUrls, CreateOrder, Customer, NewCustomer, OrderDetails, OrderStatus, PaymentChoice, PaymentMethod,
};
use ticketing::organization::Scope;
use ticketing::payment::{ListLedgerEntries, ListPayments, ManualMethod, MarkPaid, MarkRefunded, RefundMethod};
use ticketing::ticket::IssueTickets;
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

#[test]
fn a_sale_tells_how_its_money_was_taken_and_by_whom() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let till = fixture.caller.named("  till-1 ").expect("a name");
    assert_eq!((till.name(), fixture.caller.name()), (Some("till-1"), None));
    let order = || new_order(ticket_type.event_id, ticket_type.id, 2);
    let note = MarkPaid::default().note("terminal 2");
    // The request, the method, and the note.
    let sales = [
        (order().payment(PaymentChoice::Paid), ManualMethod::Cash, None),
        (order().paid(ManualMethod::Card), ManualMethod::Card, None),
        (order().paid(MarkPaid::new(ManualMethod::Card).note("terminal 2")), ManualMethod::Card, Some("terminal 2")),
        (order().payment(PaymentChoice::Paid).paid(note), ManualMethod::Cash, Some("terminal 2")),
    ];
    for (request, method, note) in sales {
        let sold = fixture.service.create_order(&till, request).expect("sold").order;
        assert_eq!((sold.status, sold.payment_method), (OrderStatus::Completed, Some(PaymentMethod::Manual)));
        let of_order = ListPayments::default().order(sold.id);
        let payment = fixture.service.list_payments(&fixture.caller, of_order).expect("payments").data.remove(0);
        let of_order = ListLedgerEntries::default().order(sold.id);
        let entry = fixture.service.list_ledger_entries(&fixture.caller, of_order).expect("entries").data.remove(0);
        let recorded = |how, note: Option<String>, name: Option<String>| (how, note, name);
        let expected = recorded(Some(method), note.map(str::to_owned), Some("till-1".to_owned()));
        assert_eq!(recorded(payment.manual_method, payment.note, payment.recorded_by_name), expected);
        assert_eq!(recorded(entry.manual_method, entry.note, entry.recorded_by_name), expected);
    }
    #[cfg(feature = "exports")]
    {
        use ticketing::exports::SettlementSection;
        let settlement = fixture.service.get_settlement(&fixture.caller, ticket_type.event_id).expect("a settlement");
        let payments = settlement.lines.iter().filter(|line| line.section == SettlementSection::Payments);
        let payments: Vec<_> = payments.map(|line| (line.label.as_str(), line.count, line.amount)).collect();
        assert_eq!(payments, [("CASH", Some(2), Some(eur(5000))), ("CARD", Some(2), Some(eur(5000)))]);
    }
}

#[test]
fn money_that_is_given_back_to_a_card_tells_the_till() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let request = new_order(ticket_type.event_id, ticket_type.id, 2).paid(ManualMethod::Card);
    let sold = fixture.service.create_order(&fixture.caller, request).expect("sold").order;
    fixture.service.cancel_order(&fixture.caller, sold.id).expect("cancelled");
    let till = fixture.caller.named("till-2").expect("a name");
    let refused =
        |request| fixture.service.mark_order_refunded(&till, sold.id, request).expect_err("refused").to_string();
    let too_much = MarkRefunded::all(RefundMethod::Card).amount(eur(2501));
    assert_eq!(refused(too_much), "only 25.00 EUR of this order is to be given back by hand");
    let of_other = MarkRefunded::all(RefundMethod::Card).refund("refund_1KT1GW6G0099V".parse().expect("an id"));
    assert_eq!(refused(of_other), "nothing of this refund is to be given back by hand");
    fixture.service.mark_order_refunded(&till, sold.id, MarkRefunded::all(RefundMethod::Card)).expect("recorded");
    let again = MarkRefunded::all(RefundMethod::Card);
    assert_eq!(refused(again), "nothing of this order is to be given back by hand");
    let ledger = fixture.service.list_ledger_entries(&fixture.caller, ListLedgerEntries::default()).expect("entries");
    let entries = ledger.data.into_iter().map(|entry| (entry.amount, entry.manual_method, entry.recorded_by_name));
    let expected = [
        (eur(-2500), Some(ManualMethod::Card), Some("till-2".to_owned())),
        (eur(2500), Some(ManualMethod::Card), None),
    ];
    assert_eq!(entries.collect::<Vec<_>>(), expected);
}

#[test]
fn a_payment_that_was_taken_belongs_to_an_order_that_is_paid() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = || new_order(ticket_type.event_id, ticket_type.id, 2).paid(ManualMethod::Card);
    for choice in [PaymentChoice::Gateway, PaymentChoice::Manual] {
        let refused = fixture.service.create_order(&fixture.caller, order().payment(choice)).expect_err("refused");
        assert_eq!(refused.to_string(), "paid must be absent unless the payment is PAID");
    }
    let long = order().paid(MarkPaid::new(ManualMethod::Card).note("n".repeat(256)));
    let refused = fixture.service.create_order(&fixture.caller, long).expect_err("refused");
    assert_eq!(refused.fields()[0].path, "paid.note");
    let caller = fixture.caller.with_scopes([Scope::OrdersWrite]);
    let refused = fixture.service.create_order(&caller, order());
    assert_eq!(refused, Err(Error::Forbidden(Scope::PaymentsWrite)));
    assert_eq!(fixture.sold(&ticket_type), 0);
}

#[test]
fn the_name_of_a_caller_is_one_line_of_1_to_100_characters() {
    let fixture = Fixture::new();
    let longest = "é".repeat(100);
    assert_eq!(fixture.caller.named(&longest).expect("a name").name(), Some(longest.as_str()));
    for name in ["", "  ", "till\n1", &"é".repeat(101)] {
        let refused = fixture.caller.named(name).expect_err("refused");
        assert_eq!(refused.fields()[0].path, "name", "{name:?}");
    }
    let till = fixture.caller.named("till-1").expect("a name");
    assert_eq!(till.with_scopes([Scope::OrdersRead]).name(), Some("till-1"));
}

#[test]
fn each_walk_in_is_a_customer_of_its_own_whom_no_mail_reaches() {
    let fixture = Fixture::with_gateway(|builder| builder.max_reserved_per_customer(2));
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 100);
    let walk_in = |name: &str| CreateOrder::new(event.id, NewCustomer::walk_in(name), ticket_type.id, 2);
    let mut customers = Vec::new();
    for request in [walk_in("Ada"), walk_in("Ada"), walk_in("Bo").paid(ManualMethod::Cash)] {
        // As many seats as one customer may reserve.
        let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
        customers.push(order.customer);
    }
    let issued = IssueTickets::new(ticket_type.id, NewCustomer::walk_in("Cy"), 1);
    let issued = fixture.service.issue_tickets(&fixture.caller, issued).expect("issued").issued_tickets.remove(0);
    let issued = fixture.service.get_ticket(&fixture.caller, issued.id).expect("the ticket");
    customers.push(issued.customer.expect("a customer"));
    let with_upper_case = NewCustomer::new("Di", "NEW@Walk-In.invalid");
    let request = CreateOrder::new(event.id, with_upper_case, ticket_type.id, 2);
    customers.push(fixture.service.create_order(&fixture.caller, request).expect("an order").order.customer);
    for customer in &customers {
        assert_eq!(customer.email, format!("{}@walk-in.invalid", customer.id));
        assert_eq!(customer.mailbox(), None);
    }
    let names: Vec<_> = customers.iter().map(|customer| customer.name.as_str()).collect();
    assert_eq!(names, ["Ada", "Ada", "Bo", "Cy", "Di"]);
    let ids: std::collections::BTreeSet<_> = customers.iter().map(|customer| customer.id).collect();
    assert_eq!(ids.len(), 5);

    // The address identifies the customer from then on.
    let again = CreateOrder::new(event.id, NewCustomer::new("Ada", &customers[0].email), ticket_type.id, 1);
    let refused = fixture.service.create_order(&fixture.caller, again.clone());
    assert_eq!(reason(refused), Reason::LimitReached);
    let sold = fixture.service.create_order(&fixture.caller, again.paid(ManualMethod::Cash)).expect("sold");
    assert_eq!(sold.order.customer.id, customers[0].id);
}

#[test]
fn mail_reaches_every_address_but_those_under_the_name_invalid() {
    let id = "customer_1KT1GW6G0099V".parse().expect("an id");
    for email in ["ada@example.com", "invalid@example.com", "ada@invalid.example", "ada@notinvalid"] {
        assert_eq!(Customer::new(id, "Ada", email).mailbox(), Some(email));
    }
    for email in ["ada@walk-in.invalid", "ada@example.INVALID", "ada@invalid", "ada@example.invalid.", "ada"] {
        assert_eq!(Customer::new(id, "Ada", email).mailbox(), None, "{email}");
    }
}
