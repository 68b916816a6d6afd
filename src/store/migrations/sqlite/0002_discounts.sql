CREATE TABLE discounts (
    id INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id),
    event_id INTEGER NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    code TEXT NOT NULL,
    -- The code in lower case.
    code_key TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('PERCENTAGE', 'FIXED_AMOUNT')),
    -- How much, as a number of units of which 10^value_decimals make one: a percentage, or an amount of the event's currency.
    value INTEGER NOT NULL CHECK (value >= 0),
    value_decimals INTEGER NOT NULL CHECK (value_decimals BETWEEN 0 AND 18),
    description TEXT,
    auto_apply INTEGER NOT NULL CHECK (auto_apply IN (0, 1)),
    usage_limit INTEGER CHECK (usage_limit >= 1),
    -- Orders stored as PENDING or COMPLETED with it.
    used_count INTEGER NOT NULL DEFAULT 0 CHECK (used_count >= 0),
    -- Whether any order ever used it: then it cannot be deleted.
    used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL CHECK (valid_to > valid_from),
    is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    minimum_purchase INTEGER CHECK (minimum_purchase >= 0),
    -- Ids as a JSON array of numbers; empty for every type of the event.
    applicable_ticket_types TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
-- the uniqueness of a code, the discount of a code
CREATE UNIQUE INDEX discounts_by_code ON discounts (event_id, code_key);
-- list_discounts
CREATE INDEX discounts_by_organization ON discounts (organization_id);
-- list_discounts of an event
CREATE INDEX discounts_by_event ON discounts (event_id);
-- create_order: the discounts that apply by themselves
CREATE INDEX discounts_automatic ON discounts (event_id) WHERE auto_apply = 1;

-- The discount that an order uses. No REFERENCES: deleting a discount would look through every order. Its column `used`
-- keeps it instead.
ALTER TABLE orders ADD COLUMN discount_id INTEGER;
