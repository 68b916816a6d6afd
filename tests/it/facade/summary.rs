//! The summary of an event: figures calculated by hand for a mixed history, limits and consistency.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use ticketing::event::{Event, EventSummary, TicketTypeSummary};
use ticketing::order::{CreateOrder, PaymentStatus};
use ticketing::payment::{
    DisputeStatus, GatewayDispute, GatewayEvent, ListPayments, ManualMethod, MarkRefunded, PaymentMode, RefundMethod,
};
use ticketing::ticket::CheckInTicket;
use ticketing::ticket_type::{TicketType, TicketTypeStatus};
use ticketing::{Amount, TicketingService};

use crate::common::*;

fn summary(fixture: &Fixture, event: &Event) -> EventSummary {
    fixture.service.get_event_summary(&fixture.caller, event.id).expect("a summary")
}

/// The summary of a ticket type without sales.
fn unsold(ticket_type: &TicketType) -> TicketTypeSummary {
    from_json::<TicketTypeSummary>(json!({
        "ticketId": ticket_type.id,
        "name": ticket_type.name,
        "quantity": ticket_type.quantity,
        "sold": 0,
        "issuedWithoutOrder": 0,
        "imported": 0,
        "reserved": 0,
        "available": ticket_type.quantity,
        "checkedIn": 0,
        "revenue": Amount::ZERO
    }))
}

#[test]
fn an_event_without_sales_has_zeros_and_all_its_types_in_order() {
    let fixture = Fixture::new();
    let event = fixture.event();
    assert_eq!(summary(&fixture, &event).ticket_types, []);
    let last = fixture.ticket_type_with(&event, |new| new.sort_order = Some(3));
    let middle = fixture.ticket_type_with(&event, |new| new.sort_order = Some(-1));
    let middle_too = fixture.ticket_type_with(&event, |new| new.sort_order = Some(-1));
    let first = fixture.ticket_type_with(&event, |new| {
        new.sort_order = Some(-2);
        new.status = Some(TicketTypeStatus::OnlyVisibleToOwner);
    });
    let ticket_types: Vec<_> = [first, middle, middle_too, last].iter().map(unsold).collect();
    let expected = from_json::<EventSummary>(json!({
        "eventId": event.id,
        "currency": "EUR",
        "mode": null,
        "ordersByStatus": {"PENDING": 0, "COMPLETED": 0, "CANCELLED": 0, "EXPIRED": 0},
        "grossRevenue": Amount::ZERO,
        "discountTotal": Amount::ZERO,
        "refundedTotal": Amount::ZERO,
        "manualPaymentTotal": Amount::ZERO,
        "manualRefundTotal": Amount::ZERO,
        "manuallyRefundedTotal": Amount::ZERO,
        "owedTotal": Amount::ZERO,
        "disputedTotal": Amount::ZERO,
        "ticketsIssued": 0,
        "ticketsCheckedIn": 0,
        "ticketsCancelled": 0,
        "ticketTypes": ticket_types
    }));
    assert_eq!(summary(&fixture, &event), expected);
}

