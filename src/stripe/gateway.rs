//! The gateway.

use std::fmt;
use std::time::Duration;

use super::account::Accounts;
use super::amounts;
use super::client::{Call, Client};
use super::failure::Failure;
use super::form::Form;
use super::session::{self, is_session_id};
use super::{notices, refunds, signature};
use crate::model::id::OrganizationId;
use crate::model::secret::Secret;
use crate::model::timestamp::Timestamp;
use crate::payment::{
    Checkout, CheckoutRequest, CheckoutState, CheckoutTerms, CloseCheckout, GatewayError, GatewayNotice, LookUp,
    NoticeError, NoticeHeaders, PaymentGateway, RefundRequest,
};

/// A payment gateway that takes payments with Stripe Checkout: see the [module](super).
pub struct StripeGateway {
    pub(super) client: Client,
    secrets: Vec<Secret>,
    accounts: Accounts,
}

impl StripeGateway {
    pub(super) fn new(client: Client, secrets: Vec<Secret>, accounts: Accounts) -> Self {
        Self { client, secrets, accounts }
    }

    /// The id of the connected account of an organization.
    fn account_id(&self, organization: OrganizationId) -> Option<String> {
        self.accounts.of(organization).map(|account| account.id)
    }

    /// Asks what became of a session. `None` if there is no such session.
    fn session_state(
        &self,
        organization: OrganizationId,
        session: &str,
    ) -> Result<Option<CheckoutState>, GatewayError> {
        let account = self.account_id(organization);
        let mut form = Form::default();
        form.add("expand[0]", "payment_intent");
        let path = format!("checkout/sessions/{session}");
        match self.client.get(&Call { path: &path, form, account: account.as_deref(), ..Call::default() }) {
            Ok(reply) => Ok(Some(session::state(&reply.body))),
            Err(Failure::Answer(answer)) if answer.status == 404 => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Returns Stripe's id of the payment that is to be refunded.
    fn payment_of(&self, request: &RefundRequest) -> Result<String, GatewayError> {
        if let Some(payment) = &request.payment_reference {
            return Ok(payment.clone());
        }
        let session = request.reference.as_deref().filter(|reference| is_session_id(reference));
        let state = match session {
            Some(session) => self.session_state(request.organization_id, session)?,
            None => None,
        };
        match state {
            Some(CheckoutState::Paid(payment)) => Ok(payment.payment_reference),
            _ => Err(GatewayError::Refused("Stripe has taken no payment for this order".to_owned())),
        }
    }
}

impl PaymentGateway for StripeGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let account = self.accounts.of(request.organization_id);
        let form = session::parameters(request, account.as_ref()).map_err(GatewayError::Refused)?;
        let call = Call {
            path: "checkout/sessions",
            form,
            account: account.as_ref().map(|account| account.id.as_str()),
            idempotency_key: Some(request.idempotency_key.clone()),
        };
        let session = self.client.post(&call)?.body;
        let text = |name: &str| session.get(name).and_then(serde_json::Value::as_str);
        let id = text("id").filter(|id| is_session_id(id));
        let id = id.ok_or_else(|| Failure::Unexpected("it is not a session".to_owned()))?;
        let url = text("url").ok_or_else(|| Failure::Unexpected("the session has no page".to_owned()))?;
        Ok(Checkout::new(url, id))
    }

    fn refund(&self, request: &RefundRequest) -> Result<(), GatewayError> {
        let units = amounts::to_stripe(request.amount, &request.currency);
        let units = units.map_err(|problem| GatewayError::Refused(format!("the amount {problem}")))?;
        let account = self.account_id(request.organization_id);
        let payment = self.payment_of(request)?;
        refunds::make(&self.client, account.as_deref(), &payment, units, request)
    }

    fn check_checkout(&self, terms: &CheckoutTerms) -> Result<(), String> {
        session::check(terms)
    }

    fn shortest_checkout(&self) -> Duration {
        session::SHORTEST
    }

    fn close_checkout(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        if !is_session_id(&request.reference) {
            return Ok(CheckoutState::Unknown);
        }
        let account = self.account_id(request.organization_id);
        let path = format!("checkout/sessions/{}/expire", request.reference);
        match self.client.post(&Call { path: &path, account: account.as_deref(), ..Call::default() }) {
            Ok(reply) => Ok(session::state(&reply.body)),
            // Only an open session can be expired: this one was paid, or has expired before.
            Err(Failure::Answer(answer)) if matches!(answer.status, 400 | 402 | 404) => {
                let state = self.session_state(request.organization_id, &request.reference)?;
                Ok(state.unwrap_or(CheckoutState::Unknown))
            }
            Err(failure) => Err(failure.into()),
        }
    }

    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        if !is_session_id(&request.reference) {
            return Ok(CheckoutState::Unknown);
        }
        let state = self.session_state(request.organization_id, &request.reference)?;
        Ok(state.unwrap_or(CheckoutState::Unknown))
    }

    fn read_notice(
        &self,
        headers: &NoticeHeaders,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<GatewayNotice>, NoticeError> {
        let header = headers.get(signature::HEADER).ok_or(NoticeError::InvalidSignature)?;
        if !signature::is_valid(header, body, &self.secrets, now) {
            return Err(NoticeError::InvalidSignature);
        }
        notices::read(&self.client, body)
    }
}

impl fmt::Debug for StripeGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StripeGateway")
            .field("api_base", &self.client.base())
            .field("webhook_secrets", &self.secrets.len())
            .field("accounts", &self.accounts)
            .finish_non_exhaustive()
    }
}
