//! Invariants that hold after any history of orders, payments, cancellations, expiries, issued tickets and scans.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use ticketing::Amount;
use ticketing::discount::{Discount, UpdateDiscount};
use ticketing::event::{EventStatus, EventSummary, TicketTypeSummary};
use ticketing::id::{EventId, OrderId};
use ticketing::order::{CreateOrder, ListOrders, NewOrderItem, OrderStatus, OrderSummary, PaymentStatus};
use ticketing::payment::{ListPayments, ManualMethod};
use ticketing::ticket::{CheckInTicket, ListTickets, TicketStatus};
use ticketing::ticket_type::{ListTicketTypes, TicketType, UpdateTicketType};

use crate::common::long_runs::default_cases;
use crate::common::*;

/// One step of a history. An index chooses among the existing rows, modulo their number.
#[derive(Debug, Clone)]
enum Step {
    Order { ticket_type: usize, quantity: i64, also: Option<(usize, i64)>, code: Option<usize> },
    Limit { discount: usize, uses: i64 },
    Pay(usize),
    Fail(usize),
    MarkPaid(usize),
    CancelOrder(usize),
    Issue { ticket_type: usize, quantity: i64 },
    CancelTicket(usize),
    Scan(usize),
    Wait(u64),
    Maintain,
    Raise { ticket_type: usize, by: i64 },
}

fn step() -> impl Strategy<Value = Step> {
    let ticket_type = 0..2_usize;
    let index = 0..64_usize;
    prop_oneof![
        6 => (
            ticket_type.clone(),
            1..4_i64,
            proptest::option::weighted(0.3, (ticket_type.clone(), 1..3_i64)),
            proptest::option::weighted(0.5, 0..2_usize),
        )
            .prop_map(|(ticket_type, quantity, also, code)| Step::Order { ticket_type, quantity, also, code }),
        1 => (0..2_usize, 1..4_i64).prop_map(|(discount, uses)| Step::Limit { discount, uses }),
        5 => index.clone().prop_map(Step::Pay),
        1 => index.clone().prop_map(Step::Fail),
        2 => index.clone().prop_map(Step::MarkPaid),
        4 => index.clone().prop_map(Step::CancelOrder),
        3 => (ticket_type.clone(), 1..3_i64).prop_map(|(ticket_type, quantity)| Step::Issue { ticket_type, quantity }),
        4 => index.clone().prop_map(Step::CancelTicket),
        1 => index.prop_map(Step::Scan),
        4 => (1..40_u64).prop_map(Step::Wait),
        1 => Just(Step::Maintain),
        1 => (ticket_type, 1..3_i64).prop_map(|(ticket_type, by)| Step::Raise { ticket_type, by }),
    ]
}

struct History {
    fixture: Fixture,
    event: EventId,
    types: [TicketType; 2],
    /// One with a code and an automatic one, each for at most two orders.
    discounts: [Discount; 2],
    /// The used count and the usage limit of each after the last step.
    uses: [(i64, i64); 2],
    orders: Vec<OrderId>,
    /// The amounts that the gateway reported as paid.
    paid: HashMap<OrderId, i64>,
    /// The orders that were completed by marking them as paid.
    marked: HashSet<OrderId>,
}

impl History {
    fn new() -> Self {
        let fixture = Fixture::new();
        let event = fixture.event();
        let types = [fixture.ticket_type(&event, 1250, 3), fixture.ticket_type(&event, 0, 2)];
        let mut new = [percent_off(&event, "HALF", 50), percent_off(&event, "ALL", 100)];
        new[0].auto_apply = Some(true);
        let discounts = new.map(|new| fixture.discount(new.usage_limit(2)));
        Self {
            fixture,
            event: event.id,
            types,
            discounts,
            uses: [(0, 2); 2],
            orders: Vec::new(),
            paid: HashMap::new(),
            marked: HashSet::new(),
        }
    }

