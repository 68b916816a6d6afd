//! Notices: the events that Stripe sends to the server's `/gateway/notices`.
//!
//! Only fields that are the same in all versions of the API are read, because the version of an event is that of the
//! endpoint that was set up at Stripe. The order of notices does not matter: one about a refund is only the occasion to
//! ask Stripe for all refunds of the payment.

use serde_json::Value;

use super::client::{Call, Client};
use super::failure::Failure;
use super::form::Form;
use super::refunds::{self, payment_of};
use super::session::{self, ORDER, is_plain, money};
use crate::model::id::OrderId;
use crate::payment::{CheckoutState, DisputeStatus, GatewayDispute, GatewayEvent, GatewayNotice, NoticeError};

/// The types of events that an endpoint must receive. Others are ignored.
pub(super) const EVENT_TYPES: [&str; 8] = [
    "charge.dispute.closed",
    "charge.dispute.created",
    "charge.refunded",
    "checkout.session.async_payment_failed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.completed",
    "checkout.session.expired",
    "refund.failed",
];

/// An event whose signature was verified.
struct Event<'a> {
    id: &'a str,
    kind: &'a str,
    /// The connected account that the event is about.
    account: Option<&'a str>,
    object: &'a Value,
}

/// Reads an event whose signature was verified. If it is about a refund or a dispute, Stripe is asked for what the event
/// does not say: the session of the payment, and all refunds of the payment.
///
/// # Errors
/// - [`NoticeError::Unreadable`] if the body is not an event.
/// - [`NoticeError::Unavailable`] if Stripe had to be asked and did not answer.
pub(super) fn read(client: &Client, body: &[u8]) -> Result<Vec<GatewayNotice>, NoticeError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| unreadable("it is not JSON"))?;
    let event = Event::of(&body)?;
    match event.kind {
        "checkout.session.completed"
        | "checkout.session.expired"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.async_payment_failed" => about_session(&event),
        "charge.refunded" | "charge.refund.updated" | "refund.created" | "refund.updated" | "refund.failed" => {
            about_refunds(client, &event)
        }
        "charge.dispute.created" | "charge.dispute.updated" | "charge.dispute.closed" => about_dispute(client, &event),
        _ => Ok(Vec::new()),
    }
}

impl<'a> Event<'a> {
    fn of(body: &'a Value) -> Result<Self, NoticeError> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        Ok(Self {
            id: text("id").filter(|id| is_plain(id)).ok_or_else(|| unreadable("it has no id"))?,
            kind: text("type").ok_or_else(|| unreadable("it has no type"))?,
            account: text("account"),
            object: body.pointer("/data/object").ok_or_else(|| unreadable("it has no object"))?,
        })
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.object.get(name).and_then(Value::as_str)
    }

    /// The order in the metadata. Nobody but the owner of the secret key can write the metadata of objects in the own
    /// account. A connected account can write what it wants into its own: there, only ids that Stripe gave count.
    fn order(&self) -> Option<OrderId> {
        let order = self.object.get("metadata")?.get(ORDER)?.as_str()?;
        order.parse().ok().filter(|_| self.account.is_none())
    }

    fn notice(&self, event: GatewayEvent) -> GatewayNotice {
        let mut notice = GatewayNotice::new(self.id, event);
        notice.order_id = self.order();
        notice.payment_reference = payment_of(self.object).filter(|id| is_plain(id)).map(str::to_owned);
        notice
    }
}

/// How the order of a payment is found.
enum CheckoutOfPayment {
    /// By the order in the metadata.
    Metadata,
    /// By the session of the payment.
    Session(String),
}

impl CheckoutOfPayment {
    fn add_to(&self, notice: GatewayNotice) -> GatewayNotice {
        match self {
            Self::Metadata => notice,
            Self::Session(id) => notice.checkout_reference(id),
        }
    }
}

