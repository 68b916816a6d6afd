//! The command line and the environment.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderName;

use clap::builder::NonEmptyStringValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use ticketing::Timestamp;
#[cfg(feature = "exports")]
use ticketing::exports::{CsvDialect, ExportFormat, ExportKind};
use ticketing::organization::Scopes;

use super::database_option::{self, DatabaseOptions};
use super::failure::{Failure, usage};
#[cfg(feature = "exports")]
use super::import_tickets::Column;
#[cfg(feature = "exports")]
use super::option_values::text_enum;
use super::option_values::{
    boolean, date, duration, folder, header_name, help_of_scopes, listen, number, order_hold, public_url, scopes,
};

/// Ticketing server: events, orders, tickets and check-in over HTTP, stored in one SQLite file or a PostgreSQL
/// database.
///
/// Without a command, the server runs. Payments go through a sandbox gateway, which takes no money, unless the files of
/// Stripe are set. Each option of the server can also be set by an environment variable; the command line takes
/// precedence.
#[derive(Parser)]
#[command(name = "ticketing", version, max_term_width = 100, args_override_self = true, after_long_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) database: DatabaseOptions,
    #[command(flatten)]
    pub(crate) server: ServerSettings,
}

const AFTER_HELP: &str = "\
Commands can run while a server uses the same database, except restore. Each prints one JSON object, except \
door-link, report, report-link, stripe-reconcile, which prints a table, and completions. `help COMMAND` has more about each.

Only the server migrates a database of an older version. It keeps a copy of a file from before next to it. If the database \
is new, the server creates an organization and an API key with all scopes, and prints the key. The key is not shown again.

Exit status: 0 success; 1 failure, or check or stripe-reconcile found a problem; 2 invalid command line or environment, or \
check or stripe-reconcile could not read the database.";

