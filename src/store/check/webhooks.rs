//! Invariants of webhook endpoints, the outbox and the delivery history.

use super::damage::report_damage;
use super::invariant::Invariant;
use crate::enums::text_enum::TextEnum;
use crate::error::Result;
use crate::model::notifications::notification::WebhookNotification;
use crate::model::notifications::notification_types::{EventType, NotificationData};
use crate::model::operation::check::{CheckReport, Finding};
use crate::model::values::id::{NotificationId, OrganizationId};
use crate::store::{Bind, Row, Transaction};

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "webhook-endpoint",
        table: "webhook_outbox",
        sentence: "a WAITING notification must belong to an existing endpoint, or one whose notifications are being removed",
        violations: "SELECT o.id FROM webhook_outbox o LEFT JOIN webhook_endpoints e ON e.id = o.endpoint_id
            WHERE o.state = 'WAITING' AND e.id IS NULL
                AND NOT EXISTS (SELECT 1 FROM work w WHERE w.kind = 'remove notifications' AND w.key = o.endpoint_id)",
    },
    Invariant {
        name: "webhook-state",
        table: "webhook_outbox",
        sentence: "a WAITING notification must have attempts left, a DELIVERED one at least one attempt, a DEAD one all eight",
        violations: "SELECT id FROM webhook_outbox WHERE state NOT IN ('WAITING', 'DELIVERED', 'DEAD', 'REMOVED')
            OR (state = 'WAITING') <> (finished_at IS NULL)
            OR state = 'WAITING' AND attempts > 7
            OR state = 'DELIVERED' AND attempts < 1
            OR state = 'DEAD' AND attempts <> 8
            OR state <> 'WAITING' AND claim IS NOT NULL",
    },
    Invariant {
        name: "webhook-event",
        table: "webhook_outbox",
        sentence: "a notification must have one type, and its endpoints must belong to one organization",
        violations: "SELECT MAX(o.id) AS id FROM webhook_outbox o LEFT JOIN webhook_endpoints e ON e.id = o.endpoint_id
            GROUP BY o.event_id HAVING COUNT(DISTINCT o.type) > 1 OR COUNT(DISTINCT e.organization_id) > 1",
    },
    Invariant {
        name: "webhook-notification",
        table: "webhook_outbox",
        sentence: "a row must have a notification",
        violations: "SELECT o.id FROM webhook_outbox o LEFT JOIN webhook_notifications n ON n.id = o.event_id
            WHERE n.id IS NULL",
    },
    Invariant {
        name: "webhook-notification-rows",
        table: "webhook_notifications",
        sentence: "a notification must have as many rows as it says, and one less until they are inserted",
        violations: "SELECT n.id FROM webhook_notifications n LEFT JOIN (
                SELECT event_id, COUNT(*) AS number FROM webhook_outbox GROUP BY event_id) o ON o.event_id = n.id
            WHERE n.outbox_rows <> COALESCE(o.number, 0) + CASE WHEN n.organization_id IS NULL THEN 0 ELSE 1 END",
    },
    Invariant {
        // The oldest attempts are deleted first. A row that was queued a day after the oldest remaining attempt has
        // lost none of its attempts; the day (as a difference of ids) allows for clocks that differ between
        // processes.
        name: "webhook-attempts",
        table: "webhook_outbox",
        sentence: "the delivery history must have every attempt of a notification once, except for the deleted old ones",
        violations: "SELECT o.id FROM webhook_outbox o LEFT JOIN (
                SELECT outbox_id, COUNT(*) AS number, COUNT(DISTINCT attempt) AS numbers
                FROM webhook_deliveries GROUP BY outbox_id) d ON d.outbox_id = o.id
            WHERE d.number <> d.numbers
                OR o.attempts > COALESCE(d.number, 0)
                AND o.id > (SELECT MIN(id) + 90596966400000 FROM webhook_deliveries)",
    },
    Invariant {
        name: "webhook-delivery",
        table: "webhook_deliveries",
        sentence: "an attempt must belong to a notification, and the last attempt of a DELIVERED one must be its only success",
        violations: "SELECT d.id FROM webhook_deliveries d LEFT JOIN webhook_outbox o ON o.id = d.outbox_id
                LEFT JOIN webhook_endpoints e ON e.id = d.endpoint_id
            WHERE o.id IS NULL AND e.id IS NOT NULL
                OR o.endpoint_id <> d.endpoint_id OR o.type <> d.type OR d.attempt > o.attempts
                -- A row that was removed from the outbox during an attempt may have succeeded too.
                OR d.success = 1 AND NOT (o.state IN ('DELIVERED', 'REMOVED') AND d.attempt = o.attempts)
                OR d.success = 0 AND o.state = 'DELIVERED' AND d.attempt = o.attempts",
    },
];

