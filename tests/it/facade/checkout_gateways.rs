//! The gateway and the account of a checkout: only that gateway is asked about it, under that account.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use ticketing::order::{CreateOrder, Order, OrderStatus};
use ticketing::payment::{
    Checkout, CheckoutRequest, CheckoutState, CheckoutStatus, GatewayAccount, GatewayError, GatewayPayment,
    GatewayRefund, PaymentGateway, PaymentMode, RefundRequest,
};
use ticketing::{Builder, Error, TicketingService};

use crate::common::*;

/// The hold of the orders of the fixture.
const HOLD: Duration = Duration::from_mins(30);

fn connected(account: &str) -> GatewayAccount {
    GatewayAccount::Connected(account.to_owned())
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.gateway.set_state(Some(CheckoutState::Open));
    fixture
}

fn order(fixture: &Fixture) -> Order {
    fixture.order(&fixture.new_ticket_type(1250, 100), 1)
}

fn run(service: &TicketingService) {
    service.run_maintenance().expect("maintenance");
}

fn status(fixture: &Fixture, order: &Order) -> CheckoutStatus {
    fixture.service.get_checkout(&fixture.caller, order.id).expect("a checkout").status
}

/// The rows of all checkouts.
fn checkouts(fixture: &Fixture) -> Vec<String> {
    let columns = "order_id || status || COALESCE(due_at, 0) || COALESCE(attempts, 0) || COALESCE(gateway, '-')
        || COALESCE(account, '-') || COALESCE(mode, '-') || COALESCE(last_error, '-')";
    let from = "checkouts LEFT JOIN work ON key = order_id AND kind LIKE 'checkout %'";
    fixture.database().column(&format!("SELECT {columns} FROM {from} ORDER BY order_id"))
}

/// The gateway, the account and the mode that are recorded with the only checkout.
fn recorded(fixture: &Fixture) -> String {
    fixture.database().value("SELECT gateway || ' ' || account || ' ' || mode FROM checkouts")
}

