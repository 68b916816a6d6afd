//! A payment gateway that behaves as a test says.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::id::OrganizationId;
use ticketing::order::Order;
use ticketing::payment::{
    Checkout, CheckoutRequest, CheckoutState, CheckoutTerms, Checkouts, CloseCheckout, GatewayError, GatewayEvent,
    GatewayNotice, GatewayPayment, GatewayRefund, Limits, LookUp, NoticeError, NoticeHeaders, NoticeOutcome,
    PaymentGateway, PaymentLookUp, PaymentMode, PaymentWebhooks, RefundReports, RefundRequest,
};
use ticketing::{Amount, Result as ServiceResult, TicketingService, Timestamp};

/// How [`FakeGateway`] answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayBehavior {
    Succeed,
    Refuse,
    Unavailable,
    NotExecuted,
    Panic,
    /// Never return.
    Hang,
}

type CheckoutHook = Arc<dyn Fn(&CheckoutRequest) + Send + Sync>;
type RefundHook = Arc<dyn Fn() -> GatewayBehavior + Send + Sync>;

struct State {
    during_checkout: Option<CheckoutHook>,
    during_refund: Option<RefundHook>,
    on_checkout: GatewayBehavior,
    on_refund: GatewayBehavior,
    can_refund: bool,
    checkouts: Vec<CheckoutRequest>,
    refunds: Vec<RefundRequest>,
    on_close: GatewayBehavior,
    on_look_up: GatewayBehavior,
    /// What the gateway says about every checkout. `None` if it can neither close nor look up.
    state: Option<CheckoutState>,
    closed: Vec<CloseCheckout>,
    looked_up: Vec<LookUp>,
    refuses_terms: Option<String>,
    shortest_checkout: Duration,
    /// The organizations for which nothing is answered.
    disconnected: HashSet<OrganizationId>,
    /// The clock that passes by the time for which the service waits for them.
    waits_by: Option<ManualClock>,
    refund_step: i64,
    smallest_payment: i64,
    /// The refunds that it has made, with the gateway's id of their payment.
    made: Vec<(Option<String>, GatewayRefund)>,
    refunds_made: usize,
    /// The gateway's id of the next refund that it makes. `None` for `re_1`, `re_2` and so on.
    next_refund: Option<String>,
    /// The refunds that it lists for every payment. `None` for those that it has made.
    listed: Option<Vec<GatewayRefund>>,
    /// The payments whose refunds it was asked for.
    listed_for: Vec<PaymentLookUp>,
    on_list: GatewayBehavior,
    /// What the next notices say, by the text of their body.
    notices: Vec<(String, GatewayNotice)>,
    /// The account that takes the payments from now on.
    account: Option<String>,
}

/// A gateway whose behavior a test sets, and which records its calls. Clones share their state.
#[derive(Clone)]
pub struct FakeGateway {
    name: &'static str,
    mode: PaymentMode,
    state: Arc<Mutex<State>>,
}

impl FakeGateway {
    /// Creates a gateway that accepts every checkout and every refund.
    pub fn new() -> Self {
        let state = State {
            during_checkout: None,
            during_refund: None,
            on_checkout: GatewayBehavior::Succeed,
            on_refund: GatewayBehavior::Succeed,
            can_refund: true,
            checkouts: Vec::new(),
            refunds: Vec::new(),
            on_close: GatewayBehavior::Succeed,
            on_look_up: GatewayBehavior::Succeed,
            state: None,
            closed: Vec::new(),
            looked_up: Vec::new(),
            refuses_terms: None,
            shortest_checkout: Duration::ZERO,
            disconnected: HashSet::new(),
            waits_by: None,
            refund_step: 1,
            smallest_payment: 1,
            made: Vec::new(),
            refunds_made: 0,
            next_refund: None,
            listed: None,
            listed_for: Vec::new(),
            on_list: GatewayBehavior::Succeed,
            notices: Vec::new(),
            account: None,
        };
        Self { name: "gateway", mode: PaymentMode::Live, state: Arc::new(Mutex::new(state)) }
    }

    /// The same gateway with another name and mode.
    pub fn named(self, name: &'static str, mode: PaymentMode) -> Self {
        Self { name, mode, ..self }
    }

    /// Sets the account that takes the payments of every organization from now on. `None` for that of the gateway
    /// itself.
    pub fn set_account(&self, account: Option<&str>) {
        self.state().account = account.map(str::to_owned);
    }

    /// Sets what the gateway says about every checkout. `None` makes it one that can neither close nor look up. A
    /// checkout that is open is closed when the gateway is asked to.
    pub fn set_state(&self, state: Option<CheckoutState>) {
        self.state().state = state;
    }

    /// Sets how the next requests to close a checkout are answered.
    pub fn on_close(&self, behavior: GatewayBehavior) {
        self.state().on_close = behavior;
    }

    /// Sets how the next look-ups are answered.
    pub fn on_look_up(&self, behavior: GatewayBehavior) {
        self.state().on_look_up = behavior;
    }

