//! A payment provider in this process, with pages, payments, refunds, disputes, and notices about them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ticketing::environment::ManualClock;
use ticketing::id::OrderId;
use ticketing::payment::{
    Checkout, CheckoutRequest, CheckoutState, Checkouts, CloseCheckout, DisputeStatus, GatewayDispute, GatewayError,
    GatewayEvent, GatewayNotice, GatewayPayment, GatewayRefund, LookUp, NoticeError, NoticeHeaders, NoticeOutcome,
    PaymentGateway, PaymentLookUp, PaymentWebhooks, RefundReports, RefundRequest, RefundState,
};
use ticketing::{Builder, Result as ServiceResult, TicketingService, Timestamp};

use super::{Call, Provider, Trouble};
use crate::common::eur;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageState {
    Open,
    Processing,
    Paid,
    Closed,
}

#[derive(Debug)]
struct Page {
    id: String,
    key: String,
    order: OrderId,
    cents: i64,
    state: PageState,
}

/// The payment of a page: `pi_1` for `page_1`.
fn payment_of(page: &str) -> String {
    page.replacen("page", "pi", 1)
}

#[derive(Debug)]
struct Made {
    refund: GatewayRefund,
    payment: String,
    /// `None` for refunds of the Dashboard.
    key: Option<String>,
}

#[derive(Debug)]
struct State {
    pages: Vec<Page>,
    refunds: Vec<Made>,
    refund_count: usize,
    disputes: Vec<GatewayDispute>,
    notices: Vec<GatewayNotice>,
    taken_notices: usize,
    troubles: Vec<(Call, Trouble)>,
    calls: Vec<Call>,
}

/// The provider, and the gateway that a service has of it. Clones share their state.
#[derive(Debug, Clone)]
pub struct InProcess(Arc<Mutex<State>>);

impl InProcess {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer<T>(
        &self,
        call: Call,
        execute: impl FnOnce(&mut State) -> Result<T, GatewayError>,
    ) -> Result<T, GatewayError> {
        let mut state = self.state();
        state.calls.push(call);
        let trouble = state.troubles.iter().find(|(of, _)| *of == call).map(|(_, trouble)| *trouble);
        match trouble {
            None => execute(&mut state),
            Some(Trouble::NotExecuted) => Err(GatewayError::NotExecuted("too many requests".to_owned())),
            Some(Trouble::NoAnswer) => Err(GatewayError::Unavailable("no answer".to_owned())),
            Some(Trouble::AnswerLost) => {
                let _ = execute(&mut state);
                Err(GatewayError::Unavailable("the answer was lost".to_owned()))
            }
        }
    }
}

impl State {
    fn page(&mut self, id: &str) -> &mut Page {
        self.pages.iter_mut().find(|page| page.id == id).expect(id)
    }

    fn page_of_payment(&mut self, payment: &str) -> &mut Page {
        self.pages.iter_mut().find(|page| payment_of(&page.id) == payment).expect(payment)
    }

    /// What was refunded of a payment.
    fn refunded(&self, payment: &str) -> i64 {
        let made = self.refunds.iter().filter(|made| made.payment == payment && !has_failed(&made.refund));
        made.map(|made| made.refund.amount.minor_units()).sum()
    }

    fn disputes_of(&self, payment: &str) -> Vec<GatewayDispute> {
        let disputes = self.disputes.iter();
        disputes.filter(|dispute| dispute.payment_reference.as_deref() == Some(payment)).cloned().collect()
    }

    /// What banks have taken of a payment.
    fn taken(&self, payment: &str) -> i64 {
        self.disputes_of(payment).iter().map(|dispute| dispute.taken.minor_units()).sum()
    }

    fn look_up(&self, id: &str) -> Result<CheckoutState, GatewayError> {
        let page = self.pages.iter().find(|page| page.id == id);
        let page = page.ok_or_else(|| GatewayError::Refused("there is no such page".to_owned()))?;
        let payment = payment_of(id);
        Ok(match page.state {
            PageState::Open => CheckoutState::Open,
            PageState::Processing => CheckoutState::Processing,
            PageState::Closed => CheckoutState::Closed,
            PageState::Paid => {
                let paid = GatewayPayment::new(&payment, eur(page.cents), "EUR");
                match self.refunded(&payment) == page.cents {
                    true => CheckoutState::Returned(paid),
                    false if self.disputes_of(&payment).is_empty() => CheckoutState::Paid(paid),
                    false => CheckoutState::Paid(paid.disputed()),
                }
            }
        })
    }

    fn notify(&mut self, event: GatewayEvent, about: impl FnOnce(GatewayNotice) -> GatewayNotice) {
        let id = format!("evt_{}", self.notices.len());
        self.notices.push(about(GatewayNotice::new(id, event)));
    }

    /// Sends a notice with the state of a page.
    fn notify_of_page(&mut self, id: &str) {
        let state = self.look_up(id).expect("the page");
        self.notify(GatewayEvent::Checkout(state), |notice| notice.checkout_reference(id));
    }

