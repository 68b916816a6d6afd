-- the number of keys that are not revoked, and their suspension: there may be any number of revoked ones
CREATE INDEX api_keys_usable ON api_keys (organization_id) WHERE revoked_at IS NULL;
-- whether the currency of an event may change: there may be any number of discounts without an amount
CREATE INDEX discounts_with_amounts ON discounts (event_id) WHERE type = 'FIXED_AMOUNT' OR minimum_purchase IS NOT NULL;