    fn tickets(&self) -> Vec<ticketing::ticket::IssuedTicket> {
        let request = ListTickets::default().limit(100);
        let page = self.fixture.service.list_tickets(&self.fixture.caller, request).expect("a page");
        assert_eq!(page.next_cursor, None, "a short history");
        page.data
    }

    /// Takes a step. It may be refused, but must not fail with any other error.
    fn take(&mut self, step: &Step) {
        let service = &self.fixture.service;
        let caller = &self.fixture.caller;
        let order = |index: &usize| self.orders.get(index % self.orders.len().max(1)).copied();
        let result = match step {
            Step::Order { ticket_type, quantity, also, code } => {
                let mut request = CreateOrder::new(self.event, new_customer(), self.types[*ticket_type].id, *quantity);
                request.items.extend(
                    also.map(|(ticket_type, quantity)| NewOrderItem::new(self.types[ticket_type].id, quantity)),
                );
                request.discount_code = code.map(|discount| self.discounts[discount].code.clone());
                match service.create_order(caller, request) {
                    Err(error) if error.to_string() == "discountCode: Discount code usage limit reached" => Ok(()),
                    created => created.map(|created| self.orders.push(created.order.id)),
                }
            }
            Step::Limit { discount, uses } => {
                let changes = UpdateDiscount::default().usage_limit(*uses);
                service.update_discount(caller, self.discounts[*discount].id, changes).map(drop)
            }
            Step::Pay(index) => match order(index) {
                Some(id) => service.payment_completed(caller, id).map(|order| {
                    self.paid.insert(id, order.total.minor_units());
                }),
                None => Ok(()),
            },
            Step::Fail(index) => order(index).map_or(Ok(()), |id| service.payment_failed(caller, id).map(drop)),
            Step::MarkPaid(index) => match order(index) {
                Some(id) => service.mark_order_paid(caller, id, ManualMethod::Cash).map(|_| {
                    self.marked.insert(id);
                }),
                None => Ok(()),
            },
            Step::CancelOrder(index) => order(index).map_or(Ok(()), |id| service.cancel_order(caller, id).map(drop)),
            Step::Issue { ticket_type, quantity } => {
                self.fixture.try_issue(self.types[*ticket_type].id, *quantity).map(drop)
            }
            Step::CancelTicket(index) | Step::Scan(index) => {
                let tickets = self.tickets();
                match tickets.get(index % tickets.len().max(1)) {
                    None => Ok(()),
                    Some(ticket) if matches!(step, Step::Scan(_)) => {
                        service.check_in_ticket(caller, CheckInTicket::new(&ticket.code)).map(drop)
                    }
                    Some(ticket) => service.cancel_ticket(caller, ticket.id).map(drop),
                }
            }
            Step::Wait(minutes) => {
                self.fixture.clock.advance(Duration::from_mins(*minutes));
                Ok(())
            }
            Step::Maintain => service.run_maintenance().map(drop),
            Step::Raise { ticket_type, by } => {
                let current = service.get_ticket_type(caller, self.types[*ticket_type].id).expect("the type").quantity;
                let changes = UpdateTicketType::default().quantity(current + by);
                service.update_ticket_type(caller, self.types[*ticket_type].id, changes).map(drop)
            }
        };
        if let Err(error) = result {
            assert!(error.reason().is_some(), "{step:?}: {error:?}");
        }
    }