/// Programs that do not have the gateway of the fixture: with the sandbox, with another gateway, without one, and with
/// the same gateway in test mode.
fn others(fixture: &Fixture) -> [(&'static str, FakeGateway, TicketingService); 4] {
    let other = FakeGateway::new().named("other", PaymentMode::Test);
    other.set_state(Some(CheckoutState::Closed));
    let gateway = other.clone();
    let test = FakeGateway::new().named("gateway", PaymentMode::Test);
    test.set_state(Some(CheckoutState::Closed));
    let with_test_key = test.clone();
    [
        ("sandbox", other.clone(), fixture.second_service_with(Builder::sandbox_gateway)),
        ("other", other.clone(), fixture.second_service_with(|builder| builder.payment_gateway(gateway))),
        ("none", other, fixture.second_service_with(|builder| builder)),
        ("test", test, fixture.second_service_with(|builder| builder.payment_gateway(with_test_key))),
    ]
}

#[track_caller]
fn assert_not_asked(other: &FakeGateway) {
    assert!(other.checkouts().is_empty() && other.closed().is_empty() && other.looked_up().is_empty());
}

#[test]
fn a_checkout_has_the_name_the_account_and_the_mode_of_its_gateway() {
    let fixture = fixture();
    let first = order(&fixture);
    assert_eq!(recorded(&fixture), "gateway  LIVE");
    let checkout = fixture.service.get_checkout(&fixture.caller, first.id).expect("a checkout");
    assert_eq!((checkout.gateway.as_deref(), checkout.last_error), (Some("gateway"), None));
    assert_eq!(fixture.gateway.checkouts()[0].account, GatewayAccount::Own);

    let gateway = FakeGateway::new().named("pay-2", PaymentMode::Test);
    gateway.set_account(Some("acct_1"));
    let with = gateway.clone();
    let fixture = Fixture::with(|builder| builder.payment_gateway(with));
    order(&fixture);
    assert_eq!(recorded(&fixture), "pay-2 acct_1 TEST");
    assert_eq!(gateway.checkouts()[0].account, connected("acct_1"));

    let fixture = Fixture::with(Builder::sandbox_gateway);
    order(&fixture);
    assert_eq!(recorded(&fixture), "sandbox  TEST");
}

#[test]
fn a_checkout_to_close_waits_until_the_program_has_its_gateway_again() {
    for index in 0..4 {
        let fixture = fixture();
        let order = order(&fixture);
        fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
        let before = checkouts(&fixture);
        let (name, gateway, other) = others(&fixture).into_iter().nth(index).expect("one of four");
        for _ in 0..10 {
            run(&other);
            fixture.clock.advance(Duration::from_hours(5));
        }
        assert_not_asked(&gateway);
        assert_eq!(checkouts(&fixture), before, "{name}");
        let waiting = other.get_checkout(&fixture.caller, order.id).expect("a checkout");
        assert_eq!(waiting.status, CheckoutStatus::Closing, "{name}");
        let problem =
            r#"the checkout is at the payment gateway "gateway" in mode LIVE, which the program does not have"#;
        assert_eq!(waiting.last_error.as_deref(), Some(problem), "{name}");

        let restarted = fixture.second_service();
        run(&restarted);
        assert_eq!(fixture.gateway.closed().len(), 1, "{name}");
        assert_eq!(status(&fixture, &order), CheckoutStatus::Closed, "{name}");
    }
}

#[test]
fn another_gateway_does_not_look_up_open_checkouts_on_time_or_after_downtime() {
    let fixture = fixture();
    let order = order(&fixture);
    fixture.clock.advance(Duration::from_secs(1));
    run(&fixture.service);
    fixture.clock.advance(Duration::from_mins(5));
    let paid = CheckoutState::Paid(GatewayPayment::new("pi_1", order.total, "EUR"));
    for (_, gateway, other) in others(&fixture) {
        gateway.set_state(Some(paid.clone()));
        run(&other);
        assert_not_asked(&gateway);
    }
    fixture.clock.advance(HOLD - Duration::from_mins(5) - Duration::from_secs(30));
    for (_, gateway, other) in others(&fixture) {
        gateway.set_state(Some(paid.clone()));
        run(&other);
        assert_not_asked(&gateway);
    }
    assert_eq!(fixture.order_status(order.id), OrderStatus::Pending);
    fixture.gateway.set_state(Some(paid));
    run(&fixture.second_service());
    assert_eq!(fixture.order_status(order.id), OrderStatus::Completed);
}

#[test]
fn the_return_page_shows_what_is_stored_if_the_gateway_is_missing() {
    let fixture = fixture();
    let order = order(&fixture);
    let reference = format!("pay-{}", order.id);
    for (name, gateway, other) in others(&fixture) {
        let settled = other.settle_checkout(&reference).expect("settled");
        assert_eq!((settled.state, settled.outcome), (CheckoutState::Unknown, None), "{name}");
        assert_not_asked(&gateway);
    }
    assert_eq!(fixture.service.settle_checkout(&reference).expect("settled").state, CheckoutState::Open);
    assert_eq!(fixture.gateway.looked_up()[0].account, GatewayAccount::Own);
}

#[test]
fn a_checkout_at_another_gateway_is_replaced_only_if_it_is_closed() {
    let fixture = fixture();
    let order = order(&fixture);
    let [_, (_, gateway, other), ..] = others(&fixture);
    gateway.set_account(Some("acct_2"));
    let before = fixture.all_rows();
    let refused = other.renew_checkout(&fixture.caller, order.id).expect_err("it is open");
    assert!(matches!(refused, Error::CheckoutNotRenewed(GatewayError::NotExecuted(_))), "{refused:?}");
    assert_not_asked(&gateway);
    assert_eq!(fixture.all_rows(), before);

    fixture.gateway.set_state(Some(CheckoutState::Closed));
    fixture.service.settle_checkout(&format!("pay-{}", order.id)).expect("settled");
    assert!(other.renew_checkout(&fixture.caller, order.id).expect("renewed").renewed);
    assert_eq!(gateway.checkouts()[0].account, connected("acct_2"));
    assert_eq!(recorded(&fixture), "other acct_2 TEST");
    // From now on, the first gateway is not asked.
    let asked = fixture.gateway.looked_up().len();
    let refused = fixture.service.renew_checkout(&fixture.caller, order.id).expect_err("it is open");
    assert!(matches!(refused, Error::CheckoutNotRenewed(GatewayError::NotExecuted(_))), "{refused:?}");
    fixture.clock.advance(HOLD);
    run(&fixture.service);
    assert_eq!((fixture.gateway.looked_up().len(), fixture.gateway.closed().len()), (asked, 0));
}

#[test]
fn a_checkout_stays_in_its_account_when_the_organization_gets_another_one() {
    for (first, expected) in [(Some("acct_1"), connected("acct_1")), (None, GatewayAccount::Own)] {
        let fixture = fixture();
        let gateway = &fixture.gateway;
        gateway.set_account(first);
        let (looked_up, failed, cancelled) = (order(&fixture), order(&fixture), order(&fixture));
        gateway.set_account(Some("acct_2"));

        fixture.service.settle_checkout(&format!("pay-{}", looked_up.id)).expect("settled");
        assert_eq!(gateway.looked_up().last().expect("a look-up").account, expected);

        fixture.service.payment_failed(&fixture.caller, failed.id).expect("failed");
        assert!(fixture.service.renew_checkout(&fixture.caller, failed.id).expect("renewed").renewed);
        assert_eq!(gateway.looked_up().last().expect("a look-up").account, expected);
        assert_eq!(gateway.closed().last().expect("closed").account, expected);
        assert_eq!(gateway.checkouts().last().expect("a renewed checkout").account, connected("acct_2"));

        fixture.service.cancel_order(&fixture.caller, cancelled.id).expect("cancelled");
        run(&fixture.service);
        assert_eq!(gateway.closed().last().expect("closed").account, expected);

        // The maintenance asks before the hold ends, and closes what is left.
        fixture.clock.advance(HOLD - Duration::from_secs(30));
        run(&fixture.service);
        let account_of = |order: &Order| {
            let look_ups = gateway.looked_up().into_iter().rev();
            look_ups.filter(|look_up| look_up.order_id == order.id).map(|look_up| look_up.account).next()
        };
        assert_eq!((account_of(&looked_up), account_of(&failed)), (Some(expected), Some(connected("acct_2"))));
    }
}

#[test]
fn a_start_that_is_repeated_to_be_closed_names_the_account_of_the_first_one() {
    let fixture = fixture();
    let ticket_type = fixture.new_ticket_type(1250, 100);
    fixture.gateway.set_account(Some("acct_1"));
    fixture.gateway.on_checkout(GatewayBehavior::Unavailable);
    let request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1);
    let failed = fixture.service.create_order(&fixture.caller, request);
    assert!(matches!(failed, Err(Error::PaymentGatewayFailed(_))), "{failed:?}");

    for (_, gateway, other) in others(&fixture) {
        run(&other);
        assert_not_asked(&gateway);
    }
    fixture.gateway.set_account(Some("acct_2"));
    fixture.gateway.on_checkout(GatewayBehavior::Succeed);
    run(&fixture.service);
    let [first, again] = &fixture.gateway.checkouts()[..] else { panic!("two requests") };
    assert_eq!((first, &first.account), (again, &connected("acct_1")));
    assert_eq!(fixture.gateway.closed()[0].account, connected("acct_1"));
    assert_eq!(fixture.stored("SELECT COUNT(*) FROM checkouts WHERE status = 'CLOSED'"), 1);
}