    /// Makes the gateway refuse the terms of every order.
    pub fn refuse_terms(&self, problem: &str) {
        self.state().refuses_terms = Some(problem.to_owned());
    }

    /// Answers no more requests about the checkouts, payments and refunds of an organization.
    pub fn disconnect(&self, organization: OrganizationId) {
        self.state().disconnected.insert(organization);
    }

    /// The same. By this clock, each request ends after 20 seconds.
    pub fn disconnect_until_timeout(&self, organization: OrganizationId, clock: &ManualClock) {
        self.state().waits_by = Some(clock.clone());
        self.disconnect(organization);
    }

    /// Sets the least time for which a checkout can be open.
    pub fn set_shortest_checkout(&self, shortest: Duration) {
        self.state().shortest_checkout = shortest;
    }

    /// Sets the gateway's id of the next refund that it makes: `re_1`, `re_2` and so on by default.
    pub fn set_next_refund(&self, reference: &str) {
        self.state().next_refund = Some(reference.to_owned());
    }

    /// Sets the refunds that the gateway lists for every payment, instead of those that it has made.
    pub fn set_listed(&self, refunds: impl IntoIterator<Item = GatewayRefund>) {
        self.state().listed = Some(refunds.into_iter().collect());
    }

    /// Sets how the next requests to list the refunds of a payment are answered.
    pub fn on_list(&self, behavior: GatewayBehavior) {
        self.state().on_list = behavior;
    }

    /// Returns the payments whose refunds the gateway was asked for so far.
    pub fn listed_for(&self) -> Vec<PaymentLookUp> {
        self.state().listed_for.clone()
    }

    /// Sets the least amount that the gateway refunds, in minor units.
    pub fn set_refund_step(&self, minor_units: i64) {
        self.state().refund_step = minor_units;
    }

    /// Sets the least amount of an order that the gateway takes, in minor units.
    pub fn set_smallest_payment(&self, minor_units: i64) {
        self.state().smallest_payment = minor_units;
    }

    /// Returns the checkouts that the gateway was asked to close so far.
    pub fn closed(&self) -> Vec<CloseCheckout> {
        self.state().closed.clone()
    }

    /// Returns the look-ups so far.
    pub fn looked_up(&self) -> Vec<LookUp> {
        self.state().looked_up.clone()
    }

    /// Makes the gateway understand a notice. It lists the refund that the notice is about.
    pub fn know(&self, notice: &Notice) {
        let mut state = self.state();
        if let GatewayEvent::Refund(refund) = &notice.notice.event {
            state.made.retain(|(_, made)| made.reference != refund.reference);
            state.made.push((notice.notice.payment_reference.clone(), refund.clone()));
        }
        state.notices.push((notice.notice.id.clone(), notice.notice.clone()));
    }

    /// Sets how the next checkouts are answered.
    pub fn on_checkout(&self, behavior: GatewayBehavior) {
        self.state().on_checkout = behavior;
    }

    /// Sets what happens while the next checkouts are started.
    pub fn during_checkout(&self, hook: impl Fn(&CheckoutRequest) + Send + Sync + 'static) {
        self.state().during_checkout = Some(Arc::new(hook));
    }

    /// Calls this during the next refunds. They are answered with its result, unless the organization is disconnected.
    pub fn during_refund(&self, hook: impl Fn() -> GatewayBehavior + Send + Sync + 'static) {
        self.state().during_refund = Some(Arc::new(hook));
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn behavior_for(&self, organization: OrganizationId, behavior: GatewayBehavior) -> GatewayBehavior {
        if !self.disconnected.contains(&organization) {
            return behavior;
        }
        if let Some(clock) = &self.waits_by {
            clock.advance(Duration::from_secs(20));
        }
        GatewayBehavior::Unavailable
    }
}

fn respond<T>(behavior: GatewayBehavior, success: impl FnOnce() -> T) -> Result<T, GatewayError> {
    match behavior {
        GatewayBehavior::Succeed => Ok(success()),
        GatewayBehavior::Refuse => Err(GatewayError::Refused("the card is blocked".to_owned())),
        GatewayBehavior::Unavailable => Err(GatewayError::Unavailable("closed for lunch".to_owned())),
        GatewayBehavior::NotExecuted => Err(GatewayError::NotExecuted("there is a queue outside".to_owned())),
        GatewayBehavior::Panic => panic!("the test made the gateway panic"),
        GatewayBehavior::Hang => loop {
            std::thread::park();
        },
    }
}

impl PaymentGateway for FakeGateway {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        let (behavior, hook) = {
            let mut state = self.state();
            state.checkouts.push(request.clone());
            (state.on_checkout, state.during_checkout.clone())
        };
        if let Some(hook) = hook {
            hook(request);
        }
        respond(behavior, || {
            // "pay-{order}" for the first checkout of an order.
            let reference = request.idempotency_key.replacen("checkout-", "pay-", 1);
            Checkout::new(format!("https://pay.example/{reference}"), reference)
        })
    }

    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        let hook = {
            let mut state = self.state();
            state.refunds.push(request.clone());
            state.during_refund.clone()
        };
        let asked = hook.map(|hook| hook());
        let behavior = {
            let state = self.state();
            state.behavior_for(request.organization_id, asked.unwrap_or(state.on_refund))
        };
        respond(behavior, || {
            let mut state = self.state();
            state.refunds_made += 1;
            let number = state.refunds_made;
            let reference = state.next_refund.take().unwrap_or_else(|| format!("re_{number}"));
            let made = request.made(reference);
            state.made.push((request.payment_reference.clone(), made.clone()));
            made
        })
    }

    fn name(&self) -> &str {
        self.name
    }

    fn mode(&self) -> PaymentMode {
        self.mode
    }

    fn account(&self, _: OrganizationId) -> Option<String> {
        self.state().account.clone()
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

    fn limits(&self) -> &dyn Limits {
        self
    }
}

