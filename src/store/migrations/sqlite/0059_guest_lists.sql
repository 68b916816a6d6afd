-- Allocations: tickets that are set aside, and tickets that were sold elsewhere.
CREATE TABLE allocations (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    -- No REFERENCES, as in tickets.
    ticket_type_id INTEGER NOT NULL,
    -- Whether its tickets have the codes of another seller.
    is_import INTEGER NOT NULL CHECK (is_import IN (0, 1)),
    name TEXT NOT NULL,
    -- How many tickets it is to have. While it is ISSUING, it reserves the seats of those that are not issued.
    quantity INTEGER NOT NULL CHECK (quantity >= 1),
    issued INTEGER NOT NULL DEFAULT 0 CHECK (issued BETWEEN 0 AND quantity),
    state TEXT NOT NULL
        CHECK (state = 'ISSUING' OR state = 'COMPLETE' OR state = 'CANCELLING' OR state = 'CANCELLED'),
    -- The last ticket that a cancellation has looked at. The others follow in the order of their ids.
    last_ticket INTEGER NOT NULL DEFAULT 0,
    reference TEXT,
    metadata TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX allocations_by_state ON allocations (organization_id, state);
CREATE INDEX allocations_by_event ON allocations (event_id);
CREATE INDEX allocations_by_ticket_type ON allocations (ticket_type_id);

-- The labels of the tickets that are not issued: a row for each batch.
CREATE TABLE allocation_labels (
    allocation_id INTEGER NOT NULL REFERENCES allocations (id) ON DELETE CASCADE,
    -- The number of the first ticket of the batch, from 0.
    first_ticket INTEGER NOT NULL CHECK (first_ticket >= 0),
    -- A JSON array.
    labels TEXT NOT NULL,
    PRIMARY KEY (allocation_id, first_ticket)
) STRICT;

-- A ticket of an allocation has no customer until one is assigned, and an imported one has no code of ours. This changes the
-- text of the table and not its rows: https://www.sqlite.org/lang_altertable.html#otheralter describes it for constraints.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = REPLACE(REPLACE(REPLACE(sql,
        'customer_id INTEGER NOT NULL REFERENCES', 'customer_id INTEGER REFERENCES'),
        'customer_name TEXT NOT NULL', 'customer_name TEXT'),
        'code TEXT NOT NULL CHECK', 'code TEXT CHECK')
    WHERE type = 'table' AND name = 'tickets';
PRAGMA writable_schema = RESET;
ALTER TABLE tickets ADD COLUMN allocation_id INTEGER REFERENCES allocations (id);
ALTER TABLE tickets ADD COLUMN label TEXT;
-- The code of another seller, in place of `code`.
ALTER TABLE tickets ADD COLUMN imported_code TEXT;
CREATE INDEX tickets_of_allocation ON tickets (allocation_id, status) WHERE allocation_id IS NOT NULL;
-- An imported code is unique among the valid tickets of an event. A cancelled one is found too.
CREATE UNIQUE INDEX tickets_by_imported_code ON tickets (organization_id, imported_code, event_id)
    WHERE imported_code IS NOT NULL AND status <> 'CANCELLED';
CREATE INDEX tickets_by_cancelled_code ON tickets (organization_id, imported_code, event_id)
    WHERE imported_code IS NOT NULL AND status = 'CANCELLED';

-- The sold seats whose tickets have no order: those that the organizer has issued, and imported ones.
ALTER TABLE ticket_types ADD COLUMN issued_tickets INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticket_types ADD COLUMN imported_tickets INTEGER NOT NULL DEFAULT 0;
UPDATE ticket_types SET issued_tickets = issued.tickets
    FROM (SELECT ticket_type_id, COUNT(*) AS tickets FROM tickets
        WHERE order_id IS NULL AND status <> 'CANCELLED' GROUP BY ticket_type_id) issued
    WHERE issued.ticket_type_id = ticket_types.id;