    /// Calculates the summary from the lists.
    fn summary_of_the_lists(&self) -> EventSummary {
        let service = &self.fixture.service;
        let caller = &self.fixture.caller;
        let request = ListOrders::default().event(self.event).limit(100);
        let orders = service.list_orders(caller, request).expect("a page");
        assert_eq!(orders.next_cursor, None, "a short history");
        let tickets = self.tickets();
        let number = |count: usize| i64::try_from(count).expect("few");
        let orders_in = |status| number(orders.data.iter().filter(|order| order.status == status).count());
        let tickets_in = |status| number(tickets.iter().filter(|ticket| ticket.status == status).count());
        // Only an order that was completed has tickets, and it keeps them.
        let completed = |order: &&OrderSummary| {
            order.items.iter().any(|item| tickets.iter().any(|ticket| ticket.order_item_id == Some(item.id)))
        };
        let completed: Vec<_> = orders.data.iter().filter(completed).collect();
        let eur_sum = |amounts: &mut dyn Iterator<Item = Amount>| eur(amounts.map(Amount::minor_units).sum());
        let marked = |order: &&&OrderSummary| self.marked.contains(&order.id);
        let cancelled = |order: &&&OrderSummary| order.status == OrderStatus::Cancelled;
        let refunded = |order: &&&OrderSummary| {
            !marked(order)
                && order.payment_gateway.as_ref().is_some_and(|payment| payment.status == PaymentStatus::Refunded)
        };
        let payments = service.list_payments(caller, ListPayments::new().event(self.event)).expect("a page").data;
        let types = service.list_ticket_types(caller, self.event, ListTicketTypes::default()).expect("a page").data;
        let type_summary = |ticket_type: TicketType| {
            let pending = orders.data.iter().filter(|order| order.status == OrderStatus::Pending);
            let own = pending.flat_map(|order| &order.items).filter(|item| item.ticket_type_id == ticket_type.id);
            let reserved: i64 = own.map(|item| item.quantity).sum();
            let bought =
                completed.iter().flat_map(|order| &order.items).filter(|item| item.ticket_type_id == ticket_type.id);
            let is_checked_in = |ticket: &&ticketing::ticket::IssuedTicket| {
                ticket.ticket_type_id == ticket_type.id && ticket.status == TicketStatus::CheckedIn
            };
            from_json::<TicketTypeSummary>(json!({
                "ticketId": ticket_type.id,
                "name": ticket_type.name,
                "quantity": ticket_type.quantity,
                "sold": ticket_type.sold,
                "reserved": reserved,
                "available": ticket_type.quantity - ticket_type.sold - reserved,
                "checkedIn": number(tickets.iter().filter(is_checked_in).count()),
                "revenue": eur_sum(&mut bought.map(|item| item.final_amount))
            }))
        };
        from_json::<EventSummary>(json!({
            "eventId": self.event,
            "currency": "EUR",
            "mode": if payments.is_empty() { None } else { Some("LIVE") },
            "ordersByStatus": {
                "PENDING": orders_in(OrderStatus::Pending),
                "COMPLETED": orders_in(OrderStatus::Completed),
                "CANCELLED": orders_in(OrderStatus::Cancelled),
                "EXPIRED": orders_in(OrderStatus::Expired)
            },
            "grossRevenue": eur_sum(&mut completed.iter().map(|order| order.total)),
            "discountTotal": eur_sum(&mut completed.iter().filter_map(|order| order.discounted_amount)),
            "refundedTotal": eur_sum(&mut completed.iter().filter(refunded).map(|order| order.total)),
            "manualPaymentTotal": eur_sum(&mut completed.iter().filter(marked).map(|order| order.total)),
            "manualRefundTotal":
                eur_sum(&mut completed.iter().filter(marked).filter(cancelled).map(|order| order.total)),
            // Nothing was marked as refunded, and every payment that completed nothing goes back through the gateway.
            "manuallyRefundedTotal": Amount::ZERO,
            "owedTotal": eur_sum(&mut completed.iter().filter(marked).filter(cancelled).map(|order| order.total)),
            "disputedTotal": Amount::ZERO,
            "ticketsIssued": number(tickets.len()),
            "ticketsCheckedIn": tickets_in(TicketStatus::CheckedIn),
            "ticketsCancelled": tickets_in(TicketStatus::Cancelled),
            "ticketTypes": types.into_iter().map(type_summary).collect::<Vec<_>>()
        }))
    }