/// A gateway that never returns, and tells when it is called.
struct Hanging(Sender<()>);

impl PaymentGateway for Hanging {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let _ = self.0.send(());
        loop {
            std::thread::park();
        }
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }

    fn account(&self, _: ticketing::id::OrganizationId) -> Option<String> {
        Some("acct_1".to_owned())
    }
}

#[test]
fn an_order_that_waits_for_its_link_is_resumed_at_its_gateway_and_account_only() {
    let fixture = fixture();
    let ticket_type = fixture.new_ticket_type(1250, 100);
    let create = |service: &TicketingService| {
        let request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1);
        service.create_order(&fixture.caller_with_key("key"), request)
    };
    let (called, calls) = channel();
    let hanging = fixture.second_service_with(|builder| {
        builder.payment_gateway(Hanging(called)).gateway_timeout(Duration::from_hours(1))
    });
    std::thread::spawn({
        let (hanging, caller) = (hanging, fixture.caller_with_key("key"));
        let request = CreateOrder::new(ticket_type.event_id, new_customer(), ticket_type.id, 1);
        move || hanging.create_order(&caller, request)
    });
    calls.recv_timeout(Duration::from_secs(15)).expect("the gateway is called");
    // As if its machine stood still.
    let end_lease = || fixture.database().execute("UPDATE checkouts SET lease_ends_at = NULL", []);

    for (name, gateway, other) in others(&fixture).into_iter().take(2) {
        end_lease();
        let refused = create(&other).expect_err("another gateway");
        assert_eq!(refused, Error::Unavailable(ticketing::error::Unavailable::GatewayMissing), "{name}");
        assert_not_asked(&gateway);
    }
    end_lease();
    fixture.gateway.set_account(Some("acct_2"));
    assert!(create(&fixture.service).expect("an order").value.checkout_url.is_some());
    let [asked] = &fixture.gateway.checkouts()[..] else { panic!("one request") };
    assert_eq!(asked.account, connected("acct_1"));
    assert_eq!(recorded(&fixture), "gateway acct_1 LIVE");
}

