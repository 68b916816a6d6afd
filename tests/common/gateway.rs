//! A payment gateway that behaves as a test says.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ticketing::payment::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest};

/// How [`FakeGateway`] answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayBehavior {
    Succeed,
    Refuse,
    Unavailable,
    Panic,
    /// Never return.
    Hang,
}

#[derive(Debug)]
struct State {
    on_checkout: GatewayBehavior,
    on_refund: GatewayBehavior,
    can_refund: bool,
    checkouts: Vec<CheckoutRequest>,
    refunds: Vec<RefundRequest>,
}

/// A gateway whose behavior a test sets, and which records its calls. Clones share their state.
#[derive(Debug, Clone)]
pub struct FakeGateway(Arc<Mutex<State>>);

impl FakeGateway {
    /// Creates a gateway that accepts every checkout and every refund.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            on_checkout: GatewayBehavior::Succeed,
            on_refund: GatewayBehavior::Succeed,
            can_refund: true,
            checkouts: Vec::new(),
            refunds: Vec::new(),
        })))
    }

    /// Sets how the next checkouts are answered.
    pub fn on_checkout(&self, behavior: GatewayBehavior) {
        self.state().on_checkout = behavior;
    }

    /// Sets how the next refunds are answered.
    pub fn on_refund(&self, behavior: GatewayBehavior) {
        self.state().on_refund = behavior;
    }

    /// Makes this a gateway that cannot refund.
    pub fn disable_refunds(&self) {
        self.state().can_refund = false;
    }

    /// Returns the checkouts that were requested so far.
    pub fn checkouts(&self) -> Vec<CheckoutRequest> {
        self.state().checkouts.clone()
    }

    /// Returns the refunds that were requested so far.
    pub fn refunds(&self) -> Vec<RefundRequest> {
        self.state().refunds.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn respond<T>(behavior: GatewayBehavior, success: impl FnOnce() -> T) -> Result<T, GatewayError> {
    match behavior {
        GatewayBehavior::Succeed => Ok(success()),
        GatewayBehavior::Refuse => Err(GatewayError::Refused("the card is blocked".to_owned())),
        GatewayBehavior::Unavailable => Err(GatewayError::Unavailable("closed for lunch".to_owned())),
        GatewayBehavior::Panic => panic!("the test made the gateway panic"),
        GatewayBehavior::Hang => loop {
            std::thread::park();
        },
    }
}

impl PaymentGateway for FakeGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let behavior = {
            let mut state = self.state();
            state.checkouts.push(request.clone());
            state.on_checkout
        };
        respond(behavior, || {
            let reference = format!("pay-{}", request.order_id);
            Checkout::new(format!("https://pay.example/{reference}"), reference)
        })
    }

    fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
        let behavior = {
            let mut state = self.state();
            state.refunds.push(request.clone());
            state.on_refund
        };
        respond(behavior, || ())
    }

    fn can_refund(&self) -> bool {
        self.state().can_refund
    }
}
