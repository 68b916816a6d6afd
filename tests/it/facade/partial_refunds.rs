//! Refunds of a part of an order: of some of its tickets, or of an amount.

use std::sync::atomic::{AtomicI64, Ordering};

use ticketing::error::Reason;
use ticketing::event::EventSummary;
use ticketing::id::{OrderId, RefundId, TicketId};
use ticketing::order::{CreateOrder, ListOrders, NewOrderItem, Order, OrderStatus, PaymentStatus};
use ticketing::payment::ManualMethod;
use ticketing::payment::{ListRefunds, RefundOrder, RefundOrderResponse, RefundStatus};
use ticketing::ticket::TicketStatus;
use ticketing::ticket_type::TicketType;
use ticketing::webhook::EventType;
use ticketing::{Amount, Error, Result};

use crate::common::threads::run_at_once;
use crate::common::*;

fn refund(fixture: &Fixture, order: OrderId, request: RefundOrder) -> Result<RefundOrderResponse> {
    fixture.service.refund_order(&fixture.caller_with_new_key(), order, request).map(|refunded| refunded.value)
}

fn refund_tickets(fixture: &Fixture, order: OrderId, tickets: &[TicketId]) -> RefundOrderResponse {
    refund(fixture, order, RefundOrder::of_tickets(tickets.iter().copied())).expect("refunded")
}

fn refund_amount(fixture: &Fixture, order: OrderId, cents: i64) -> Result<RefundOrderResponse> {
    refund(fixture, order, RefundOrder::of_amount(eur(cents)))
}

fn ids(order: &Order) -> Vec<TicketId> {
    order.tickets().map(|ticket| ticket.id).collect()
}

fn summary(fixture: &Fixture, ticket_type: &TicketType) -> EventSummary {
    fixture.service.get_event_summary(&fixture.caller, ticket_type.event_id).expect("a summary")
}

/// What the gateway was asked to give back.
fn asked(fixture: &Fixture) -> Vec<Amount> {
    fixture.gateway.refunds().iter().map(|request| request.amount).collect()
}

/// How many tickets of each item are cancelled, and what they have cost: as the order and as a list of orders show it.
fn cancelled_of(fixture: &Fixture, order: &Order) -> Vec<(i64, Amount)> {
    let read = fixture.read_order(order.id);
    let of_order: Vec<_> = read.items.iter().map(|item| (item.cancelled_quantity, item.cancelled_amount)).collect();
    let listed = fixture.service.list_orders(&fixture.caller, ListOrders::default()).expect("orders").data;
    let listed = listed.into_iter().find(|listed| listed.id == order.id).expect("the order");
    let of_list: Vec<_> = listed.items.iter().map(|item| (item.cancelled_quantity, item.cancelled_amount)).collect();
    assert_eq!(of_list, of_order);
    of_order
}

#[test]
fn an_item_tells_which_of_its_tickets_are_cancelled_and_what_they_have_cost() {
    let fixture = Fixture::new();
    let (ticket_type, order) = order_for_ten(&fixture);
    let [first, _, third] = ids(&order)[..] else { panic!("{order:?}") };
    let event = fixture.event();
    let (seat, free) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10));
    let items = [NewOrderItem::new(seat.id, 2), NewOrderItem::new(free.id, 1), NewOrderItem::new(seat.id, 1)];
    let mixed = CreateOrder::with_items(event.id, new_customer(), items).paid(ManualMethod::Card);
    let mixed = fixture.service.create_order(&fixture.caller, mixed).expect("sold").order;
    let unpaid = fixture.order(&seat, 1);
    assert_eq!(cancelled_of(&fixture, &order), [(0, eur(0))]);
    // A ticket that is cancelled without a refund counts too, and an amount that is refunded without tickets does not.
    fixture.service.cancel_ticket(&fixture.caller, third).expect("cancelled");
    refund_amount(&fixture, order.id, 100).expect("refunded");
    assert_eq!(cancelled_of(&fixture, &order), [(1, eur(333))]);
    refund_tickets(&fixture, order.id, &[first]);
    assert_eq!(cancelled_of(&fixture, &order), [(2, eur(667))]);
    let tickets = ids(&mixed);
    refund_tickets(&fixture, mixed.id, &[tickets[1], tickets[2]]);
    assert_eq!(cancelled_of(&fixture, &mixed), [(1, eur(1250)), (1, eur(0)), (0, eur(0))]);
    fixture.service.cancel_order(&fixture.caller, mixed.id).expect("cancelled");
    assert_eq!(cancelled_of(&fixture, &mixed), [(2, eur(2500)), (1, eur(0)), (1, eur(1250))]);
    // It never had tickets.
    fixture.service.cancel_order(&fixture.caller, unpaid.id).expect("cancelled");
    assert_eq!(cancelled_of(&fixture, &unpaid), [(0, eur(0))]);
    assert_eq!(fixture.sold(&ticket_type), 1);
}