    fn notify_of_refund(&mut self, index: usize) {
        let (refund, payment) = (self.refunds[index].refund.clone(), self.refunds[index].payment.clone());
        let page = self.page_of_payment(&payment).id.clone();
        self.notify(GatewayEvent::Refund(refund), |notice| notice.checkout_reference(page).payment_reference(payment));
    }

    fn notify_of_dispute(&mut self, index: usize) {
        let dispute = self.disputes[index].clone();
        let payment = dispute.payment_reference.clone().expect("a payment");
        self.notify(GatewayEvent::Dispute(dispute), |notice| notice.payment_reference(payment));
    }

    fn make(
        &mut self,
        refund: GatewayRefund,
        payment: &str,
        key: Option<String>,
    ) -> Result<GatewayRefund, GatewayError> {
        let left = self.page_of_payment(payment).cents - self.refunded(payment);
        let is_disputed = self.disputes_of(payment).iter().any(|dispute| dispute.status != DisputeStatus::Won);
        if left == 0 || is_disputed {
            return Err(GatewayError::NothingLeft("it was given back, or a bank decides about it".to_owned()));
        }
        if refund.amount.minor_units() > left {
            return Err(GatewayError::LessLeft(format!("{left} cents are left")));
        }
        self.refund_count += 1;
        let mut refund = refund;
        refund.reference = format!("re_{}", self.refund_count);
        let made = Made { refund: refund.clone(), payment: payment.to_owned(), key };
        self.refunds.push(made);
        self.notify_of_refund(self.refunds.len() - 1);
        Ok(refund)
    }
}

fn has_failed(refund: &GatewayRefund) -> bool {
    matches!(refund.state, RefundState::Failed(_))
}

impl PaymentGateway for InProcess {
    fn start_checkout(&self, request: &CheckoutRequest) -> Result<Checkout, GatewayError> {
        self.answer(Call::Checkout, |state| {
            let known = state.pages.iter().find(|page| page.key == request.idempotency_key);
            let id = known.map_or_else(|| format!("page_{}", state.pages.len() + 1), |page| page.id.clone());
            if known.is_none() {
                state.pages.push(Page {
                    id: id.clone(),
                    key: request.idempotency_key.clone(),
                    order: request.order_id,
                    cents: request.amount.minor_units(),
                    state: PageState::Open,
                });
            }
            Ok(Checkout::new(format!("https://pay.example/{id}"), id))
        })
    }

    /// A request that was executed already is answered as before, unless its refund is known to have failed.
    fn refund(&self, request: &RefundRequest) -> Result<GatewayRefund, GatewayError> {
        self.answer(Call::Refund, |state| {
            let is_known = |made: &&Made| {
                made.key.as_ref() == Some(&request.idempotency_key)
                    && !request.earlier_refunds.contains(&made.refund.reference)
            };
            if let Some(known) = state.refunds.iter().find(is_known) {
                return Ok(known.refund.clone());
            }
            let payment = request.payment_reference.clone().expect("each payment is reported with its id");
            state.make(request.made(""), &payment, Some(request.idempotency_key.clone()))
        })
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
}

impl Checkouts for InProcess {
    fn close(&self, request: &CloseCheckout) -> Result<CheckoutState, GatewayError> {
        self.answer(Call::Checkout, |state| {
            if state.look_up(&request.reference)? == CheckoutState::Open {
                state.page(&request.reference).state = PageState::Closed;
                state.notify_of_page(&request.reference);
            }
            state.look_up(&request.reference)
        })
    }

    fn look_up(&self, request: &LookUp) -> Result<CheckoutState, GatewayError> {
        self.answer(Call::LookUp, |state| state.look_up(&request.reference))
    }

    fn find_by_payment(&self, payment: &PaymentLookUp) -> Result<Option<String>, GatewayError> {
        self.answer(Call::LookUp, |state| {
            let pages = state.pages.iter();
            let page = pages.map(|page| &page.id).find(|id| payment_of(id) == payment.payment_reference);
            Ok(page.cloned())
        })
    }
}

impl RefundReports for InProcess {
    fn refunds_of(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayRefund>, GatewayError> {
        self.answer(Call::ListRefunds, |state| {
            let made = state.refunds.iter().filter(|made| made.payment == payment.payment_reference);
            Ok(made.map(|made| made.refund.clone()).collect())
        })
    }

    fn disputes_of(&self, payment: &PaymentLookUp) -> Result<Vec<GatewayDispute>, GatewayError> {
        Ok(self.state().disputes_of(&payment.payment_reference))
    }
}

impl PaymentWebhooks for InProcess {
    /// A notice is signed if its header `Fake-Signature` is its body, which is the id of the notice.
    fn read(&self, headers: &NoticeHeaders, body: &[u8], _: Timestamp) -> Result<Vec<GatewayNotice>, NoticeError> {
        if headers.get("fake-signature").map(str::as_bytes) != Some(body) {
            return Err(NoticeError::InvalidSignature);
        }
        let state = self.state();
        Ok(state.notices.iter().filter(|notice| notice.id.as_bytes() == body).cloned().collect())
    }
}

impl Provider for InProcess {
    type Notice = GatewayNotice;