/// An invariant of a notification that SQL cannot check.
struct Rule {
    name: &'static str,
    table: &'static str,
    sentence: &'static str,
}

const BODY: Rule = Rule {
    name: "webhook-body",
    table: "webhook_notifications",
    sentence: "the body must be a notification with the id and type of its row",
};
const SUBJECT: Rule = Rule {
    name: "webhook-subject",
    table: "webhook_notifications",
    sentence: "what a notification reports must exist in the reported state, in the organization of its endpoint",
};
const SUBSCRIPTION: Rule = Rule {
    name: "webhook-subscription",
    table: "webhook_outbox",
    sentence: "the endpoint of a WAITING notification must be subscribed to its type since it was queued, unless its \
        notifications are being removed",
};
// The rows of a notification have the same type, and their endpoints the same organization, or break another rule.
const NOTIFICATIONS: &str = "SELECT n.id, n.body, o.type, o.organization_id
    FROM webhook_notifications n JOIN (
        SELECT o.event_id, MIN(o.type) AS type, MIN(e.organization_id) AS organization_id
        FROM webhook_outbox o LEFT JOIN webhook_endpoints e ON e.id = o.endpoint_id GROUP BY o.event_id) o
        ON o.event_id = n.id";
// Those that are not expanded.
const STORED: &str =
    "SELECT id, body, type, organization_id FROM webhook_notifications WHERE organization_id IS NOT NULL";
// The first WAITING row of each endpoint that exists, by type, unless rows of the endpoint are being removed.
const WAITING: &str = "SELECT o.id, o.type, e.events
    FROM (SELECT MIN(id) AS id, endpoint_id, type FROM webhook_outbox WHERE state = 'WAITING'
        GROUP BY endpoint_id, type) o
    JOIN webhook_endpoints e ON e.id = o.endpoint_id
    WHERE NOT EXISTS (SELECT 1 FROM work w WHERE w.kind = 'remove notifications' AND w.key = o.endpoint_id)";
// The customer of an order may have become another one since: two spellings of an address are one customer.
const COMPLETED: &str = "SELECT organization_id FROM orders
    WHERE id = ?1 AND event_id = ?2 AND completed_at IS NOT NULL";
const CANCELLED: &str = "SELECT organization_id FROM orders
    WHERE id = ?1 AND event_id = ?2 AND status || '' = 'CANCELLED'";
const ISSUED: &str = "SELECT organization_id FROM tickets
    WHERE id = ?1 AND event_id = ?2 AND ticket_type_id = ?3
    AND COALESCE(order_id, 0) = COALESCE(CAST(?4 AS BIGINT), 0)";
const CHECKED_IN: &str = "SELECT organization_id FROM tickets WHERE id = ?1 AND event_id = ?2 AND ticket_type_id = ?3
    AND COALESCE(order_id, 0) = COALESCE(CAST(?4 AS BIGINT), 0) AND check_in_at IS NOT NULL";
// Refunds and disputes change after they were reported.
const REFUND: &str = "SELECT organization_id FROM refunds WHERE id = ?1 AND order_id = ?2 AND event_id = ?3";
const DISPUTE: &str = "SELECT organization_id FROM disputes WHERE id = ?1 AND order_id = ?2 AND event_id = ?3";
const ORDER: &str = "SELECT organization_id FROM orders WHERE id = ?1 AND event_id = ?2";

impl Rule {
    fn finding(&self, row: Option<i64>) -> Finding {
        Finding {
            invariant: self.name.into(),
            table: self.table.to_owned(),
            row: row.map(|key| key.to_string()),
            sentence: self.sentence.to_owned(),
        }
    }
}