    fn check(&mut self, file: &Database) {
        let summary = self.fixture.service.get_event_summary(&self.fixture.caller, self.event).expect("a summary");
        assert_eq!(summary, self.summary_of_the_lists(), "the summary agrees with the lists");
        let tickets = self.tickets();
        let mut unsold = 0;
        for ticket_type in &self.types {
            let ticket_type =
                self.fixture.service.get_ticket_type(&self.fixture.caller, ticket_type.id).expect("the type");
            let valid = |ticket: &&ticketing::ticket::IssuedTicket| {
                ticket.ticket_type_id == ticket_type.id && ticket.status != TicketStatus::Cancelled
            };
            let valid = i64::try_from(tickets.iter().filter(valid).count()).expect("few");
            assert_eq!(ticket_type.sold, valid, "sold counts the tickets that are not cancelled");
            unsold += ticket_type.quantity - ticket_type.sold;
        }
        let number = |sql: &str| file.value::<i64>(sql);
        assert_eq!(number("SELECT COUNT(*) FROM ticket_types WHERE sold + held > quantity"), 0, "nothing is oversold");
        let held = "SELECT SUM(held) FROM ticket_types";
        let pending = "SELECT COALESCE(SUM(i.quantity), 0) FROM order_items i JOIN orders o ON o.id = i.order_id
            WHERE o.status = 'PENDING'";
        assert_eq!(number(held), number(pending), "held counts the seats of pending orders");

        for discount in &self.discounts {
            let live = |order: &ticketing::order::Order| {
                let uses = order.discount_code.as_deref() == Some(discount.code.as_str());
                uses && matches!(order.status, OrderStatus::Pending | OrderStatus::Completed)
            };
            let live = self.orders.iter().filter(|id| live(&self.fixture.read_order(**id))).count();
            let now = self.fixture.discount_uses(discount);
            assert_eq!(now, i64::try_from(live).expect("few"), "one use for each pending or completed order");
        }
        // No step adds a use beyond the current limit. Lowering the limit removes none.
        let uses = [&self.discounts[0], &self.discounts[1]].map(|discount| {
            let read = self.fixture.read_discount(discount.id);
            (read.used_count, read.usage_limit.expect("a limit"))
        });
        for ((before, _), (after, limit)) in self.uses.into_iter().zip(uses) {
            assert!(after <= before || after <= limit, "{after} of {limit} uses");
        }
        self.uses = uses;

        // Quantities only rise here, so the event is sold out exactly while no seat is unsold.
        let expected = if unsold == 0 { EventStatus::SoldOut } else { EventStatus::Published };
        assert_eq!(self.fixture.event_status(self.event), expected);

        for id in &self.orders {
            let order = self.fixture.read_order(*id);
            let wanted: i64 = order.items.iter().map(|item| item.quantity).sum();
            let issued: Vec<_> = order.tickets().collect();
            let number = i64::try_from(issued.len()).expect("few");
            match order.status {
                OrderStatus::Completed => assert_eq!(number, wanted, "its tickets are issued"),

                OrderStatus::Cancelled => {
                    assert!(issued.iter().all(|ticket| ticket.status == TicketStatus::Cancelled));
                }
                _ => assert_eq!(number, 0, "it has no tickets"),
            }
        }
        // Each payment is either kept for a completed order or refunded once.
        let mut refunds = HashMap::new();
        for refund in self.fixture.gateway.refunds() {
            *refunds.entry(refund.order_id).or_insert(0) += refund.amount.minor_units();
        }
        for (id, total) in &self.paid {
            let order = self.fixture.read_order(*id);
            match order.payment_gateway.map(|payment| payment.status) {
                Some(PaymentStatus::Refunded) => assert_eq!(refunds.remove(id), Some(*total)),
                Some(PaymentStatus::Completed) => assert_eq!(order.status, OrderStatus::Completed),
                other => panic!("a payment is {other:?}"),
            }
        }
        assert!(refunds.is_empty(), "a refund without a payment");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: default_cases(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_keeps_the_invariants_and_the_summary_agrees(steps in proptest::collection::vec(step(), 1..50)) {
        let mut history = History::new();
        let file = history.fixture.database();
        for step in &steps {
            history.take(step);
            history.check(&file);
        }
        history.fixture.service.run_maintenance().expect("a run");
        history.check(&file);
    }
}
