//! Statements: the payments, refunds and disputes of a period, from Stripe's lists.
//!
//! A list is read in pages, the newest objects first. Stripe filters it by the time at which the objects were created,
//! and by no metadata: the objects of other programs are read too, and left out.

use std::time::Duration;

use serde_json::Value;

use super::dispute;
use super::refunds_of_payment::{self, payment_of};
use super::session::{ORDER, ORGANIZATION};
use super::session_state::{self, is_plain, is_session_id};
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::payment::{CheckoutState, GatewayError, StatementEvent, StatementLine, StatementRequest, Statements};
use crate::stripe::amounts;
use crate::stripe::api::form::Form;
use crate::stripe::gateway::StripeGateway;

/// How long after the creation of a session it may be paid: it is open for less than 24 hours, and the bank may take
/// its time to confirm a payment that the customer made at the end.
const SESSION_LIFETIME: Duration = Duration::from_hours(25);

/// A list of Stripe, and the lines that come from it.
struct List {
    path: &'static str,
    /// Only objects with this status.
    status: Option<&'static str>,
    /// How long before the period the objects may have been created.
    lifetime: Duration,
    /// What is expanded: the metadata of the payment, and what the balance of the account has paid and received.
    expanded: &'static [&'static str],
    /// The line of an object. `None` if the object is not about a payment of ours.
    line: fn(&Value) -> Option<StatementLine>,
}

const LISTS: [List; 3] = [
    List {
        path: "checkout/sessions",
        status: Some("complete"),
        lifetime: SESSION_LIFETIME,
        expanded: &["data.payment_intent.latest_charge.balance_transaction"],
        line: payment_line,
    },
    List {
        path: "refunds",
        status: None,
        lifetime: Duration::ZERO,
        expanded: &["data.payment_intent", "data.balance_transaction", "data.failure_balance_transaction"],
        line: refund_line,
    },
    List {
        path: "disputes",
        status: None,
        lifetime: Duration::ZERO,
        expanded: &["data.payment_intent"],
        line: dispute_line,
    },
];

impl Statements for StripeGateway {
    /// Reads the lists of Checkout Sessions, refunds and disputes. With a restricted key this needs the permission to
    /// read balance transactions too.
    fn statement(
        &self,
        request: &StatementRequest,
        each: &mut dyn FnMut(StatementLine) -> Result<(), GatewayError>,
    ) -> Result<(), GatewayError> {
        if request.from >= request.to {
            return Ok(());
        }
        let account = self.accounts.id_of(&request.account, request.organization_id);
        let client = self.client.in_background(account);
        for list in LISTS {
            client.list(list.path, list.parameters(request), |object| match (list.line)(object) {
                Some(line) if is_wanted(&line, request) => each(line),
                _ => Ok(()),
            })?;
        }
        Ok(())
    }
}

impl List {
    fn parameters(&self, request: &StatementRequest) -> Form {
        let mut form = Form::default();
        if let Some(status) = self.status {
            form.add("status", status);
        }
        form.add("created[gte]", seconds(request.from.checked_sub(self.lifetime).unwrap_or_default()));
        form.add("created[lt]", seconds(request.to));
        for (index, field) in self.expanded.iter().enumerate() {
            form.add(format!("expand[{index}]"), field);
        }
        form
    }
}

fn is_wanted(line: &StatementLine, request: &StatementRequest) -> bool {
    (request.from..request.to).contains(&line.happened_at)
        && request.organization_id.is_none_or(|organization| line.organization_id == Some(organization))
}

/// The first whole second that is not before this time. Stripe's times are whole seconds.
fn seconds(time: Timestamp) -> i64 {
    (time.millis() + 999).div_euclid(1000)
}

/// The line of a session. `None` if it is not ours, or was not paid.
fn payment_line(session: &Value) -> Option<StatementLine> {
    let id = session.get("id")?.as_str().filter(|id| is_session_id(id))?;
    let intent = session.get("payment_intent")?;
    let owner = Owner::of(&[session, intent])?;
    let charge = intent.get("latest_charge")?;
    let payment = match session_state::state(session) {
        CheckoutState::Paid(payment) | CheckoutState::Returned(payment) => payment,
        CheckoutState::Unknown => return unreadable("payment", id),
        _ => return None,
    };
    let (reference, currency) = (payment.payment_reference.clone(), payment.currency.clone());
    let Some(time) = created(charge) else { return unreadable("payment", id) };
    let line = owner.line(StatementEvent::Payment(payment), &reference, time).checkout_reference(id);
    Some(with_balance(line, &currency, &[charge.get("balance_transaction")]))
}

