-- The locale of the holder, where the organizer issued the ticket. Tickets of an order have the language of the order.
ALTER TABLE tickets ADD COLUMN locale TEXT;
