//! What one organization can take of the calls to the payment gateway, and what is left to the others.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use ticketing::order::{CreateOrder, Order};
use ticketing::payment::{CheckoutState, GatewayError, NoticeError, NoticeHeaders, NoticeOutcome};
use ticketing::ticket_type::{CreateTicketType, TicketType};
use ticketing::{Caller, Error, Result};

use crate::common::hanging_gateway::{HangingControl, HangingGateway};
use crate::common::webhooks::wait_until;
use crate::common::*;

/// How long a checkout is not looked up again.
const PAUSE: Duration = Duration::from_secs(4);

/// Two organizations that sell tickets.
struct Tenants {
    fixture: Fixture,
    heavy: TicketType,
    light_caller: Caller,
    light: TicketType,
}

impl Tenants {
    fn of(fixture: Fixture) -> Self {
        let heavy = fixture.ticket_type(&fixture.event(), 1250, 1000);
        let light_caller = fixture.other_organization();
        let event = fixture.service.create_event(&light_caller, new_event(|_| {})).expect("an event");
        let seats = CreateTicketType::new("Seat", eur(1250), 1000);
        let light = fixture.service.create_ticket_type(&light_caller, event.id, seats).expect("a ticket type");
        Self { fixture, heavy, light_caller, light }
    }

    fn heavy_order(&self) -> Result<Order> {
        let order = CreateOrder::new(self.heavy.event_id, new_customer(), self.heavy.id, 1);
        self.fixture.service.create_order(&self.fixture.caller, order).map(|created| created.order)
    }

    fn light_order(&self) -> Result<Order> {
        let order = CreateOrder::new(self.light.event_id, new_customer(), self.light.id, 1);
        self.fixture.service.create_order(&self.light_caller, order).map(|created| created.order)
    }
}

/// Runs a test with a gateway with 8 calls that hangs for the first organization when it is told to.
fn with_hanging_gateway(test: impl FnOnce(&Tenants, &dyn Fn(), &Receiver<()>, Sender<()>)) {
    let (gateway, HangingControl { has_hung, release }) = HangingGateway::new();
    let set = gateway.clone();
    let limits = |builder: ticketing::Builder| builder.gateway_calls(8).gateway_timeout(Duration::from_hours(1));
    let tenants = Tenants::of(Fixture::with(|builder| limits(builder.payment_gateway(set))));
    let organization = tenants.fixture.caller.organization();
    let hang = || gateway.hang_for(organization);
    test(&tenants, &hang, &has_hung, release);
}

fn is_refused_at_once(result: &Result<Order>) -> bool {
    matches!(result, Err(Error::PaymentGatewayFailed(failure)) if matches!(failure.cause, GatewayError::NotExecuted(_)))
}

#[test]
fn an_organization_whose_orders_all_wait_for_the_gateway_leaves_calls_to_others() {
    with_hanging_gateway(|tenants, hang, has_hung, release| {
        hang();
        std::thread::scope(|scope| {
            // Of eight calls, half.
            let waiting: Vec<_> = (0..4).map(|_| scope.spawn(|| tenants.heavy_order())).collect();
            for _ in &waiting {
                has_hung.recv().expect("a call");
            }
            for _ in 0..100 {
                let refused = tenants.heavy_order();
                assert!(is_refused_at_once(&refused), "{refused:?}");
                tenants.light_order().expect("an order of another organization");
            }
            drop(release);
            for order in waiting {
                order.join().expect("no panic").expect("an order");
            }
        });
        tenants.heavy_order().expect("the calls have ended");
    });
}

#[test]
fn pages_of_an_organization_that_all_wait_for_the_gateway_leave_calls_to_the_pages_of_others() {
    with_hanging_gateway(|tenants, hang, has_hung, release| {
        let heavy: Vec<_> = (0..10).map(|_| tenants.heavy_order().expect("an order")).collect();
        let light = tenants.light_order().expect("an order");
        let settle = |order: &Order| {
            let settled = tenants.fixture.service.settle_checkout(&format!("pay-{}", order.id));
            settled.expect("what is stored").state
        };
        hang();
        std::thread::scope(|scope| {
            // Of eight calls, two are for pages: one for each organization.
            let waiting = scope.spawn(|| settle(&heavy[0]));
            has_hung.recv().expect("a call");
            for order in &heavy[1..] {
                assert_eq!(settle(order), CheckoutState::Unknown, "the gateway is not asked");
            }
            assert_eq!(settle(&light), CheckoutState::Open, "the gateway is asked");
            drop(release);
            assert_eq!(waiting.join().expect("no panic"), CheckoutState::Open);
        });
    });
}

#[test]
fn notices_of_an_organization_that_wait_for_the_gateway_leave_calls_to_others() {
    with_hanging_gateway(|tenants, hang, has_hung, release| {
        let receive = |caller: &Caller| {
            let body = caller.organization().to_string();
            tenants.fixture.service.receive_gateway_notice(&NoticeHeaders::default(), body.as_bytes())
        };
        hang();
        std::thread::scope(|scope| {
            // Of eight calls, two are for notices: one for each organization.
            let waiting = scope.spawn(|| receive(&tenants.fixture.caller));
            has_hung.recv().expect("a call");
            for _ in 0..10 {
                let refused = receive(&tenants.fixture.caller);
                assert!(matches!(refused, Err(Error::NoticeRefused(NoticeError::Unavailable(_)))), "{refused:?}");
            }
            assert_eq!(receive(&tenants.light_caller), Ok(vec![NoticeOutcome::Ignored]));
            drop(release);
            assert_eq!(waiting.join().expect("no panic"), Ok(vec![NoticeOutcome::Ignored]));
        });
    });
}