/// The settings of the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the server")]
pub(crate) struct ServerSettings {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS:PORT", env = "TICKETING_LISTEN")]
    #[arg(default_value = "127.0.0.1:8080", value_parser = listen)]
    pub(crate) listen: SocketAddr,
    /// Serve /metrics on this address only [default: on the address of --listen]
    #[arg(long, value_name = "ADDRESS:PORT", env = "TICKETING_METRICS_LISTEN", value_parser = listen)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Base URL for clients [default: the address listened on]
    #[arg(long, value_name = "URL", env = "TICKETING_PUBLIC_URL", value_parser = public_url)]
    pub(crate) public_url: Option<String>,
    /// How long an unpaid order reserves its seats
    #[arg(long, value_name = "SECONDS", env = "TICKETING_ORDER_HOLD")]
    #[arg(default_value = "1800", value_parser = order_hold, allow_negative_numbers = true)]
    pub(crate) order_hold: Duration,
    /// Seats of an event that the unpaid orders of one customer may reserve; 0 for no limit
    #[arg(long, value_name = "N", env = "TICKETING_MAX_RESERVED_PER_CUSTOMER")]
    #[arg(default_value = "0", value_parser = number, allow_negative_numbers = true)]
    pub(crate) max_reserved_per_customer: u32,
    /// Requests per minute and API key; 0 for no limit
    #[arg(long, value_name = "N", env = "TICKETING_RATE_LIMIT")]
    #[arg(default_value = "1200", value_parser = number, allow_negative_numbers = true)]
    pub(crate) rate_limit: u32,
    /// MiB that an organization may write per minute with its API keys; 0 for no limit
    #[arg(long, value_name = "MIB", env = "TICKETING_WRITE_QUOTA")]
    #[arg(default_value = "256", value_parser = number, allow_negative_numbers = true)]
    pub(crate) write_quota: u32,
    /// Requests per minute and client address without a valid API key or link; 0 for no limit
    #[arg(long, value_name = "N", env = "TICKETING_FAILED_AUTHENTICATIONS")]
    #[arg(default_value = "60", value_parser = number, allow_negative_numbers = true)]
    pub(crate) failed_authentications: u32,
    /// Show the pages of events, on which customers buy
    #[cfg(feature = "event-pages")]
    #[arg(long, env = "TICKETING_EVENT_PAGES", action = ArgAction::SetTrue, value_parser = boolean)]
    pub(crate) event_pages: bool,
    /// Orders that one client network may make with the page of an event in 10 minutes; 0 for no limit
    #[cfg(feature = "event-pages")]
    #[arg(long, value_name = "N", env = "TICKETING_ORDERS_PER_NETWORK")]
    #[arg(default_value = "60", value_parser = number, allow_negative_numbers = true)]
    pub(crate) orders_per_network: u32,
    /// Header with the address of the client, such as X-Forwarded-For, whose last entry counts. Only behind a proxy that
    /// sets it
    #[arg(long, value_name = "HEADER", env = "TICKETING_CLIENT_ADDRESS_HEADER", value_parser = header_name)]
    pub(crate) client_address_header: Option<HeaderName>,
    /// Allow webhook receivers and pictures on this machine, and plain http, for development
    #[arg(long, env = "TICKETING_ALLOW_LOCAL_WEBHOOKS", action = ArgAction::SetTrue, value_parser = boolean)]
    pub(crate) allow_local_webhooks: bool,
    /// Keep no copy of a database file that is migrated to a newer schema
    #[arg(long, env = "TICKETING_NO_MIGRATION_COPY", action = ArgAction::SetTrue, value_parser = boolean)]
    pub(crate) no_migration_copy: bool,
    /// Make backups of the database file into this folder, which it shares with no other database
    #[arg(long, value_name = "FOLDER", env = "TICKETING_BACKUP_FOLDER", value_parser = folder)]
    pub(crate) backup_folder: Option<PathBuf>,
    /// Time from one backup to the next, such as 90s, 30m, 6h or 1d. A restart makes none early
    #[arg(long, value_name = "DURATION", env = "TICKETING_BACKUP_EVERY", requires = "backup_folder")]
    #[arg(default_value = "1d", value_parser = duration)]
    pub(crate) backup_every: Duration,
    /// How many of the newest backups are kept
    #[arg(long, value_name = "N", env = "TICKETING_BACKUP_KEEP", requires = "backup_folder")]
    #[arg(default_value = "7", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub(crate) backup_keep: u16,
    /// Say that payments go through the sandbox, which takes no money. Without the files of Stripe, they do anyway
    #[arg(long, env = "TICKETING_SANDBOX", action = ArgAction::SetTrue, value_parser = boolean)]
    pub(crate) sandbox: bool,
    #[command(flatten)]
    pub(crate) stripe: StripeOptions,
    /// Fonts for ticket documents, for names in scripts that Noto Sans does not have: the files .ttf, .otf, .ttc and
    /// .otc of a folder
    #[arg(long, value_name = "FOLDER", env = "TICKETING_FONTS")]
    pub(crate) fonts: Option<PathBuf>,
    /// Paper of ticket documents [default: a4]
    #[arg(long, value_name = "SIZE", env = "TICKETING_PAPER")]
    pub(crate) paper: Option<Paper>,
    #[command(flatten)]
    pub(crate) mail: MailSettings,
    /// Format of the log on standard error
    #[arg(long, value_name = "FORMAT", env = "TICKETING_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// How Stripe is reached.
#[derive(Debug, Args)]
pub(crate) struct StripeOptions {
    /// File with Stripe's secret key. Customers then pay with Stripe Checkout
    #[arg(long, value_name = "PATH", env = "TICKETING_STRIPE_KEY_FILE")]
    pub(crate) stripe_key_file: Option<PathBuf>,
    /// File with the signing secret of Stripe's endpoint, whose URL is the public URL and /gateway/notices. While a
    /// secret is rolled: both, one on each line
    #[arg(long, value_name = "PATH", env = "TICKETING_STRIPE_WEBHOOK_SECRET_FILE")]
    pub(crate) stripe_webhook_secret_file: Option<PathBuf>,
    /// URL of Stripe's API without /v1, for tests: https, or http on this machine [default: https://api.stripe.com]
    #[arg(long, value_name = "URL", env = "TICKETING_STRIPE_API_BASE")]
    pub(crate) stripe_api_base: Option<String>,
}

/// How mails are sent.
#[derive(Debug, Args)]
pub(crate) struct MailSettings {
    /// Relay that sends mails: smtps://USER@HOST:465, or smtp://USER@HOST:587 with STARTTLS
    #[arg(long, value_name = "URL", env = "TICKETING_SMTP_URL")]
    pub(crate) smtp_url: Option<String>,
    /// File with the password for the relay
    #[arg(long, value_name = "PATH", env = "TICKETING_SMTP_PASSWORD_FILE", requires = "smtp_url")]
    pub(crate) smtp_password_file: Option<PathBuf>,
    /// E-mail address of the sender. The relay must be allowed to send for its domain [default: ticketing@localhost with
    /// --mail-folder]
    #[arg(long, value_name = "ADDRESS", env = "TICKETING_MAIL_FROM")]
    pub(crate) mail_from: Option<String>,
    /// Write mails to files in this folder instead of sending them
    #[arg(long, value_name = "FOLDER", env = "TICKETING_MAIL_FOLDER", conflicts_with = "smtp_url")]
    pub(crate) mail_folder: Option<PathBuf>,
    /// Mails that are sent in a second
    #[arg(long, value_name = "N", env = "TICKETING_MAIL_PER_SECOND")]
    #[arg(default_value = "20", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) mail_per_second: u32,
}

/// The paper of ticket documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Paper {
    A4,
    Letter,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// A JSON object on each line
    Json,
}

