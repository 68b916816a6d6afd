//! A PostgreSQL database, and how it is connected to.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

use crate::error::Result;
use crate::store::PostgresOptions;

/// A PostgreSQL database, and how it is connected to: what
/// [`TicketingService::postgres`](crate::TicketingService::postgres) takes.
///
/// ```no_run
/// use ticketing::{PostgresDatabase, TicketingService};
/// let database = PostgresDatabase::new("postgres://ticketing@db1.example.com/ticketing?sslmode=require")?
///     .password("from a file of your own")
///     .read_from("postgres://ticketing@db2.example.com/ticketing?sslmode=require")?;
/// let service = TicketingService::postgres(database).maintenance().open()?;
/// # Ok::<(), ticketing::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct PostgresDatabase(pub(in crate::service) Box<PostgresOptions>);

impl PostgresDatabase {
    /// The database with this URL. Nothing is connected to yet.
    ///
    /// `url` is a [connection URI](https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS),
    /// such as `postgres://ticketing@db.example.com/ticketing`. With several hosts, the first one that accepts writes
    /// is used, so that connections go to the new primary after a failover:
    /// `postgres://ticketing@db1.example.com,db2.example.com/ticketing?target_session_attrs=read-write`. Of the
    /// parameters after the `?`, these are known: `application_name`, `channel_binding`, `connect_timeout` in seconds
    /// for each host (default: 5), `keepalives`, `keepalives_idle`, `keepalives_interval`, `keepalives_retries`,
    /// `load_balance_hosts`, `options`, `sslmode`, `sslnegotiation`, `sslrootcert`, `target_session_attrs` and
    /// `tcp_user_timeout`.
    ///
    /// `sslmode` says how connections are encrypted, with TLS 1.2 or 1.3:
    ///
    /// - `require` or `verify-full`: always. The certificate of the server must be valid for the host in the URL, and
    ///   be issued by a public authority, or by one of the certificates in the PEM file that `sslrootcert` names:
    ///   `?sslmode=require&sslrootcert=/etc/ticketing/root.pem`. Use this on every network that is not your own.
    /// - `no-verify`: always, but the certificate is not verified. An attacker on the network can pretend to be the
    ///   server.
    /// - `prefer`, the default: if the server offers it, without verification.
    /// - `disable`: never.
    ///
    /// In libpq, `require` does not verify the certificate; this crate does. With a password, both sides also prove
    /// that nobody is between them (SCRAM with channel binding) if the server supports it; `channel_binding=require`
    /// insists.
    ///
    /// The tables are in the first schema of the `search_path`. The encoding of the database must be UTF-8.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for `url` if it is not a connection URL.
    pub fn new(url: &str) -> Result<Self> {
        Ok(Self(Box::new(PostgresOptions::of_primary(url)?)))
    }

    /// Sets the password of the user. Default: the one in the URL, if there is one.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.0.config.password(password.into());
        self
    }

    /// Sets the implementation of cryptography for TLS, which rustls calls a provider. Default: the default of the
    /// process, or *ring* if the process has none and the feature `ring` is enabled. Without any, `sslmode=prefer` does
    /// not encrypt, and opening the database fails if encryption is required.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use rustls::crypto::ring; // or aws_lc_rs
    /// use ticketing::PostgresDatabase;
    ///
    /// let url = "postgres://ticketing@db.example.com/ticketing?sslmode=require";
    /// let database = PostgresDatabase::new(url)?.crypto_provider(Arc::new(ring::default_provider()));
    /// # Ok::<(), ticketing::Error>(())
    /// ```
    pub fn crypto_provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.0.crypto_provider = Some(provider);
        self
    }

    /// Sets whether the tables are created in a database that has none. Default: true. If false, opening such a
    /// database fails, which suits tools that must not create anything.
    pub fn create_tables(mut self, create: bool) -> Self {
        self.0.create_tables = create;
        self
    }

    /// Sets the URL of a standby, a hot one with streaming replication, that serves the reads which may look at many
    /// rows. Default: the primary serves all.
    ///
    /// A standby is a moment behind the primary, usually milliseconds. So these reads may miss what was just written:
    ///
    /// - lists with filters and searches;
    /// - [`on_one_snapshot`](crate::TicketingService::on_one_snapshot) and every read inside it;
    /// - [`check`](crate::TicketingService::check),
    ///   [`get_organization_usage`](crate::TicketingService::get_organization_usage),
    ///   [`list_organization_usage`](crate::TicketingService::list_organization_usage) and the backlog of webhooks in
    ///   the metrics.
    ///
    /// All others see every committed change, because the primary serves them: authentication, everything that is read
    /// by its id or code, summaries, lists without filters, what an operation reads before it writes, and the reads of
    /// background work.
    ///
    /// If the standby cannot be read, the primary serves these reads too, and a warning is logged once; every 5
    /// seconds, the standby is tried again. A read that is running when the standby ends fails with
    /// [`Error::Unavailable`](crate::Error::Unavailable), and so does one that the standby cancels because the primary
    /// deleted the rows that it reads: `hot_standby_feedback = on` avoids that. How far the standby is behind is not
    /// checked: monitor it.
    ///
    /// The password is that of [`password`](Self::password), unless the URL has another.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for `read_from` if `url` is not a connection URL.
    pub fn read_from(mut self, url: &str) -> Result<Self> {
        self.0.read_from = Some(Box::new(PostgresOptions::of_standby(url)?));
        Ok(self)
    }
}
