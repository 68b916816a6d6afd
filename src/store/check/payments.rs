//! Payments and refunds.

use super::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "payment-status",
        table: "orders",
        sentence: "a payment has a link and a known status or neither, and only what costs something is paid",
        broken: "SELECT id FROM orders WHERE (payment_link IS NULL) <> (payment_status IS NULL)
            OR payment_status NOT IN ('WAITING', 'COMPLETED', 'FAILED', 'REFUNDED')
            OR payment_status IS NOT NULL AND total = 0",
    },
    Invariant {
        name: "payment-of-pending",
        table: "orders",
        sentence: "an order does not wait for a payment that has come",
        broken: "SELECT id FROM orders WHERE status = 'PENDING' AND payment_status IN ('COMPLETED', 'REFUNDED')",
    },
    Invariant {
        name: "payment-completed-order",
        table: "orders",
        sentence: "what the gateway's money completed was completed, and that money came",
        broken: "SELECT id FROM orders WHERE paid_by_gateway = 1
            AND (completed_at IS NULL OR payment_status IS NULL OR payment_status NOT IN ('COMPLETED', 'REFUNDED'))",
    },
    Invariant {
        name: "payment-for-nothing",
        table: "orders",
        sentence: "money that came and completed no order has a refund",
        broken: "SELECT o.id FROM orders o LEFT JOIN refunds r ON r.order_id = o.id
            WHERE o.payment_status IN ('COMPLETED', 'REFUNDED') AND o.paid_by_gateway = 0 AND r.order_id IS NULL",
    },
    Invariant {
        name: "refund-amount",
        table: "refunds",
        sentence: "a refund is of its order's organization, total and currency",
        broken: "SELECT r.order_id AS id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.amount <> o.total OR r.currency <> o.currency OR r.organization_id <> o.organization_id",
    },
    Invariant {
        name: "refund-of-paid",
        table: "refunds",
        sentence: "only money that came goes back, and none that an order was COMPLETED with",
        broken: "SELECT r.order_id AS id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE o.payment_status IS NULL OR o.payment_status NOT IN ('COMPLETED', 'REFUNDED')
                OR o.status = 'COMPLETED' AND o.paid_by_gateway = 1",
    },
    Invariant {
        name: "refund-done",
        table: "orders",
        sentence: "a payment is REFUNDED exactly when its refund is DONE",
        broken: "SELECT o.id FROM orders o LEFT JOIN refunds r ON r.order_id = o.id AND r.status = 'DONE'
            WHERE o.payment_status = 'REFUNDED' AND r.order_id IS NULL
                OR o.payment_status = 'COMPLETED' AND r.order_id IS NOT NULL",
    },
];
