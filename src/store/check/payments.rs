//! Invariants of payments and refunds.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "payment-status",
        table: "orders",
        sentence: "a payment must have a link and a known status, and its order must cost something",
        violations: "SELECT id FROM orders WHERE (payment_link IS NULL) <> (payment_status IS NULL)
            OR payment_status NOT IN ('WAITING', 'COMPLETED', 'FAILED', 'REFUNDED')
            OR payment_status IS NOT NULL AND total = 0",
    },
    Invariant {
        name: "payment-of-pending",
        table: "orders",
        sentence: "a PENDING order must not have a COMPLETED or REFUNDED payment",
        violations: "SELECT id FROM orders WHERE status = 'PENDING' AND payment_status IN ('COMPLETED', 'REFUNDED')",
    },
    Invariant {
        name: "payment-completed-order",
        table: "orders",
        sentence: "an order that was paid through the gateway must have a time of completion and a COMPLETED or REFUNDED payment",
        violations: "SELECT id FROM orders WHERE paid_by_gateway = 1
            AND (completed_at IS NULL OR payment_status IS NULL OR payment_status NOT IN ('COMPLETED', 'REFUNDED'))",
    },
    Invariant {
        name: "payment-for-nothing",
        table: "orders",
        sentence: "a payment through the gateway that did not complete its order must have a refund",
        violations: "SELECT o.id FROM orders o LEFT JOIN refunds r ON r.order_id = o.id
            WHERE o.payment_status IN ('COMPLETED', 'REFUNDED') AND o.paid_by_gateway = 0 AND r.order_id IS NULL",
    },
    Invariant {
        name: "refund-amount",
        table: "refunds",
        sentence: "the organization, event, amount and currency of a refund must be those of its order",
        violations: "SELECT r.order_id AS id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.amount <> o.total OR r.currency <> o.currency OR r.organization_id <> o.organization_id
                OR r.event_id IS NULL OR r.event_id <> o.event_id",
    },
    Invariant {
        name: "refund-of-paid",
        table: "refunds",
        sentence: "a refund must be for a COMPLETED or REFUNDED payment, and not for the one that a COMPLETED order was paid with",
        violations: "SELECT r.order_id AS id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE o.payment_status IS NULL OR o.payment_status NOT IN ('COMPLETED', 'REFUNDED')
                OR o.status = 'COMPLETED' AND o.paid_by_gateway = 1",
    },
    Invariant {
        name: "refund-done",
        table: "orders",
        sentence: "a payment must be REFUNDED if its refund is DONE, and must not be REFUNDED otherwise",
        violations: "SELECT o.id FROM orders o LEFT JOIN refunds r ON r.order_id = o.id AND r.status = 'DONE'
            WHERE o.payment_status = 'REFUNDED' AND r.order_id IS NULL
                OR o.payment_status = 'COMPLETED' AND r.order_id IS NOT NULL",
    },
];
