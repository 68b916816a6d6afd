//! A payment gateway for tests and demonstrations. It takes no money: on its checkout page, three buttons choose the
//! outcome of the payment.

use std::sync::Arc;

use super::{
    Checkout, CheckoutRequest, CheckoutState, Checkouts, CloseCheckout, GatewayError, GatewayNotice, GatewayRefund,
    LookUp, NoticeError, NoticeHeaders, PaymentGateway, PaymentMode, PaymentWebhooks, RefundRequest,
};
use crate::environment::{Clock, Entropy, Environment, SystemClock, SystemEntropy};
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::gateway_choice::SANDBOX;

const TOKEN_ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 32 characters out of 62 are 190 random bits. A client that knows the token may pay or cancel the order, without an
/// API key.
const TOKEN_LENGTH: usize = 32;

/// What the references of the sandbox begin with.
const PREFIX: &str = "sandbox_";

/// A payment gateway that takes no money and accepts every refund of its own payments.
///
/// Its checkout links lead to the checkout page of the server (feature `server`), where a click chooses the outcome of
/// the payment. The service records the outcome at once. Use
/// [`Builder::sandbox_gateway`](crate::Builder::sandbox_gateway) to set it up: only then does the checkout page accept
/// its tokens.
#[derive(Debug)]
pub struct SandboxGateway {
    environment: Environment,
}

impl SandboxGateway {
    /// Creates a sandbox that draws its checkout tokens from `entropy`.
    #[must_use]
    pub fn new(entropy: Arc<dyn Entropy>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Self { environment: Environment::new(clock, entropy) }
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

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        check_reference(request.payment_reference.as_deref().or(request.reference.as_deref()))?;
        Ok(request.made(format!("{PREFIX}{}", request.refund_id)))
    }

    fn name(&self) -> &'static str {
        SANDBOX
    }

    fn mode(&self) -> PaymentMode {
        PaymentMode::Test
    }

    fn checkouts(&self) -> Option<&dyn Checkouts> {
        Some(self)
    }

    fn webhooks(&self) -> Option<&dyn PaymentWebhooks> {
        Some(self)
    }
}

impl Checkouts for SandboxGateway {
    /// The page takes no payment for an order that has ended.
    fn close(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        check_reference(Some(&request.reference)).map(|()| CheckoutState::Closed)
    }

    /// A payment on the page is recorded at once. The service asks only about orders that are not paid.
    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        check_reference(Some(&request.reference)).map(|()| CheckoutState::Open)
    }
}

/// The sandbox sends no notices: what happens on its page is recorded directly. So every notice is forged.
impl PaymentWebhooks for SandboxGateway {
    fn check_headers(&self, _: &NoticeHeaders, _: Timestamp) -> Result<(), NoticeError> {
        Err(NoticeError::InvalidSignature)
    }

    fn read(&self, _: &NoticeHeaders, _: &[u8], _: Timestamp) -> Result<Vec<GatewayNotice>, NoticeError> {
        Err(NoticeError::InvalidSignature)
    }
}

/// The sandbox's reference of the checkout with this token, or of the payment of the order with this id. The prefix
/// keeps payments of other gateways, whose references may be guessable, out of reach of the checkout page.
pub(crate) fn sandbox_reference(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// Fails unless the reference is one of the sandbox. A checkout or payment of a provider has to wait until the program
/// has the provider's gateway again.
fn check_reference(reference: Option<&str>) -> Result<(), GatewayError> {
    match reference {
        Some(reference) if reference.starts_with(PREFIX) => Ok(()),
        _ => Err(GatewayError::Unavailable("the payment is of another gateway, not of the sandbox".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::values::amount::Amount;

    #[test]
    fn nothing_is_said_about_the_payment_of_another_gateway() {
        let sandbox = SandboxGateway::default();
        let order = "order_1NR6E9XB00000".parse().expect("an id");
        let refund = || RefundRequest::new(order, Amount::cents(1250), "EUR");
        for reference in ["cs_live_1", "pi_1", "sandbox", ""] {
            for refused in [
                sandbox.close(&CloseCheckout::new(order, reference)).map(drop),
                sandbox.look_up(&LookUp::new(order, reference)).map(drop),
                sandbox.refund(&refund().reference(reference)).map(drop),
                sandbox.refund(&refund().reference("sandbox_1").payment_reference(reference)).map(drop),
            ] {
                assert!(matches!(refused, Err(GatewayError::Unavailable(_))), "{reference}: {refused:?}");
            }
        }
        assert!(matches!(sandbox.refund(&refund()), Err(GatewayError::Unavailable(_))));
        assert_eq!(sandbox.close(&CloseCheckout::new(order, "sandbox_1")), Ok(CheckoutState::Closed));
        assert_eq!(sandbox.look_up(&LookUp::new(order, "sandbox_1")), Ok(CheckoutState::Open));
        let made = sandbox.refund(&refund().reference("sandbox_1")).expect("a refund of its own");
        assert!(made.reference.starts_with("sandbox_") && made.amount == Amount::cents(1250), "{made:?}");
    }
}