    fn start(_: ManualClock) -> Self {
        let (pages, refunds, disputes, notices, troubles, calls) = Default::default();
        let (refund_count, taken_notices) = (0, 0);
        let state = State { pages, refunds, refund_count, disputes, notices, taken_notices, troubles, calls };
        Self(Arc::new(Mutex::new(state)))
    }

    fn configure(&self, builder: Builder) -> Builder {
        builder.payment_gateway(self.clone())
    }

    fn checkouts(&self, order: OrderId) -> Vec<String> {
        let state = self.state();
        state.pages.iter().filter(|page| page.order == order).map(|page| page.id.clone()).collect()
    }

    fn is_payable(&self, checkout: &str) -> bool {
        self.state().page(checkout).state == PageState::Open
    }

    fn pay(&self, checkout: &str) -> String {
        let mut state = self.state();
        assert_eq!(state.page(checkout).state, PageState::Open);
        state.page(checkout).state = PageState::Paid;
        state.notify_of_page(checkout);
        payment_of(checkout)
    }

    fn pay_later(&self, checkout: &str) {
        let mut state = self.state();
        state.page(checkout).state = PageState::Processing;
        state.notify_of_page(checkout);
    }

    fn end_payment(&self, checkout: &str, is_paid: bool) {
        let mut state = self.state();
        state.page(checkout).state = if is_paid { PageState::Paid } else { PageState::Closed };
        if is_paid {
            state.notify_of_page(checkout);
        } else {
            state.notify(GatewayEvent::PaymentFailed, |notice| notice.checkout_reference(checkout));
        }
    }

    fn change_total(&self, checkout: &str, cents: i64) {
        self.state().page(checkout).cents = cents;
    }

    fn expire(&self, checkout: &str) {
        let mut state = self.state();
        state.page(checkout).state = PageState::Closed;
        state.notify_of_page(checkout);
    }

    fn refund(&self, payment: &str, cents: Option<i64>) -> String {
        let mut state = self.state();
        let left = state.page_of_payment(payment).cents - state.refunded(payment);
        let refund = GatewayRefund::new("", eur(cents.unwrap_or(left)), "EUR");
        state.make(refund, payment, None).expect("a refund").reference
    }

    fn fail_refund(&self, refund: &str) {
        let mut state = self.state();
        let index = state.refunds.iter().position(|made| made.refund.reference == refund).expect(refund);
        state.refunds[index].refund.state = RefundState::Failed("the account is closed".to_owned());
        state.notify_of_refund(index);
    }

    fn remove_refund(&self, refund: &str) {
        self.state().refunds.retain(|made| made.refund.reference != refund);
    }

    fn dispute(&self, payment: &str, cents: Option<i64>) -> String {
        let mut state = self.state();
        let left = state.page_of_payment(payment).cents - state.refunded(payment);
        let id = format!("dp_{}", state.disputes.len() + 1);
        let dispute = GatewayDispute::new(&id, eur(cents.unwrap_or(left)), "EUR").reason("fraudulent");
        state.disputes.push(dispute.payment_reference(payment));
        let index = state.disputes.len() - 1;
        state.notify_of_dispute(index);
        id
    }

    fn close_dispute(&self, dispute: &str, is_won: bool) {
        let mut state = self.state();
        let index = state.disputes.iter().position(|known| known.reference == dispute).expect(dispute);
        let closed = state.disputes[index].clone();
        state.disputes[index] = match is_won {
            true => closed.status(DisputeStatus::Won).taken(eur(0)),
            false => closed.status(DisputeStatus::Lost),
        };
        state.notify_of_dispute(index);
    }

    fn fail(&self, call: Call, trouble: Trouble) {
        self.state().troubles.push((call, trouble));
    }

    fn repair(&self) {
        self.state().troubles.clear();
    }

    fn take_notices(&self) -> Vec<GatewayNotice> {
        let mut state = self.state();
        let new = state.notices[state.taken_notices..].to_vec();
        state.taken_notices = state.notices.len();
        new
    }

    fn send(&self, service: &TicketingService, notice: &GatewayNotice) -> ServiceResult<Vec<NoticeOutcome>> {
        let headers = NoticeHeaders::from_iter([("Fake-Signature", &notice.id)]);
        service.receive_gateway_notice(&headers, notice.id.as_bytes())
    }

    fn is_about_payment(notice: &GatewayNotice) -> bool {
        matches!(notice.event, GatewayEvent::Checkout(CheckoutState::Paid(_)))
    }

    fn requests(&self, call: Call) -> usize {
        self.state().calls.iter().filter(|made| **made == call).count()
    }

    fn refunds(&self) -> Vec<(String, i64)> {
        let state = self.state();
        let made = state.refunds.iter().map(|made| &made.refund).filter(|refund| !has_failed(refund));
        made.map(|refund| (refund.reference.clone(), refund.amount.minor_units())).collect()
    }

    fn kept(&self, order: OrderId) -> i64 {
        let state = self.state();
        let paid = state.pages.iter().filter(|page| page.order == order && page.state == PageState::Paid);
        let left = paid.map(|page| {
            let payment = payment_of(&page.id);
            page.cents - state.refunded(&payment) - state.taken(&payment)
        });
        left.sum()
    }
}
