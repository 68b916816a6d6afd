-- Logos of ticket types, apart from the numbers of seats: a sale changes these, and SQLite would write the logo again.
CREATE TABLE ticket_logos (
    ticket_type_id INTEGER PRIMARY KEY REFERENCES ticket_types (id) ON DELETE CASCADE,
    logo TEXT NOT NULL
) STRICT;
INSERT INTO ticket_logos (ticket_type_id, logo) SELECT id, ticket_logo FROM ticket_types WHERE ticket_logo IS NOT NULL;
ALTER TABLE ticket_types DROP COLUMN ticket_logo;