/// How the order of the payment is found. Disputes and refunds from the Dashboard have no metadata of ours: Stripe is asked
/// for the session then. `None` if there is no session: the payment is of another program.
fn checkout_of(client: &Client, event: &Event<'_>, payment: &str) -> Result<Option<CheckoutOfPayment>, NoticeError> {
    if event.order().is_some() {
        return Ok(Some(CheckoutOfPayment::Metadata));
    }
    let mut form = Form::default();
    form.add("payment_intent", payment);
    form.add("limit", 1);
    let call = Call { path: "checkout/sessions", form, account: event.account, ..Call::default() };
    let list = client.get(&call).map_err(unavailable)?.body;
    let session = list.pointer("/data/0/id").and_then(Value::as_str).filter(|id| session::is_session_id(id));
    Ok(session.map(|id| CheckoutOfPayment::Session(id.to_owned())))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unavailable(failure: Failure) -> NoticeError {
    NoticeError::Unavailable(failure.to_string())
}

fn unreadable(problem: &str) -> NoticeError {
    NoticeError::Unreadable(problem.to_owned())
}

fn about_session(event: &Event<'_>) -> Result<Vec<GatewayNotice>, NoticeError> {
    if event.text("mode") != Some("payment") {
        return Ok(Vec::new());
    }
    let id = event.text("id").filter(|id| session::is_session_id(id)).ok_or_else(|| unreadable("it has no session"))?;
    let happened = match (event.kind, session::state(event.object)) {
        (_, CheckoutState::Paid(payment)) => GatewayEvent::Checkout(CheckoutState::Paid(payment)),
        ("checkout.session.async_payment_failed", _) => GatewayEvent::PaymentFailed,
        ("checkout.session.expired", _) => GatewayEvent::Checkout(CheckoutState::Closed),
        (_, CheckoutState::Processing) => GatewayEvent::Checkout(CheckoutState::Processing),
        // Without a payment: of another program.
        (_, CheckoutState::Unknown) if event.text("payment_status") == Some("no_payment_required") => {
            return Ok(Vec::new());
        }
        _ => return Err(unreadable("the session has no state that is known")),
    };
    Ok(vec![event.notice(happened).checkout_reference(id)])
}

/// Reports all refunds of the payment, as Stripe tells them now.
fn about_refunds(client: &Client, event: &Event<'_>) -> Result<Vec<GatewayNotice>, NoticeError> {
    let Some(payment) = payment_of(event.object).filter(|id| is_plain(id)) else { return Ok(Vec::new()) };
    let Some(checkout) = checkout_of(client, event, payment)? else { return Ok(Vec::new()) };
    let refunds = refunds::of_payment(client, event.account, payment).map_err(unavailable)?;
    let reports = refunds::reports(&refunds).map_err(|problem| unreadable(&problem))?;
    let notice = |refund| checkout.add_to(event.notice(GatewayEvent::Refund(refund)).payment_reference(payment));
    Ok(reports.into_iter().map(notice).collect())
}

fn about_dispute(client: &Client, event: &Event<'_>) -> Result<Vec<GatewayNotice>, NoticeError> {
    let Some(payment) = payment_of(event.object).filter(|id| is_plain(id)) else { return Ok(Vec::new()) };
    let (amount, currency) = money(event.object, "amount").ok_or_else(|| unreadable("the dispute has no amount"))?;
    let reference = event.text("id").filter(|id| is_plain(id)).ok_or_else(|| unreadable("the dispute has no id"))?;
    let reason = event.text("reason").filter(|reason| is_plain(reason)).unwrap_or("general");
    let status = match event.text("status") {
        Some("won" | "warning_closed" | "prevented") => DisputeStatus::Won,
        Some("lost") => DisputeStatus::Lost,
        _ => DisputeStatus::Open,
    };
    let Some(checkout) = checkout_of(client, event, payment)? else { return Ok(Vec::new()) };
    let dispute = GatewayDispute::new(reference, amount, currency).reason(reason).status(status);
    Ok(vec![checkout.add_to(event.notice(GatewayEvent::Dispute(dispute)))])
}
