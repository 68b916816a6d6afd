-- The wall-clock time of a maintenance run that acted on it, to notice at the next start that the clock jumped ahead.
CREATE TABLE maintenance_clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    believed_at INTEGER NOT NULL
) STRICT;
