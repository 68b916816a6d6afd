-- How often the link of a ticket was renewed. The link of an earlier version is dead.
ALTER TABLE tickets ADD COLUMN link_version INTEGER NOT NULL DEFAULT 0;

-- The secret with which the links of tickets and orders are made, in hexadecimal. It is made when documents are first
-- switched on.
CREATE TABLE link_secret (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    secret TEXT NOT NULL CHECK (LENGTH(secret) = 64)
) STRICT;