#[test]
fn a_mixed_history_has_the_expected_figures() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let other = fixture.event();
    let ticket_type = fixture.ticket_type_with(&event, |new| {
        new.quantity = 20;
        new.sort_order = Some(1);
    });
    let free = fixture.ticket_type(&event, 0, 5);
    let never = fixture.ticket_type(&event, 999, 7);
    let service = &fixture.service;
    let caller = &fixture.caller;
    let check_in = |code: &str| service.check_in_ticket(caller, CheckInTicket::new(code)).map(drop);

    // One expired order, and one that was paid after it expired while its seat was still available.
    fixture.order(&ticket_type, 4);
    let revived = fixture.order(&ticket_type, 1);
    fixture.expire_holds();
    service.payment_completed(caller, revived.id).expect("its seat is available");
    // Completed orders: paid, with one ticket checked in and one checked out again; and free ones.
    let paid = fixture.paid_order(&ticket_type, 2);
    for ticket in &paid.items[0].issued_tickets {
        check_in(&ticket.code).expect("valid");
    }
    service.check_out_ticket(caller, CheckInTicket::new(&paid.items[0].issued_tickets[0].code)).expect("checked out");
    fixture.order(&free, 2);
    // Cancelled orders: paid through the gateway, paid in cash, with a failed payment, and before a late payment.
    let refunded = fixture.paid_order(&ticket_type, 3);
    let by_hand = fixture.order(&ticket_type, 2);
    service.mark_order_paid(caller, by_hand.id, ManualMethod::Cash).expect("pending");
    let failed = fixture.order(&ticket_type, 1);
    service.payment_failed(caller, failed.id).expect("pending");
    let late = fixture.order(&ticket_type, 1);
    for order in [&refunded, &by_hand, &failed, &late] {
        service.cancel_order(caller, order.id).expect("cancellable");
    }
    service.payment_completed(caller, late.id).expect("it is refunded");
    // A pending order.
    fixture.order(&ticket_type, 1);
    // Three issued tickets: one checked in, one cancelled.
    let guests = fixture.issue(&ticket_type, 3);
    check_in(&guests[0].code).expect("valid");
    service.cancel_ticket(caller, guests[1].id).expect("valid");
    // Sales of another event do not count.
    let other_type = fixture.ticket_type(&other, 5000, 5);
    fixture.paid_order(&other_type, 2);

    let ticket_types = [
        with!(unsold(&free), sold = 2, available = 3),
        unsold(&never),
        // Sold: one paid after it expired, two paid, two issued tickets.
        with!(
            unsold(&ticket_type),
            sold = 5,
            issued_without_order = 2,
            reserved = 1,
            available = 14,
            checked_in = 2,
            revenue = eur(8 * 1250)
        ),
    ];
    let expected = from_json::<EventSummary>(json!({
        "eventId": event.id,
        "currency": "EUR",
        "mode": "LIVE",
        "ordersByStatus": {"PENDING": 1, "COMPLETED": 3, "CANCELLED": 4, "EXPIRED": 1},
        // One order paid after it expired, two paid, three refunded, two paid in cash.
        "grossRevenue": eur(8 * 1250),
        "discountTotal": Amount::ZERO,
        "refundedTotal": eur(3 * 1250),
        "manualPaymentTotal": eur(2 * 1250),
        "manualRefundTotal": eur(2 * 1250),
        "manuallyRefundedTotal": Amount::ZERO,
        "owedTotal": eur(2 * 1250),
        "disputedTotal": Amount::ZERO,
        // Tickets of the same orders, of the two free ones, and three issued tickets.
        "ticketsIssued": 8 + 2 + 3,
        "ticketsCheckedIn": 2,
        "ticketsCancelled": 3 + 2 + 1,
        "ticketTypes": ticket_types
    }));
    assert_eq!(summary(&fixture, &event), expected);
    service.run_maintenance().expect("a run");
    assert_eq!(summary(&fixture, &event), expected, "the summary is the same before maintenance stores the expiry");
    assert_eq!(summary(&fixture, &other).gross_revenue, eur(10_000));
}

#[test]
fn a_hold_counts_until_the_instant_it_expires() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    fixture.order(&ticket_type, 4);
    fixture.clock.advance(HOLD - std::time::Duration::from_millis(1));
    let before = summary(&fixture, &event);
    assert_eq!((before.orders_by_status.pending, before.orders_by_status.expired), (1, 0));
    assert_eq!((before.ticket_types[0].reserved, before.ticket_types[0].available), (4, 6));
    fixture.clock.advance(std::time::Duration::from_millis(1));
    let after = summary(&fixture, &event);
    assert_eq!((after.orders_by_status.pending, after.orders_by_status.expired), (0, 1));
    assert_eq!((after.ticket_types[0].reserved, after.ticket_types[0].available), (0, 10));
    assert_eq!(fixture.stored("SELECT held FROM ticket_types"), 4, "the expiry is not stored yet");
}

