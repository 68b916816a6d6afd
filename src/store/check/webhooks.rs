//! Webhooks: who is notified, what waits for them, and what became of it.

use super::{Invariant, unless_damaged};
use crate::error::Result;
use crate::model::check::{CheckReport, Finding};
use crate::model::id::{NotificationId, OrganizationId};
use crate::model::notification::{Notification, NotificationData};
use crate::store::{Bind, Row, Transaction};

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "webhook-endpoint",
        table: "webhook_outbox",
        sentence: "what waits to be sent is for an endpoint that is there",
        broken: "SELECT o.id FROM webhook_outbox o LEFT JOIN webhook_endpoints e ON e.id = o.endpoint_id
            WHERE o.state = 'WAITING' AND e.id IS NULL",
    },
    Invariant {
        name: "webhook-state",
        table: "webhook_outbox",
        sentence: "what waits has attempts left and no end, what is DELIVERED had one, what is DEAD had all eight",
        broken: "SELECT id FROM webhook_outbox WHERE state NOT IN ('WAITING', 'DELIVERED', 'DEAD', 'REMOVED')
            OR (state = 'WAITING') <> (finished_at IS NULL)
            OR state = 'WAITING' AND attempts > 7
            OR state = 'DELIVERED' AND attempts < 1
            OR state = 'DEAD' AND attempts <> 8
            OR state <> 'WAITING' AND claim IS NOT NULL",
    },
    Invariant {
        // A notification has the id of the first of its rows: as long as that is there, the others are compared with it.
        name: "webhook-event",
        table: "webhook_outbox",
        sentence: "one notification is the same for every endpoint, and all of them are of one organization",
        broken: "SELECT o.id FROM webhook_outbox o JOIN webhook_outbox f ON f.id = o.event_id
                LEFT JOIN webhook_endpoints e ON e.id = o.endpoint_id LEFT JOIN webhook_endpoints g ON g.id = f.endpoint_id
            WHERE o.id <> f.id AND (f.event_id <> f.id OR o.type <> f.type OR o.body <> f.body
                OR e.organization_id <> g.organization_id)",
    },
    Invariant {
        // The oldest attempts are forgotten first: what was queued a day (in the milliseconds of an id) after the oldest
        // that is left has forgotten none, also where the clocks of several processes differ.
        name: "webhook-attempts",
        table: "webhook_outbox",
        sentence: "the history has each attempt that ended once, but for those that are forgotten",
        broken: "SELECT o.id FROM webhook_outbox o LEFT JOIN (
                SELECT outbox_id, COUNT(*) AS number, COUNT(DISTINCT attempt) AS numbers
                FROM webhook_deliveries GROUP BY outbox_id) d ON d.outbox_id = o.id
            WHERE d.number <> d.numbers
                OR o.attempts > COALESCE(d.number, 0) AND o.id > (SELECT MIN(id) + 90596966400000 FROM webhook_deliveries)",
    },
    Invariant {
        name: "webhook-delivery",
        table: "webhook_deliveries",
        sentence: "an attempt is of what was to be sent, and the last of what is DELIVERED is the one that succeeded",
        broken: "SELECT d.id FROM webhook_deliveries d LEFT JOIN webhook_outbox o ON o.id = d.outbox_id
                LEFT JOIN webhook_endpoints e ON e.id = d.endpoint_id
            WHERE o.id IS NULL AND e.id IS NOT NULL
                OR o.endpoint_id <> d.endpoint_id OR o.type <> d.type OR d.attempt > o.attempts
                -- What was taken out of the outbox while it was sent may have succeeded too.
                OR d.success = 1 AND NOT (o.state IN ('DELIVERED', 'REMOVED') AND d.attempt = o.attempts)
                OR d.success = 0 AND o.state = 'DELIVERED' AND d.attempt = o.attempts",
    },
];

/// What must hold of a notification itself.
struct Rule {
    name: &'static str,
    sentence: &'static str,
}

const BODY: Rule = Rule { name: "webhook-body", sentence: "what is sent is a notification of the row's id and type" };
const SUBJECT: Rule = Rule {
    name: "webhook-subject",
    sentence: "what a notification reports is there and has happened, in the organization of its endpoint",
};

