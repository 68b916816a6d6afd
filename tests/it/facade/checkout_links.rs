//! The answer to an order with a checkout link: it is the order as it is stored, also if it changes while the gateway is asked.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::order::{CreateOrder, NewOrderItem, OrderStatus};
use ticketing::payment::{
    Checkout, CheckoutRequest, GatewayError, GatewayRefund, ManualMethod, PaymentGateway, RefundRequest,
};
use ticketing::{Caller, Metadata, TicketingService};

use crate::common::*;

#[test]
fn an_order_with_a_link_is_returned_as_it_is_stored() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let (first, second) = (fixture.ticket_type(&event, 1250, 10), fixture.ticket_type(&event, 999, 10));
    fixture.discount(percent_off(&event, "Early", 25));
    let metadata: Metadata = [("seat".to_owned(), "12".to_owned())].into_iter().collect();
    let mut request = new_order(event.id, first.id, 2).discount_code("eARLY").affiliate_code("friend");
    request.items.push(NewOrderItem::new(second.id, 1));
    (request.reference, request.metadata) = (Some("basket".to_owned()), Some(metadata.clone()));
    request.customer.metadata = Some(metadata);
    let created = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
    assert_eq!(created, fixture.read_order(created.id));
    assert!(created.payment_gateway.is_some_and(|payment| payment.link.starts_with("https://")));
}

/// What happens to an order while the gateway is asked for its link.
type Change = fn(&TicketingService, &Caller, &CheckoutRequest, &ManualClock);

/// A gateway during whose answer an order changes.
#[derive(Clone)]
struct ChangingGateway {
    sale: Arc<OnceLock<(TicketingService, Caller, ManualClock)>>,
    change: Arc<Mutex<Change>>,
}

impl PaymentGateway for ChangingGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let change = *self.change.lock().expect("no panic");
        let (service, caller, clock) = self.sale.get().expect("set");
        change(service, caller, request, clock);
        Ok(Checkout::new("https://pay.example", request.order_id.to_string()))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

#[test]
fn an_order_that_changes_while_the_gateway_is_asked_is_returned_as_it_is_then() {
    let gateway = ChangingGateway { sale: Arc::default(), change: Arc::new(Mutex::new(|_, _, _, _| {})) };
    let with = gateway.clone();
    let fixture = Fixture::with(|builder| builder.payment_gateway(with));
    let other = fixture.second_service();
    assert!(gateway.sale.set((other, fixture.caller.clone(), fixture.clock.clone())).is_ok());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 100);
    let changes: [(Change, OrderStatus, bool); 5] = [
        (|_, _, _, _| {}, OrderStatus::Pending, false),
        (
            |service, caller, request, _| {
                drop(service.mark_checkout_reminder_sent(caller, request.order_id).expect("reminded"));
            },
            OrderStatus::Pending,
            true,
        ),
        (
            |service, caller, request, _| {
                drop(service.mark_order_paid(caller, request.order_id, ManualMethod::Cash).expect("paid"));
            },
            OrderStatus::Completed,
            false,
        ),
        (
            |service, caller, request, _| {
                assert!(service.cancel_order(caller, request.order_id).expect("cancelled").success)
            },
            OrderStatus::Cancelled,
            false,
        ),
        (|_, _, _, clock| clock.advance(Duration::from_hours(1)), OrderStatus::Expired, false),
    ];
    for (change, status, is_reminded) in changes {
        *gateway.change.lock().expect("no panic") = change;
        let request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1);
        let created = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
        assert_eq!((created.status, created.checkout_reminder_sent), (status, is_reminded));
        assert_eq!(created, fixture.read_order(created.id));
    }
}
