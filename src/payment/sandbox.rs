//! A payment gateway for tests and demonstrations. It takes no money: on its checkout page, three buttons choose the
//! outcome of the payment.

use std::sync::{Arc, OnceLock};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{
    Checkout, CheckoutRequest, CheckoutState, Checkouts, CloseCheckout, GatewayError, GatewayEvent, GatewayNotice,
    GatewayPayment, GatewayRefund, LookUp, NoticeError, NoticeHeaders, PaymentGateway, PaymentMode, PaymentWebhooks,
    RefundRequest,
};
use crate::environment::{Clock, Entropy, Environment, SystemClock, SystemEntropy};
use crate::model::values::amount::Amount;
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;
use crate::rules::money::gateway_choice::SANDBOX;

const TOKEN_ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// 32 characters out of 62 are 190 random bits. A client that knows the token may pay or cancel the order, without an
/// API key.
const TOKEN_LENGTH: usize = 32;

/// What the references of the sandbox begin with.
const PREFIX: &str = "sandbox_";

/// The header with the signature of a notice: the HMAC-SHA256 of its body, in hexadecimal.
const SIGNATURE_HEADER: &str = "Sandbox-Signature";

/// A payment gateway that takes no money and accepts every refund of its own payments.
///
/// Its checkout links lead to the checkout page of the server (feature `server`), where a click chooses the outcome of
/// the payment. The service hears of it as from any provider: by a signed notice, which
/// [`receive_gateway_notice`](crate::TicketingService::receive_gateway_notice) verifies. Use
/// [`Builder::sandbox_gateway`](crate::Builder::sandbox_gateway) to set it up: only then does the checkout page accept
/// its tokens.
#[derive(Debug)]
pub struct SandboxGateway {
    environment: Environment,
    /// Signs the notices. Drawn when the first one is signed or verified, and never stored: the sandbox does both in
    /// one process.
    secret: OnceLock<Secret>,
}

/// What a notice says.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SandboxNotice {
    pub(crate) checkout: String,
    /// What was paid; `None` if the payment failed.
    pub(crate) payment: Option<SandboxPayment>,
}

/// A payment on the checkout page.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SandboxPayment {
    pub(crate) reference: String,
    pub(crate) amount: Amount,
    pub(crate) currency: String,
}

/// A signed notice, as a provider would send it.
pub(crate) struct SignedNotice {
    pub(crate) headers: NoticeHeaders,
    pub(crate) body: Vec<u8>,
}

impl SandboxGateway {
    /// Creates a sandbox that draws its checkout tokens and the secret of its notices from `entropy`.
    #[must_use]
    pub fn new(entropy: Arc<dyn Entropy>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Self { environment: Environment::new(clock, entropy), secret: OnceLock::new() }
    }

    pub(crate) fn signed(&self, notice: &SandboxNotice) -> Result<SignedNotice, serde_json::Error> {
        let body = serde_json::to_vec(notice)?;
        let signature = hex::encode(self.digest(&body).finalize().into_bytes());
        Ok(SignedNotice { headers: [(SIGNATURE_HEADER, signature)].into_iter().collect(), body })
    }

    #[expect(clippy::expect_used, reason = "an HMAC key may have any length")]
    fn digest(&self, body: &[u8]) -> Hmac<Sha256> {
        let new_secret = || Secret::new(self.environment.random_text(TOKEN_ALPHABET, TOKEN_LENGTH));
        let secret = self.secret.get_or_init(new_secret);
        let mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("a key of any length");
        mac.chain_update(body)
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

impl PaymentWebhooks for SandboxGateway {
    fn check_headers(&self, headers: &NoticeHeaders, _: Timestamp) -> Result<(), NoticeError> {
        headers.get(SIGNATURE_HEADER).map(drop).ok_or(NoticeError::InvalidSignature)
    }

    fn read(&self, headers: &NoticeHeaders, body: &[u8], _: Timestamp) -> Result<Vec<GatewayNotice>, NoticeError> {
        let signature = headers.get(SIGNATURE_HEADER).and_then(|signature| hex::decode(signature).ok());
        let signature = signature.ok_or(NoticeError::InvalidSignature)?;
        self.digest(body).verify_slice(&signature).map_err(|_| NoticeError::InvalidSignature)?;
        let notice: SandboxNotice =
            serde_json::from_slice(body).map_err(|error| NoticeError::Unreadable(error.to_string()))?;
        let event = match notice.payment {
            Some(SandboxPayment { reference, amount, currency }) => {
                GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new(reference, amount, currency)))
            }
            None => GatewayEvent::PaymentFailed,
        };
        // Nobody may read a token in the log.
        Ok(vec![GatewayNotice::new("sandbox", event).checkout_reference(notice.checkout)])
    }
}

/// Returns the payment reference that belongs to a checkout token. The prefix keeps payments of other gateways, whose
/// references may be guessable, out of reach of the checkout page.
pub(crate) fn sandbox_reference(token: &str) -> String {
    format!("{PREFIX}{token}")
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

    #[test]
    fn a_notice_is_read_only_as_the_same_sandbox_signed_it() {
        let sandbox = SandboxGateway::default();
        let now = Timestamp::UNIX_EPOCH;
        let payment =
            SandboxPayment { reference: "p1".to_owned(), amount: Amount::cents(1250), currency: "EUR".to_owned() };
        for payment in [Some(payment), None] {
            let notice = SandboxNotice { checkout: "sandbox_1".to_owned(), payment };
            let SignedNotice { headers, body } = sandbox.signed(&notice).expect("JSON");
            let read = sandbox.read(&headers, &body, now).expect("a notice");
            assert_eq!(read[0].checkout_reference.as_deref(), Some("sandbox_1"));
            let event = match notice.payment {
                Some(_) => {
                    GatewayEvent::Checkout(CheckoutState::Paid(GatewayPayment::new("p1", Amount::cents(1250), "EUR")))
                }
                None => GatewayEvent::PaymentFailed,
            };
            assert_eq!(read[0].event, event);
            let other = SandboxGateway::default().read(&headers, &body, now);
            assert_eq!(other, Err(NoticeError::InvalidSignature));
            let changed = [&body[..], b" "].concat();
            assert_eq!(sandbox.read(&headers, &changed, now), Err(NoticeError::InvalidSignature));
        }
    }
}
