//! Notices: the events that Stripe sends to the server's `/gateway/notices`.
//!
//! An account may be shared with other programs, whose events arrive too. So nothing is asked of Stripe here, and
//! amounts that cannot be read are an error only after the service has found the order. Only fields that are the same
//! in all versions of the API are read, because the version of an event is that of the endpoint that was set up at
//! Stripe.

use serde_json::Value;

use super::dispute;
use super::refunds_of_payment::{self, payment_of};
use super::session::{ORDER, ORGANIZATION};
use super::session_state::{self, is_plain, is_session_id};
use crate::model::values::id::{OrderId, OrganizationId};
use crate::payment::{CheckoutState, GatewayEvent, GatewayNotice, NoticeError};

/// The types of events that an endpoint must receive. Others are ignored.
pub(in crate::stripe) const EVENT_TYPES: [&str; 12] = [
    "charge.dispute.closed",
    "charge.dispute.created",
    "charge.dispute.funds_reinstated",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.updated",
    "charge.refunded",
    "checkout.session.async_payment_failed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.completed",
    "checkout.session.expired",
    "refund.failed",
    "refund.updated",
];

/// What the type of an event object is that names what has changed, and does not have it:
/// <https://docs.stripe.com/event-destinations#thin-events>.
const THIN_EVENT: &str = "v2.core.event";

/// What a thin event may be about: the type of the object, and the collection of the API that has it.
const NAMED_OBJECTS: [(&str, &str); 4] =
    [("charge", "charges"), ("checkout.session", "checkout/sessions"), ("dispute", "disputes"), ("refund", "refunds")];

/// An event whose signature was verified.
struct Event<'a> {
    id: &'a str,
    kind: &'a str,
    /// The connected account that the event is about.
    account: Option<&'a str>,
    object: &'a Value,
}

/// Reads an event whose signature was verified. The list is empty if the event is not about a payment, or if events with
/// its `livemode` are not read.
///
/// # Errors
/// [`NoticeError::Unreadable`] if the body is not an event.
pub(in crate::stripe) fn read(
    body: &[u8],
    reads: impl Fn(Option<bool>) -> bool,
) -> Result<Vec<GatewayNotice>, NoticeError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| unreadable("it is not JSON"))?;
    let is_read = || reads(body.get("livemode").and_then(Value::as_bool));
    if body.get("object").is_some_and(|object| object == THIN_EVENT) {
        let notice = about_named(&body)?;
        return Ok(notice.into_iter().filter(|_| is_read()).collect());
    }
    let event = Event::of(&body)?;
    if !is_read() {
        return Ok(Vec::new());
    }
    let notice = match event.kind {
        "checkout.session.completed"
        | "checkout.session.expired"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.async_payment_failed" => about_session(&event),
        "charge.refunded" => about_charge(&event),
        "charge.refund.updated" | "refund.created" | "refund.updated" | "refund.failed" => about_refund(&event),
        "charge.dispute.created"
        | "charge.dispute.updated"
        | "charge.dispute.funds_withdrawn"
        | "charge.dispute.funds_reinstated"
        | "charge.dispute.closed" => about_dispute(&event),
        _ => None,
    };
    Ok(notice.into_iter().collect())
}

/// What a thin event says: the path of the object that it names, after `/v1/`. `None` if that is not about a payment.
///
/// # Errors
/// [`NoticeError::Unreadable`] if it has no id.
fn about_named(event: &Value) -> Result<Option<GatewayNotice>, NoticeError> {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    let id = text("/id").filter(|id| is_plain(id)).ok_or_else(|| unreadable("it has no id"))?;
    let kind = text("/related_object/type");
    let named = NAMED_OBJECTS.iter().find(|(object, _)| kind == Some(object));
    let Some(((_, collection), object)) = named.zip(text("/related_object/id").filter(|id| is_plain(id))) else {
        return Ok(None);
    };
    let mut notice = GatewayNotice::new(id, GatewayEvent::Changed(format!("{collection}/{object}")));
    notice.account =
        text("/context").filter(|context| context.starts_with("acct_") && is_plain(context)).map(str::to_owned);
    Ok(Some(notice))
}