#[test]
fn the_cash_in_the_till_is_the_manual_payments_less_the_manual_refunds() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 2500, 10);
    let [kept, cancelled, pending] = [1, 3, 1].map(|quantity| fixture.order(&ticket_type, quantity));
    for order in [&kept, &cancelled] {
        fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid in cash");
    }
    let before = summary(&fixture, &event);
    assert_eq!((before.manual_payment_total, before.manual_refund_total), (eur(10_000), eur(0)));
    for order in [&cancelled, &pending] {
        fixture.service.cancel_order(&fixture.caller, order.id).expect("cancellable");
    }
    let after = summary(&fixture, &event);
    assert_eq!((after.gross_revenue, after.refunded_total), (eur(10_000), eur(0)));
    assert_eq!((after.manual_payment_total, after.manual_refund_total), (eur(10_000), eur(7500)));
    assert_eq!((after.owed_total, after.manually_refunded_total), (eur(7500), eur(0)));
    fixture
        .service
        .mark_order_refunded(&fixture.caller, cancelled.id, MarkRefunded::all(RefundMethod::Cash).amount(eur(2500)))
        .expect("a part");
    let part = summary(&fixture, &event);
    assert_eq!((part.owed_total, part.manual_refund_total), (eur(5000), eur(5000)));
    assert_eq!((part.manually_refunded_total, part.refunded_total), (eur(2500), eur(0)));
    // 100.00 was taken, and 25.00 given back.
    assert_eq!((part.manual_payment_total, part.gross_revenue), (eur(10_000), eur(10_000)));
    assert_eq!(after.ticket_types[0].revenue, eur(10_000), "with what was refunded");
    assert_eq!(after.ticket_types[0].sold, 1, "without what was cancelled");
}

#[test]
fn a_refund_is_manual_if_the_gateway_cannot_make_it_or_refuses_but_not_while_it_is_due() {
    for (behavior, manual, refunded) in
        [(GatewayBehavior::Succeed, 0, 2500), (GatewayBehavior::Unavailable, 0, 0), (GatewayBehavior::Refuse, 2500, 0)]
    {
        let fixture = Fixture::new();
        let event = fixture.event();
        let ticket_type = fixture.ticket_type(&event, 2500, 10);
        fixture.gateway.on_refund(behavior);
        let order = fixture.paid_order(&ticket_type, 1);
        let response = fixture.service.cancel_order(&fixture.caller, order.id).expect("completed");
        assert!(!response.requires_manual_refund);
        let summary = summary(&fixture, &event);
        assert_eq!(summary.manual_payment_total, eur(0), "{behavior:?}");
        assert_eq!((summary.manual_refund_total, summary.refunded_total), (eur(manual), eur(refunded)), "{behavior:?}");
    }

    let fixture = Fixture::new();
    let event = fixture.event();
    let order = fixture.paid_order(&fixture.ticket_type(&event, 2500, 10), 1);
    fixture.gateway.disable_refunds();
    let response = fixture.service.cancel_order(&fixture.caller, order.id).expect("completed");
    assert!(response.requires_manual_refund);
    let summary = summary(&fixture, &event);
    assert_eq!((summary.manual_payment_total, summary.manual_refund_total), (eur(0), eur(2500)));
}

#[test]
fn the_refund_of_a_second_payment_does_not_lower_the_revenue() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let order = fixture.order(&fixture.ticket_type(&event, 2500, 10), 1);
    fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid in cash");
    let again = fixture.service.payment_completed(&fixture.caller, order.id).expect("it is refunded");
    assert_eq!(again.payment_gateway.map(|payment| payment.status), Some(PaymentStatus::Refunded));
    let summary = summary(&fixture, &event);
    assert_eq!((summary.gross_revenue, summary.refunded_total), (eur(2500), eur(0)));
    assert_eq!((summary.manual_payment_total, summary.manual_refund_total), (eur(2500), eur(0)));
}