/// The line of a refund. `None` if it is not of a payment of ours.
fn refund_line(refund: &Value) -> Option<StatementLine> {
    let payment = payment_of(refund).filter(|id| is_plain(id))?;
    // A refund that was made in the Dashboard does not have our metadata, and its payment does.
    let owner = Owner::of(&[refund.get("payment_intent")?, refund])?;
    let id = refund.get("id").and_then(Value::as_str).filter(|id| is_plain(id))?;
    let Some((report, time)) = refunds_of_payment::report(refund).zip(created(refund)) else {
        return unreadable("refund", id);
    };
    let currency = report.currency.clone();
    let line = owner.line(StatementEvent::Refund(report), payment, time);
    let [sent, returned] = ["balance_transaction", "failure_balance_transaction"].map(|name| refund.get(name));
    let returned = returned.filter(|transaction| !transaction.is_null());
    Some(match returned {
        Some(returned) => with_balance(line, &currency, &[sent, Some(returned)]),
        None => with_balance(line, &currency, &[sent]),
    })
}

/// The line of a dispute. `None` if it is not of a payment of ours.
fn dispute_line(dispute: &Value) -> Option<StatementLine> {
    let payment = payment_of(dispute).filter(|id| is_plain(id))?;
    let owner = Owner::of(&[dispute.get("payment_intent")?])?;
    let id = dispute.get("id").and_then(Value::as_str).filter(|id| is_plain(id))?;
    let report = dispute::report(dispute).zip(created(dispute));
    let Some((report, time)) = report else { return unreadable("dispute", id) };
    let currency = report.currency.clone();
    let line = owner.line(StatementEvent::Dispute(report), payment, time);
    let Some(transactions) = dispute.get("balance_transactions").and_then(Value::as_array) else { return Some(line) };
    let transactions: Vec<_> = transactions.iter().map(Some).collect();
    Some(with_balance(line, &currency, &transactions))
}

/// What our metadata say.
struct Owner {
    order: OrderId,
    organization: Option<OrganizationId>,
}

impl Owner {
    /// Reads the metadata of the first of these objects that has ours. `None` if none has.
    fn of(objects: &[&Value]) -> Option<Self> {
        objects.iter().find_map(|object| {
            let text = |name: &str| object.get("metadata")?.get(name)?.as_str();
            let order = text(ORDER)?.parse().ok()?;
            Some(Self { order, organization: text(ORGANIZATION).and_then(|id| id.parse().ok()) })
        })
    }

    fn line(self, event: StatementEvent, payment: &str, time: Timestamp) -> StatementLine {
        let mut line = StatementLine::new(event, payment, time).order(self.order);
        line.organization_id = self.organization;
        line
    }
}

fn created(object: &Value) -> Option<Timestamp> {
    let seconds = object.get("created")?.as_i64()?;
    Timestamp::from_millis(seconds.checked_mul(1000)?).ok()
}

/// Adds the fee and the net amount, which are the sums of these balance transactions, if all are known and in this
/// currency.
fn with_balance(mut line: StatementLine, currency: &str, transactions: &[Option<&Value>]) -> StatementLine {
    let sum = |field: &str| {
        let units = transactions.iter().try_fold(0_i64, |sum, transaction| {
            let transaction = transaction.as_ref()?;
            let is_same = transaction.get("currency")?.as_str()?.eq_ignore_ascii_case(currency);
            sum.checked_add(transaction.get(field)?.as_i64().filter(|_| is_same)?)
        });
        units.and_then(|units| -> Option<Amount> { amounts::from_stripe(units, currency) })
    };
    line.movements = u64::try_from(transactions.len()).unwrap_or(1).max(1);
    line.fee = sum("fee");
    line.net = sum("net");
    line
}