/// What an object says that a notice has named. `None` if that is nothing about a payment, or nothing has come of it.
pub(in crate::stripe) fn about_object(notice: &GatewayNotice, object: &Value) -> Option<GatewayNotice> {
    let kind = object.get("object").and_then(Value::as_str)?;
    let event = Event { id: &notice.id, kind, account: notice.account.as_deref(), object };
    match kind {
        "checkout.session" if session_state::state(object) == CheckoutState::Open => None,
        "checkout.session" => about_session(&event),
        // Its refunds may have failed.
        "charge" => event.payment().map(|_| event.notice(GatewayEvent::RefundsChanged)),
        "refund" => about_refund(&event),
        "dispute" => about_dispute(&event),
        _ => None,
    }
}

impl<'a> Event<'a> {
    fn of(body: &'a Value) -> Result<Self, NoticeError> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        Ok(Self {
            id: text("id").filter(|id| is_plain(id)).ok_or_else(|| unreadable("it has no id"))?,
            kind: text("type").ok_or_else(|| unreadable("it has no type"))?,
            account: text("account").filter(|id| is_plain(id)),
            object: body.pointer("/data/object").ok_or_else(|| unreadable("it has no object"))?,
        })
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.object.get(name).and_then(Value::as_str)
    }

    fn metadata(&self, name: &str) -> Option<&'a str> {
        self.object.get("metadata")?.get(name)?.as_str()
    }

    /// The order in the metadata. Nobody but the owner of the account can write the metadata of objects in it. A
    /// connected account can write what it wants into its own: there, only ids that Stripe gave count.
    fn order(&self) -> Option<OrderId> {
        self.metadata(ORDER)?.parse().ok().filter(|_| self.account.is_none())
    }

    /// The organization in the metadata, if an order is there too.
    fn organization(&self) -> Option<OrganizationId> {
        self.metadata(ORDER)?.parse::<OrderId>().ok()?;
        self.metadata(ORGANIZATION)?.parse().ok()
    }

    fn notice(&self, event: GatewayEvent) -> GatewayNotice {
        let mut notice = GatewayNotice::new(self.id, event);
        notice.order_id = self.order();
        notice.organization_id = self.organization();
        notice.account = self.account.map(str::to_owned);
        notice.payment_reference = self.payment().map(str::to_owned);
        notice
    }

    /// Stripe's id of the payment.
    fn payment(&self) -> Option<&'a str> {
        payment_of(self.object).filter(|id| is_plain(id))
    }
}

fn unreadable(problem: &str) -> NoticeError {
    NoticeError::Unreadable(problem.to_owned())
}

fn about_session(event: &Event<'_>) -> Option<GatewayNotice> {
    if event.text("mode") != Some("payment") {
        return None;
    }
    let id = event.text("id").filter(|id| is_session_id(id))?;
    let happened = match (event.kind, session_state::state(event.object)) {
        (_, state @ (CheckoutState::Paid(_) | CheckoutState::Returned(_))) => GatewayEvent::Checkout(state),
        ("checkout.session.async_payment_failed", _) => GatewayEvent::PaymentFailed,
        ("checkout.session.expired", _) | (_, CheckoutState::Closed) => GatewayEvent::Checkout(CheckoutState::Closed),
        (_, CheckoutState::Processing) => GatewayEvent::Checkout(CheckoutState::Processing),
        // Without a payment: of another program.
        (_, CheckoutState::Unknown) if event.text("payment_status") == Some("no_payment_required") => return None,
        _ => GatewayEvent::Unreadable("the session has no state that is known".to_owned()),
    };
    Some(event.notice(happened).checkout_reference(id))
}

fn about_charge(event: &Event<'_>) -> Option<GatewayNotice> {
    event.payment()?;
    Some(event.notice(GatewayEvent::RefundsChanged))
}

fn about_refund(event: &Event<'_>) -> Option<GatewayNotice> {
    event.payment()?;
    let happened = match refunds_of_payment::report(event.object) {
        // Another attempt at the refund may have been accepted since.
        Some(refund) if refund.has_failed() => GatewayEvent::RefundsChanged,
        Some(refund) => GatewayEvent::Refund(refund),
        None => GatewayEvent::Unreadable("the refund has no id, amount or currency".to_owned()),
    };
    Some(event.notice(happened))
}

/// A dispute has metadata of its own, and not those of the payment.
fn about_dispute(event: &Event<'_>) -> Option<GatewayNotice> {
    event.payment()?;
    let dispute = match dispute::report(event.object) {
        Some(dispute) => GatewayEvent::Dispute(dispute),
        None => GatewayEvent::Unreadable("the dispute has no id, amount or currency".to_owned()),
    };
    Some(event.notice(dispute))
}
