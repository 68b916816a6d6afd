//! Invariants of checkouts.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "checkout-order",
        table: "checkouts",
        sentence: "a checkout must be for an order that costs something, and must not end before its hold",
        violations: "SELECT c.order_id AS id FROM checkouts c JOIN orders o ON o.id = c.order_id
            WHERE o.total = 0 OR c.expires_at < o.hold_until",
    },
    Invariant {
        name: "checkout-status",
        table: "checkouts",
        sentence: "a checkout must be OPEN only while its order is PENDING, and CLOSING only after that",
        violations: "SELECT c.order_id AS id FROM checkouts c JOIN orders o ON o.id = c.order_id
            WHERE c.status = 'OPEN' AND o.status <> 'PENDING' OR c.status = 'CLOSING' AND o.status = 'PENDING'",
    },
    Invariant {
        name: "checkout-attempts",
        table: "checkouts",
        sentence: "a CLOSING checkout must have a next attempt, and a CLOSED one must have none",
        violations: "SELECT order_id AS id FROM checkouts WHERE status = 'CLOSING' AND next_attempt_at IS NULL
            OR status = 'CLOSED' AND next_attempt_at IS NOT NULL OR attempts < 0",
    },
    Invariant {
        name: "checkout-of-paid",
        table: "checkouts",
        sentence: "the checkout of a payment through the gateway must be CLOSED",
        violations: "SELECT c.order_id AS id FROM checkouts c JOIN orders o ON o.id = c.order_id
            WHERE o.payment_status IN ('COMPLETED', 'REFUNDED') AND c.status <> 'CLOSED'",
    },
];
