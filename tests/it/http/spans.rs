//! Tracing spans of the program go along to the threads on which its requests are handled.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use serde_json::Value;
use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, GatewayRefund, PaymentGateway, RefundRequest};
use ticketing::server::router;
use tracing::Instrument;

use crate::common::http::{EventOnSale, Server, event_on_sale, order_of};
use crate::common::processes::alone;

/// The log of this process, with one JSON object a line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        tracing_subscriber::fmt().json().with_writer(move || writer.clone()).init();
        log
    })
}

impl Log {
    /// The `user` in the innermost span of each line with this message.
    fn users(&self, message: &str) -> Vec<Value> {
        let bytes = self.0.lock().unwrap();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
        let with_message = lines.filter(|line| line["fields"]["message"] == message);
        with_message.map(|line| line["span"]["user"].clone()).collect()
    }
}

/// A gateway that writes to the log.
struct LoggingGateway;

impl PaymentGateway for LoggingGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        tracing::info!("the gateway of this test is called");
        let reference = request.order_id.to_string();
        Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        Ok(request.made("refund"))
    }
}

async fn in_span(request: Request, next: Next) -> axum::response::Response {
    next.run(request).instrument(tracing::info_span!("own", user = "ada-4711")).await
}

#[test]
fn a_span_around_the_router_is_the_span_of_the_call_and_of_the_gateway() {
    alone(concat!(module_path!(), "::a_span_around_the_router_is_the_span_of_the_call_and_of_the_gateway"), || {
        let log = log();
        let configure = |builder: ticketing::Builder| builder.payment_gateway(LoggingGateway);
        let app = |service, options: &_| -> Router { router(service, options).layer(from_fn(in_span)) };
        let server = Server::with_app(configure, |_| {}, app);
        let mut client = server.client();
        let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
        client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201);
        assert_eq!(log.users("the gateway of this test is called"), ["ada-4711"]);
    });
}

#[test]
fn a_call_in_asynchronous_code_runs_in_the_current_span() {
    alone(concat!(module_path!(), "::a_call_in_asynchronous_code_runs_in_the_current_span"), || {
        let log = log();
        let folder = tempfile::tempdir().unwrap();
        let service = ticketing::TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        let work = service.run(|_| {
            tracing::info!("the work of this test runs");
            Ok(())
        });
        let work = work.instrument(tracing::info_span!("own", user = "eve-0815"));
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work).unwrap();
        assert_eq!(log.users("the work of this test runs"), ["eve-0815"]);
    });
}
