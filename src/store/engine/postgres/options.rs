//! Where a PostgreSQL database is, and how it is connected to.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use postgres::Config;

use crate::error::{FieldErrors, Result};

/// The URL of a database, and how many connections there are to it.
#[derive(Clone)]
pub(crate) struct PostgresOptions {
    pub(crate) config: Config,
    /// How many connections there are for writes.
    pub(crate) writers: usize,
    /// Whether transactions take the time from the server.
    pub(crate) clock_of_server: bool,
    /// Whether the tables are created in a database that has none.
    pub(crate) create_tables: bool,
    /// Whether an older schema is migrated, or refused.
    pub(crate) migrate: bool,
}

impl PostgresOptions {
    /// Reads a URL, as RFC 3986 and PostgreSQL's documentation of connection URIs define it.
    /// An error names `setting`.
    pub(crate) fn parse(url: &str, setting: &str) -> Result<Self> {
        let mut errors = FieldErrors::default();
        let parsed = Config::from_str(url);
        // The message of the error could contain a part of the password.
        errors.check(parsed.is_ok(), setting, "must be a PostgreSQL connection URL, such as postgres://host/database");
        errors.into_result()?;
        let mut config = parsed.unwrap_or_default();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        if config.get_application_name().is_none() {
            config.application_name("ticketing");
        }
        Ok(Self { config, writers: 16, clock_of_server: false, create_tables: true, migrate: true })
    }

    /// Sets the password of the user.
    pub(crate) fn set_password(&mut self, password: &str) {
        self.config.password(password);
    }

    /// Sets whether transactions take the time from the server.
    pub(crate) fn with_clock_of_server(self, clock_of_server: bool) -> Self {
        Self { clock_of_server, ..self }
    }

    /// Sets whether an older schema is migrated, or refused.
    pub(crate) fn with_migrate(self, migrate: bool) -> Self {
        Self { migrate, ..self }
    }
}

impl fmt::Debug for PostgresOptions {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, writers, .. } = self;
        f.debug_struct("PostgresOptions")
            .field("hosts", &config.get_hosts())
            .field("database", &config.get_dbname())
            .field("writers", writers)
            .finish_non_exhaustive()
    }
}
