//! How a PostgreSQL database is connected to and opened.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use postgres::{Client, NoTls};
use rustls::crypto::CryptoProvider;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::net::errors::cannot_open;
use super::net::hosts::{FirstHost, MAX_CONNECT_TIME};
use super::net::pipelining_client::PipeliningClient;
use super::net::tls::{self, Encryption};
use super::writing::server_clock::ServerClock;
use crate::error::{FieldErrors, Result};

/// The URL of a database, and how many connections there are to it.
#[derive(Clone)]
pub(crate) struct PostgresOptions {
    pub(crate) config: Config,
    first_host: FirstHost,
    encryption: Encryption,
    /// The file with the certificates that are trusted; `None` for those of the web PKI.
    root_certificates: Option<PathBuf>,
    /// `None` if connections are not encrypted, or before [`prepare`](Self::prepare).
    tls: Option<MakeRustlsConnect>,
    /// The setting that the URL comes from, which errors name.
    setting: &'static str,
    pub(crate) writers: usize,
    pub(super) server_clock: ServerClock,
    /// Whether the clock of the server is that of the service.
    pub(super) uses_server_clock: bool,
    /// Whether the tables are created in a database that has none.
    pub(crate) create_tables: bool,
    /// Whether an older schema is migrated, or refused.
    pub(crate) migrate: bool,
    /// The implementation of cryptography for TLS; `None` for the default.
    pub(crate) crypto_provider: Option<Arc<CryptoProvider>>,
    /// The standby that serves reads which may look at many rows.
    pub(crate) read_from: Option<Box<PostgresOptions>>,
}

impl PostgresOptions {
    /// Reads the URL of the database. An error names `url`. Of several hosts, the one that accepts writes is used.
    pub(crate) fn of_primary(url: &str) -> Result<Self> {
        Self::parse(url, "url", TargetSessionAttrs::ReadWrite)
    }

    /// Reads the URL of a standby. An error names `read_from`. Of several hosts, the first that is a standby is used.
    pub(crate) fn of_standby(url: &str) -> Result<Self> {
        Self::parse(url, "read_from", TargetSessionAttrs::ReadOnly)
    }

    /// Reads a URL, as RFC 3986 and PostgreSQL's documentation of connection URIs define it. An error names `setting`,
    /// and has no part of the URL, which may contain a password.
    fn parse(url: &str, setting: &'static str, role: TargetSessionAttrs) -> Result<Self> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut errors = FieldErrors::default();
        let (mut encryption, mut root_certificates, mut others) = (Encryption::Preferred, None, Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => match Encryption::from_sslmode(value) {
                    Some(known) => encryption = known,
                    None => {
                        errors.add(setting, "sslmode must be disable, prefer, no-verify, require or verify-full");
                    }
                },
                Some(("sslrootcert", value)) => {
                    root_certificates = Some(PathBuf::from(&*percent_decode_str(value).decode_utf8_lossy()));
                }
                _ => others.push(parameter),
            }
        }
        let unused = root_certificates.is_some() && encryption != Encryption::Verified;
        errors.check(!unused, setting, "sslrootcert needs sslmode=require or sslmode=verify-full");
        let is_url = base.starts_with("postgres://") || base.starts_with("postgresql://");
        let parsed = Config::from_str(&format!("{base}?{}", others.join("&"))).ok().filter(|_| is_url);
        let problem =
            "must be a PostgreSQL connection URL, such as postgres://user@host/database, with known parameters";
        errors.check(parsed.is_some(), setting, problem);
        errors.into_result()?;
        let mut config = parsed.unwrap_or_default();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(MAX_CONNECT_TIME);
        }
        if config.get_application_name().is_none() {
            config.application_name("ticketing");
        }
        // A standby accepts connections too, and one of several hosts may be one.
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(role);
        }
        Ok(Self {
            config,
            first_host: FirstHost::default(),
            encryption,
            root_certificates,
            tls: None,
            setting,
            writers: 24,
            server_clock: ServerClock::default(),
            uses_server_clock: false,
            create_tables: true,
            migrate: true,
            crypto_provider: None,
            read_from: None,
        })
    }

    /// Makes the clock of the server that of the service.
    pub(crate) fn with_server_clock(self, server_clock: ServerClock) -> Self {
        Self { server_clock, uses_server_clock: true, ..self }
    }

    /// Prepares encryption, which reads the file with root certificates. A standby has the password and the
    /// implementation of cryptography of the primary, unless it has its own.
    pub(crate) fn prepare(mut self) -> Result<Self> {
        let provider = self.crypto_provider.clone();
        if let Some(mut standby) = self.read_from.take() {
            standby.crypto_provider.clone_from(&provider);
            if let (None, Some(password)) = (standby.config.get_password(), self.config.get_password()) {
                standby.config.password(password);
            }
            self.read_from = Some(Box::new(standby.prepare()?));
        }
        self.tls = tls::connector(self.encryption, self.root_certificates.as_ref(), provider, self.setting)?;
        self.config.ssl_mode(match self.encryption {
            Encryption::Disabled => SslMode::Disable,
            Encryption::Preferred => SslMode::Prefer,
            Encryption::Unverified | Encryption::Verified => SslMode::Require,
        });
        Ok(self)
    }

    /// Opens a connection for the statements of transactions, within `max_time`.
    pub(super) fn connect_pipelining(&self, max_time: Duration) -> Result<PipeliningClient> {
        match &self.tls {
            Some(tls) => PipeliningClient::connect(&self.config, &self.first_host, max_time, tls.clone()),
            None => PipeliningClient::connect(&self.config, &self.first_host, max_time, NoTls),
        }
    }

    /// Opens a connection of the crate `postgres`, which has no limit for the time until a host can be used. So the
    /// host that is connected to is one that has answered a moment ago.
    pub(super) fn connect(&self) -> Result<Client> {
        drop(self.connect_pipelining(Duration::MAX)?);
        let config = postgres::Config::from(self.first_host.only(&self.config));
        let connected = match &self.tls {
            Some(tls) => config.connect(tls.clone()),
            None => config.connect(NoTls),
        };
        connected.map_err(cannot_open)
    }
}

impl fmt::Display for PostgresOptions {
    /// The hosts and the name of the database, for the log: without the user and the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{separator}{name}")?,
                #[cfg(unix)]
                Host::Unix(folder) => write!(f, "{separator}{}", folder.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for PostgresOptions {
    /// Without the user and the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresOptions({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_the_hosts_and_the_database_and_neither_the_user_nor_the_password() {
        let url = "postgres://ticketing:secret@db1.example.com,db2.example.com:5433/tickets";
        let options = PostgresOptions::of_primary(url).expect("the options");
        assert_eq!(options.to_string(), "db1.example.com,db2.example.com/tickets");
    }
}
