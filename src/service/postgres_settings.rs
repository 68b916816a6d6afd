//! The settings of a [`Builder`] that only a PostgreSQL database has.

use super::TicketingService;
use super::builder::{Builder, Database};
use crate::error::Result;
use crate::store::PostgresOptions;

/// # Opening
impl TicketingService {
    /// Returns a builder, which sets up a service on a PostgreSQL database. Several processes, on one machine or on many,
    /// can open the same database.
    ///
    /// `url` is a [connection URI](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS), such
    /// as `postgres://ticketing@db.example.com/ticketing`. With several hosts, the first one that accepts writes is used:
    /// `postgres://ticketing@db1.example.com,db2.example.com/ticketing?target_session_attrs=read-write`. Connections that
    /// are opened after a failover then go to the new primary. Of the parameters after the `?`, these are known:
    /// `application_name`, `channel_binding`, `connect_timeout` in seconds for each host (default: 5), `keepalives`,
    /// `keepalives_idle`, `keepalives_interval`, `keepalives_retries`, `load_balance_hosts`, `options`, `sslmode`,
    /// `target_session_attrs` and `tcp_user_timeout`.
    ///
    /// The tables are in the first schema of the `search_path`. The encoding of the database must be UTF-8.
    ///
    /// A service opens connections when it needs them: up to 16 that write, as many as there are
    /// [readers](Builder::readers), and half as many again for searches. With the defaults, that is 28. The server's
    /// `max_connections` must suffice for all processes together.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) if `url` is not a connection URL.
    ///
    /// ```no_run
    /// use ticketing::TicketingService;
    /// let service = TicketingService::postgres("postgres://ticketing@127.0.0.1/ticketing")?
    ///     .database_password("from a file of your own")
    ///     .maintenance()
    ///     .open()?;
    /// # Ok::<(), ticketing::Error>(())
    /// ```
    pub fn postgres(url: &str) -> Result<Builder> {
        Ok(Builder::new(Database::Postgres(Box::new(PostgresOptions::parse(url, "url")?))))
    }
}

/// # The PostgreSQL database
///
/// A database file has none of these settings: opening one fails if they are set.
impl Builder {
    /// Sets the password of the user. Default: the one in the URL, if there is one.
    pub fn database_password(self, password: impl Into<String>) -> Self {
        let password = password.into();
        self.set_postgres("database_password", |options| options.set_password(&password))
    }

    /// Sets whether the tables are created in a database that has none. Default: true. If false, opening such a database
    /// fails, which suits tools that must not create anything.
    pub fn create_tables(self, create: bool) -> Self {
        self.set_postgres("create_tables", |options| options.create_tables = create)
    }

    fn set_postgres(mut self, setting: &'static str, set: impl FnOnce(&mut PostgresOptions)) -> Self {
        match &mut self.database {
            Database::Postgres(options) => set(options),
            Database::File(_) | Database::Temporary => {
                self.misplaced.push((setting, "is a setting of PostgreSQL databases"));
            }
        }
        self
    }
}
