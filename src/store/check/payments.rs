//! Invariants of payments and refunds.

use super::invariant::{Invariant, RowInvariant};

/// Rules about the payment of an order.
pub(super) const ORDER_RULES: &[RowInvariant] = &[
    RowInvariant {
        name: "payment-status",
        sentence: "a payment must have a link and a known status, and its order must cost something",
        is_violated: "(o.payment_link IS NULL) <> (o.payment_status IS NULL)
                OR o.payment_status NOT IN ('WAITING', 'COMPLETED', 'FAILED', 'REFUNDED')
                OR o.payment_status IS NOT NULL AND o.total = 0",
    },
    RowInvariant {
        name: "payment-of-pending",
        sentence: "a PENDING order must not have a COMPLETED or REFUNDED payment",
        is_violated: "o.status = 'PENDING' AND o.payment_status IN ('COMPLETED', 'REFUNDED')",
    },
    RowInvariant {
        name: "payment-completed-order",
        sentence: "an order that was paid through the gateway must have a time of completion and a COMPLETED or REFUNDED payment",
        is_violated: "o.paid_by_gateway = 1 AND (o.completed_at IS NULL OR o.payment_status IS NULL
                OR o.payment_status NOT IN ('COMPLETED', 'REFUNDED'))",
    },
    RowInvariant {
        name: "payment-for-nothing",
        sentence: "a payment through the gateway that did not complete its order must have a refund",
        is_violated: "o.payment_status IN ('COMPLETED', 'REFUNDED') AND o.paid_by_gateway = 0
                AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.id AND r.source = 'LATE_PAYMENT')",
    },
    RowInvariant {
        name: "order-cancelled-at",
        sentence: "only a CANCELLED order may have a time of cancellation",
        is_violated: "o.cancelled_at IS NOT NULL AND o.status <> 'CANCELLED'",
    },
];

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "refund-amount",
        table: "refunds",
        sentence: "the organization and the event of a refund must be those of its order, and its amount and currency must be of its payment",
        violations: "SELECT r.id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.organization_id <> o.organization_id OR r.event_id IS NULL OR r.event_id <> o.event_id
                OR r.source IN ('ORDER', 'LATE_PAYMENT') AND (r.currency <> o.currency OR r.amount > o.total)
                OR r.source = 'LATE_PAYMENT' AND r.amount <> o.total",
    },
    Invariant {
        name: "refund-of-paid",
        table: "refunds",
        sentence: "a refund must be for a COMPLETED or REFUNDED payment: of source ORDER for the one that completed the order, and of source LATE_PAYMENT for another",
        violations: "SELECT r.id FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.source IN ('ORDER', 'LATE_PAYMENT') AND (o.payment_status IS NULL
                OR o.payment_status NOT IN ('COMPLETED', 'REFUNDED')
                OR (r.source = 'ORDER') <> (o.paid_by_gateway = 1))",
    },
    Invariant {
        name: "refund-done",
        table: "orders",
        sentence: "a payment must be REFUNDED if its DONE refunds leave nothing of it, and must not be REFUNDED otherwise",
        violations: "SELECT o.id FROM orders o LEFT JOIN
                (SELECT order_id, CAST(SUM(amount) AS BIGINT) AS amount FROM refunds
                    WHERE status = 'DONE' AND payment_reference IS NULL GROUP BY order_id) r
                ON r.order_id = o.id
            WHERE o.payment_status = 'REFUNDED' AND COALESCE(r.amount, 0) < o.total
                OR o.payment_status = 'COMPLETED' AND COALESCE(r.amount, 0) >= o.total",
    },
    Invariant {
        name: "refund-settled",
        table: "refunds",
        sentence: "only a REFUSED refund may be settled in another way, and only a DONE one may be looked up later",
        violations: "SELECT id FROM refunds
            WHERE settled_by IS NOT NULL AND status <> 'REFUSED' OR check_at IS NOT NULL AND status <> 'DONE'
                OR checks < 0",
    },
    Invariant {
        name: "order-refunded",
        table: "orders",
        sentence: "what an order gives back, by the gateway and by hand, must be at most its total, and nothing if the order was not completed",
        violations: "SELECT o.id FROM orders o LEFT JOIN
                (SELECT order_id, CAST(SUM(amount) AS BIGINT) AS amount FROM refunds
                    WHERE status <> 'REFUSED' AND source = 'ORDER' GROUP BY order_id) r
                ON r.order_id = o.id
            WHERE o.manual_refund_due < 0 OR o.refunded > o.total OR o.refunded <> 0 AND o.completed_at IS NULL
                OR o.refunded < o.manual_refund_due + COALESCE(r.amount, 0)",
    },
    Invariant {
        name: "dispute-order",
        table: "disputes",
        sentence: "the organization and the event of a dispute must be those of its order",
        violations: "SELECT d.id FROM disputes d JOIN orders o ON o.id = d.order_id
            WHERE d.organization_id <> o.organization_id OR d.event_id <> o.event_id",
    },
];
