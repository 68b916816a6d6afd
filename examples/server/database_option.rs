//! The option `--database`: a file, or the URL of a PostgreSQL database.

use std::fmt;
use std::path::PathBuf;

use ticketing::{Builder, TicketingService};

use crate::failure::{Failure, usage};
use crate::raw_options::{RawOptions, RawValue};

/// The options of the database, which every command accepts.
pub(crate) const OPTIONS: [&str; 2] = ["database", "database-password-file"];

/// Where the database is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Database {
    File(PathBuf),
    Postgres(PostgresDatabase),
}

/// A PostgreSQL database, and how its password is found.
#[derive(PartialEq, Eq)]
pub(crate) struct PostgresDatabase {
    url: String,
    /// The file with the password.
    password_file: Option<PathBuf>,
    /// The password of the environment.
    password: Option<String>,
    /// The URL of the standby that serves reads.
    read_from: Option<String>,
}

impl fmt::Debug for PostgresDatabase {
    /// Without the URL, which may have the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresDatabase").field("password_file", &self.password_file).finish_non_exhaustive()
    }
}

impl Database {
    /// Reads the options of the database.
    pub(crate) fn read(options: &RawOptions) -> Result<Self, Failure> {
        let database = Self::parse(options.raw("database"), password_file(options)?, options)?;
        let Some(RawValue { source, value }) = options.raw("read-from") else { return Ok(database) };
        match (database, value.to_str()) {
            (Self::File(_), _) => Err(usage(format!("{source} is for PostgreSQL databases"))),
            (Self::Postgres(_), Some(url)) if source.starts_with("--") && has_password(url) => {
                Err(usage(format!("{source} must have no password: set PGPASSWORD or --database-password-file")))
            }
            (Self::Postgres(database), Some(url)) => {
                Ok(Self::Postgres(PostgresDatabase { read_from: Some(url.to_owned()), ..database }))
            }
            (Self::Postgres(_), None) => Err(usage(format!("{source} is not UTF-8"))),
        }
    }

    /// Reads the options of the command `copy`: the file, and the database to which it is copied, which has the password.
    pub(crate) fn read_copy(options: &RawOptions) -> Result<(Self, Self), Failure> {
        let to = options.raw("to").ok_or_else(|| usage("copy needs --to"))?;
        let source = match Self::parse(options.raw("database"), None, options)? {
            file @ Self::File(_) => file,
            Self::Postgres(_) => return Err(usage("--database must be a database file")),
        };
        match Self::parse(Some(to), password_file(options)?, options)? {
            Self::File(_) => Err(usage("--to must be the URL of a PostgreSQL database")),
            target @ Self::Postgres(_) => Ok((source, target)),
        }
    }

    /// Reads a file or a URL. A URL with a password is refused on the command line, which other users of the machine can
    /// read.
    fn parse(raw: Option<RawValue>, password_file: Option<RawValue>, options: &RawOptions) -> Result<Self, Failure> {
        let Some(RawValue { source, value }) = raw else {
            return Self::file_without_password("ticketing.db".into(), password_file);
        };
        if value.is_empty() {
            return Err(usage(format!("{source} must not be empty")));
        }
        let Some(url) = value.to_str().filter(|value| is_url(value)) else {
            return Self::file_without_password(value.into(), password_file);
        };
        if source.starts_with("--") && has_password(url) {
            return Err(usage(format!("{source} must have no password: set PGPASSWORD or --database-password-file")));
        }
        if cfg!(not(feature = "postgres")) {
            return Err(usage(format!("{source}: {NOT_COMPILED}")));
        }
        let password = options.variable("PGPASSWORD").filter(|password| !password.is_empty() && !has_password(url));
        let password =
            password.map(|text| text.into_string().map_err(|_| usage("PGPASSWORD is not UTF-8"))).transpose()?;
        let password_file = password_file.map(|raw| raw.value.into());
        Ok(Self::Postgres(PostgresDatabase { url: url.to_owned(), password_file, password, read_from: None }))
    }

    fn file_without_password(path: PathBuf, password_file: Option<RawValue>) -> Result<Self, Failure> {
        match password_file {
            None => Ok(Self::File(path)),
            Some(raw) => Err(usage(format!("{} is for PostgreSQL databases", raw.source))),
        }
    }

    /// The builder of a service on the database.
    pub(crate) fn builder(&self) -> Result<Builder, Failure> {
        match self {
            Self::File(path) => Ok(TicketingService::builder(path)),
            Self::Postgres(database) => database.builder(),
        }
    }

    /// The builder for a command, which migrates nothing: an older server may use the database. It creates the database
    /// only if `create` is true.
    pub(crate) fn builder_of_command(&self, create: bool) -> Result<Builder, Failure> {
        if let Self::File(path) = self
            && !create
            && !path.exists()
        {
            return Err(Failure::Run(format!("there is no database at {}", path.display())));
        }
        let builder = self.builder()?.readers(1).migrate(false);
        #[cfg(feature = "postgres")]
        if let Self::Postgres(_) = self {
            return Ok(builder.create_tables(create));
        }
        Ok(builder)
    }

    /// The path of a file. Another database is refused because of `problem`.
    pub(crate) fn file(&self, problem: &str) -> Result<&PathBuf, Failure> {
        match self {
            Self::File(path) => Ok(path),
            Self::Postgres(_) => Err(Failure::Run(problem.to_owned())),
        }
    }
}

fn password_file(options: &RawOptions) -> Result<Option<RawValue>, Failure> {
    match options.raw("database-password-file") {
        Some(raw) if raw.value.is_empty() => Err(usage(format!("{} must not be empty", raw.source))),
        raw => Ok(raw),
    }
}

const NOT_COMPILED: &str = "a PostgreSQL database needs a program that is compiled with the feature postgres: \
    cargo run --example server --features server,postgres";

impl PostgresDatabase {
    #[cfg(feature = "postgres")]
    fn builder(&self) -> Result<Builder, Failure> {
        let mut builder = TicketingService::postgres(&self.url)?;
        if let Some(url) = &self.read_from {
            builder = builder.read_from(url);
        }
        Ok(match self.password()? {
            Some(password) => builder.database_password(password),
            None => builder,
        })
    }

    #[cfg(not(feature = "postgres"))]
    fn builder(&self) -> Result<Builder, Failure> {
        Err(usage(NOT_COMPILED))
    }

    /// The password in the file, or else that of the environment.
    #[cfg(feature = "postgres")]
    fn password(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.password_file else { return Ok(self.password.clone()) };
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Run(format!("cannot read {}: {error}", path.display())))?;
        match text.trim_end_matches(['\r', '\n']) {
            "" => Err(Failure::Run(format!("{} has no password", path.display()))),
            password => Ok(Some(password.to_owned())),
        }
    }
}

/// Whether a value of `--database` is the URL of a PostgreSQL database.
pub(crate) fn is_url(value: &str) -> bool {
    value.starts_with("postgres://") || value.starts_with("postgresql://")
}

/// Whether a URL has a password: before the host, or as a parameter.
pub(crate) fn has_password(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = path.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    authority || query.split('&').any(|parameter| parameter.starts_with("password="))
}
