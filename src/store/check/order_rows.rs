//! Invariants of orders and their items.

use super::invariant::{RowInvariant, RowInvariants};

/// Rules about an order and what it refers to.
pub(super) const ORDERS: RowInvariants = RowInvariants {
    table: "orders",
    key: "o.id",
    rows: "orders o LEFT JOIN events e ON e.id = o.event_id LEFT JOIN customers c ON c.id = o.customer_id
        LEFT JOIN discounts d ON d.id = o.discount_id",
    rules: &[
        RowInvariant {
            name: "order-organization",
            sentence: "an order, its event and its customer must belong to one organization",
            is_violated: "e.organization_id <> o.organization_id OR c.organization_id <> o.organization_id",
        },
        RowInvariant {
            name: "order-currency",
            sentence: "the currency of an order must be the currency of its event",
            is_violated: "e.currency <> o.currency",
        },
        RowInvariant {
            name: "order-status",
            sentence: "the status of an order must be PENDING, COMPLETED, CANCELLED or EXPIRED",
            is_violated: "o.status NOT IN ('PENDING', 'COMPLETED', 'CANCELLED', 'EXPIRED')",
        },
        RowInvariant {
            name: "order-discount",
            sentence: "an order must have a discount of its event, a discount code and a discounted amount, or none of the three, and the code of a discount that was never changed must be that of its orders",
            is_violated: "(o.discount_id IS NULL) <> (o.discount_code IS NULL)
                    OR (o.discount_id IS NULL) <> (o.discounted_amount IS NULL)
                    OR o.discount_id IS NOT NULL AND (d.id IS NULL OR d.event_id <> o.event_id)
                    OR d.revision = 1 AND d.code <> o.discount_code",
        },
        RowInvariant {
            name: "order-hold",
            sentence: "an order that costs something must have a hold; a free one must have none and never be PENDING or EXPIRED",
            is_violated: "(o.hold_until IS NULL) <> (o.total = 0)
                    OR o.total = 0 AND o.status IN ('PENDING', 'EXPIRED')",
        },
        RowInvariant {
            name: "order-completed-at",
            sentence: "a COMPLETED order must have a time of completion, which is that of its creation if it is free, and a PENDING or EXPIRED one must have none",
            is_violated: "o.status = 'COMPLETED' AND o.completed_at IS NULL
                    OR o.status IN ('PENDING', 'EXPIRED') AND o.completed_at IS NOT NULL
                    OR o.total = 0 AND o.completed_at <> o.created_at",
        },
        RowInvariant {
            name: "order-of-cancelled-event",
            sentence: "an order of a CANCELLED event must not be PENDING, unless the cancellation of its orders is recorded as unfinished",
            is_violated: "o.status = 'PENDING' AND e.status = 'CANCELLED'
                    AND NOT EXISTS (SELECT 1 FROM work w WHERE w.kind = 'cancel orders' AND w.key = e.id)",
        },
        RowInvariant {
            name: "payment-status",
            sentence: "a payment must have a link and a known status, and its order must cost something",
            is_violated: "(o.payment_link IS NULL) <> (o.payment_status IS NULL)
                    OR o.payment_status NOT IN ('WAITING', 'COMPLETED', 'FAILED', 'REFUNDED')
                    OR o.payment_status IS NOT NULL AND o.total = 0",
        },
        RowInvariant {
            name: "order-checkout",
            sentence: "a PENDING order that the payment gateway knows must have a checkout, so that it is closed",
            is_violated: "o.status = 'PENDING' AND o.payment_reference IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM checkouts k WHERE k.order_id = o.id)",
        },
        RowInvariant {
            name: "payment-of-pending",
            sentence: "a PENDING order must not have a COMPLETED or REFUNDED payment",
            is_violated: "o.status = 'PENDING' AND o.payment_status IN ('COMPLETED', 'REFUNDED')",
        },
        RowInvariant {
            name: "order-cancelled-at",
            sentence: "only a CANCELLED order may have a time of cancellation",
            is_violated: "o.cancelled_at IS NOT NULL AND o.status <> 'CANCELLED'",
        },
    ],
};

/// Rules about an order and the sums of its items.
pub(super) const SUMS: RowInvariants = RowInvariants {
    table: "orders",
    key: "o.id",
    rows:
        "(SELECT one.id, one.total, one.discounted_amount, one.limited_seats, one.ordered_seats, COUNT(i.id) AS items,
            CAST(COALESCE(SUM(i.price * i.quantity - i.discount), 0) AS BIGINT) AS amount,
            CAST(COALESCE(SUM(i.discount), 0) AS BIGINT) AS discount,
            CAST(COALESCE(SUM(i.quantity), 0) AS BIGINT) AS seats
        FROM orders one LEFT JOIN order_items i ON i.order_id = one.id GROUP BY one.id) o",
    rules: &[
        RowInvariant {
            name: "order-items",
            sentence: "an order must have at least one item",
            is_violated: "o.items = 0",
        },
        RowInvariant {
            name: "order-total",
            sentence: "the total of an order must be the sum of its items after their discounts",
            is_violated: "o.total <> o.amount",
        },
        RowInvariant {
            name: "order-discounted-amount",
            sentence: "the discounted amount of an order, or 0 if it is missing, must be the sum of the discounts of its items",
            is_violated: "COALESCE(o.discounted_amount, 0) <> o.discount",
        },
        RowInvariant {
            name: "order-limited-seats",
            sentence: "the seats of an order that count for the limit of its customer must be those of its items",
            is_violated: "o.limited_seats <> o.seats",
        },
        RowInvariant {
            name: "order-seats",
            sentence: "the number of seats of an order must be that of its items",
            is_violated: "o.items > 0 AND o.ordered_seats <> o.seats",
        },
    ],
};

/// Rules about an item, its order and its tickets.
pub(super) const ITEMS: RowInvariants = RowInvariants {
    table: "order_items",
    key: "i.id",
    rows: "order_items i LEFT JOIN orders o ON o.id = i.order_id LEFT JOIN ticket_types tt ON tt.id = i.ticket_type_id",
    rules: &[
        RowInvariant {
            name: "item-amounts",
            sentence: "an item must be for 1 to 100 tickets, and its discount must be between 0 and their price",
            is_violated: "i.quantity NOT BETWEEN 1 AND 100 OR i.price < 0
                    OR i.discount NOT BETWEEN 0 AND i.price * i.quantity",
        },
        RowInvariant {
            name: "item-ticket-type",
            sentence: "the ticket type of an item must belong to the event of its order",
            is_violated: "o.id IS NOT NULL AND (tt.id IS NULL OR tt.event_id <> o.event_id)",
        },
        RowInvariant {
            name: "item-tickets",
            sentence: "the number of an item's tickets must be its quantity if its order was completed, and otherwise 0",
            is_violated: "o.id IS NOT NULL AND (CASE WHEN o.completed_at IS NULL THEN 0 ELSE i.quantity END) <>
                    (SELECT COUNT(*) FROM tickets t WHERE t.order_id = i.order_id AND t.order_item_id = i.id)",
        },
    ],
};