// One row of each notification: its first, or all that are left where that is gone.
const NOTIFICATIONS: &str = "SELECT o.id, o.event_id, o.type, o.body, e.organization_id
    FROM webhook_outbox o LEFT JOIN webhook_endpoints e ON e.id = o.endpoint_id
    WHERE o.id = o.event_id OR NOT EXISTS (SELECT 1 FROM webhook_outbox f WHERE f.id = o.event_id)";
const COMPLETED: &str = "SELECT organization_id FROM orders
    WHERE id = ?1 AND event_id = ?2 AND customer_id = ?3 AND completed_at IS NOT NULL";
const CANCELLED: &str = "SELECT organization_id FROM orders
    WHERE id = ?1 AND event_id = ?2 AND customer_id = ?3 AND status = 'CANCELLED'";
const ISSUED: &str = "SELECT organization_id FROM tickets
    WHERE id = ?1 AND event_id = ?2 AND ticket_type_id = ?3 AND COALESCE(order_id, 0) = COALESCE(CAST(?4 AS BIGINT), 0)";
const ENTERED: &str = "SELECT organization_id FROM tickets WHERE id = ?1 AND event_id = ?2 AND ticket_type_id = ?3
    AND COALESCE(order_id, 0) = COALESCE(CAST(?4 AS BIGINT), 0) AND check_in_at IS NOT NULL";

/// Checks what each notification says against the orders and the tickets.
pub(super) fn check(tx: &Transaction<'_>, report: &mut CheckReport) -> Result<()> {
    let finding = |rule: &Rule, row| Finding {
        invariant: rule.name,
        table: "webhook_outbox".to_owned(),
        row,
        sentence: rule.sentence.to_owned(),
    };
    let looked = tx.query_each(NOTIFICATIONS, &[], |row| {
        let mut broken = None;
        unless_damaged(broken_rule(tx, row).map(|rule| broken = rule), |_| broken = Some(&BODY))?;
        if let Some(rule) = broken {
            report.add(finding(rule, row.get("id").ok().map(|key: i64| key.to_string())));
        }
        Ok(())
    });
    unless_damaged(looked, |problem| report.add(Finding { sentence: problem, ..finding(&BODY, None) }))
}

/// What a notification breaks. One that cannot be read is an error.
fn broken_rule(tx: &Transaction<'_>, row: &Row<'_>) -> Result<Option<&'static Rule>> {
    let (id, of): (NotificationId, String) = (row.get("event_id")?, row.get("type")?);
    let notification: Notification = row.json("body")?;
    if notification.id != id || notification.data.notification_type().to_string() != of {
        return Ok(Some(&BODY));
    }
    let (sql, binds): (_, Vec<Bind<'_>>) = match notification.data {
        NotificationData::OrderCompleted(of) => {
            (COMPLETED, vec![of.order_id.into(), of.event_id.into(), of.customer_id.into()])
        }
        NotificationData::OrderCancelled(of) => {
            (CANCELLED, vec![of.order_id.into(), of.event_id.into(), of.customer_id.into()])
        }
        NotificationData::TicketIssued(of) => {
            let (ticket, event, of_type) = (of.issued_ticket_id, of.event_id, of.ticket_type_id);
            (ISSUED, vec![ticket.into(), event.into(), of_type.into(), of.order_id.into()])
        }
        NotificationData::TicketCheckedIn(of) => {
            let (ticket, event, of_type) = (of.issued_ticket_id, of.event_id, of.ticket_type_id);
            (ENTERED, vec![ticket.into(), event.into(), of_type.into(), of.order_id.into()])
        }
    };
    let owner: Option<OrganizationId> = tx.query_opt(sql, &binds, |row| row.get("organization_id"))?;
    // Where the endpoint is gone, nobody knows whose it was.
    let endpoint: Option<OrganizationId> = row.get("organization_id")?;
    let holds = owner.is_some_and(|owner| endpoint.is_none_or(|endpoint| endpoint == owner));
    Ok((!holds).then_some(&SUBJECT))
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    [BODY.name, SUBJECT.name].into_iter()
}