impl Limits for FakeGateway {
    fn can_refund(&self) -> bool {
        self.state().can_refund
    }

    fn smallest_refund(&self, _: &str) -> i64 {
        self.state().refund_step
    }

    fn smallest_payment(&self, _: &str) -> i64 {
        self.state().smallest_payment
    }

    fn check_terms(&self, _: &CheckoutTerms) -> Result<(), String> {
        match self.state().refuses_terms.clone() {
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }

    fn shortest_checkout(&self) -> Duration {
        self.state().shortest_checkout
    }
}

impl Checkouts for FakeGateway {
    fn close(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        let (behavior, answer) = {
            let mut state = self.state();
            state.closed.push(request.clone());
            let answer = match state.state.clone() {
                Some(CheckoutState::Open) => CheckoutState::Closed,
                other => other.unwrap_or(CheckoutState::Unknown),
            };
            (state.behavior_for(request.organization_id, state.on_close), answer)
        };
        respond(behavior, || answer)
    }

    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        let (behavior, answer) = {
            let mut state = self.state();
            state.looked_up.push(request.clone());
            let answer = state.state.clone().unwrap_or(CheckoutState::Unknown);
            (state.behavior_for(request.organization_id, state.on_look_up), answer)
        };
        respond(behavior, || answer)
    }
}

impl RefundReports for FakeGateway {
    fn refunds_of(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayRefund>, GatewayError> {
        let (behavior, listed) = {
            let mut state = self.state();
            state.listed_for.push(payment.clone());
            let behavior = match payment.organization_id {
                Some(organization) => state.behavior_for(organization, state.on_list),
                None => state.on_list,
            };
            let of_payment = |(made_for, _): &&(Option<String>, GatewayRefund)| {
                made_for.as_ref().is_none_or(|of| *of == payment.payment_reference)
            };
            let made = || state.made.iter().filter(of_payment).map(|(_, refund)| refund.clone()).collect();
            (behavior, state.listed.clone().unwrap_or_else(made))
        };
        respond(behavior, || listed)
    }
}

impl PaymentWebhooks for FakeGateway {
    /// A notice is signed if its header `Fake-Signature` is its body.
    fn read(&self, headers: &NoticeHeaders, body: &[u8], _: Timestamp) -> Result<Vec<GatewayNotice>, NoticeError> {
        if headers.get("fake-signature").map(str::as_bytes) != Some(body) {
            return Err(NoticeError::InvalidSignature);
        }
        match body {
            b"unreadable" => Err(NoticeError::Unreadable("the test made it unreadable".to_owned())),
            b"unavailable" => Err(NoticeError::Unavailable("the test closed the provider".to_owned())),
            b"panic" => panic!("the test made the gateway panic"),
            b"something else" => Ok(Vec::new()),
            _ => {
                let state = self.state();
                let known = state.notices.iter().filter(|(id, _)| id.as_bytes() == body);
                Ok(known.map(|(_, notice)| notice.clone()).collect())
            }
        }
    }
}

/// A notice of the [`FakeGateway`].
#[derive(Debug, Clone)]
pub struct Notice {
    pub notice: GatewayNotice,
}

impl Notice {
    /// A notice about the checkout of an order.
    pub fn about(order: &Order, event: GatewayEvent) -> Self {
        let id = format!("{}: {event:?}", order.id);
        Self { notice: GatewayNotice::new(id, event).checkout_reference(format!("pay-{}", order.id)) }
    }

    /// The payment of an order in euros.
    pub fn paid(order: &Order, amount: Amount, payment_reference: &str) -> Self {
        let payment = GatewayPayment::new(payment_reference, amount, "EUR");
        Self::about(order, GatewayEvent::Checkout(CheckoutState::Paid(payment)))
    }

    /// Sends the notice, which the gateway [knows](FakeGateway::know), to the service.
    pub fn send(&self, service: &TicketingService) -> ServiceResult<Vec<NoticeOutcome>> {
        send_notice(service, &self.notice.id)
    }
}

/// Sends a signed notice with this body to the service.
pub fn send_notice(service: &TicketingService, body: &str) -> ServiceResult<Vec<NoticeOutcome>> {
    let headers = NoticeHeaders::from_iter([("Fake-Signature", body)]);
    service.receive_gateway_notice(&headers, body.as_bytes())
}