#[test]
fn a_checkout_of_an_earlier_version_is_asked_of_any_gateway_but_the_sandbox() {
    let fixture = fixture();
    fixture.gateway.set_account(Some("acct_1"));
    let order = order(&fixture);
    fixture.database().run("UPDATE checkouts SET gateway = NULL, account = NULL, mode = NULL");
    fixture.database().run("UPDATE work SET kind = 'checkout ?' WHERE kind LIKE 'checkout %'");
    fixture.service.cancel_order(&fixture.caller, order.id).expect("cancelled");
    let [(_, _, sandbox), (_, gateway, other), ..] = others(&fixture);
    run(&sandbox);
    let waiting = sandbox.get_checkout(&fixture.caller, order.id).expect("a checkout");
    assert_eq!((waiting.status, waiting.gateway), (CheckoutStatus::Closing, None));
    let problem = "the program does not have the payment gateway of the checkout";
    assert_eq!(waiting.last_error.as_deref(), Some(problem));
    assert_eq!(sandbox.backlog().expect("a backlog").checkouts_without_gateway, 1);
    assert_eq!(other.backlog().expect("a backlog").checkouts_without_gateway, 0);
    run(&other);
    assert_eq!(gateway.closed()[0].account, GatewayAccount::Unrecorded);
    assert_eq!(status(&fixture, &order), CheckoutStatus::Closed);
}

#[test]
fn the_backlog_counts_the_checkouts_that_wait_for_gateways_that_are_missing() {
    let fixture = fixture();
    let (open, closing, paid) = (order(&fixture), order(&fixture), order(&fixture));
    fixture.service.cancel_order(&fixture.caller, closing.id).expect("cancelled");
    fixture.service.payment_completed(&fixture.caller, paid.id).expect("paid");
    let second = FakeGateway::new().named("second", PaymentMode::Live);
    let at_second = fixture.second_service_with(|builder| builder.payment_gateway(second));
    let request = CreateOrder::new(open.event_id, new_customer(), open.items[0].ticket_type_id, 1);
    at_second.create_order(&fixture.caller, request).expect("an order");

    let waiting = |configure: fn(Builder) -> Builder| {
        fixture.second_service_with(configure).backlog().expect("a backlog").checkouts_without_gateway
    };
    assert_eq!(waiting(Builder::sandbox_gateway), 3);
    assert_eq!(waiting(|builder| builder), 3);
    assert_eq!(waiting(|builder| builder.payment_gateway(FakeGateway::new())), 1);
    fixture.clock.advance(HOLD);
    fixture.gateway.set_state(Some(CheckoutState::Closed));
    run(&fixture.service);
    run(&at_second);
    assert_eq!(waiting(Builder::sandbox_gateway), 0);
}

#[test]
fn a_gateway_whose_name_has_other_characters_or_is_too_long_is_refused_at_opening() {
    for name in ["", "Stripe", "pay_2", "pay 2", "01234567890123456789012345678901234567890123456789x"] {
        let gateway = FakeGateway::new().named(name, PaymentMode::Live);
        let refused = TicketingService::temporary().payment_gateway(gateway).open().expect_err("refused");
        let fields: Vec<_> = refused.fields().iter().map(|field| field.path.as_str()).collect();
        assert_eq!(fields, ["payment_gateway"], "{name}");
        assert!(refused.fields()[0].message.contains("1 to 50 lower-case letters, digits and hyphens"), "{refused}");
    }
}

/// A gateway whose checkouts have references of this many characters.
struct LongReferences(usize);

impl PaymentGateway for LongReferences {
    fn start_checkout(&self, _: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        Ok(Checkout::new("https://pay.example/", "é".repeat(self.0)))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("re_1"))
    }
}

#[test]
fn a_checkout_whose_reference_has_more_than_255_characters_is_refused() {
    let fixture = fixture();
    let tickets = fixture.new_ticket_type(1250, 100);
    let request = || CreateOrder::new(tickets.event_id, new_customer(), tickets.id, 1);
    let service = |length| fixture.second_service_with(move |builder| builder.payment_gateway(LongReferences(length)));
    let created = service(255).create_order(&fixture.caller, request()).expect("a reference that can be stored");
    let reference = service(255).get_checkout(&fixture.caller, created.order.id).expect("a checkout").reference;
    assert_eq!(reference, Some("é".repeat(255)));

    let refused = service(256).create_order(&fixture.caller, request()).expect_err("a reference that is too long");
    let Error::PaymentGatewayFailed(failure) = refused else { panic!("{refused}") };
    assert!(failure.cause.to_string().contains("more than 255 characters"), "{}", failure.cause);
}