/// Logs that an object of ours has no amount, currency or time that can be read. The statement goes on without it: in
/// an account of its own, an organization can attach our metadata to anything.
fn unreadable(kind: &'static str, id: &str) -> Option<StatementLine> {
    tracing::warn!(
        target: "ticketing::payment",
        kind,
        id,
        "Stripe lists an object with the id of an order whose amount, currency or time cannot be read; the statement lacks it"
    );
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OURS: &str = "order_1NR6E9XB00000";

    fn session() -> Value {
        json!({
            "id": "cs_test_1", "status": "complete", "payment_status": "paid", "amount_total": 1250, "currency": "eur",
            "metadata": {"order": OURS}, "created": 1,
            "payment_intent": {
                "id": "pi_1", "metadata": {},
                "latest_charge": {"created": 2, "balance_transaction": {"fee": 43, "net": 1207, "currency": "eur"}},
            },
        })
    }

    fn refund() -> Value {
        json!({
            "id": "re_1", "status": "succeeded", "amount": 1250, "currency": "eur", "created": 3, "metadata": {},
            "payment_intent": {"id": "pi_1", "metadata": {"order": OURS}}, "balance_transaction": null,
        })
    }

    fn with(mut object: Value, pointer: &str, value: Value) -> Value {
        *object.pointer_mut(pointer).expect(pointer) = value;
        object
    }

    #[test]
    fn an_object_that_is_not_ours_or_cannot_be_read_has_no_line() {
        let line = payment_line(&session()).expect("a line");
        assert_eq!(line.happened_at.millis(), 2000);
        assert_eq!((line.fee, line.net), (Some(Amount::cents(43)), Some(Amount::cents(1207))));
        for (pointer, value) in [
            ("/metadata", json!({})),
            ("/metadata", json!(null)),
            ("/metadata/order", json!("A-17")),
            ("/payment_status", json!("unpaid")),
            ("/payment_status", json!("no_payment_required")),
            ("/payment_intent", json!(null)),
            ("/payment_intent/latest_charge", json!("ch_1")),
            ("/payment_intent/latest_charge/created", json!(i64::MAX)),
            ("/currency", json!("zzz")),
            ("/amount_total", json!(null)),
            ("/id", json!("cs_1/../x")),
        ] {
            assert_eq!(payment_line(&with(session(), pointer, value.clone())), None, "{pointer}: {value}");
        }
        assert!(refund_line(&refund()).is_some());
        for (pointer, value) in [
            ("/payment_intent/metadata", json!({})),
            ("/payment_intent", json!("pi_1")),
            ("/payment_intent", json!(null)),
            ("/currency", json!("zzz")),
            ("/created", json!(-1)),
        ] {
            assert_eq!(refund_line(&with(refund(), pointer, value.clone())), None, "{pointer}: {value}");
        }
    }

    #[test]
    fn a_refund_of_a_payment_without_our_metadata_is_ours_if_it_has_them_itself() {
        let organization = OrganizationId::from_raw(7);
        let refund = with(refund(), "/payment_intent/metadata", json!({}));
        let own = json!({"order": OURS, "organization": organization.to_string()});
        let line = refund_line(&with(refund, "/metadata", own)).expect("a line");
        assert_eq!(line.order_id.map(|id| id.to_string()).as_deref(), Some(OURS));
        assert_eq!(line.organization_id, Some(organization));
    }

    #[test]
    fn fees_are_known_only_if_all_balance_transactions_are_in_the_currency_of_the_payment() {
        let euros = |fee: i64, net: i64| json!({"fee": fee, "net": net, "currency": "eur"});
        let dollars = json!({"fee": 0, "net": 1250, "currency": "usd"});
        let known = |fee: i64, net: i64| (Some(Amount::cents(fee)), Some(Amount::cents(net)));
        for (sent, returned, expected) in [
            (json!(null), json!(null), (None, None)),
            (json!("txn_1"), json!(null), (None, None)),
            (euros(0, -1250), json!(null), known(0, -1250)),
            (euros(10, -1260), euros(-10, 1260), known(0, 0)),
            (euros(0, -1250), dollars, (None, None)),
            (json!(null), euros(0, 1250), (None, None)),
        ] {
            let mut refund = with(refund(), "/balance_transaction", sent);
            refund["failure_balance_transaction"] = returned;
            let line = refund_line(&refund).expect("a line");
            assert_eq!((line.fee, line.net), expected, "{refund}");
        }
    }

    #[test]
    fn times_are_rounded_up_to_seconds() {
        for (millis, expected) in [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2)] {
            let time = Timestamp::from_millis(millis).expect("a time");
            assert_eq!(seconds(time), expected, "{millis}");
        }
    }
}
