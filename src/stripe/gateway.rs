//! The gateway.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::account::Accounts;
use super::amounts;
use super::api::client::{Client, MAX_KEYS, REPEATED, numbered};
use super::api::failure::Failure;
use super::api::form::Form;
use super::objects::session;
use super::objects::session_state::{self, is_session_id};
use super::objects::{dispute, notices, refunds_of_payment};
use super::signature;
use crate::model::values::id::OrganizationId;
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;
use crate::payment::{
    Checkout, CheckoutRequest, CheckoutState, CheckoutTerms, Checkouts, CloseCheckout, GatewayAccount, GatewayDispute,
    GatewayError, GatewayEvent, GatewayNotice, GatewayRefund, Limits, LookUp, NoticeError, NoticeHeaders,
    PaymentGateway, PaymentLookUp, PaymentMode, PaymentWebhooks, RefundReports, RefundRequest, Statements,
};

const OTHER_MODE: &str = "the session is one of live mode and the secret key one of test mode, or the other way round";

/// A payment gateway that takes payments with Stripe Checkout: see the [module](super).
pub struct StripeGateway {
    pub(super) client: Client,
    livemode: Option<bool>,
    /// Whether an event of the other mode than that of the key was logged.
    has_warned: AtomicBool,
    secrets: Vec<Secret>,
    pub(super) accounts: Accounts,
}

impl StripeGateway {
    pub(super) fn new(client: Client, livemode: Option<bool>, secrets: Vec<Secret>, accounts: Accounts) -> Self {
        Self { client, livemode, has_warned: AtomicBool::new(false), secrets, accounts }
    }

    /// Whether the secret key is one of live mode, with which customers pay real money. `None` if the beginning of the
    /// key does not tell.
    #[must_use]
    pub const fn livemode(&self) -> Option<bool> {
        self.livemode
    }

    /// The client for the organization that asks about a checkout or a payment, in the account that has it.
    fn client_for(&self, account: &GatewayAccount, organization: impl Into<Option<OrganizationId>>) -> Client {
        let organization = organization.into();
        self.client.on_behalf_of(organization, self.accounts.id_of(account, organization))
    }

    /// Checks whether Stripe can be asked about a checkout with this key.
    fn check_reference(&self, reference: &str) -> Result<(), GatewayError> {
        if !is_session_id(reference) {
            return Err(GatewayError::Refused("the checkout is not one of Stripe".to_owned()));
        }
        self.check_mode(session_state::livemode(reference)).map_err(GatewayError::Refused)
    }

    /// Fails if a session is of the other mode than the key: nothing of it was paid with the money that the key stands
    /// for.
    fn check_mode(&self, of_session: Option<bool>) -> Result<(), String> {
        if self.is_of_mode(of_session) { Ok(()) } else { Err(OTHER_MODE.to_owned()) }
    }

    /// Whether an object with this `livemode` is one of the mode of the key, as far as both are known.
    fn is_of_mode(&self, livemode: Option<bool>) -> bool {
        livemode.is_none() || self.livemode.is_none() || livemode == self.livemode
    }