/// A paid order of three tickets for 10.00: 3 × 4.00 less 2.00.
fn order_for_ten(fixture: &Fixture) -> (TicketType, Order) {
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 400, 3);
    fixture.discount(amount_off(&event, "TWO", eur(200)));
    let order = fixture.order_with_code(&ticket_type, 3, "TWO").id;
    fixture.service.payment_completed(&fixture.caller, order).expect("paid");
    (ticket_type, fixture.read_order(order))
}

#[test]
fn tickets_are_cancelled_and_their_share_is_refunded_until_the_last_one_cancels_the_order() {
    let fixture = Fixture::new();
    outbox::insert_webhook(&fixture.database(), fixture.caller.organization(), &[EventType::OrderCancelled]);
    let (ticket_type, order) = order_for_ten(&fixture);
    let tickets = ids(&order);
    let request = RefundOrder::of_tickets([tickets[0]]).reason("Ill");
    let first = refund(&fixture, order.id, request).expect("refunded");
    // 10.00 for three tickets: 3.34, 3.33 and 3.33.
    assert_eq!((first.amount, first.requires_manual_refund), (eur(334), false));
    assert_eq!((first.order.status, first.order.total), (OrderStatus::Completed, eur(1000)));
    let statuses = |order: &Order| order.tickets().map(|ticket| ticket.status).collect::<Vec<_>>();
    let (cancelled, valid) = (TicketStatus::Cancelled, TicketStatus::NotCheckedIn);
    assert_eq!(statuses(&first.order), [cancelled, valid, valid]);
    assert_eq!(cancelled_of(&fixture, &order), [(1, eur(334))]);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Completed));
    assert_eq!(fixture.sold(&ticket_type), 2);
    let listed = fixture.service.list_refunds(&fixture.caller, ListRefunds::default().order(order.id)).expect("a page");
    assert_eq!(Some(listed.data[0].id), first.refund_id);
    assert_eq!((listed.data[0].status, listed.data[0].reason.as_deref()), (RefundStatus::Done, Some("Ill")));
    let figures = summary(&fixture, &ticket_type);
    assert_eq!(
        (figures.gross_revenue, figures.refunded_total, figures.manual_refund_total),
        (eur(1000), eur(334), eur(0))
    );
    assert_eq!((figures.tickets_cancelled, figures.orders_by_status.completed), (1, 1));
    let notifications = || {
        fixture.expand();
        fixture.stored("SELECT COUNT(*) FROM webhook_outbox WHERE type = 'order.cancelled'")
    };
    assert_eq!(notifications(), 0);

    let last = refund_tickets(&fixture, order.id, &tickets[1..]);
    assert_eq!((last.amount, last.order.status), (eur(333 + 333), OrderStatus::Cancelled));
    assert_eq!(fixture.order_status(order.id), OrderStatus::Cancelled);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
    assert_eq!(asked(&fixture), [eur(334), eur(666)]);
    assert_eq!((notifications(), fixture.sold(&ticket_type)), (1, 0));
    let figures = summary(&fixture, &ticket_type);
    assert_eq!((figures.refunded_total, figures.orders_by_status.cancelled), (eur(1000), 1));
    assert_eq!(fixture.stored("SELECT used_count FROM discounts"), 0, "the use of the discount is free again");
    assert_eq!(reason(fixture.service.cancel_order(&fixture.caller, order.id)), Reason::OrderNotCancellable);
}

