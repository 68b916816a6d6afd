//! A payment gateway for tests and demonstrations. It takes no money: on its checkout page, three buttons choose the
//! outcome of the payment.

use std::sync::Arc;

use super::{
    Checkout, CheckoutRequest, CheckoutState, CloseCheckout, GatewayError, LookUp, PaymentGateway, RefundRequest,
};
use crate::environment::{Clock, Entropy, Environment, SystemClock, SystemEntropy};

const TOKEN_ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 32 characters out of 62 are 190 random bits. A client that knows the token may pay or cancel the order, without an
/// API key.
const TOKEN_LENGTH: usize = 32;

/// A payment gateway that takes no money and accepts every refund.
///
/// Its checkout links lead to the checkout page of the server (feature `server`), where a click chooses the outcome of
/// the payment. Use [`Builder::sandbox_gateway`](crate::Builder::sandbox_gateway) to set it up: only then does the
/// checkout page accept its tokens.
#[derive(Debug)]
pub struct SandboxGateway {
    environment: Environment,
}

impl SandboxGateway {
    /// Creates a sandbox that draws its checkout tokens from `entropy`.
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
        let token = self.environment.random_text(TOKEN_ALPHABET, TOKEN_LENGTH);
        let link = format!("{}/checkout/{token}", request.public_url);
        Ok(Checkout { link, reference: sandbox_reference(&token) })
    }

    /// The page takes no payment for an order that has ended.
    fn close_checkout(&self, _: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        Ok(CheckoutState::Closed)
    }

    /// A payment on the page is recorded at once. The service asks only about orders that are not paid.
    fn look_up(&self, _: &LookUp) -> Result<CheckoutState, GatewayError> {
        Ok(CheckoutState::Open)
    }

    fn refund(&self, _: &RefundRequest) -> Result<(), GatewayError> {
        Ok(())
    }
}

/// Returns the payment reference that belongs to a checkout token. The prefix keeps payments of other gateways, whose
/// references may be guessable, out of reach of the checkout page.
pub(crate) fn sandbox_reference(token: &str) -> String {
    format!("sandbox_{token}")
}