/// Compares each notification with what it reports.
pub(super) fn check(tx: &Transaction<'_>, report: &mut CheckReport) -> Result<()> {
    check_rows(tx, NOTIFICATIONS, &BODY, report, |row| broken_rule(tx, row))?;
    check_rows(tx, WAITING, &SUBSCRIPTION, report, |row| Ok(is_unsubscribed(row)?.then_some(&SUBSCRIPTION)))?;
    check_rows(tx, STORED, &BODY, report, |row| broken_rule(tx, row))
}

/// Reports each row of a query that breaks a rule. One that cannot be read breaks `rule`.
fn check_rows(
    tx: &Transaction<'_>,
    sql: &str,
    rule: &'static Rule,
    report: &mut CheckReport,
    broken_rule: impl Fn(&Row<'_>) -> Result<Option<&'static Rule>>,
) -> Result<()> {
    let looked = tx.query_table(sql, |row| {
        let mut broken = None;
        report_damage(broken_rule(row).map(|found| broken = found), |_| broken = Some(rule))?;
        if let Some(rule) = broken {
            report.add(rule.finding(row.get("id").ok()));
        }
        Ok(())
    });
    report_damage(looked, |problem| report.add(Finding { sentence: problem, ..rule.finding(None) }))
}

/// Whether a WAITING notification breaks the rule. Types that are unknown break other rules.
fn is_unsubscribed(row: &Row<'_>) -> Result<bool> {
    let Some(event_type) = EventType::from_text(&row.get::<String>("type")?) else { return Ok(false) };
    let Ok(events) = row.json::<Vec<EventType>>("events") else { return Ok(false) };
    Ok(!events.contains(&event_type))
}

/// Returns the rule that a notification breaks. An unreadable notification is an error.
fn broken_rule(tx: &Transaction<'_>, row: &Row<'_>) -> Result<Option<&'static Rule>> {
    let id: NotificationId = row.get("id")?;
    let type_name: String = row.get("type")?;
    let notification: WebhookNotification = row.json("body")?;
    if notification.id != id || notification.data.event_type().as_str() != type_name {
        return Ok(Some(&BODY));
    }
    let subject_owner = find_subject(tx, &notification.data)?;
    // If the endpoints were deleted, their organization is unknown.
    let endpoint_owner: Option<OrganizationId> = row.get("organization_id")?;
    let is_obeyed = subject_owner.is_some_and(|owner| endpoint_owner.is_none_or(|other| other == owner));
    Ok(if is_obeyed { None } else { Some(&SUBJECT) })
}

/// Returns the organization of what a notification reports; `None` if there is none in the reported state.
fn find_subject(tx: &Transaction<'_>, data: &NotificationData) -> Result<Option<OrganizationId>> {
    let (sql, binds): (_, Vec<Bind<'_>>) = match data {
        NotificationData::OrderCompleted(of) => (COMPLETED, vec![of.order_id.into(), of.event_id.into()]),
        NotificationData::OrderCancelled(of) => (CANCELLED, vec![of.order_id.into(), of.event_id.into()]),
        NotificationData::TicketIssued(of) => {
            let ticket = [of.issued_ticket_id.into(), of.event_id.into(), of.ticket_type_id.into(), of.order_id.into()];
            (ISSUED, ticket.into())
        }
        NotificationData::TicketCheckedIn(of) => {
            let ticket = [of.issued_ticket_id.into(), of.event_id.into(), of.ticket_type_id.into(), of.order_id.into()];
            (CHECKED_IN, ticket.into())
        }
        NotificationData::RefundSucceeded(of) => {
            (REFUND, vec![of.refund_id.into(), of.order_id.into(), of.event_id.into()])
        }
        NotificationData::RefundFailed(of) => {
            (REFUND, vec![of.refund_id.into(), of.order_id.into(), of.event_id.into()])
        }
        NotificationData::DisputeOpened(of) | NotificationData::DisputeClosed(of) => {
            (DISPUTE, vec![of.dispute_id.into(), of.order_id.into(), of.event_id.into()])
        }
        NotificationData::PaymentReturned(of) => (ORDER, vec![of.order_id.into(), of.event_id.into()]),
    };
    tx.query_opt(sql, &binds, |row| row.get("organization_id"))
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    [BODY.name, SUBJECT.name, SUBSCRIPTION.name].into_iter()
}
