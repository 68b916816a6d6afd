//! Invariants of orders and their items.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "order-organization",
        table: "orders",
        sentence: "an order, its event and its customer must belong to one organization",
        violations: "SELECT o.id FROM orders o
                JOIN events e ON e.id = o.event_id JOIN customers c ON c.id = o.customer_id
            WHERE e.organization_id <> o.organization_id OR c.organization_id <> o.organization_id",
    },
    Invariant {
        name: "order-currency",
        table: "orders",
        sentence: "the currency of an order must be the currency of its event",
        violations: "SELECT o.id FROM orders o JOIN events e ON e.id = o.event_id WHERE e.currency <> o.currency",
    },
    Invariant {
        name: "order-status",
        table: "orders",
        sentence: "the status of an order must be PENDING, COMPLETED, CANCELLED or EXPIRED",
        violations: "SELECT id FROM orders WHERE status NOT IN ('PENDING', 'COMPLETED', 'CANCELLED', 'EXPIRED')",
    },
    Invariant {
        name: "order-items",
        table: "orders",
        sentence: "an order must have at least one item",
        violations: "SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM order_items i WHERE i.order_id = o.id)",
    },
    Invariant {
        name: "order-total",
        table: "orders",
        sentence: "the total of an order must be the sum of its items after their discounts",
        violations: "SELECT o.id FROM orders o WHERE o.total <>
            (SELECT CAST(COALESCE(SUM(i.price * i.quantity - i.discount), 0) AS BIGINT) FROM order_items i WHERE i.order_id = o.id)",
    },
    Invariant {
        name: "order-discounted-amount",
        table: "orders",
        sentence: "the discounted amount of an order, or 0 if it is missing, must be the sum of the discounts of its items",
        violations: "SELECT o.id FROM orders o WHERE COALESCE(o.discounted_amount, 0) <>
            (SELECT CAST(COALESCE(SUM(i.discount), 0) AS BIGINT) FROM order_items i WHERE i.order_id = o.id)",
    },
    Invariant {
        name: "order-discount",
        table: "orders",
        sentence: "an order must have a discount of its event, a discount code and a discounted amount, or none of the three",
        violations: "SELECT o.id FROM orders o LEFT JOIN discounts d ON d.id = o.discount_id
            WHERE (o.discount_id IS NULL) <> (o.discount_code IS NULL)
                OR (o.discount_id IS NULL) <> (o.discounted_amount IS NULL)
                OR o.discount_id IS NOT NULL AND (d.id IS NULL OR d.event_id <> o.event_id)",
    },
    Invariant {
        name: "order-limited-seats",
        table: "orders",
        sentence: "the seats of an order that count for the limit of its customer must be those of its items",
        violations: "SELECT o.id FROM orders o WHERE o.limited_seats IS NOT NULL AND o.limited_seats <>
            (SELECT CAST(COALESCE(SUM(i.quantity), 0) AS BIGINT) FROM order_items i WHERE i.order_id = o.id)",
    },
    Invariant {
        name: "order-hold",
        table: "orders",
        sentence: "an order that costs something must have a hold; a free one must have none and never be PENDING or EXPIRED",
        violations: "SELECT id FROM orders WHERE (hold_until IS NULL) <> (total = 0)
            OR total = 0 AND status IN ('PENDING', 'EXPIRED')",
    },
    Invariant {
        name: "order-completed-at",
        table: "orders",
        sentence: "a COMPLETED order must have a time of completion, and a PENDING or EXPIRED one must have none",
        violations: "SELECT id FROM orders WHERE status = 'COMPLETED' AND completed_at IS NULL
            OR status IN ('PENDING', 'EXPIRED') AND completed_at IS NOT NULL",
    },
    Invariant {
        name: "order-of-cancelled-event",
        table: "orders",
        sentence: "an order of a CANCELLED event must not be PENDING, unless the cancellation of its orders is recorded as unfinished",
        violations: "SELECT o.id FROM orders o JOIN events e ON e.id = o.event_id
            WHERE o.status = 'PENDING' AND e.status = 'CANCELLED'
                AND NOT EXISTS (SELECT 1 FROM event_cancellations c WHERE c.event_id = e.id)",
    },
    Invariant {
        name: "item-amounts",
        table: "order_items",
        sentence: "an item must be for 1 to 100 tickets, and its discount must be between 0 and their price",
        violations: "SELECT id FROM order_items WHERE quantity NOT BETWEEN 1 AND 100 OR price < 0
            OR discount NOT BETWEEN 0 AND price * quantity",
    },
    Invariant {
        name: "item-ticket-type",
        table: "order_items",
        sentence: "the ticket type of an item must belong to the event of its order",
        violations: "SELECT i.id FROM order_items i JOIN orders o ON o.id = i.order_id
                LEFT JOIN ticket_types tt ON tt.id = i.ticket_type_id
            WHERE tt.id IS NULL OR tt.event_id <> o.event_id",
    },
    Invariant {
        name: "item-tickets",
        table: "order_items",
        sentence: "the number of an item's tickets must be its quantity if its order was completed, and otherwise 0",
        violations: "SELECT i.id FROM order_items i JOIN orders o ON o.id = i.order_id
            WHERE (CASE WHEN o.completed_at IS NULL THEN 0 ELSE i.quantity END) <>
                (SELECT COUNT(*) FROM tickets t WHERE t.order_id = i.order_id AND t.order_item_id = i.id)",
    },
];
