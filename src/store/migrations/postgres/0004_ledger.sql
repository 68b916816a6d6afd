-- Money: the payments, what was decided to go back of them, and the ledger of all movements. What was stored of them as
-- columns of orders and refunds becomes rows, which are marked as backfilled. Their ids begin with the time in milliseconds,
-- as all ids do, and end with a number.

-- Money that was received for orders.
CREATE TABLE payments (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    order_id BIGINT NOT NULL REFERENCES orders (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    -- ORDER if it completed its order, LATE if it was for the order and completed nothing, and OTHER if it was a second one
    -- or of another amount or currency.
    purpose TEXT COLLATE "C" NOT NULL CHECK (purpose = 'ORDER' OR purpose = 'LATE' OR purpose = 'OTHER'),
    -- How it was taken by hand. NULL for a payment through a gateway.
    manual_method TEXT COLLATE "C" CHECK (manual_method = 'CASH' OR manual_method = 'TRANSFER' OR manual_method = 'OTHER'),
    -- The name of the gateway. NULL if it was taken by hand, or if that is not known.
    gateway TEXT COLLATE "C",
    -- The account at the provider: empty for the gateway's own one, NULL if it is not known.
    account TEXT COLLATE "C",
    mode TEXT COLLATE "C" NOT NULL CHECK (mode = 'LIVE' OR mode = 'TEST'),
    -- The gateway's ids of the checkout and of the payment.
    checkout_reference TEXT COLLATE "C",
    reference TEXT COLLATE "C",
    -- Amounts are in minor units of the currency.
    amount BIGINT NOT NULL CHECK (amount > 0),
    currency TEXT COLLATE "C" NOT NULL,
    note TEXT COLLATE "C",
    -- Sums of its refunds, disputes and movements: what went back, what banks have taken, what was decided to go back, what
    -- banks have not decided about, and what has to be given back by hand.
    returned BIGINT NOT NULL DEFAULT 0,
    taken BIGINT NOT NULL DEFAULT 0,
    promised BIGINT NOT NULL DEFAULT 0,
    disputed BIGINT NOT NULL DEFAULT 0,
    owed BIGINT NOT NULL DEFAULT 0,
    -- The API key that recorded it by hand.
    recorded_by BIGINT,
    backfilled BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);

INSERT INTO payments (id, organization_id, order_id, event_id, purpose, manual_method, gateway, account, mode,
        checkout_reference, reference, amount, currency, backfilled, created_at)
    SELECT (LEAST(o.completed_at, 8796093022207) << 20) + ROW_NUMBER() OVER (ORDER BY o.completed_at, o.id) % 1048576, o.organization_id, o.id,
        o.event_id, 'ORDER',
        CASE WHEN o.paid_by_gateway = 0 THEN 'OTHER' END,
        CASE WHEN o.paid_by_gateway = 0 THEN NULL WHEN SUBSTR(o.payment_reference, 1, 8) = 'sandbox_' THEN 'sandbox'
            ELSE c.gateway END,
        CASE WHEN o.paid_by_gateway = 0 THEN NULL WHEN SUBSTR(o.payment_reference, 1, 8) = 'sandbox_' THEN ''
            ELSE c.account END,
        CASE WHEN o.paid_by_gateway = 0 THEN 'LIVE'
            WHEN SUBSTR(o.payment_reference, 1, 8) IN ('cs_test_', 'sandbox_') THEN 'TEST'
            ELSE COALESCE(c.mode, 'LIVE') END,
        CASE WHEN o.paid_by_gateway = 1 THEN o.payment_reference END,
        CASE WHEN o.paid_by_gateway = 1 THEN c.payment_reference END,
        o.total, o.currency, 1, o.completed_at
    FROM orders o LEFT JOIN checkouts c ON c.order_id = o.id
    WHERE o.completed_at IS NOT NULL AND o.total > 0;
INSERT INTO payments (id, organization_id, order_id, event_id, purpose, gateway, account, mode, checkout_reference,
        reference, amount, currency, backfilled, created_at)
    SELECT (LEAST(r.created_at, 8796093022207) << 20) + ((SELECT COUNT(*) FROM payments) + ROW_NUMBER() OVER (ORDER BY r.id)) % 1048576,
        o.organization_id, o.id, o.event_id, 'LATE',
        CASE WHEN SUBSTR(o.payment_reference, 1, 8) = 'sandbox_' THEN 'sandbox' ELSE c.gateway END,
        CASE WHEN SUBSTR(o.payment_reference, 1, 8) = 'sandbox_' THEN '' ELSE c.account END,
        CASE WHEN SUBSTR(o.payment_reference, 1, 8) IN ('cs_test_', 'sandbox_') THEN 'TEST'
            ELSE COALESCE(c.mode, 'LIVE') END,
        o.payment_reference, c.payment_reference, r.amount, r.currency, 1, r.created_at
    FROM refunds r JOIN orders o ON o.id = r.order_id LEFT JOIN checkouts c ON c.order_id = o.id
    WHERE r.source = 'LATE_PAYMENT';
-- The payments whose refunds name them. A refund may name the payment that completed the order, or came too late for it.
CREATE TEMP TABLE other_payments AS
    SELECT (LEAST(g.created_at, 8796093022207) << 20)
            + ((SELECT COUNT(*) FROM payments) + ROW_NUMBER() OVER (ORDER BY g.first_id)) % 1048576 AS id,
        g.order_id, g.payment_reference, g.currency, g.amount, g.created_at,
        -- Two payments for an order never have the same id of the gateway.
        CASE WHEN ROW_NUMBER() OVER (PARTITION BY g.order_id, g.payment_reference ORDER BY g.first_id) > 1
                OR EXISTS (SELECT 1 FROM payments p WHERE p.order_id = g.order_id AND p.reference = g.payment_reference)
            THEN NULL ELSE NULLIF(g.payment_reference, '') END AS reference
    FROM (SELECT r.order_id, r.payment_reference, r.currency, MIN(r.id) AS first_id, MIN(r.created_at) AS created_at,
            CAST(COALESCE(MAX(CASE WHEN r.source = 'OTHER_PAYMENT' THEN r.amount END),
                SUM(CASE WHEN r.status = 'DONE' THEN r.amount END), MAX(r.amount)) AS BIGINT) AS amount
        FROM refunds r LEFT JOIN payments p
            ON p.order_id = r.order_id AND p.reference = r.payment_reference AND p.currency = r.currency
        WHERE r.payment_reference IS NOT NULL AND p.id IS NULL
        GROUP BY r.order_id, r.payment_reference, r.currency) g;
INSERT INTO payments (id, organization_id, order_id, event_id, purpose, gateway, account, mode, reference, amount,
        currency, backfilled, created_at)
    SELECT p.id, o.organization_id, o.id, o.event_id, 'OTHER',
        CASE WHEN SUBSTR(o.payment_reference, 1, 8) = 'sandbox_' THEN 'sandbox' ELSE c.gateway END,
        CASE WHEN SUBSTR(o.payment_reference, 1, 8) = 'sandbox_' THEN '' ELSE c.account END,
        CASE WHEN SUBSTR(o.payment_reference, 1, 8) IN ('cs_test_', 'sandbox_') THEN 'TEST'
            ELSE COALESCE(c.mode, 'LIVE') END,
        p.reference, p.amount, p.currency, 1, p.created_at
    FROM other_payments p JOIN orders o ON o.id = p.order_id LEFT JOIN checkouts c ON c.order_id = o.id;

-- list_payments
CREATE INDEX payments_by_organization ON payments (organization_id, id);
-- list_payments by time: the exceptions from the rule that an id begins with the time of recording
CREATE INDEX payments_with_later_id ON payments (organization_id, id) WHERE created_at < (id >> 20) - 1000;
-- list_payments of an event; whether it has received real money
CREATE INDEX payments_by_event ON payments (event_id, mode, id);
-- the payments of an order; list_payments of an order
CREATE INDEX payments_by_order ON payments (order_id, id);
-- the order of a notice that names the payment only; a payment that the gateway reports again
CREATE UNIQUE INDEX payments_by_reference ON payments (reference, order_id) WHERE reference IS NOT NULL;

-- The payment of each refund, and what of a payment that completed no order went back through the gateway.
CREATE TEMP TABLE refund_payments AS
    SELECT r.id AS refund_id, p.id AS payment_id, p.purpose,
        CAST(SUM(CASE WHEN r.status = 'DONE' THEN r.amount ELSE 0 END) OVER (PARTITION BY p.id) AS BIGINT) AS done,
        CAST(SUM(CASE WHEN r.status = 'REFUSED' AND r.settled_by IS NULL THEN r.amount ELSE 0 END)
            OVER (PARTITION BY p.id ORDER BY r.id) AS BIGINT) AS owed_up_to
    FROM refunds r JOIN orders o ON o.id = r.order_id
    LEFT JOIN other_payments x
        ON x.order_id = r.order_id AND x.payment_reference = r.payment_reference AND x.currency = r.currency
    JOIN payments p ON p.order_id = r.order_id AND CASE
        WHEN x.id IS NOT NULL THEN p.id = x.id
        WHEN o.paid_by_gateway = 1 THEN p.purpose = 'ORDER' ELSE p.purpose = 'LATE' END;

-- Decisions that money of a payment goes back.
CREATE TABLE new_refunds (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    order_id BIGINT NOT NULL REFERENCES orders (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    payment_id BIGINT NOT NULL REFERENCES payments (id),
    source TEXT COLLATE "C" NOT NULL CHECK (source IN ('ORDER', 'LATE_PAYMENT', 'OTHER_PAYMENT', 'OUTSIDE')),
    amount BIGINT NOT NULL CHECK (amount > 0),
    currency TEXT COLLATE "C" NOT NULL,
    -- Why the organization refunds it.
    reason TEXT COLLATE "C",
    -- The gateway's id of the newest refund that it made for this one.
    reference TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL CHECK (status = 'DUE' OR status = 'DONE' OR status = 'REFUSED' OR status = 'WITHDRAWN'),
    -- Whether the gateway is asked for it, and whether it has refused.
    by_gateway BIGINT NOT NULL CHECK (by_gateway IN (0, 1)),
    refused BIGINT NOT NULL DEFAULT 0 CHECK (refused IN (0, 1)),
    -- What of the payment it counts as decided: its amount, less what was withdrawn, and more if more went back.
    promised BIGINT NOT NULL CHECK (promised >= 0),
    -- What went back for it.
    returned BIGINT NOT NULL DEFAULT 0 CHECK (returned >= 0),
    -- What is to be asked of the gateway, and what has to be given back by hand.
    to_ask BIGINT NOT NULL DEFAULT 0 CHECK (to_ask >= 0),
    owed BIGINT NOT NULL DEFAULT 0 CHECK (owed >= 0),
    attempts BIGINT NOT NULL DEFAULT 0,
    -- The gateway is not asked before this time. NULL if it is not asked.
    next_attempt_at BIGINT,
    -- Whether an attempt waits for the gateway until that time.
    is_asking BIGINT NOT NULL DEFAULT 0 CHECK (is_asking IN (0, 1)),
    last_error TEXT COLLATE "C",
    -- When the gateway is next asked what became of a refund that it made, NULL if it is not asked again, and how many
    -- times it has answered.
    check_at BIGINT,
    checks BIGINT NOT NULL DEFAULT 0,
    -- The API key that decided it.
    decided_by BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
INSERT INTO new_refunds (id, organization_id, order_id, event_id, payment_id, source, amount, currency, reason, reference,
        status, by_gateway, refused, promised, returned, to_ask, owed, attempts, next_attempt_at, last_error, check_at,
        checks, created_at, updated_at)
    SELECT r.id, r.organization_id, r.order_id, o.event_id, m.payment_id, r.source, r.amount, r.currency, r.reason,
        r.reference, r.status, 1, CASE WHEN r.status = 'REFUSED' THEN 1 ELSE 0 END,
        CASE
            WHEN r.status <> 'REFUSED' THEN r.amount
            WHEN r.settled_by IS NOT NULL THEN 0
            -- Refunds of an order that were refused may add up to more than is still to be given back.
            WHEN m.purpose = 'ORDER' THEN GREATEST(0, LEAST(r.amount, o.manual_refund_due - (m.owed_up_to - r.amount)))
            WHEN r.source = 'OUTSIDE' THEN 0
            ELSE GREATEST(0, r.amount - m.done) END,
        CASE WHEN r.status = 'DONE' THEN r.amount ELSE 0 END,
        CASE WHEN r.status = 'DUE' THEN r.amount ELSE 0 END,
        CASE
            WHEN r.status <> 'REFUSED' OR r.settled_by IS NOT NULL THEN 0
            WHEN m.purpose = 'ORDER' THEN GREATEST(0, LEAST(r.amount, o.manual_refund_due - (m.owed_up_to - r.amount)))
            WHEN r.source = 'OUTSIDE' THEN 0
            ELSE GREATEST(0, r.amount - m.done) END,
        r.attempts, CASE WHEN r.status = 'DUE' THEN r.next_attempt_at END, r.last_error, r.check_at, r.checks, r.created_at,
        r.updated_at
    FROM refunds r JOIN orders o ON o.id = r.order_id LEFT JOIN refund_payments m ON m.refund_id = r.id;
-- What was given back by hand of payments that completed nothing.
UPDATE new_refunds SET promised = s.rest, returned = s.rest
    FROM (SELECT r.id, GREATEST(0, r.amount - m.done) AS rest FROM refunds r JOIN refund_payments m ON m.refund_id = r.id
        WHERE r.settled_by = 'HAND' AND m.purpose <> 'ORDER' AND r.source <> 'OUTSIDE') s
    WHERE new_refunds.id = s.id;
CREATE TABLE new_disputes (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    order_id BIGINT NOT NULL REFERENCES orders (id),
    event_id BIGINT NOT NULL REFERENCES events (id),
    -- NULL if the payment is not known.
    payment_id BIGINT REFERENCES payments (id),
    -- The gateway's id of the dispute.
    reference TEXT COLLATE "C" NOT NULL,
    amount BIGINT NOT NULL CHECK (amount >= 0),
    -- What the gateway has taken for it and has not given back.
    taken BIGINT NOT NULL DEFAULT 0 CHECK (taken >= 0),
    currency TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('OPEN', 'WON', 'LOST')),
    -- When the gateway is next asked what became of it. NULL if the bank has decided.
    check_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
INSERT INTO new_disputes (id, organization_id, order_id, event_id, payment_id, reference, amount, taken, currency, reason,
        status, check_at, created_at, updated_at)
    SELECT d.id, d.organization_id, d.order_id, d.event_id,
        (SELECT p.id FROM payments p WHERE p.order_id = d.order_id AND p.manual_method IS NULL
            ORDER BY CASE p.purpose WHEN 'ORDER' THEN 0 WHEN 'LATE' THEN 1 ELSE 2 END, p.id LIMIT 1),
        d.reference, d.amount, CASE WHEN d.status = 'LOST' THEN d.amount ELSE 0 END, d.currency, d.reason, d.status,
        CASE WHEN d.status = 'OPEN' THEN d.updated_at END, d.created_at, d.updated_at
    FROM disputes d;
UPDATE new_disputes SET taken = 0 WHERE payment_id IS NULL
    OR currency <> (SELECT p.currency FROM payments p WHERE p.id = new_disputes.payment_id);

-- What the gateway did not refund because a bank had taken it, or may take it, is promised until the bank has decided. Else
-- what the gateway did not refund because nothing was left had gone back at the gateway.
UPDATE new_refunds SET refused = 0, promised = s.rest
    FROM (SELECT r.id, GREATEST(0, LEAST(r.amount, p.amount - m.done
                - (CAST(SUM(r.amount) OVER (PARTITION BY p.id ORDER BY r.id) AS BIGINT) - r.amount))) AS rest
        FROM refunds r JOIN refund_payments m ON m.refund_id = r.id JOIN payments p ON p.id = m.payment_id
        WHERE r.status = 'REFUSED' AND r.settled_by = 'GATEWAY' AND r.source <> 'OUTSIDE'
            AND EXISTS (SELECT 1 FROM new_disputes d WHERE d.payment_id = p.id AND d.currency = p.currency
                AND d.status IN ('OPEN', 'LOST'))) s
    WHERE new_refunds.id = s.id AND s.rest > 0;
-- What is to be given back by hand for orders without a refund that the gateway has refused, and what was given back by
-- hand.
CREATE TEMP TABLE manual_refunds AS
    SELECT o.id AS order_id, o.manual_refund_due - COALESCE(r.owed, 0) AS due,
        o.refunded - o.manual_refund_due - COALESCE(r.done, 0) AS done
    FROM orders o LEFT JOIN (SELECT n.order_id, CAST(SUM(n.owed) AS BIGINT) AS owed,
            CAST(SUM(CASE WHEN n.status = 'DUE' OR n.status = 'DONE' THEN n.amount WHEN n.refused = 0 THEN n.promised
                ELSE 0 END) AS BIGINT) AS done
        FROM new_refunds n JOIN payments p ON p.id = n.payment_id WHERE p.purpose = 'ORDER' GROUP BY n.order_id) r
        ON r.order_id = o.id
    WHERE o.refunded > 0;
INSERT INTO new_refunds (id, organization_id, order_id, event_id, payment_id, source, amount, currency, status, by_gateway,
        promised, returned, owed, created_at, updated_at)
    -- A refund that was recorded in the same millisecond may have the id.
    SELECT CASE WHEN EXISTS (SELECT 1 FROM refunds r WHERE r.id = m.id) THEN m.id + 524288 ELSE m.id END,
        m.organization_id, m.order_id, m.event_id, m.payment_id, 'ORDER', m.amount, m.currency,
        CASE WHEN m.returned > 0 THEN 'DONE' ELSE 'DUE' END, 0, m.amount, m.returned, m.amount - m.returned, m.at, m.at
    FROM (SELECT (LEAST(COALESCE(o.cancelled_at, o.updated_at), 8796093022207) << 20)
                + ROW_NUMBER() OVER (ORDER BY p.id, h.returned DESC) % 524288 AS id,
            p.organization_id, p.order_id, p.event_id, p.id AS payment_id, p.currency, h.amount, h.returned,
            COALESCE(o.cancelled_at, o.updated_at) AS at
        FROM (SELECT order_id, due AS amount, 0 AS returned FROM manual_refunds WHERE due > 0
            UNION ALL SELECT order_id, done, done FROM manual_refunds WHERE done > 0) h
        JOIN payments p ON p.order_id = h.order_id AND p.purpose = 'ORDER' JOIN orders o ON o.id = p.order_id) m;

-- What earlier versions did not know: a refund of somebody else at the gateway pays what was decided, what a bank has taken
-- does not go back, and what a bank may take is not asked for. The oldest decisions come first.
CREATE TEMP TABLE refund_shares AS
    SELECT o.id, o.open, GREATEST(0, LEAST(o.open, o.rest - o.earlier)) AS share,
        GREATEST(0, LEAST(o.open, o.rest - o.earlier, LEAST(o.of_payment, o.rest) - o.disputed - o.earlier)) AS to_ask,
        GREATEST(0, LEAST(o.open, o.not_returned - o.earlier)) AS to_pay
    FROM (SELECT n.id, n.promised - n.returned AS open,
            CAST(SUM(n.promised - n.returned) OVER (PARTITION BY p.id ORDER BY n.id) AS BIGINT)
                - (n.promised - n.returned) AS earlier,
            CAST(SUM(n.promised - n.returned) OVER (PARTITION BY p.id) AS BIGINT) AS of_payment,
            p.amount - s.returned AS not_returned, p.amount - s.returned - COALESCE(d.taken, 0) AS rest,
            COALESCE(d.disputed, 0) AS disputed
        FROM new_refunds n JOIN payments p ON p.id = n.payment_id
        JOIN (SELECT payment_id, CAST(SUM(returned) AS BIGINT) AS returned FROM new_refunds GROUP BY payment_id) s
            ON s.payment_id = p.id
        LEFT JOIN (SELECT payment_id, currency, CAST(SUM(taken) AS BIGINT) AS taken,
                CAST(SUM(CASE WHEN status = 'OPEN' THEN amount ELSE 0 END) AS BIGINT) AS disputed
            FROM new_disputes GROUP BY payment_id, currency) d ON d.payment_id = p.id AND d.currency = p.currency
        WHERE n.promised > n.returned) o;
UPDATE new_refunds SET
        status = CASE WHEN new_refunds.status = 'DUE' AND s.share = 0 THEN 'REFUSED' ELSE new_refunds.status END,
        last_error = CASE WHEN new_refunds.status = 'DUE' AND s.share = 0
            THEN 'nothing of the payment is left: it has gone back, or a bank has taken it for a dispute' ELSE new_refunds.last_error END,
        promised = CASE WHEN new_refunds.to_ask > 0 AND s.to_pay > 0 THEN new_refunds.returned + s.to_pay ELSE new_refunds.promised END,
        to_ask = CASE WHEN new_refunds.to_ask > 0 THEN s.to_ask ELSE 0 END,
        next_attempt_at = CASE WHEN new_refunds.to_ask > 0 AND s.to_ask > 0 THEN new_refunds.next_attempt_at END,
        owed = LEAST(new_refunds.owed, s.share)
    FROM refund_shares s WHERE new_refunds.id = s.id;

-- Movements of money: what came in is more than 0, and what went out is less. No row is ever changed or removed.
CREATE TABLE ledger_entries (
    id BIGINT PRIMARY KEY,
    organization_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    order_id BIGINT NOT NULL,
    payment_id BIGINT NOT NULL REFERENCES payments (id),
    refund_id BIGINT,
    dispute_id BIGINT,
    -- The id of the refund, the dispute or else the payment.
    subject_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind = 'PAYMENT' OR kind = 'REFUND' OR kind = 'REFUND_FAILED' OR kind = 'DISPUTE'
        OR kind = 'DISPUTE_RETURNED'),
    -- In minor units of the currency.
    amount BIGINT NOT NULL CHECK (amount <> 0),
    currency TEXT COLLATE "C" NOT NULL,
    manual_method TEXT COLLATE "C",
    gateway TEXT COLLATE "C",
    account TEXT COLLATE "C",
    mode TEXT COLLATE "C" NOT NULL,
    -- The gateway's id of the payment, the refund or the dispute.
    reference TEXT COLLATE "C",
    -- The number of the movement among those of the same kind, subject and reference.
    occurrence BIGINT NOT NULL DEFAULT 1,
    note TEXT COLLATE "C",
    happened_at BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    -- The API key that recorded it.
    recorded_by BIGINT,
    backfilled BIGINT NOT NULL DEFAULT 0,
    CHECK ((kind = 'PAYMENT' OR kind = 'REFUND_FAILED' OR kind = 'DISPUTE_RETURNED') = (amount > 0))
);
INSERT INTO ledger_entries (id, organization_id, event_id, order_id, payment_id, refund_id, dispute_id, subject_id, kind,
        amount, currency, manual_method, gateway, account, mode, reference, happened_at, recorded_at, backfilled)
    SELECT (LEAST(m.at, 8796093022207) << 20) + ROW_NUMBER() OVER (ORDER BY m.at, m.turn, m.id) % 1048576, p.organization_id, p.event_id, p.order_id, p.id, m.refund_id,
        m.dispute_id, COALESCE(m.refund_id, m.dispute_id, p.id), m.kind, m.amount, p.currency, m.manual_method, CASE WHEN m.manual_method IS NULL THEN p.gateway END,
        CASE WHEN m.manual_method IS NULL THEN p.account END,
        CASE WHEN m.manual_method IS NULL THEN p.mode ELSE 'LIVE' END, m.reference, m.at, m.at, 1
    FROM (SELECT id, id AS payment_id, CAST(NULL AS BIGINT) AS refund_id, CAST(NULL AS BIGINT) AS dispute_id, 'PAYMENT' AS kind, amount, manual_method,
            reference, created_at AS at, 1 AS turn FROM payments
        UNION ALL
        SELECT n.id, n.payment_id, n.id, NULL, 'REFUND', -n.returned,
            CASE WHEN n.status = 'REFUSED' OR n.by_gateway = 0 THEN 'OTHER' END, n.reference, n.updated_at, 2
            FROM new_refunds n WHERE n.returned > 0
        UNION ALL
        SELECT id, payment_id, NULL, id, 'DISPUTE', -taken, NULL, reference, updated_at, 3
            FROM new_disputes WHERE taken > 0) m
    JOIN payments p ON p.id = m.payment_id;
-- list_ledger_entries
CREATE INDEX ledger_entries_by_organization ON ledger_entries (organization_id, id);
-- list_ledger_entries by time: the exceptions from the rule that an id begins with the time of recording
CREATE INDEX ledger_entries_with_later_id ON ledger_entries (organization_id, id) WHERE recorded_at < (id >> 20) - 1000;
-- list_ledger_entries of an event
CREATE INDEX ledger_entries_by_event ON ledger_entries (event_id, id);
-- the movements of a payment; a movement that the gateway reports again
CREATE UNIQUE INDEX ledger_entries_by_payment ON ledger_entries (payment_id, kind, subject_id, reference, occurrence);

UPDATE payments SET returned = s.returned, promised = s.promised, owed = s.owed
    FROM (SELECT payment_id, CAST(SUM(returned) AS BIGINT) AS returned, CAST(SUM(promised) AS BIGINT) AS promised,
            CAST(SUM(owed) AS BIGINT) AS owed FROM new_refunds GROUP BY payment_id) s
    WHERE payments.id = s.payment_id;
UPDATE payments SET taken = s.taken, disputed = s.disputed
    FROM (SELECT d.payment_id, CAST(SUM(d.taken) AS BIGINT) AS taken,
            CAST(SUM(CASE WHEN d.status = 'OPEN' THEN d.amount ELSE 0 END) AS BIGINT) AS disputed
        FROM new_disputes d JOIN payments p ON p.id = d.payment_id WHERE d.currency = p.currency GROUP BY d.payment_id) s
    WHERE payments.id = s.payment_id;

-- Nothing is left of a payment that was given back by hand.
UPDATE orders SET payment_status = 'REFUNDED' WHERE payment_status = 'COMPLETED' AND EXISTS (SELECT 1 FROM payments p
    WHERE p.order_id = orders.id AND p.manual_method IS NULL AND p.purpose <> 'OTHER' AND p.returned >= p.amount);

DROP TABLE other_payments;
DROP TABLE refund_payments;
DROP TABLE manual_refunds;
DROP TABLE refund_shares;
DROP TABLE refunds;
ALTER TABLE new_refunds RENAME TO refunds;
DROP TABLE disputes;
ALTER TABLE new_disputes RENAME TO disputes;
-- the refunds to attempt
CREATE INDEX refunds_due ON refunds (next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
-- the number of refunds that are due
CREATE INDEX refunds_open ON refunds (id) WHERE status = 'DUE' AND by_gateway = 1;
-- list_refunds by status
CREATE INDEX refunds_by_status ON refunds (organization_id, status, id);
-- list_refunds of an event
CREATE INDEX refunds_by_event ON refunds (event_id, status, id);
-- list_refunds of an order
CREATE INDEX refunds_by_order ON refunds (order_id, status, id);
-- the refunds of a payment whose money has not gone back
CREATE INDEX refunds_of_payment ON refunds (payment_id, id) WHERE promised > returned;
-- the number of refunds that have to be made by hand, among many that were made
CREATE INDEX refunds_owed ON refunds (owed) WHERE owed > 0;
-- the refunds to ask the gateway about
CREATE INDEX refunds_to_check ON refunds (check_at, id) WHERE check_at IS NOT NULL;
-- a dispute that the gateway reports again
CREATE UNIQUE INDEX disputes_by_reference ON disputes (order_id, reference);
-- list_disputes by status
CREATE INDEX disputes_by_status ON disputes (organization_id, status, id);
-- list_disputes of an event
CREATE INDEX disputes_by_event ON disputes (event_id, status, id);
-- list_disputes of an order
CREATE INDEX disputes_by_order ON disputes (order_id, status, id);
-- the number of open disputes, among many that are decided
CREATE INDEX disputes_open ON disputes (id) WHERE status = 'OPEN';
-- the disputes to ask the gateway about
CREATE INDEX disputes_to_check ON disputes (check_at, id) WHERE check_at IS NOT NULL;

-- What was given back by hand of the payments that completed orders, what has to be given back of these and of all payments,
-- and what banks have taken. They are counted in the ticket type of their order with the lowest id.
ALTER TABLE ticket_types ADD COLUMN manually_refunded_total BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN owed_total BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN disputed_total BIGINT NOT NULL DEFAULT 0;
-- The lower 32 bits and the rest are summed apart, because the sum may exceed 64 bits.
UPDATE ticket_types SET
        manual_refund_total = CASE WHEN s.due_high + (s.due_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.due_high + (s.due_low >> 32)) << 32) + (s.due_low & 4294967295) END,
        manually_refunded_total = CASE WHEN s.manual_high + (s.manual_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.manual_high + (s.manual_low >> 32)) << 32) + (s.manual_low & 4294967295) END,
        owed_total = CASE WHEN s.owed_high + (s.owed_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.owed_high + (s.owed_low >> 32)) << 32) + (s.owed_low & 4294967295) END,
        disputed_total = CASE WHEN s.taken_high + (s.taken_low >> 32) > 2147483647 THEN 9223372036854775807
            ELSE ((s.taken_high + (s.taken_low >> 32)) << 32) + (s.taken_low & 4294967295) END
    FROM (SELECT first_type,
            CAST(SUM(due >> 32) AS BIGINT) AS due_high, CAST(SUM(due & 4294967295) AS BIGINT) AS due_low,
            CAST(SUM(manual >> 32) AS BIGINT) AS manual_high, CAST(SUM(manual & 4294967295) AS BIGINT) AS manual_low,
            CAST(SUM(owed >> 32) AS BIGINT) AS owed_high, CAST(SUM(owed & 4294967295) AS BIGINT) AS owed_low,
            CAST(SUM(taken >> 32) AS BIGINT) AS taken_high, CAST(SUM(taken & 4294967295) AS BIGINT) AS taken_low
        FROM (SELECT (SELECT MIN(i.ticket_type_id) FROM order_items i WHERE i.order_id = p.order_id) AS first_type,
                CASE WHEN p.purpose = 'ORDER' THEN (SELECT CAST(COALESCE(-SUM(e.amount), 0) AS BIGINT) FROM ledger_entries e
                    WHERE e.payment_id = p.id AND e.kind = 'REFUND' AND e.manual_method IS NOT NULL) ELSE 0 END AS manual,
                CASE WHEN p.purpose = 'ORDER' THEN p.owed ELSE 0 END AS due, p.owed, p.taken
            FROM payments p JOIN orders o ON o.id = p.order_id AND o.currency = p.currency
            WHERE p.returned > 0 OR p.owed > 0 OR p.taken > 0) counted
        GROUP BY first_type) s
    WHERE ticket_types.id = s.first_type;

DROP INDEX checkouts_by_payment;
ALTER TABLE checkouts DROP COLUMN payment_reference;
ALTER TABLE orders DROP COLUMN refunded;
ALTER TABLE orders DROP COLUMN manual_refund_due;