    /// Whether an event with this `livemode` is read. Endpoints for connected accounts receive the events of both
    /// modes. The first one of the other mode is logged.
    fn reads(&self, livemode: Option<bool>) -> bool {
        let reads = self.is_of_mode(livemode);
        if !reads && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "ticketing::payment",
                live = livemode,
                "Stripe sends notices of the other mode than that of the secret key; they are ignored, and not logged again"
            );
        }
        reads
    }

    /// Asks for the outcome of a session.
    fn session_state(&self, client: &Client, session: &str) -> Result<CheckoutState, Failure> {
        let form = Form::default().with("expand[0]", session_state::EXPANDED);
        self.state(&client.get(&format!("checkout/sessions/{session}"), &form)?)
    }

    fn state(&self, session: &Value) -> Result<CheckoutState, Failure> {
        self.check_mode(session.get("livemode").and_then(Value::as_bool)).map_err(Failure::Unexpected)?;
        match session_state::state(session) {
            // Of a session that is complete, nothing can be paid any more.
            CheckoutState::Unknown if session.get("status").is_none_or(|status| status != "complete") => {
                Err(Failure::Unexpected("the session has no state that is known".to_owned()))
            }
            state => Ok(state),
        }
    }

    /// Returns Stripe's id of the payment that is to be refunded.
    fn payment_of(&self, request: &RefundRequest, client: &Client) -> Result<String, GatewayError> {
        if let Some(payment) = &request.payment_reference {
            return Ok(payment.clone());
        }
        for session in request.reference.iter().chain(&request.earlier_references).filter(|id| is_session_id(id)) {
            // With the right key, Stripe will tell what was paid.
            self.check_mode(session_state::livemode(session)).map_err(GatewayError::Unavailable)?;
            match self.session_state(client, session).map_err(GatewayError::from) {
                Ok(CheckoutState::Paid(payment) | CheckoutState::Returned(payment)) => {
                    return Ok(payment.payment_reference);
                }
                Ok(_) => {}
                Err(GatewayError::Refused(problem)) => return Err(GatewayError::Unavailable(problem)),
                Err(failure) => return Err(failure),
            }
        }
        Err(GatewayError::Refused("Stripe has taken no payment for this order".to_owned()))
    }
}

impl PaymentGateway for StripeGateway {
    /// If Stripe repeats an error that it has stored under the key, the next key is used. The first request may have
    /// created a session nevertheless. Nobody has the URL of its page, and it expires by itself.
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let account = self.accounts.for_checkout(request);
        let form = session::parameters(request, account.as_ref()).map_err(GatewayError::Refused)?;
        let account = account.map(|account| account.id);
        let client = self.client.on_behalf_of(Some(request.organization_id), account);
        for index in 0..MAX_KEYS {
            // The keys of renewed checkouts end with a hyphen and a number.
            let key = numbered(&request.idempotency_key, '.', index);
            match client.post("checkout/sessions", &form, Some(&key)) {
                Ok(reply) => return Ok(checkout(&reply.body, request)?),
                Err(Failure::Answer(answer)) if answer.uses_up_key() => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(GatewayError::Unavailable(REPEATED.to_owned()))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        let units = amounts::to_stripe(request.amount, &request.currency);
        let units = units.map_err(|problem| GatewayError::Refused(format!("the amount {problem}")))?;
        let client = self.client_for(&request.account, request.organization_id);
        let payment = self.payment_of(request, &client)?;
        refunds_of_payment::make(&client, &payment, units, request)
    }

    fn name(&self) -> &'static str {
        "stripe"
    }

    /// [`PaymentMode::Test`] only if the key is one of test mode.
    fn mode(&self) -> PaymentMode {
        if self.livemode == Some(false) { PaymentMode::Test } else { PaymentMode::Live }
    }

    fn account(&self, organization: OrganizationId) -> Option<String> {
        self.accounts.of(organization).map(|account| account.id)
    }

    fn checkouts(&self) -> Option<&dyn Checkouts> {
        Some(self)
    }

    fn webhooks(&self) -> Option<&dyn PaymentWebhooks> {
        Some(self)
    }

    fn refund_reports(&self) -> Option<&dyn RefundReports> {
        Some(self)
    }

    fn statements(&self) -> Option<&dyn Statements> {
        Some(self)
    }

    fn limits(&self) -> &dyn Limits {
        self
    }
}