#[test]
fn an_amount_cancels_nothing_even_if_it_is_the_whole_rest() {
    let fixture = Fixture::new();
    let (ticket_type, order) = order_for_ten(&fixture);
    let first = refund_amount(&fixture, order.id, 401).expect("refunded");
    assert_eq!((first.amount, first.order.status), (eur(401), OrderStatus::Completed));
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Completed));
    // 10.00 less 4.01 is 5.99.
    assert_eq!(reason(refund_amount(&fixture, order.id, 600)), Reason::RefundExceedsPayment);
    refund_amount(&fixture, order.id, 599).expect("refunded");
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
    assert_eq!((fixture.sold(&ticket_type), asked(&fixture)), (3, vec![eur(401), eur(599)]));
    assert_eq!(reason(refund_amount(&fixture, order.id, 1)), Reason::RefundExceedsPayment);
    let ticket = ids(&order)[0];
    let of_ticket = refund(&fixture, order.id, RefundOrder::of_tickets([ticket]));
    assert_eq!(reason(of_ticket), Reason::RefundExceedsPayment);
    let ticket = fixture.service.get_ticket(&fixture.caller, ticket).expect("the ticket");
    assert_eq!(ticket.status, TicketStatus::NotCheckedIn, "what is refused changes nothing");
    assert!(!fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled").requires_manual_refund);
    assert_eq!(asked(&fixture).len(), 2, "nothing was left");
    assert_eq!(summary(&fixture, &ticket_type).refunded_total, eur(1000));
}

#[test]
fn cancelling_an_order_afterwards_refunds_only_the_rest() {
    let fixture = Fixture::new();
    let (ticket_type, order) = order_for_ten(&fixture);
    refund_tickets(&fixture, order.id, &ids(&order)[2..]);
    refund_amount(&fixture, order.id, 100).expect("refunded");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    // 10.00 less 3.33 and 1.00 is 5.67.
    assert_eq!(asked(&fixture), [eur(333), eur(100), eur(567)]);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));
    let figures = summary(&fixture, &ticket_type);
    assert_eq!((figures.refunded_total, figures.manual_refund_total), (eur(1000), eur(0)));
}

/// The newest refund, of which all has to be given back by hand.
fn owed_of(fixture: &Fixture, cents: i64) -> RefundId {
    let refund = fixture.service.list_refunds(&fixture.caller, ListRefunds::default()).expect("a page").data.remove(0);
    assert_eq!((refund.status, refund.owed, refund.gateway), (RefundStatus::Due, eur(cents), None));
    refund.id
}

#[test]
fn money_that_was_taken_by_hand_is_to_be_returned_by_hand() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let order = fixture.order(&ticket_type, 3).id;
    let order = fixture.service.mark_order_paid(&fixture.caller, order, ManualMethod::Cash).expect("paid in cash");
    let first = refund_tickets(&fixture, order.id, &ids(&order)[..1]);
    assert_eq!(
        (first.amount, first.refund_id, first.requires_manual_refund),
        (eur(1250), Some(owed_of(&fixture, 1250)), true)
    );
    assert_eq!(summary(&fixture, &ticket_type).manual_refund_total, eur(1250));
    refund_amount(&fixture, order.id, 500).expect("refunded");
    assert_eq!(summary(&fixture, &ticket_type).manual_refund_total, eur(1750));
    assert_eq!(reason(refund_amount(&fixture, order.id, 2001)), Reason::RefundExceedsPayment);
    assert!(fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled").requires_manual_refund);
    let figures = summary(&fixture, &ticket_type);
    assert_eq!((figures.manual_refund_total, figures.refunded_total), (eur(3750), eur(0)));
    assert!(asked(&fixture).is_empty());
}