/// A command. Ids are kept as text: a malformed one is reported like one that does not exist.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create an organization. If the database does not exist, create it too
    CreateOrganization(NewOrganization),
    #[command(flatten)]
    Admin(AdminCommand),
    /// Copy the database to a new file; for PostgreSQL, use pg_dump
    Backup { path: PathBuf },
    /// Check BACKUP, and replace the database by a copy of it
    ///
    /// Stop the server first. For PostgreSQL, use pg_restore.
    Restore { backup: PathBuf },
    /// Check the database for corruption and inconsistent data. Changes nothing in it
    Check,
    /// Copy the database file to a PostgreSQL database without tables or with empty ones, check both, and put the file
    /// out of use: no server starts with it any more
    ///
    /// Stop the server first: what it sells afterwards is not in the copy. To rehearse, copy a backup.
    Copy {
        /// URL of the PostgreSQL database
        #[arg(long, value_name = "URL", required_unless_present = "undo")]
        to: Option<String>,
        /// Put the file into use again. What was sold in the PostgreSQL database is not in it: stop the servers of that
        /// database first
        #[arg(long, conflicts_with = "to")]
        undo: bool,
    },
    /// Ask Stripe whether it accepts the key of --stripe-key-file
    ///
    /// Prints the mode of the key, and the endpoints for notices with the types of events that they lack.
    StripeCheck(StripeOptions),
    /// Compare the payments, refunds and disputes at Stripe with those in the database
    ///
    /// Prints what both have, with Stripe's fees, and what only one side has, or has with another amount. Needs
    /// --stripe-key-file.
    StripeReconcile(ReconcileSettings),
    /// Send a mail without tickets to an address, and print what the relay answers
    MailTest {
        address: String,
        #[command(flatten)]
        mail: MailSettings,
    },
    /// Print a link, and its QR code, with which the staff of an entrance check tickets of an event in
    DoorLink(DoorLinkSettings),
    /// Print how an event sells and fills, as text of at most 80 columns
    Report {
        /// Id of the event
        event: String,
    },
    /// Print a link, and its QR code, to the page that shows how an event sells and fills
    ReportLink(ReportLinkSettings),
    /// Write the ledger, the orders, the attendees, the check-ins or the settlement of an event to a file
    ///
    /// Without --event, the ledger, orders and attendees of at most 366 days. The columns are in the documentation of
    /// the HTTP operations.
    #[cfg(feature = "exports")]
    Export(ExportSettings),
    /// Import tickets that were sold elsewhere from a CSV file, with the codes of their seller
    ///
    /// Columns are separated by commas, semicolons or tabs. Lines that are refused are printed with their numbers to standard
    /// error, and the others are imported. Repeated, it imports what is missing.
    #[cfg(feature = "exports")]
    ImportTickets(ImportSettings),
    /// Print a script that completes the command line in a shell
    Completions { shell: Shell },
}

