//! A process that is killed between two steps of a sale.

use ticketing::environment::ManualClock;
use ticketing::id::OrderId;
use ticketing::order::OrderStatus;
use ticketing::payment::NoticeHeaders;
use ticketing::stripe::StripeGateway;
use ticketing::{Caller, TicketingService};

use crate::common::fake_stripe::{Fault, WEBHOOK_SECRET};
use crate::common::processes::{
    ChildProcess, child_process, child_role, child_variable, send_to_parent, wait_for_parent,
};
use crate::common::webhooks::wait_until;
use crate::common::{NOW, at, database, new_order};
use crate::stripe::Shop;

const CHILD: &str = concat!(module_path!(), "::a_child_process_sells");

/// The idempotency key of the order.
pub const BASKET: &str = "basket-4711";

/// The service of the parent's file in this process.
fn service() -> (TicketingService, Caller) {
    let gateway = StripeGateway::builder(child_variable("KEY")).webhook_secret(WEBHOOK_SECRET);
    let gateway = gateway.api_base(child_variable("API")).build().unwrap();
    let builder = database::builder(child_variable("FILE")).clock(ManualClock::new(at(NOW)));
    let service = builder.payment_gateway(gateway).open().unwrap();
    let caller = service.act_for(child_variable("ORGANIZATION").parse().unwrap()).unwrap();
    (service, caller)
}

#[test]
#[ignore = "other tests start it"]
fn a_child_process_sells() {
    match child_role().as_str() {
        "order" => {
            let (service, caller) = service();
            let (event, ticket_type) =
                (child_variable("EVENT").parse().unwrap(), child_variable("TYPE").parse().unwrap());
            let caller = caller.with_idempotency_key(BASKET);
            let created = service.create_order(&caller, new_order(event, ticket_type, 2)).map(|done| done.value);
            send_to_parent(created.map_or_else(|error| error.to_string(), |created| created.order.id.to_string()));
        }
        "notice" => {
            let (service, _) = service();
            let (signature, body) = (child_variable("SIGNATURE"), child_variable("BODY"));
            let headers = NoticeHeaders::from_iter([("Stripe-Signature", signature)]);
            service.receive_gateway_notice(&headers, body.as_bytes()).unwrap();
            send_to_parent("committed");
            // Here it would answer.
            wait_for_parent();
        }
        other => panic!("{other}"),
    }
}

fn start_child(shop: &Shop, role: &str, variables: &[(&str, &str)]) -> ChildProcess {
    let mut command = child_process(CHILD, role);
    command.env("KEY", shop.fake.secret_key()).env("API", shop.fake.url()).env("FILE", shop.fixture.path());
    command.env("ORGANIZATION", shop.fixture.caller.organization().to_string());
    command.env("EVENT", shop.ticket_type.event_id.to_string()).env("TYPE", shop.ticket_type.id.to_string());
    command.envs(variables.iter().copied());
    ChildProcess::start(command)
}

/// Sells in a process that is killed when Stripe has made the session and the process has not heard of it. Returns the
/// order and its session.
pub fn order_without_record(shop: &Shop) -> (OrderId, String) {
    shop.fake.fail("POST", "/v1/checkout/sessions", Fault::HangAfter, 1);
    let mut child = start_child(shop, "order", &[]);
    wait_until("Stripe has a session", || !shop.fake.all("checkout.session").is_empty());
    child.child.kill().unwrap();
    child.child.wait().unwrap();
    let session = &shop.fake.all("checkout.session")[0];
    let order = session["client_reference_id"].as_str().unwrap().parse().unwrap();
    (order, session["id"].as_str().unwrap().to_owned())
}

#[test]
fn a_payment_of_a_session_that_was_never_recorded_completes_its_order() {
    let shop = Shop::open();
    let (order, session) = order_without_record(&shop);
    shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    assert_eq!(shop.fixture.order_status(order), OrderStatus::Completed);
    shop.pass_hold();
    assert_eq!(shop.fixture.order_status(order), OrderStatus::Completed);
    shop.assert_books(order, 2500, 0);
}

#[test]
fn a_session_that_was_never_recorded_is_closed_after_the_hold() {
    let shop = Shop::open();
    let (order, session) = order_without_record(&shop);
    shop.pass_hold();
    assert_eq!(shop.fixture.order_status(order), OrderStatus::Expired);
    assert!(!shop.fake.is_payable(&session));
    assert_eq!(shop.fake.all("checkout.session").len(), 1, "it is asked for again with the same key");
}

#[test]
fn a_notice_that_was_committed_and_not_answered_is_delivered_again_and_changes_nothing() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    let notices = shop.fake.take_notices();
    let notice = notices.iter().find(|notice| notice.kind == "checkout.session.completed").unwrap();
    let variables = [("SIGNATURE", shop.fake.sign(notice)), ("BODY", notice.body.clone())];
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut child = start_child(&shop, "notice", &variables);
    assert_eq!(child.next_message().as_deref(), Some("committed"));
    child.child.kill().unwrap();
    child.child.wait().unwrap();
    assert_eq!(shop.status(order), OrderStatus::Completed);
    for notice in &notices {
        shop.receive(notice).unwrap();
    }
    shop.run(2);
    assert_eq!(shop.sold(), 2);
    shop.assert_books(order, 2500, 0);
}
