//! How a database is opened.

use std::time::Duration;

use super::sqlite::Location;

/// Where the database is, and the options that only its engine has.
pub(crate) enum EngineOptions {
    Sqlite {
        location: Location,
        migration: MigrationOptions,
    },
    #[cfg(feature = "postgres")]
    Postgres(Box<super::postgres::PostgresOptions>),
}

#[cfg(test)]
impl EngineOptions {
    /// A database file, with the default settings.
    pub(crate) fn file(location: Location) -> Self {
        Self::Sqlite { location, migration: MigrationOptions::default() }
    }
}

/// The connections that only read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReaderOptions {
    /// How many connections there are for look-ups.
    pub(crate) connections: usize,
    /// How long a read may take that looks at many rows.
    pub(crate) max_scan_time: Duration,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { connections: 8, max_scan_time: Duration::from_secs(2) }
    }
}

/// What is done with an older schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MigrationOptions {
    /// Whether it is migrated, or refused.
    pub(crate) migrate: bool,
    /// Whether a copy from before is kept.
    pub(crate) keep_copy: bool,
}

impl Default for MigrationOptions {
    fn default() -> Self {
        Self { migrate: true, keep_copy: true }
    }
}
