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
        name: "checkout-work",
        table: "checkouts",
        sentence: "the gateway must be asked later about a CLOSING checkout, and about no CLOSED one",
        violations: "SELECT c.order_id AS id FROM checkouts c WHERE c.status = 'CLOSING' AND NOT EXISTS (SELECT 1
                FROM work w WHERE w.key = c.order_id AND w.kind > 'checkout ' AND w.kind < 'checkout!')
            UNION
            SELECT c.order_id AS id FROM work w JOIN checkouts c ON c.order_id = w.key
            WHERE w.kind > 'checkout ' AND w.kind < 'checkout!' AND c.status = 'CLOSED'",
    },
    Invariant {
        name: "checkout-of-paid",
        table: "checkouts",
        sentence: "the checkout of a payment through the gateway must be CLOSED, or CLOSING after an earlier one was paid",
        violations: "SELECT c.order_id AS id FROM checkouts c JOIN orders o ON o.id = c.order_id
            WHERE o.payment_status IN ('COMPLETED', 'REFUNDED')
                AND (c.status = 'OPEN' OR c.status = 'CLOSING' AND c.renewals = 0)",
    },
    Invariant {
        name: "checkout-gateway",
        table: "checkouts",
        sentence: "the gateway, the account and the mode of a checkout must be recorded together",
        violations: "SELECT order_id AS id FROM checkouts
            WHERE (gateway IS NULL) <> (account IS NULL) OR (gateway IS NULL) <> (mode IS NULL)",
    },
    Invariant {
        name: "checkout-payment",
        table: "checkouts",
        sentence: "the payment of a checkout must have its gateway, its account and its mode",
        violations: "SELECT c.order_id AS id FROM checkouts c JOIN payments p ON p.order_id = c.order_id
            WHERE p.manual_method IS NULL AND p.purpose <> 'OTHER' AND p.backfilled = 0 AND c.gateway IS NOT NULL
                AND (p.gateway IS NULL OR p.gateway <> c.gateway OR p.account IS NULL OR p.account <> c.account
                    OR p.mode <> c.mode)",
    },
    Invariant {
        name: "checkout-renewals",
        table: "checkouts",
        sentence: "a checkout must have been renewed 0 to 10 times, and more often than the checkouts that it has replaced",
        violations: "SELECT c.order_id AS id FROM checkouts c
            WHERE c.renewals < 0 OR c.renewals > 10
                OR EXISTS (SELECT 1 FROM replaced_checkouts r WHERE r.order_id = c.order_id AND r.renewals >= c.renewals)",
    },
    Invariant {
        name: "replaced-checkout",
        table: "replaced_checkouts",
        sentence: "a checkout that was replaced must be for an order with a checkout, and must not be the newest one of an order",
        violations: "SELECT r.order_id AS id FROM replaced_checkouts r
            WHERE NOT EXISTS (SELECT 1 FROM checkouts c WHERE c.order_id = r.order_id)
                OR EXISTS (SELECT 1 FROM orders o WHERE o.payment_reference = r.reference)",
    },
];
