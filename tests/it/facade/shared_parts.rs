//! Gateways, transports, clocks and sources of randomness that the program keeps behind a pointer to a trait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ticketing::environment::{Clock, Entropy, ManualClock, SeededEntropy};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::payment::{
    Checkout, CheckoutRequest, GatewayError, GatewayRefund, Limits, PaymentGateway, RefundRequest,
};
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::{CreateWebhook, EventType, Transport, WebhookFailure, WebhookRequest, WebhookResponse};
use ticketing::{Amount, TicketingService};

use crate::common::*;

/// A gateway that counts its checkouts and cannot refund.
#[derive(Default)]
struct WithoutRefunds {
    checkouts: AtomicUsize,
}

impl PaymentGateway for WithoutRefunds {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        self.checkouts.fetch_add(1, Ordering::SeqCst);
        Ok(Checkout::new("https://pay.example", request.order_id.to_string()))
    }

    fn refund(&self, _: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        panic!("this gateway cannot refund")
    }

    fn limits(&self) -> &dyn Limits {
        self
    }
}

impl Limits for WithoutRefunds {
    fn can_refund(&self) -> bool {
        false
    }
}

/// A transport that counts its requests and its interruptions.
#[derive(Debug, Default)]
struct CountingTransport {
    requests: AtomicUsize,
    interruptions: AtomicUsize,
}

impl Transport for CountingTransport {
    fn send(&self, _: &WebhookRequest, _: Duration) -> Result<WebhookResponse, WebhookFailure> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        Ok(WebhookResponse::new(204, Vec::new()))
    }

    fn interrupt(&self) {
        self.interruptions.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_service_takes_pointers_to_traits_and_uses_what_they_point_to() {
    let gateway = Arc::new(WithoutRefunds::default());
    let transport = Arc::new(CountingTransport::default());
    let clock = Arc::new(ManualClock::new(at(NOW)));
    let entropy: Box<dyn Entropy> = Box::new(SeededEntropy::new(7));
    let service = TicketingService::temporary()
        .payment_gateway(Arc::clone(&gateway) as Arc<dyn PaymentGateway>)
        .webhook_transport(Arc::clone(&transport) as Arc<dyn Transport>)
        .clock(Arc::clone(&clock) as Arc<dyn Clock>)
        .entropy(entropy)
        .open()
        .unwrap();
    clock.advance(Duration::from_secs(90));
    let organization = service.create_organization(Default::default()).unwrap();
    let caller = service.act_for(organization.id).unwrap();
    let event = service.create_event(&caller, new_event(|_| {})).unwrap();
    assert_eq!(event.created_at, at(NOW).saturating_add(Duration::from_secs(90)));
    let ticket_type = CreateTicketType::new("Seat", Amount::cents(1250), 10);
    let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type).unwrap();
    let webhook = CreateWebhook::new("https://example.com/hook", [EventType::OrderCompleted]);
    service.create_webhook(&caller, webhook).unwrap();

    let ada = NewCustomer::new("Ada", "ada@example.com");
    let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 1)).unwrap().order;
    assert_eq!(gateway.checkouts.load(Ordering::SeqCst), 1);
    service.payment_completed(&caller, order.id).unwrap();
    assert_eq!(service.deliver_due_webhooks().unwrap(), 1);
    assert_eq!(transport.requests.load(Ordering::SeqCst), 1);
    assert!(service.cancel_order(&caller, order.id).unwrap().requires_manual_refund);
}

#[test]
fn the_same_seed_behind_a_pointer_gives_the_same_bytes() {
    fn bytes(entropy: impl Entropy) -> [u8; 16] {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        bytes
    }
    let shared: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(7));
    assert_eq!(bytes(shared), bytes(SeededEntropy::new(7)));
    assert_ne!(bytes(Box::new(SeededEntropy::new(8))), bytes(SeededEntropy::new(7)));
}

#[test]
fn an_interruption_and_the_monotonic_time_reach_what_a_pointer_points_to() {
    fn interrupt(transport: impl Transport) {
        transport.interrupt();
    }
    let transport = Arc::new(CountingTransport::default());
    interrupt(Arc::clone(&transport) as Arc<dyn Transport>);
    interrupt(Box::new(Arc::clone(&transport)) as Box<dyn Transport>);
    assert_eq!(transport.interruptions.load(Ordering::SeqCst), 2);

    fn monotonic(clock: impl Clock) -> Duration {
        clock.monotonic()
    }
    let clock = ManualClock::new(at(NOW));
    clock.advance(Duration::from_secs(90));
    assert_eq!(monotonic(Box::new(clock) as Box<dyn Clock>), Duration::from_secs(90));
}
