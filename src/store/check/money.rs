//! Invariants of payments, refunds, disputes and the ledger.

use super::invariant::Invariant;

pub(super) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "payment-of-order",
        table: "orders",
        sentence: "an order that was completed and cost something must have one payment of purpose ORDER, of the time of its completion, and through the gateway if the order says so; any other order must have none",
        violations: "SELECT o.id FROM orders o LEFT JOIN payments p ON p.order_id = o.id AND p.purpose = 'ORDER'
            WHERE (o.completed_at IS NOT NULL AND o.total > 0) <> (p.id IS NOT NULL)
                OR p.id IS NOT NULL AND (p.amount <> o.total OR p.currency <> o.currency OR p.created_at <> o.completed_at)
                OR o.paid_by_gateway <> CASE WHEN p.id IS NOT NULL AND p.manual_method IS NULL THEN 1 ELSE 0 END
            UNION
            SELECT order_id FROM payments WHERE purpose = 'ORDER' GROUP BY order_id HAVING COUNT(*) > 1",
    },
    Invariant {
        name: "payment-for-nothing",
        table: "payments",
        sentence: "what was decided to go back of a payment that did not complete its order must be all of it, unless a part of it was withdrawn",
        violations: "SELECT p.id FROM payments p WHERE p.purpose <> 'ORDER' AND p.promised < p.amount AND p.backfilled = 0
                AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.payment_id = p.id
                    AND (r.status = 'WITHDRAWN' OR r.promised < r.amount))",
    },
    Invariant {
        name: "payment-status-of-checkout",
        table: "orders",
        sentence: "the payment of a checkout must be COMPLETED or REFUNDED if it is recorded, and REFUNDED if nothing of it is left",
        violations: "SELECT o.id FROM orders o LEFT JOIN payments p
                ON p.order_id = o.id AND p.manual_method IS NULL AND p.purpose <> 'OTHER'
            WHERE (p.id IS NOT NULL) <> (o.payment_status IS NOT NULL AND o.payment_status IN ('COMPLETED', 'REFUNDED'))
                OR p.id IS NOT NULL AND (o.payment_status = 'REFUNDED') <> (p.returned >= p.amount)",
    },
    Invariant {
        name: "payment-order",
        table: "payments",
        sentence: "the organization and the event of a payment must be those of its order, and money taken manually must be LIVE and at no gateway",
        violations: "SELECT p.id FROM payments p JOIN orders o ON o.id = p.order_id
            WHERE p.organization_id <> o.organization_id OR p.event_id <> o.event_id
                OR p.manual_method IS NOT NULL AND (p.mode <> 'LIVE' OR p.gateway IS NOT NULL OR p.account IS NOT NULL
                    OR p.reference IS NOT NULL)",
    },
    Invariant {
        name: "payment-sums",
        table: "payments",
        sentence: "the sums of a payment must be those of its refunds and disputes",
        violations: "SELECT p.id FROM payments p
            LEFT JOIN (SELECT payment_id, CAST(SUM(returned) AS BIGINT) AS returned,
                    CAST(SUM(promised) AS BIGINT) AS promised, CAST(SUM(owed) AS BIGINT) AS owed
                FROM refunds GROUP BY payment_id) r ON r.payment_id = p.id
            LEFT JOIN (SELECT d.payment_id, CAST(SUM(d.taken) AS BIGINT) AS taken,
                    CAST(SUM(CASE WHEN d.status = 'OPEN' THEN d.amount ELSE 0 END) AS BIGINT) AS disputed
                FROM disputes d JOIN payments q ON q.id = d.payment_id AND q.currency = d.currency
                GROUP BY d.payment_id) d ON d.payment_id = p.id
            WHERE p.returned <> COALESCE(r.returned, 0) OR p.promised <> COALESCE(r.promised, 0)
                OR p.owed <> COALESCE(r.owed, 0) OR p.taken <> COALESCE(d.taken, 0)
                OR p.disputed <> COALESCE(d.disputed, 0) OR p.returned < 0 OR p.taken < 0",
    },
    Invariant {
        name: "ledger-payment",
        table: "payments",
        sentence: "the entries of the ledger for a payment must add up to what went back and what banks have taken",
        violations: "SELECT p.id FROM payments p LEFT JOIN (SELECT payment_id,
                    CAST(-SUM(CASE WHEN kind IN ('REFUND', 'REFUND_FAILED') THEN amount ELSE 0 END) AS BIGINT) AS returned,
                    CAST(-SUM(CASE WHEN kind IN ('DISPUTE', 'DISPUTE_RETURNED') THEN amount ELSE 0 END) AS BIGINT) AS taken
                FROM ledger_entries GROUP BY payment_id) e ON e.payment_id = p.id
            WHERE p.returned <> COALESCE(e.returned, 0) OR p.taken <> COALESCE(e.taken, 0)",
    },
    Invariant {
        name: "ledger-entry",
        table: "ledger_entries",
        sentence: "an entry of the ledger must have the order, the currency, the gateway and the account of its payment, and be about a refund or a dispute of it, with the gateway's id of the dispute",
        violations: "SELECT e.id FROM ledger_entries e JOIN payments p ON p.id = e.payment_id
                LEFT JOIN refunds r ON r.id = e.refund_id LEFT JOIN disputes d ON d.id = e.dispute_id
            WHERE e.organization_id <> p.organization_id OR e.order_id <> p.order_id OR e.event_id <> p.event_id
                OR e.currency <> p.currency OR (e.refund_id IS NOT NULL) <> (e.kind IN ('REFUND', 'REFUND_FAILED'))
                OR (e.dispute_id IS NOT NULL) <> (e.kind IN ('DISPUTE', 'DISPUTE_RETURNED'))
                OR e.subject_id <> COALESCE(e.refund_id, e.dispute_id)
                OR e.refund_id IS NOT NULL AND COALESCE(r.payment_id, 0) <> e.payment_id
                OR e.dispute_id IS NOT NULL
                    AND (COALESCE(d.payment_id, 0) <> e.payment_id OR COALESCE(e.reference, '') <> d.reference)
                OR e.manual_method IS NULL AND (e.mode <> p.mode OR COALESCE(e.gateway, '') <> COALESCE(p.gateway, '')
                    OR COALESCE(e.account, '') <> COALESCE(p.account, ''))
                OR e.manual_method IS NOT NULL AND (e.mode <> 'LIVE' OR e.gateway IS NOT NULL)",
    },
    Invariant {
        name: "ledger-failure",
        table: "payments",
        sentence: "no more of a refund or a dispute with an id of the gateway may have come back than had gone",
        violations: "SELECT payment_id AS id FROM ledger_entries
            GROUP BY payment_id, subject_id, reference HAVING SUM(amount) > 0",
    },
    Invariant {
        name: "ledger-dispute",
        table: "disputes",
        sentence: "the entries of the ledger for a dispute about a known payment must add up to what was taken for it",
        violations: "SELECT d.id FROM disputes d LEFT JOIN
                (SELECT dispute_id, CAST(-SUM(amount) AS BIGINT) AS taken FROM ledger_entries
                    WHERE dispute_id IS NOT NULL GROUP BY dispute_id) e
                ON e.dispute_id = d.id
            WHERE d.payment_id IS NOT NULL AND d.taken <> COALESCE(e.taken, 0)",
    },
    Invariant {
        name: "ledger-refund",
        table: "refunds",
        sentence: "the entries of the ledger for a refund must add up to what went back for it",
        violations: "SELECT r.id FROM refunds r LEFT JOIN
                (SELECT refund_id, CAST(-SUM(amount) AS BIGINT) AS returned FROM ledger_entries
                    WHERE refund_id IS NOT NULL GROUP BY refund_id) e
                ON e.refund_id = r.id
            WHERE r.returned <> COALESCE(e.returned, 0)",
    },
    Invariant {
        name: "refund-payment",
        table: "refunds",
        sentence: "the order, the event and the currency of a refund must be those of its payment, and its source must be that of the payment",
        violations: "SELECT r.id FROM refunds r JOIN payments p ON p.id = r.payment_id
            WHERE r.organization_id <> p.organization_id OR r.order_id <> p.order_id OR r.event_id <> p.event_id
                OR r.currency <> p.currency OR r.source <> 'OUTSIDE' AND r.source <>
                    CASE p.purpose WHEN 'ORDER' THEN 'ORDER' WHEN 'LATE' THEN 'LATE_PAYMENT' ELSE 'OTHER_PAYMENT' END",
    },
    Invariant {
        name: "refund-amount",
        table: "refunds",
        sentence: "what was decided of a refund must be its amount, unless it was withdrawn or has failed, and more only if so much was returned; the refund of a late or second payment must be for all of it",
        // Earlier versions had no payments: of some refunds, the migration could not tell what was decided.
        violations: "SELECT r.id FROM refunds r JOIN payments p ON p.id = r.payment_id
            WHERE p.backfilled = 0 AND (
                r.promised < r.amount AND r.status <> 'WITHDRAWN' AND (r.source <> 'OUTSIDE' OR r.promised > 0)
                    AND NOT EXISTS (SELECT 1 FROM ledger_entries e
                        WHERE e.payment_id = r.payment_id AND e.kind = 'REFUND_FAILED' AND e.subject_id = r.id)
                OR r.promised > r.amount AND r.promised > (SELECT CAST(COALESCE(-SUM(e.amount), 0) AS BIGINT) FROM ledger_entries e
                    WHERE e.payment_id = r.payment_id AND e.kind = 'REFUND' AND e.subject_id = r.id)
                OR r.source IN ('LATE_PAYMENT', 'OTHER_PAYMENT') AND r.amount <> p.amount)",
    },
    Invariant {
        name: "refund-reference",
        table: "refunds",
        sentence: "the gateway's id of a DONE refund must be that of an entry of the ledger for its payment, unless an entry for it has none",
        violations: "SELECT r.id FROM refunds r WHERE r.status = 'DONE'
            AND (r.reference IS NOT NULL OR r.source = 'OUTSIDE')
            AND NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.payment_id = r.payment_id AND e.kind = 'REFUND'
                AND e.manual_method IS NULL AND (e.reference = r.reference OR e.reference IS NULL AND e.subject_id = r.id))",
    },
    Invariant {
        name: "refund-status",
        table: "refunds",
        sentence: "a DONE refund must have gone back, a WITHDRAWN one must not be promised any more, and only a DUE one may be asked for",
        violations: "SELECT id FROM refunds WHERE returned > promised
                OR status IN ('DONE', 'WITHDRAWN') AND (promised <> returned OR to_ask <> 0 OR owed <> 0)
                OR status = 'DUE' AND promised <= returned
                OR to_ask > 0 AND (status <> 'DUE' OR by_gateway = 0 OR refused = 1)
                OR to_ask + owed > promised - returned",
    },
    Invariant {
        name: "refund-work",
        table: "refunds",
        sentence: "the gateway must be asked later for a refund that is to be asked for, unless a bank decides about its payment, and for no other",
        violations: "SELECT r.id FROM refunds r JOIN payments p ON p.id = r.payment_id
            WHERE r.to_ask > 0 AND p.disputed = 0 AND NOT EXISTS (SELECT 1 FROM work w
                WHERE w.key = r.id AND w.kind > 'refund ' AND w.kind < 'refund!')
            UNION
            SELECT r.id FROM work w JOIN refunds r ON r.id = w.key
            WHERE w.kind > 'refund ' AND w.kind < 'refund!' AND w.claim IS NULL AND r.to_ask = 0",
    },
    Invariant {
        name: "refund-balance",
        table: "payments",
        sentence: "what goes back of a payment must be at most what was decided to, and at most what is left of it, without what banks may still take",
        violations: "SELECT p.id FROM payments p JOIN
                (SELECT payment_id, CAST(SUM(to_ask + owed) AS BIGINT) AS going FROM refunds GROUP BY payment_id) r
                ON r.payment_id = p.id
            LEFT JOIN (SELECT d.payment_id, CAST(SUM(d.amount - d.taken) AS BIGINT) AS held
                FROM disputes d JOIN payments q ON q.id = d.payment_id AND q.currency = d.currency
                WHERE d.status = 'OPEN' GROUP BY d.payment_id HAVING SUM(d.amount - d.taken) > 0) d
                ON d.payment_id = p.id
            WHERE r.going > 0 AND (r.going > p.promised - p.returned - COALESCE(d.held, 0)
                OR r.going > p.amount - p.taken - p.returned - COALESCE(d.held, 0))",
    },
    Invariant {
        name: "dispute-order",
        table: "disputes",
        sentence: "the organization and the event of a dispute must be those of its order, and its payment one for the order",
        violations: "SELECT d.id FROM disputes d JOIN orders o ON o.id = d.order_id
            LEFT JOIN payments p ON p.id = d.payment_id
            WHERE d.organization_id <> o.organization_id OR d.event_id <> o.event_id OR p.order_id <> d.order_id",
    },
];
