-- Cancelled events whose pending orders are still to be cancelled: that is done in batches after the cancellation.
CREATE TABLE event_cancellations (
    event_id INTEGER PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE
) STRICT;
