-- The local time at which days of the event begin, HH:MM. NULL means midnight.
ALTER TABLE events ADD COLUMN day_starts_at TEXT;