/// The options of `create-organization`.
#[derive(Debug, Args)]
pub(crate) struct NewOrganization {
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Currency of new events [default: EUR]
    #[arg(long, value_name = "CODE")]
    pub(crate) currency: Option<String>,
    /// Time zone of new events, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// Name of your own for the organization, such as a customer number. No two organizations have the same
    #[arg(long, value_name = "TEXT")]
    pub(crate) reference: Option<String>,
    #[command(flatten)]
    pub(crate) page: PageOptions,
}

/// What the pages of an organization's events show of it.
#[derive(Debug, Args)]
pub(crate) struct PageOptions {
    /// Name in the addresses of the pages of its events, in place of the id: at most 60 lower-case letters, digits and
    /// single hyphens. No two organizations have the same
    #[arg(long, value_name = "NAME")]
    pub(crate) page_name: Option<String>,
    /// https URL of its website
    #[arg(long, value_name = "URL")]
    pub(crate) website: Option<String>,
    /// https URL of the page that says who the organization is
    #[arg(long, value_name = "URL")]
    pub(crate) imprint_url: Option<String>,
    /// https URL of the page that says how it treats personal data
    #[arg(long, value_name = "URL")]
    pub(crate) privacy_url: Option<String>,
}

/// A command that manages organizations or API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// List the organizations
    ListOrganizations,
    /// Print an organization
    GetOrganization { organization: String },
    /// Change an organization
    UpdateOrganization {
        organization: String,
        #[arg(long)]
        name: Option<String>,
        #[arg(long, value_name = "CODE")]
        currency: Option<String>,
        #[arg(long, value_name = "ZONE")]
        timezone: Option<String>,
        #[arg(long, value_name = "TEXT")]
        reference: Option<String>,
        #[command(flatten)]
        page: PageOptions,
    },
    /// Refuse the API keys of an organization. Payments of its orders still arrive
    SuspendOrganization { organization: String },
    /// Accept the API keys of a suspended organization again
    ResumeOrganization { organization: String },
    /// Delete an organization that has no events, customers and webhooks
    DeleteOrganization { organization: String },
    /// Count the events, customers, orders and tickets of an organization, and estimate their bytes
    OrganizationUsage { organization: String },
    /// Create an API key, and print it. It is not shown again
    CreateKey {
        organization: String,
        #[arg(long, default_value = "My key", value_parser = NonEmptyStringValueParser::new())]
        name: String,
        #[arg(long, value_name = "SCOPE,SCOPE|all", default_value = "all", value_parser = scopes, help = help_of_scopes())]
        scopes: Scopes,
        /// End of the key's validity in UTC, such as 2030-01-31T18:00:00Z [default: none]
        #[arg(long, value_name = "TIMESTAMP")]
        expires: Option<Timestamp>,
    },
    /// List the API keys of an organization, without the secrets
    ListKeys { organization: String },
    /// Refuse an API key from now on
    RevokeKey { key_id: String },
}

/// The link that `door-link` makes.
#[derive(Debug, Args)]
pub(crate) struct DoorLinkSettings {
    /// Id of the event
    pub(crate) event: String,
    /// Name of the entrance, such as "Gate A"
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// The link works until then: a timestamp, such as 2030-01-31T18:00:00Z [default: six hours after the end of the event]
    #[arg(long, value_name = "TIMESTAMP", value_parser = date)]
    pub(crate) until: Option<Timestamp>,
    /// Base URL of the server
    #[arg(long, value_name = "URL", env = "TICKETING_PUBLIC_URL", value_parser = public_url)]
    pub(crate) public_url: String,
}

/// The link that `report-link` prints.
#[derive(Debug, Args)]
pub(crate) struct ReportLinkSettings {
    /// Id of the event
    pub(crate) event: String,
    /// End the link that there is. The next one is another
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Base URL of the server
    #[arg(long, value_name = "URL", env = "TICKETING_PUBLIC_URL", value_parser = public_url, required_unless_present = "revoke")]
    pub(crate) public_url: Option<String>,
}