#[test]
fn what_is_owed_of_a_second_payment_counts_as_owed_but_not_as_a_manual_refund_of_the_order() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let order = fixture.order(&fixture.ticket_type(&event, 2500, 10), 1);
    fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("paid in cash");
    fixture.gateway.disable_refunds();
    fixture.service.payment_completed(&fixture.caller, order.id).expect("it is owed");
    let owed = summary(&fixture, &event);
    assert_eq!((owed.owed_total, owed.manual_refund_total), (eur(2500), eur(0)));
    fixture
        .service
        .mark_order_refunded(&fixture.caller, order.id, MarkRefunded::all(RefundMethod::Transfer))
        .expect("given back");
    let settled = summary(&fixture, &event);
    assert_eq!((settled.owed_total, settled.manually_refunded_total), (eur(0), eur(0)));
    assert_eq!((settled.gross_revenue, settled.manual_payment_total), (eur(2500), eur(2500)));
}

#[test]
fn what_a_bank_takes_and_gives_back_is_in_the_disputed_total() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let order = fixture.paid_order(&fixture.ticket_type(&event, 2500, 10), 1);
    let report = |dispute: GatewayDispute| {
        let notice = Notice::about(&order, GatewayEvent::Dispute(dispute));
        fixture.gateway.know(&notice);
        notice.send(&fixture.service).expect("received");
        summary(&fixture, &event).disputed_total
    };
    let dispute = GatewayDispute::new("dp_1", eur(1000), "EUR");
    assert_eq!(report(dispute.clone().taken(eur(0))), eur(0), "an inquiry takes nothing");
    assert_eq!(report(dispute.clone()), eur(1000));
    assert_eq!(report(dispute.clone().status(DisputeStatus::Lost)), eur(1000));
    assert_eq!(report(dispute.status(DisputeStatus::Won).taken(eur(0))), eur(0));
    assert_eq!(summary(&fixture, &event).refunded_total, eur(0));
}

#[test]
fn sums_are_exact_beyond_32_bits_and_limited_to_the_largest_amount() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let [seat, stand] = [1000, 1000].map(|price| fixture.ticket_type(&event, price, 10));
    fixture.skip_final_check();
    let file = fixture.database();
    let set = |ticket_type: &TicketType, sum: i64| {
        let sql = "UPDATE ticket_types SET revenue = ?1, discount_total = ?1, manual_payment_total = ?1,
            refunded_total = ?1, manual_refund_total = ?1, manually_refunded_total = ?1, owed_total = ?1,
            disputed_total = ?1 WHERE id = ?2";
        file.execute(sql, [sum, database::stored_id(ticket_type.id)]);
    };
    let totals = |summary: &EventSummary| {
        [
            summary.gross_revenue,
            summary.discount_total,
            summary.refunded_total,
            summary.manual_payment_total,
            summary.manual_refund_total,
            summary.manually_refunded_total,
            summary.owed_total,
            summary.disputed_total,
        ]
    };
    set(&seat, (1 << 62) + 0xffff_ffff);
    set(&stand, (1 << 61) + 1);
    assert_eq!(totals(&summary(&fixture, &event)), [eur((1 << 62) + (1 << 61) + 0x1_0000_0000); 8]);
    set(&seat, i64::MAX);
    assert_eq!(totals(&summary(&fixture, &event)), [eur(i64::MAX); 8]);
}

#[test]
fn a_sum_at_the_largest_amount_stays_there_and_does_not_stop_the_sale() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1000, 10);
    fixture.discount(percent_off(&event, "HALF", 50));
    fixture.skip_final_check();
    fixture.database().execute(
        "UPDATE ticket_types SET revenue = ?1, discount_total = ?1, manual_payment_total = ?1, refunded_total = ?1,
            manual_refund_total = ?1, owed_total = ?1",
        [i64::MAX - 499],
    );
    // 5.00 each: one is paid through the gateway and refunded, the other is paid and returned in cash.
    for by_gateway in [true, false] {
        let order = fixture.order_with_code(&ticket_type, 1, "HALF");
        if by_gateway {
            fixture.service.payment_completed(&fixture.caller, order.id).expect("a payment");
        } else {
            fixture.service.mark_order_paid(&fixture.caller, order.id, ManualMethod::Cash).expect("pending");
        }
        fixture.service.cancel_order(&fixture.caller, order.id).expect("completed");
    }
    let summary = summary(&fixture, &event);
    let most = eur(i64::MAX);
    assert_eq!((summary.gross_revenue, summary.discount_total, summary.refunded_total), (most, most, most));
    assert_eq!((summary.manual_payment_total, summary.manual_refund_total, summary.owed_total), (most, most, most));
    assert_eq!(summary.orders_by_status.cancelled, 2);
}