impl Checkouts for StripeGateway {
    fn close(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        self.check_reference(&request.reference)?;
        let client = self.client_for(&request.account, request.organization_id);
        let path = format!("checkout/sessions/{}/expire", request.reference);
        match client.post(&path, &Form::default(), None) {
            Ok(reply) => Ok(self.state(&reply.body)?),
            // Only an open session can be expired: this one was paid, or has expired before.
            Err(Failure::Answer(answer)) if matches!(answer.status, 400 | 402) => {
                Ok(self.session_state(&client, &request.reference)?)
            }
            Err(failure) => Err(failure.into()),
        }
    }

    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        self.check_reference(&request.reference)?;
        let client = self.client_for(&request.account, request.organization_id);
        Ok(self.session_state(&client, &request.reference)?)
    }

    fn find_by_payment(&self, payment: &PaymentLookUp) -> Result<Option<String>, GatewayError> {
        let form = Form::default().with("payment_intent", &payment.payment_reference).with("limit", 1);
        let client = self.client_for(&payment.account, payment.organization_id);
        let list = client.get("checkout/sessions", &form).map_err(Failure::about_a_notice)?;
        let session = list.pointer("/data/0/id").and_then(Value::as_str);
        Ok(session.filter(|id| is_session_id(id)).map(str::to_owned))
    }
}

impl PaymentWebhooks for StripeGateway {
    fn check_headers(&self, headers: &NoticeHeaders, now: Timestamp) -> Result<(), NoticeError> {
        let header = headers.get(signature::HEADER).filter(|header| signature::may_be_valid(header, now));
        header.map(drop).ok_or(NoticeError::InvalidSignature)
    }

    fn read(&self, headers: &NoticeHeaders, body: &[u8], now: Timestamp) -> Result<Vec<GatewayNotice>, NoticeError> {
        let header = headers.get(signature::HEADER).ok_or(NoticeError::InvalidSignature)?;
        if !signature::is_valid(header, body, &self.secrets, now) {
            return Err(NoticeError::InvalidSignature);
        }
        notices::read(body, |livemode| self.reads(livemode))
    }

    fn fetch(&self, notice: &GatewayNotice) -> Result<Option<GatewayNotice>, GatewayError> {
        let GatewayEvent::Changed(path) = &notice.event else { return Ok(None) };
        let mut form = Form::default();
        if path.starts_with("checkout/") {
            form.add("expand[0]", session_state::EXPANDED);
        }
        let client = self.client.on_behalf_of(notice.organization_id, notice.account.clone());
        let object = client.get(path, &form).map_err(Failure::about_a_notice)?;
        Ok(notices::about_object(notice, &object))
    }
}

impl RefundReports for StripeGateway {
    fn refunds_of(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayRefund>, GatewayError> {
        let client = self.client_for(&payment.account, payment.organization_id);
        let listed = refunds_of_payment::of_payment(&client, &payment.payment_reference);
        listed.map(refunds_of_payment::without_superseded).map_err(Failure::about_a_notice)
    }

    fn disputes_of(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayDispute>, GatewayError> {
        let client = self.client_for(&payment.account, payment.organization_id);
        dispute::of_payment(&client, &payment.payment_reference).map_err(Failure::about_a_notice)
    }
}

impl Limits for StripeGateway {
    fn smallest_refund(&self, currency: &str) -> i64 {
        amounts::refund_step(currency)
    }

    fn smallest_payment(&self, currency: &str) -> i64 {
        amounts::smallest_payment(currency)
    }

    fn check_terms(&self, terms: &CheckoutTerms) -> Result<(), String> {
        session::check(terms)
    }

    fn shortest_checkout(&self) -> Duration {
        session::SHORTEST
    }
}

/// The checkout of a session. The page of one that has ended is the page to which Stripe would return the customer.
fn checkout(session: &Value, request: &CheckoutRequest) -> Result<Checkout, Failure> {
    let text = |name: &str| session.get(name).and_then(Value::as_str);
    let id = text("id").filter(|id| is_session_id(id));
    let id = id.ok_or_else(|| Failure::Unexpected("it is not a session".to_owned()))?;
    let link = text("url").map_or_else(|| session::return_url(request, id), str::to_owned);
    Ok(Checkout::new(link, id))
}

impl fmt::Debug for StripeGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StripeGateway")
            .field("api_base", &self.client.base())
            .field("livemode", &self.livemode)
            .field("webhook_secrets", &self.secrets.len())
            .field("accounts", &self.accounts)
            .finish_non_exhaustive()
    }
}
