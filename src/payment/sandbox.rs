//! A gateway without money, for trying things out: its checkout is a page of the server with three buttons.

use std::sync::Arc;

use super::{Checkout, CheckoutRequest, GatewayError, PaymentGateway, RefundRequest};
use crate::environment::{Clock, Entropy, Environment, SystemClock, SystemEntropy};

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 32 letters of 62: 190 random bits. Whoever knows the token may pay or cancel the order.
const TOKEN_LENGTH: usize = 32;

/// A gateway that takes no money and gives back whatever it is asked for. Its links lead to the hosted checkout page of
/// the server, on which a click says what comes of the payment. Set it up with
/// [`Builder::sandbox_gateway`](crate::Builder::sandbox_gateway).
#[derive(Debug)]
pub struct SandboxGateway {
    environment: Environment,
}

impl SandboxGateway {
    /// A sandbox whose tokens come from `entropy`.
    #[must_use]
    pub fn new(entropy: Arc<dyn Entropy>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Self { environment: Environment { clock, entropy } }
    }
}

impl Default for SandboxGateway {
    fn default() -> Self {
        Self::new(Arc::new(SystemEntropy))
    }
}

impl PaymentGateway for SandboxGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let token = self.environment.random_text(LETTERS, TOKEN_LENGTH);
        let link = format!("{}/checkout/{token}", request.public_url);
        Ok(Checkout { link, reference: sandbox_reference(&token) })
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

/// What the sandbox calls the payment of a token. The prefix keeps the payments of other gateways, whose references may
/// be guessed, out of the page's reach.
pub(crate) fn sandbox_reference(token: &str) -> String {
    format!("sandbox_{token}")
}
