-- Logos of ticket types, apart from the numbers of seats, as in a file of SQLite.
CREATE TABLE ticket_logos (
    ticket_type_id BIGINT PRIMARY KEY REFERENCES ticket_types (id) ON DELETE CASCADE,
    logo TEXT COLLATE "C" NOT NULL
);
INSERT INTO ticket_logos (ticket_type_id, logo) SELECT id, ticket_logo FROM ticket_types WHERE ticket_logo IS NOT NULL;
ALTER TABLE ticket_types DROP COLUMN ticket_logo;
