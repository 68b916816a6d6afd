//! Invariants of mails.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "mail-work",
        table: "mails",
        sentence: "a mail that waits must have work that sends it, and no other mail may",
        violations: "SELECT m.id FROM mails m
            WHERE m.state = 'WAITING' AND NOT EXISTS (SELECT 1 FROM work w WHERE w.key = m.id AND w.kind = 'mail')
            UNION
            SELECT m.id FROM work w JOIN mails m ON m.id = w.key WHERE w.kind = 'mail' AND m.state <> 'WAITING'",
    },
    Invariant {
        name: "mail-order",
        table: "mails",
        sentence: "a mail about an order must be of the organization of the order",
        violations: "SELECT m.id FROM mails m JOIN orders o ON o.id = m.order_id
            WHERE o.organization_id <> m.organization_id",
    },
];