#[test]
fn what_the_gateway_refuses_is_to_be_returned_by_hand_and_cannot_be_refunded_again() {
    let fixture = Fixture::new();
    let (ticket_type, order) = order_for_ten(&fixture);
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    refund_amount(&fixture, order.id, 300).expect("recorded");
    fixture.gateway.on_refund(GatewayBehavior::Unavailable);
    refund_amount(&fixture, order.id, 200).expect("recorded");
    let figures = summary(&fixture, &ticket_type);
    assert_eq!((figures.manual_refund_total, figures.refunded_total), (eur(300), eur(0)));
    // 10.00 less 3.00, which was refused, and 2.00, which is due.
    assert_eq!(reason(refund_amount(&fixture, order.id, 501)), Reason::RefundExceedsPayment);
    fixture.gateway.on_refund(GatewayBehavior::Succeed);
    refund_amount(&fixture, order.id, 500).expect("refunded");
    fixture.clock.advance(std::time::Duration::from_hours(1));
    assert_eq!(fixture.service.run_maintenance().expect("a run").answered_refunds, 1);
    assert_eq!(summary(&fixture, &ticket_type).refunded_total, eur(700));
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Completed), "3.00 of it are left");
}

#[test]
fn tickets_that_cost_nothing_are_cancelled_without_a_refund() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let types = [fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 0, 10)];
    let items = types.iter().map(|ticket_type| NewOrderItem::new(ticket_type.id, 1));
    let request = CreateOrder::with_items(event.id, new_customer(), items);
    let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order.id;
    let order = fixture.service.payment_completed(&fixture.caller, order).expect("paid");
    let free = refund_tickets(&fixture, order.id, &ids(&order)[1..]);
    assert_eq!((free.amount, free.refund_id, free.requires_manual_refund), (eur(0), None, false));
    assert_eq!((free.order.status, fixture.sold(&types[1])), (OrderStatus::Completed, 0));
    let order = fixture.order(&types[1], 1);
    let last = refund_tickets(&fixture, order.id, &ids(&order));
    assert_eq!((last.order.status, asked(&fixture).len()), (OrderStatus::Cancelled, 0));
}

#[test]
fn a_request_names_valid_tickets_of_the_order_or_an_amount_in_its_currency() {
    let fixture = Fixture::new();
    let (ticket_type, order) = order_for_ten(&fixture);
    let ticket = ids(&order)[0];
    let try_refund = |request| refund(&fixture, order.id, request);
    let mut neither = RefundOrder::of_amount(eur(1));
    neither.amount = None;
    assert_eq!(paths(try_refund(neither)), ["amount"]);
    assert_eq!(paths(try_refund(RefundOrder::of_tickets([ticket]).amount(eur(1)))), ["tickets"]);
    assert_eq!(paths(try_refund(RefundOrder::of_tickets([]))), ["tickets"]);
    assert_eq!(paths(try_refund(RefundOrder::of_tickets([ticket, ticket]))), ["tickets[1]"]);
    for wrong in [amount(0, 2), amount(-1, 2), amount(1, 3), amount(i64::MAX, 2)] {
        assert_eq!(paths(try_refund(RefundOrder::of_amount(wrong))), ["amount"], "{wrong}");
    }
    assert_eq!(paths(try_refund(RefundOrder::of_amount(eur(1)).reason(""))), ["reason"]);
    assert_eq!(paths(try_refund(RefundOrder::of_amount(eur(1)).reason("x".repeat(256)))), ["reason"]);
    fixture.set_quantity(ticket_type.id, 10).expect("changed");
    let issued = fixture.issue(&ticket_type, 1)[0].id;
    assert_eq!(paths(try_refund(RefundOrder::of_tickets([ticket, issued]))), ["tickets[1]"]);

    fixture.service.cancel_ticket(&fixture.caller, ticket).expect("cancelled");
    assert_eq!(reason(try_refund(RefundOrder::of_tickets([ticket]))), Reason::TicketCancelled);
    let pending = fixture.order(&ticket_type, 1).id;
    assert_eq!(reason(refund_amount(&fixture, pending, 1)), Reason::RefundExceedsPayment);
    assert_not_found(fixture.service.refund_order(
        &fixture.other_organization().with_idempotency_key("other"),
        order.id,
        RefundOrder::of_amount(eur(1)),
    ));
    assert!(asked(&fixture).is_empty());
}

