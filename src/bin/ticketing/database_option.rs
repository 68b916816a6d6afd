//! The option `--database`: a file, or the URL of a PostgreSQL database.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use ticketing::{Builder, DatabaseFile, TicketingService};

use super::failure::{Failure, usage};

/// The options of the database, which every command accepts.
#[derive(Args)]
#[command(next_help_heading = "Options of the database")]
pub(crate) struct DatabaseOptions {
    /// Database file, or the URL of a PostgreSQL database, such as postgres://USER@HOST/DATABASE, which needs the
    /// feature postgres. On the command line without a password
    #[arg(long, global = true, value_name = "DATABASE", env = "TICKETING_DATABASE", default_value = "ticketing.db")]
    database: PathBuf,
    /// File with the password for PostgreSQL. Otherwise, the variable PGPASSWORD has it
    #[arg(long, global = true, value_name = "PATH", env = "TICKETING_DATABASE_PASSWORD_FILE")]
    database_password_file: Option<PathBuf>,
    /// PostgreSQL standby that serves searches, lists with filters, and check [default: the database serves them]
    #[arg(long, global = true, value_name = "URL", env = "TICKETING_READ_FROM")]
    read_from: Option<String>,
}

/// Where the database is.
pub(crate) enum Database {
    File(PathBuf),
    Postgres(PostgresOptions),
}

/// The options of a PostgreSQL database. They are not `Debug`: they may have a password.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "there is no value of it"))]
pub(crate) struct PostgresOptions {
    url: String,
    password_file: Option<PathBuf>,
    /// The password of the environment.
    password: Option<String>,
    /// The URL of the standby that serves reads.
    read_from: Option<String>,
}

/// Refuses the URL of a database with a password on the command line, which other users of the machine can read.
pub(crate) fn refuse_passwords(arguments: &[OsString]) -> Result<(), Failure> {
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    for (position, argument) in arguments.iter().enumerate() {
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, value),
            _ => (position.checked_sub(1).map_or("", |before| &arguments[before]), &**argument),
        };
        if is_url(value) && has_password(value) {
            let subject = if option.starts_with("--") { option } else { "an argument" };
            return Err(usage(format!("{subject} must have no password: set PGPASSWORD or --database-password-file")));
        }
    }
    Ok(())
}

impl Database {
    pub(crate) fn read(options: &DatabaseOptions) -> Result<Self, Failure> {
        if let Some(url) = options.database.to_str().filter(|value| is_url(value)) {
            return PostgresOptions::read(url, options).map(Self::Postgres);
        }
        if options.database_password_file.is_some() {
            return Err(usage("--database-password-file is for PostgreSQL databases"));
        }
        if options.read_from.is_some() {
            return Err(usage("--read-from is for PostgreSQL databases"));
        }
        Ok(Self::File(options.database.clone()))
    }

    /// Reads the options of the command `copy`: the file, and the database to which it is copied, which has the
    /// password.
    pub(crate) fn read_copy(options: &DatabaseOptions, to: &str) -> Result<(Self, PostgresOptions), Failure> {
        if options.database.to_str().is_some_and(is_url) {
            return Err(usage("--database must be a database file"));
        }
        if !is_url(to) {
            return Err(usage("--to must be the URL of a PostgreSQL database"));
        }
        let target = PostgresOptions { read_from: None, ..PostgresOptions::read(to, options)? };
        Ok((Self::File(options.database.clone()), target))
    }

    /// The builder of a service on the database. `copy_before_migration` is for files.
    pub(crate) fn builder(&self, copy_before_migration: bool) -> Result<Builder, Failure> {
        match self {
            Self::File(path) => {
                let file = DatabaseFile::new(path).copy_before_migration(copy_before_migration);
                Ok(TicketingService::builder(file))
            }
            Self::Postgres(options) => options.builder(true),
        }
    }

    /// The builder for a command, which migrates nothing: an older server may use the database. It creates the database
    /// only if `create` is true.
    pub(crate) fn builder_of_command(&self, create: bool) -> Result<Builder, Failure> {
        let builder = match self {
            Self::File(path) if !create && !path.exists() => {
                return Err(Failure::Run(format!("there is no database at {}", path.display())));
            }
            Self::File(path) => TicketingService::builder(path),
            Self::Postgres(options) => options.builder(create)?,
        };
        Ok(builder.readers(1).migrate(false))
    }

    /// The path of a file. Another database is refused because of `problem`.
    pub(crate) fn file(&self, problem: &str) -> Result<&PathBuf, Failure> {
        match self {
            Self::File(path) => Ok(path),
            Self::Postgres(_) => Err(Failure::Run(problem.to_owned())),
        }
    }
}

const NOT_COMPILED: &str = "a PostgreSQL database needs a program that is compiled with the feature postgres: in a checkout, \
    cargo install --path . --features program,postgres";

impl PostgresOptions {
    fn read(url: &str, options: &DatabaseOptions) -> Result<Self, Failure> {
        if cfg!(not(feature = "postgres")) {
            return Err(usage(NOT_COMPILED));
        }
        let password = std::env::var_os("PGPASSWORD").filter(|password| !password.is_empty() && !has_password(url));
        let password = password.map(|text| text.into_string().map_err(|_| usage("PGPASSWORD is not UTF-8")));
        Ok(Self {
            url: url.to_owned(),
            password_file: options.database_password_file.clone(),
            password: password.transpose()?,
            read_from: options.read_from.clone(),
        })
    }

    /// The database, for a service that creates its tables only if `create_tables` is true.
    #[cfg(feature = "postgres")]
    pub(crate) fn database(&self, create_tables: bool) -> Result<ticketing::PostgresDatabase, Failure> {
        let mut database = ticketing::PostgresDatabase::new(&self.url)?.create_tables(create_tables);
        if let Some(url) = &self.read_from {
            database = database.read_from(url)?;
        }
        Ok(match self.password()? {
            Some(password) => database.password(password),
            None => database,
        })
    }

    #[cfg(feature = "postgres")]
    fn builder(&self, create_tables: bool) -> Result<Builder, Failure> {
        Ok(TicketingService::postgres(self.database(create_tables)?))
    }

    #[cfg(not(feature = "postgres"))]
    fn builder(&self, _: bool) -> Result<Builder, Failure> {
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

/// Whether a value is the URL of a PostgreSQL database.
fn is_url(value: &str) -> bool {
    value.starts_with("postgres://") || value.starts_with("postgresql://")
}

/// Whether a URL has a password: before the host, or as a parameter.
fn has_password(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let (_, query) = rest.split_once('?').unwrap_or((rest, ""));
    // As the driver reads it: everything before the first `@` is the user and the password.
    let authority = rest.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    authority || query.split('&').any(|parameter| parameter.starts_with("password="))
}
