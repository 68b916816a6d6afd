//! A payment gateway that hangs for one organization, until the test releases it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use ticketing::Timestamp;
use ticketing::id::OrganizationId;
use ticketing::payment::{
    Checkout, CheckoutRequest, CheckoutState, Checkouts, CloseCheckout, GatewayError, GatewayEvent, GatewayNotice,
    GatewayRefund, LookUp, NoticeError, NoticeHeaders, PaymentGateway, PaymentWebhooks, RefundRequest,
};

/// A gateway whose calls for one organization hang. Clones share their state.
#[derive(Clone)]
pub struct HangingGateway(Arc<State>);

struct State {
    organization: Mutex<Option<OrganizationId>>,
    hangs: Mutex<Sender<()>>,
    released: Mutex<Receiver<()>>,
}

/// The test's ends of the channels of a [`HangingGateway`].
pub struct HangingControl {
    /// Receives a message when a call starts to hang.
    pub has_hung: Receiver<()>,
    /// When it is dropped, all calls return.
    pub release: Sender<()>,
}

impl HangingGateway {
    pub fn new() -> (Self, HangingControl) {
        let (hangs, has_hung) = channel();
        let (release, released) = channel();
        let state = State { organization: Mutex::default(), hangs: Mutex::new(hangs), released: Mutex::new(released) };
        (Self(Arc::new(state)), HangingControl { has_hung, release })
    }

    /// Lets the calls for an organization hang from now on.
    pub fn hang_for(&self, organization: OrganizationId) {
        *self.0.organization.lock().unwrap_or_else(PoisonError::into_inner) = Some(organization);
    }

    fn answer(&self, organization: OrganizationId) {
        if *self.0.organization.lock().unwrap_or_else(PoisonError::into_inner) == Some(organization) {
            let _ = self.0.hangs.lock().unwrap_or_else(PoisonError::into_inner).send(());
            let _ = self.0.released.lock().unwrap_or_else(PoisonError::into_inner).recv();
        }
    }
}

impl PaymentGateway for HangingGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        self.answer(request.organization_id);
        let reference = format!("pay-{}", request.order_id);
        Ok(Checkout::new(format!("https://pay.example/{reference}"), reference))
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        self.answer(request.organization_id);
        Ok(request.made("refund"))
    }

    fn checkouts(&self) -> Option<&dyn Checkouts> {
        Some(self)
    }

    fn webhooks(&self) -> Option<&dyn PaymentWebhooks> {
        Some(self)
    }
}

impl Checkouts for HangingGateway {
    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        self.answer(request.organization_id);
        Ok(CheckoutState::Open)
    }

    fn close(&self, _: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        Ok(CheckoutState::Unknown)
    }
}

/// The body of a notice is the id of an organization, in whose account something has changed that is not of interest.
impl PaymentWebhooks for HangingGateway {
    fn read(&self, _: &NoticeHeaders, body: &[u8], _: Timestamp) -> Result<Vec<GatewayNotice>, NoticeError> {
        let id = String::from_utf8_lossy(body).parse().expect("an id");
        Ok(vec![GatewayNotice::new("evt", GatewayEvent::Changed("object".to_owned())).organization(id)])
    }

    fn fetch(&self, notice: &GatewayNotice) -> Result<Option<GatewayNotice>, GatewayError> {
        self.answer(notice.organization_id.expect("an organization"));
        Ok(None)
    }
}