/// What `export` writes.
#[cfg(feature = "exports")]
#[derive(Debug, Args)]
pub(crate) struct ExportSettings {
    #[arg(value_parser = text_enum::<ExportKind>())]
    pub(crate) kind: ExportKind,
    /// New file, or a folder, in which it is named after the event; - for standard output
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Id of the event
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Id of the organization [default: that of the event]
    #[arg(long, value_name = "ORGANIZATION")]
    pub(crate) organization: Option<String>,
    /// Beginning of the dates, in UTC: a day, such as 2030-01-31, or a timestamp, such as 2030-01-31T18:00:00Z
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub(crate) from: Option<Timestamp>,
    /// End of the dates, which end before it
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub(crate) before: Option<Timestamp>,
    /// Format of the file [default: that of its extension, or csv]. xlsx needs the feature xlsx
    #[arg(long, value_name = "FORMAT", value_parser = text_enum::<ExportFormat>())]
    pub(crate) format: Option<ExportFormat>,
    /// How a CSV file is written; excel is for Excel in countries that write 12,50
    #[arg(long, value_name = "DIALECT", value_parser = text_enum::<CsvDialect>())]
    pub(crate) dialect: Option<CsvDialect>,
    /// Write the codes of attendees, which are scanned at check-in
    #[arg(long)]
    pub(crate) codes: bool,
}

/// What `import-tickets` reads.
#[cfg(feature = "exports")]
#[derive(Debug, Args)]
pub(crate) struct ImportSettings {
    /// Id of the event
    pub(crate) event: String,
    /// CSV file
    pub(crate) file: PathBuf,
    /// Id of the ticket type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) ticket_type: String,
    /// Column with the codes: its number from 1, or its heading in the first line
    #[arg(long, value_name = "COLUMN", default_value = "1", value_parser = Column::parse)]
    pub(crate) code_column: Column,
    /// Column with what the staff at the entrance sees, such as a seat
    #[arg(long, value_name = "COLUMN", value_parser = Column::parse)]
    pub(crate) label_column: Option<Column>,
    /// Channel over which the tickets were sold [default: the name of the file without its extension]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Notify webhook endpoints of each ticket
    #[arg(long)]
    pub(crate) notify: bool,
}

/// What `stripe-reconcile` compares, and how Stripe is reached.
#[derive(Debug, Args)]
pub(crate) struct ReconcileSettings {
    #[command(flatten)]
    pub(crate) stripe: StripeOptions,
    /// Beginning of the period, in UTC: a day, such as 2030-01-31, or a timestamp, such as 2030-01-31T18:00:00Z
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub(crate) from: Timestamp,
    /// End of the period, which ends before it
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub(crate) to: Timestamp,
    /// Compare one organization only
    #[arg(long, value_name = "ORGANIZATION")]
    pub(crate) organization: Option<String>,
    /// Record what is missing here, and refund payments of orders that do not exist any more, after a restore: never
    /// use it on a copy of a database
    #[arg(long)]
    pub(crate) apply: bool,
}

/// The command line, without the values that the environment has: the help must not show secrets.
pub(crate) fn definition() -> clap::Command {
    fn hide(command: clap::Command) -> clap::Command {
        command.mut_args(|argument| argument.hide_env_values(true)).mut_subcommands(hide)
    }
    hide(Arguments::command())
}

/// Parses and validates the command line and the environment. Nothing is opened or created before that succeeds. `None`
/// if the arguments asked for a text, such as that of `--help`, which is printed.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Option<Arguments>, Failure> {
    database_option::refuse_passwords(arguments)?;
    let definition = definition();
    let matches = match definition.clone().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => return Err(Failure::of_arguments(&error, arguments)),
        Err(text) => {
            super::output::print(&text.to_string())?;
            return Ok(None);
        }
    };
    if let Some(command) = matches.subcommand_name() {
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let of_server = definition.get_arguments().filter(|argument| !argument.is_global_set());
        if let Some(option) = of_server.map(clap::Arg::get_id).find(|id| is_given(id.as_str())) {
            let option = option.as_str().replace('_', "-");
            return Err(usage(format!("--{option} is an option of the server, or must be after {command}")));
        }
    }
    let arguments = Arguments::from_arg_matches(&matches);
    arguments.map(Some).map_err(|error| usage(error.kind()))
}