/// Issues tickets and cancels every second one while `work` runs.
fn while_issuing_and_cancelling<T>(fixture: &Fixture, ticket_type: &TicketType, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let ticket = fixture.issue(ticket_type, 1).remove(0);
                if number % 2 == 0 {
                    fixture.service.cancel_ticket(&fixture.caller, ticket.id).expect("valid");
                }
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn a_summary_is_consistent_while_tickets_are_issued_and_cancelled() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1_000_000);
    while_issuing_and_cancelling(&fixture, &ticket_type, || {
        let mut states = BTreeSet::new();
        while states.len() < 100 {
            let summary = summary(&fixture, &event);
            assert_eq!(summary.tickets_issued - summary.tickets_cancelled, summary.ticket_types[0].sold);
            states.insert((summary.tickets_issued, summary.tickets_cancelled));
        }
    });
}

#[test]
fn control_figures_read_one_by_one_are_inconsistent() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 1_000_000);
    let file = fixture.database();
    let number = |sql: &str| file.value::<i64>(sql);
    let differ = while_issuing_and_cancelling(&fixture, &ticket_type, || {
        (0..1_000_000).any(|_| {
            let sold = number("SELECT sold FROM ticket_types");
            sold != number("SELECT COUNT(*) FROM tickets WHERE status <> 'CANCELLED'")
        })
    });
    assert!(differ, "the control found no difference");
}

/// Real money and that of tests are never added up: an event that is tried with the sandbox, and then sold.
#[test]
fn the_amounts_are_those_of_real_money_if_there_is_any() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 20);
    let figures = |fixture: &Fixture| {
        let summary = summary(fixture, &event);
        (summary.mode, summary.gross_revenue, summary.refunded_total, summary.owed_total, summary.tickets_issued)
    };
    assert_eq!(figures(&fixture), (None, eur(0), eur(0), eur(0), 0));
    let test = fixture.gateway.clone().named("trial", PaymentMode::Test);
    let trial = fixture.second_service_with(|builder| builder.payment_gateway(test));
    let pay = |service: &TicketingService, tickets| {
        let order = CreateOrder::new(event.id, new_customer(), ticket_type.id, tickets);
        let order = service.create_order(&fixture.caller, order).expect("an order").order;
        service.payment_completed(&fixture.caller, order.id).expect("paid");
        order.id
    };
    let kept = pay(&trial, 3);
    let refunded = pay(&trial, 1);
    trial.cancel_order(&fixture.caller, refunded).expect("cancelled");
    assert_eq!(figures(&fixture), (Some(PaymentMode::Test), eur(5000), eur(1250), eur(0), 4));
    // 25.00 and 12.50 of real money, of which 12.50 went back and 12.50 are owed by hand.
    let live = pay(&fixture.service, 2);
    let back = pay(&fixture.service, 1);
    fixture.service.cancel_order(&fixture.caller, back).expect("cancelled");
    fixture.gateway.on_refund(GatewayBehavior::Refuse);
    fixture.refund_amount(live, eur(1250)).expect("refused");
    assert_eq!(figures(&fixture), (Some(PaymentMode::Live), eur(3750), eur(1250), eur(1250), 7));
    let types = summary(&fixture, &event).ticket_types;
    assert_eq!(types[0].revenue, eur(3750));
    let balance = trial.get_order_balance(&fixture.caller, kept).expect("a balance");
    assert_eq!((balance.mode, balance.sums.received), (Some(PaymentMode::Test), eur(3750)));
    let of_tests = ListPayments::new().event(event.id).mode(PaymentMode::Test);
    assert_eq!(fixture.service.list_payments(&fixture.caller, of_tests).expect("a page").data.len(), 2);
}
