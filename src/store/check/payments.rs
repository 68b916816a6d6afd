//! Invariants of payments and refunds.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "payment-status",
        table: "orders",
        sentence: "a payment has a link and a known status, and belongs to an order that costs something",
        violations: "SELECT id FROM orders WHERE (payment_link IS NULL) <> (payment_status IS NULL)
            OR payment_status NOT IN ('WAITING', 'COMPLETED', 'FAILED', 'REFUNDED')
            OR payment_status IS NOT NULL AND total = 0",
    },
    Invariant {
        name: "payment-of-pending",
        table: "orders",
        sentence: "a PENDING order was not paid through the gateway",
        violations: "SELECT id FROM orders WHERE status = 'PENDING' AND payment_status IN ('COMPLETED', 'REFUNDED')",
    },
    Invariant {
        name: "payment-completed-order",
        table: "orders",
        sentence: "an order that a payment through the gateway completed has a time of completion and such a payment",
        violations: "SELECT id FROM orders WHERE paid_by_gateway = 1
            AND (completed_at IS NULL OR payment_status IS NULL OR payment_status NOT IN ('COMPLETED', 'REFUNDED'))",
    },
    Invariant {
        name: "payment-for-nothing",
        table: "orders",
        sentence: "a payment through the gateway that completed no order has a refund",
        violations: "SELECT o.id FROM orders o LEFT JOIN refunds r ON r.order_id = o.id
            WHERE o.payment_status IN ('COMPLETED', 'REFUNDED') AND o.paid_by_gateway = 0 AND r.order_id IS NULL",
    },
    Invariant {
        name: "refund-amount",
        table: "refunds",
        sentence: "a refund has the organization, the total and the currency of its order",
        violations: "SELECT r.order_id AS id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.amount <> o.total OR r.currency <> o.currency OR r.organization_id <> o.organization_id",
    },
    Invariant {
        name: "refund-of-paid",
        table: "refunds",
        sentence: "a refund belongs to a payment that was made, and not to one that a COMPLETED order was paid with",
        violations: "SELECT r.order_id AS id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE o.payment_status IS NULL OR o.payment_status NOT IN ('COMPLETED', 'REFUNDED')
                OR o.status = 'COMPLETED' AND o.paid_by_gateway = 1",
    },
    Invariant {
        name: "refund-done",
        table: "orders",
        sentence: "a payment is REFUNDED if and only if its refund is DONE",
        violations: "SELECT o.id FROM orders o LEFT JOIN refunds r ON r.order_id = o.id AND r.status = 'DONE'
            WHERE o.payment_status = 'REFUNDED' AND r.order_id IS NULL
                OR o.payment_status = 'COMPLETED' AND r.order_id IS NOT NULL",
    },
];