#[test]
fn refunds_of_an_organization_that_wait_for_the_gateway_leave_calls_to_those_of_others() {
    let (gateway, HangingControl { has_hung, release }) = HangingGateway::new();
    let set = gateway.clone();
    let limits = |builder: ticketing::Builder| builder.gateway_timeout(Duration::from_hours(1));
    let tenants = Tenants::of(Fixture::with(|builder| limits(builder.payment_gateway(set))));
    let service = &tenants.fixture.service;
    // A program without the gateway decides the refunds: they are due for the other one.
    let without_gateway = tenants.fixture.second_service_with(|builder| builder);
    let cancel = |caller: &Caller, order: Order| {
        service.payment_completed(caller, order.id).expect("paid");
        without_gateway.cancel_order(caller, order.id).expect("cancelled");
    };
    // More than are made at the same time.
    for _ in 0..20 {
        cancel(&tenants.fixture.caller, tenants.heavy_order().expect("an order"));
    }
    gateway.hang_for(tenants.fixture.caller.organization());
    let guard = service.start_maintenance().expect("threads");
    // Of eight refunds at the same time, half.
    for _ in 0..4 {
        has_hung.recv_timeout(Duration::from_secs(15)).expect("a call");
    }
    cancel(&tenants.light_caller, tenants.light_order().expect("an order"));
    let done = || tenants.fixture.stored("SELECT COUNT(*) FROM refunds WHERE status = 'DONE'");
    wait_until("the refund of the other organization is made", || done() == 1);
    assert!(has_hung.try_recv().is_err(), "no further call");
    drop(release);
    wait_until("all refunds are made", || done() == 21);
    drop(guard);
}

#[test]
fn an_organization_that_looks_up_as_many_checkouts_as_it_can_leaves_look_ups_to_others() {
    let tenants = Tenants::of(Fixture::new());
    let Tenants { fixture, light_caller, .. } = &tenants;
    fixture.gateway.set_state(Some(CheckoutState::Open));
    let heavy: Vec<_> = (0..90).map(|_| tenants.heavy_order().expect("an order")).collect();
    let light = tenants.light_order().expect("an order");
    let looked_up = |order: &Order| fixture.gateway.looked_up().iter().filter(|it| it.order_id == order.id).count();

    for order in &heavy {
        fixture.service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
    }
    assert_eq!(fixture.gateway.looked_up().len(), 40);
    fixture.service.settle_checkout(&format!("pay-{}", light.id)).expect("settled");
    assert_eq!(looked_up(&light), 1);

    // Renewals have a limit of their own.
    let renew = |caller: &Caller, order: &Order| fixture.service.renew_checkout(caller, order.id);
    for (index, order) in heavy.iter().enumerate() {
        let renewed = renew(&fixture.caller, order);
        let is_refused = matches!(renewed, Err(Error::CheckoutNotRenewed(GatewayError::NotExecuted(_))));
        assert_eq!(is_refused, index >= 80, "{index}: {renewed:?}");
    }
    assert_eq!(fixture.gateway.looked_up().len(), 40 + 1 + 80);
    renew(light_caller, &light).expect("the same checkout");
    assert_eq!(looked_up(&light), 2);
    fixture.clock.advance(PAUSE);
    renew(&fixture.caller, &heavy[89]).expect("the same checkout");
}

#[test]
fn a_renewal_asks_about_a_checkout_once_in_four_seconds_unless_its_payment_fails_meanwhile() {
    let tenants = Tenants::of(Fixture::new());
    let fixture = &tenants.fixture;
    let order = tenants.heavy_order().expect("an order");
    let renew = || fixture.service.renew_checkout(&fixture.caller, order.id);
    for (state, is_open) in
        [(CheckoutState::Open, true), (CheckoutState::Unknown, true), (CheckoutState::Processing, false)]
    {
        fixture.gateway.set_state(Some(state));
        let before = fixture.gateway.looked_up().len();
        for _ in 0..10 {
            match renew() {
                Ok(same) => assert_eq!((is_open, same.renewed), (true, false)),
                refused => assert_eq!((is_open, reason(refused)), (false, ticketing::error::Reason::PaymentInProgress)),
            }
        }
        assert_eq!(fixture.gateway.looked_up().len(), before + 1);
        fixture.clock.advance(PAUSE);
    }
    // A gateway that fails is asked again.
    for _ in 0..3 {
        let before = fixture.gateway.looked_up().len();
        fixture.gateway.on_look_up(GatewayBehavior::Unavailable);
        assert!(matches!(renew(), Err(Error::CheckoutNotRenewed(_))));
        assert_eq!(fixture.gateway.looked_up().len(), before + 1);
    }
    fixture.gateway.on_look_up(GatewayBehavior::Succeed);
    fixture.gateway.set_state(Some(CheckoutState::Open));
    assert!(!renew().expect("the same").renewed);
    fixture.service.payment_failed(&fixture.caller, order.id).expect("failed");
    assert!(renew().expect("a new one").renewed, "the earlier one is closed");
}

#[test]
fn while_a_renewal_asks_about_a_checkout_no_other_one_does() {
    with_hanging_gateway(|tenants, hang, has_hung, release| {
        let order = tenants.heavy_order().expect("an order");
        let renew = || tenants.fixture.service.renew_checkout(&tenants.fixture.caller, order.id);
        hang();
        std::thread::scope(|scope| {
            let first = scope.spawn(renew);
            has_hung.recv().expect("a call");
            assert_eq!(reason(renew()), ticketing::error::Reason::CheckoutInProgress);
            drop(release);
            assert!(!first.join().expect("no panic").expect("the same").renewed);
        });
    });
}