#[test]
fn refunds_are_multiples_of_what_the_gateway_can_refund() {
    let fixture = Fixture::new();
    fixture.gateway.set_refund_step(10);
    let dinars = |minor| amount(minor, 3);
    let event = fixture.event_with(|new| new.currency = Some("KWD".to_owned()));
    let ticket_type = fixture.ticket_type_with(&event, |new| new.price = dinars(4000));
    fixture.discount(amount_off(&event, "TWO", dinars(2000)));
    let new_order = || fixture.order_with_code(&ticket_type, 3, "TWO").id;

    let order = new_order();
    let order = fixture.service.payment_completed(&fixture.caller, order).expect("paid");
    let before = fixture.all_rows();
    for wrong in [1, 5, 1005, 9999] {
        let wrong = RefundOrder::of_amount(dinars(wrong));
        assert_eq!(paths(refund(&fixture, order.id, wrong)), ["amount"]);
    }
    assert_eq!(fixture.all_rows(), before);
    let error = refund(&fixture, order.id, RefundOrder::of_amount(dinars(1005))).expect_err("no multiple");
    let expected = "must be a multiple of 0.010, the least amount that the payment gateway refunds";
    assert_eq!(error.fields()[0].message, expected);
    // 10.000 for three tickets: 3.340, 3.330 and 3.330.
    for (ticket, share) in ids(&order).into_iter().zip([3340, 3330, 3330]) {
        assert_eq!(refund_tickets(&fixture, order.id, &[ticket]).amount, dinars(share));
    }
    assert_eq!(asked(&fixture), [dinars(3340), dinars(3330), dinars(3330)]);
    assert_eq!(fixture.payment_status(order.id), Some(PaymentStatus::Refunded));

    // Money that is given back by hand can be any amount.
    let order =
        fixture.service.mark_order_paid(&fixture.caller, new_order(), ManualMethod::Cash).expect("paid in cash");
    assert_eq!(refund_tickets(&fixture, order.id, &ids(&order)[..1]).amount, dinars(3334));
    let refunded = refund(&fixture, order.id, RefundOrder::of_amount(dinars(1))).expect("refunded");
    assert_eq!(refunded.amount, dinars(1));
}

#[test]
fn an_amount_is_refunded_only_with_a_key_and_tickets_also_without() {
    let fixture = Fixture::new();
    let (_, order) = order_for_ten(&fixture);
    let before = fixture.all_rows();
    for amount in [eur(300), eur(0)] {
        let refused = fixture.service.refund_order(&fixture.caller, order.id, RefundOrder::of_amount(amount));
        assert_eq!(refused, Err(Error::IdempotencyKeyRequired));
    }
    assert_eq!(fixture.all_rows(), before);
    let ticket = RefundOrder::of_tickets([ids(&order)[0]]);
    assert_eq!(fixture.service.refund_order(&fixture.caller, order.id, ticket).expect("refunded").amount, eur(334));
    assert_eq!(asked(&fixture), [eur(334)]);
}

/// Refunds 4.00 of 10.00 in eight threads and two services. Returns how much was refunded, in cents.
fn race(fixture: &Fixture, order: OrderId) -> i64 {
    let services = [fixture.service.clone(), fixture.second_service()];
    let refused = AtomicI64::new(0);
    run_at_once(8, |thread| {
        let refunded =
            services[thread % 2].refund_order(&fixture.caller_with_new_key(), order, RefundOrder::of_amount(eur(400)));
        if let Err(error) = refunded {
            assert_eq!(error.reason(), Some(Reason::RefundExceedsPayment));
            refused.fetch_add(1, Ordering::Relaxed);
        }
    });
    let asked: i64 = asked(fixture).iter().map(|amount| amount.minor_units()).sum();
    assert_eq!(asked, 400 * (8 - refused.load(Ordering::Relaxed)));
    asked
}

#[test]
fn refunds_at_the_same_time_give_back_no_more_than_was_paid() {
    let fixture = Fixture::new();
    let (_, order) = order_for_ten(&fixture);
    assert_eq!(race(&fixture, order.id), 800);
}

#[test]
fn control_without_the_guard_more_is_given_back_than_was_paid() {
    let fixture = Fixture::new();
    fixture.skip_final_check();
    let (_, order) = order_for_ten(&fixture);
    let unguarded = "UPDATE payments SET amount = 1000000 WHERE id = NEW.id";
    let first = "NEW.promised > 0 AND NEW.amount < 1000000";
    fixture.database().trigger("unguarded", "AFTER UPDATE OF promised ON payments", first, unguarded);
    assert_eq!(race(&fixture, order.id), 3200);
}
