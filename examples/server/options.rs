//! The command line and the environment.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Uri;
use lexopt::{Arg, Parser};
use ticketing::Timestamp;
use ticketing::organization::{CreateApiKey, CreateOrganization, Scope, Scopes, UpdateOrganization};
use ticketing::text_enum::TextEnum;

use crate::database_option::Database;
use crate::documents::Paper;
use crate::failure::{Failure, usage};
use crate::raw_options::RawOptions;
use crate::reconcile::{self, ReconcileSettings};
use crate::stripe::{self, StripeSettings};

pub(crate) const HELP: &str = "\
Ticketing server: events, orders, tickets and check-in over HTTP, stored in one SQLite file or a
PostgreSQL database. Payments go through a sandbox gateway, which takes no money, unless the files
of Stripe are set.

Usage: server [OPTIONS]                      Run the server
       server COMMAND [--database DATABASE]  Run a command

Options. Each can also be set by the environment variable at its end; the command line takes
precedence.
  --database DATABASE     Database file, or the URL of a PostgreSQL database, such as
                          postgres://USER@HOST/DATABASE, which needs the feature postgres. On the
                          command line without a password [default: ticketing.db]
                          [TICKETING_DATABASE]
  --database-password-file PATH
                          File with the password for PostgreSQL. Otherwise, the variable PGPASSWORD
                          has it [TICKETING_DATABASE_PASSWORD_FILE]
  --read-from URL         PostgreSQL standby that serves searches, lists with filters, and check
                          [default: the database serves them] [TICKETING_READ_FROM]
  --listen ADDRESS:PORT   Address to listen on; port 0 picks a free port [default: 127.0.0.1:8080]
                          [TICKETING_LISTEN]
  --metrics-listen ADDRESS:PORT
                          Serve /metrics on this address only [default: on the address of --listen]
                          [TICKETING_METRICS_LISTEN]
  --public-url URL        Base URL for clients [default: the address listened on]
                          [TICKETING_PUBLIC_URL]
  --order-hold SECONDS    How long an unpaid order reserves its seats [default: 1800]
                          [TICKETING_ORDER_HOLD]
  --max-reserved-per-customer N
                          Seats of an event that the unpaid orders of one customer may reserve; 0
                          for no limit [default: 0] [TICKETING_MAX_RESERVED_PER_CUSTOMER]
  --rate-limit N          Requests per minute and API key; 0 for no limit [default: 1200]
                          [TICKETING_RATE_LIMIT]
  --write-quota MIB       MiB that an organization may write per minute with its API keys; 0 for no
                          limit [default: 256] [TICKETING_WRITE_QUOTA]
  --failed-authentications N
                          Requests per minute and client address without a valid API key or link;
                          further ones are answered with 429 [default: 60]
                          [TICKETING_FAILED_AUTHENTICATIONS]
  --allow-local-webhooks  Allow webhook receivers on this machine, and plain http, for development;
                          the variable is true or false [default: false]
                          [TICKETING_ALLOW_LOCAL_WEBHOOKS]
  --no-migration-copy     Keep no copy of a database that is migrated to a newer schema; the
                          variable is true or false [default: false] [TICKETING_NO_MIGRATION_COPY]
  --sandbox               Say that payments go through the sandbox, which takes no money; the
                          variable is true or false. Without the files of Stripe, they do anyway
                          [default: false] [TICKETING_SANDBOX]
  --stripe-key-file PATH  File with Stripe's secret key. Customers then pay with Stripe Checkout
                          [TICKETING_STRIPE_KEY_FILE]
  --stripe-webhook-secret-file PATH
                          File with the signing secret of Stripe's endpoint, whose URL is the public
                          URL and /gateway/notices. While a secret is rolled: both, one on each line
                          [TICKETING_STRIPE_WEBHOOK_SECRET_FILE]
  --stripe-api-base URL   URL of Stripe's API without /v1, for tests: https, or http on this machine
                          [default: https://api.stripe.com] [TICKETING_STRIPE_API_BASE]
  --fonts DIRECTORY       Fonts for ticket documents, for names in scripts that Noto Sans does not
                          have: its files .ttf, .otf, .ttc and .otc. Needs the feature documents
                          [TICKETING_FONTS]
  --paper SIZE            Paper of ticket documents: a4 or letter. Needs the feature documents
                          [default: a4] [TICKETING_PAPER]
  --log-format FORMAT     Format of the log on standard error: text or json [default: text]
                          [TICKETING_LOG_FORMAT]
  --help                  Print this help
  --version               Print the version

Commands. They can run while a server uses the same database, except restore. Each prints one JSON
object, except stripe-reconcile, which prints a table.
  create-organization NAME [--currency CODE] [--timezone ZONE] [--reference TEXT]
  list-organizations
  get-organization ORGANIZATION
  update-organization ORGANIZATION [--name NAME] [--currency CODE] [--timezone ZONE]
                          [--reference TEXT]
  suspend-organization ORGANIZATION
                          Refuse its API keys. Payments of its orders still arrive.
  resume-organization ORGANIZATION
  delete-organization ORGANIZATION
                          Delete an organization that has no events, customers and webhooks
  organization-usage ORGANIZATION
                          Count its events, customers, orders, tickets, and estimate their bytes
  create-key ORGANIZATION [--name NAME] [--scopes SCOPE,SCOPE|all] [--expires TIMESTAMP]
  list-keys ORGANIZATION
  revoke-key KEY_ID
  backup PATH             Copy the database to a new file; for PostgreSQL, use pg_dump
  restore BACKUP          Check BACKUP, and replace the database by a copy of it. Stop the server
                          first. For PostgreSQL, use pg_restore
  check                   Check the database for corruption and inconsistent data. Changes nothing
                          in it.
  copy --to URL           Copy the database file to a PostgreSQL database without tables or with
                          empty ones, check both, and put the file out of use: no server
                          starts with it any more. Stop the server first: what it sells
                          afterwards is not in the copy. To rehearse, copy a backup
  copy --undo             Put the file into use again. What was sold in the PostgreSQL database
                          is not in it: stop the servers of that database first
  stripe-check            Ask Stripe whether it accepts the key of --stripe-key-file, and print the
                          mode of the key, and the endpoints for notices with the types of events
                          that they lack
  stripe-reconcile --from DATE --to DATE [--organization ORGANIZATION] [--apply]
                          Compare the payments, refunds and disputes at Stripe with those in the
                          database: what both have, with Stripe's fees, and what only one side has,
                          or has with another amount. --apply records what is missing here, and
                          refunds payments of orders that do not exist any more, after a restore:
                          never use it on a copy of a database. Needs --stripe-key-file

A TIMESTAMP is in UTC, such as 2030-01-31T18:00:00Z. A DATE is one too, or a day, such as
2030-01-31, which stands for its beginning: the period ends before --to. A key without --scopes has
all of them. The scopes are:
  events:read, events:write, ticket-types:read, ticket-types:write, orders:read, orders:write,
  payments:write, tickets:read, tickets:write, tickets:check-in, discounts:read, discounts:write,
  webhooks:read, webhooks:write

Only the server migrates a database of an older version. It keeps a copy of a file from before next
to it. If the database is new, the server creates an organization and an API key with all scopes,
and prints the key. The key is not shown again.

Exit status: 0 success; 1 failure, or check or stripe-reconcile found a problem; 2 invalid command
line or environment, or check or stripe-reconcile could not read the database.";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Version,
    Serve(Settings),
    Admin { database: Database, command: AdminCommand },
    Backup { database: Database, path: String },
    Restore { database: Database, backup: String },
    Check { database: Database },
    Copy { database: Database, to: Database },
    UndoCopy { database: Database },
    StripeCheck(StripeSettings),
    StripeReconcile { database: Database, settings: ReconcileSettings },
}

/// The settings of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) database: Database,
    pub(crate) listen: SocketAddr,
    /// The address of the metrics; `None` if they have none of their own.
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// By default, the address listened on.
    pub(crate) public_url: Option<String>,
    pub(crate) order_hold: Duration,
    /// Seats of an event that the unpaid orders of one customer may reserve; `None` for no limit.
    pub(crate) max_reserved_per_customer: Option<u32>,
    /// Requests per minute and API key; `None` for no limit.
    pub(crate) rate_limit: Option<u32>,
    /// Bytes that an organization may write per minute; `None` for no limit.
    pub(crate) write_quota: Option<u64>,
    /// Requests per minute and client address without a valid API key.
    pub(crate) failed_authentications: u32,
    /// Whether webhook receivers may be on this machine and use plain HTTP.
    pub(crate) allow_local_webhooks: bool,
    /// Whether a copy of the database is kept when it is migrated.
    pub(crate) migration_copy: bool,
    /// How Stripe is reached; `None` if payments go through the sandbox.
    pub(crate) stripe: Option<StripeSettings>,
    /// Whether the operator has said that payments go through the sandbox.
    pub(crate) sandbox: bool,
    /// The folder with further fonts for ticket documents.
    pub(crate) fonts: Option<PathBuf>,
    /// The paper of ticket documents.
    pub(crate) paper: Option<Paper>,
    pub(crate) log_format: LogFormat,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Text for people.
    Text,
    /// A JSON object.
    Json,
}

/// A command that manages organizations or API keys. Ids are kept as text: a malformed one is reported like one that
/// does not exist.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AdminCommand {
    CreateOrganization(CreateOrganization),
    ListOrganizations,
    GetOrganization { organization: String },
    UpdateOrganization { organization: String, changes: UpdateOrganization },
    SuspendOrganization { organization: String },
    ResumeOrganization { organization: String },
    DeleteOrganization { organization: String },
    OrganizationUsage { organization: String },
    CreateKey { organization: String, key: CreateApiKey },
    ListKeys { organization: String },
    RevokeKey { key: String },
}

/// The options with a value.
const OPTIONS: [&str; 26] = [
    "database",
    "database-password-file",
    "listen",
    "metrics-listen",
    "public-url",
    "read-from",
    "order-hold",
    "max-reserved-per-customer",
    "rate-limit",
    "write-quota",
    "failed-authentications",
    "stripe-key-file",
    "stripe-webhook-secret-file",
    "stripe-api-base",
    "fonts",
    "paper",
    "log-format",
    "currency",
    "timezone",
    "reference",
    "name",
    "scopes",
    "expires",
    "from",
    "to",
    "organization",
];

/// Parses and validates the command line and the environment. Nothing is opened or created before that succeeds.
pub(crate) fn parse(
    arguments: impl Iterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Command, Failure> {
    let mut parser = Parser::from_args(arguments);
    let mut options = RawOptions::new(environment);
    let mut words = Vec::new();
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("version") | Arg::Short('V') => return Ok(Command::Version),
            Arg::Long("allow-local-webhooks") => options.add("allow-local-webhooks", "true".into()),
            Arg::Long("apply") => options.add("apply", "true".into()),
            Arg::Long("undo") => options.add("undo", "true".into()),
            Arg::Long("sandbox") => options.add("sandbox", "true".into()),
            Arg::Long("no-migration-copy") => options.add("no-migration-copy", "true".into()),
            Arg::Long(name) => match OPTIONS.into_iter().find(|known| *known == name) {
                Some(name) => options.add(name, parser.value().map_err(usage)?),
                None => return Err(usage(format!("unknown option --{name}: --help lists the options"))),
            },
            Arg::Value(word) => {
                words.push(word.into_string().map_err(|word| usage(format!("{word:?} is not valid UTF-8")))?);
            }
            Arg::Short(letter) => return Err(usage(format!("unknown option -{letter}: --help lists the options"))),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => settings(&options).map(Command::Serve),
        ["backup", path] => {
            options.allow_only("backup", &[])?;
            Ok(Command::Backup { path: (*path).to_owned(), database: Database::read(&options)? })
        }
        ["restore", backup] => {
            options.allow_only("restore", &[])?;
            Ok(Command::Restore { backup: (*backup).to_owned(), database: Database::read(&options)? })
        }
        ["check"] => {
            options.allow_only("check", &["read-from"])?;
            Ok(Command::Check { database: Database::read(&options)? })
        }
        ["copy"] if options.raw("undo").is_some() => {
            options.allow_only("copy --undo", &["undo"])?;
            Ok(Command::UndoCopy { database: Database::read(&options)? })
        }
        ["copy"] => {
            options.allow_only("copy", &["to"])?;
            let (database, to) = Database::read_copy(&options)?;
            Ok(Command::Copy { database, to })
        }
        ["stripe-check"] => stripe::check_settings(&options).map(Command::StripeCheck),
        ["stripe-reconcile"] => {
            let settings = reconcile::settings(&options)?;
            Ok(Command::StripeReconcile { settings, database: Database::read(&options)? })
        }
        words => Ok(Command::Admin { command: admin_command(words, &options)?, database: Database::read(&options)? }),
    }
}

/// Parses a command that manages organizations or API keys. `backup`, `check`, `copy`, `stripe-check` and
/// `stripe-reconcile` get here only with wrong arguments.
fn admin_command(words: &[&str], options: &RawOptions) -> Result<AdminCommand, Failure> {
    let (usage_line, accepted): (_, &[&str]) = match words[0] {
        "create-organization" => ("create-organization NAME", &["currency", "timezone", "reference"]),
        "list-organizations" => ("list-organizations", &[]),
        "get-organization" => ("get-organization ORGANIZATION", &[]),
        "update-organization" => ("update-organization ORGANIZATION", &["name", "currency", "timezone", "reference"]),
        "suspend-organization" => ("suspend-organization ORGANIZATION", &[]),
        "resume-organization" => ("resume-organization ORGANIZATION", &[]),
        "delete-organization" => ("delete-organization ORGANIZATION", &[]),
        "organization-usage" => ("organization-usage ORGANIZATION", &[]),
        "create-key" => ("create-key ORGANIZATION", &["name", "scopes", "expires"]),
        "list-keys" => ("list-keys ORGANIZATION", &[]),
        "revoke-key" => ("revoke-key KEY_ID", &[]),
        "backup" => ("backup PATH", &[]),
        "check" => ("check", &[]),
        "copy" => ("copy --to URL", &["to", "undo"]),
        "stripe-check" => ("stripe-check", &stripe::OPTIONS),
        "stripe-reconcile" => ("stripe-reconcile --from DATE --to DATE", &reconcile::OPTIONS),
        other => return Err(usage(format!("unknown command {other:?}: --help lists the commands"))),
    };
    options.allow_only(words[0], accepted)?;
    match words {
        ["create-organization", name] => organization(name, options).map(AdminCommand::CreateOrganization),
        ["list-organizations"] => Ok(AdminCommand::ListOrganizations),
        ["get-organization", id] => Ok(AdminCommand::GetOrganization { organization: (*id).to_owned() }),
        ["update-organization", id] => Ok(AdminCommand::UpdateOrganization {
            organization: (*id).to_owned(),
            changes: organization_changes(options)?,
        }),
        ["suspend-organization", id] => Ok(AdminCommand::SuspendOrganization { organization: (*id).to_owned() }),
        ["resume-organization", id] => Ok(AdminCommand::ResumeOrganization { organization: (*id).to_owned() }),
        ["delete-organization", id] => Ok(AdminCommand::DeleteOrganization { organization: (*id).to_owned() }),
        ["organization-usage", id] => Ok(AdminCommand::OrganizationUsage { organization: (*id).to_owned() }),
        ["create-key", organization] => {
            Ok(AdminCommand::CreateKey { organization: (*organization).to_owned(), key: key(options)? })
        }
        ["list-keys", organization] => Ok(AdminCommand::ListKeys { organization: (*organization).to_owned() }),
        ["revoke-key", key] => Ok(AdminCommand::RevokeKey { key: (*key).to_owned() }),
        _ => Err(usage(format!("wrong number of arguments in {:?}: the usage is {usage_line}", words.join(" ")))),
    }
}

fn settings(options: &RawOptions) -> Result<Settings, Failure> {
    let accepted = [
        "listen",
        "metrics-listen",
        "public-url",
        "read-from",
        "order-hold",
        "max-reserved-per-customer",
        "rate-limit",
        "write-quota",
        "failed-authentications",
        "allow-local-webhooks",
        "stripe-key-file",
        "stripe-webhook-secret-file",
        "stripe-api-base",
        "sandbox",
        "fonts",
        "paper",
        "log-format",
        "no-migration-copy",
    ];
    options.allow_only("the server", &accepted)?;
    let requests = |text: &str| text.parse::<u32>().map_err(|_| "must be a whole number of requests per minute");
    let seats = |text: &str| text.parse::<u32>().map_err(|_| "must be a whole number of seats");
    let max_reserved_per_customer = options.parsed("max-reserved-per-customer", seats)?.unwrap_or(0);
    let rate_limit = options.parsed("rate-limit", requests)?.unwrap_or(1200);
    let mib = |text: &str| {
        text.parse::<u32>()
            .map(|mib| u64::from(mib) * 1024 * 1024)
            .map_err(|_| "must be a whole number of MiB per minute")
    };
    let write_quota = options.parsed("write-quota", mib)?.unwrap_or(256 * 1024 * 1024);
    let database = Database::read(options)?;
    if let (Database::Postgres(_), Some(copy)) = (&database, options.raw("no-migration-copy")) {
        return Err(usage(format!("{} is for database files", copy.source)));
    }
    let stripe = stripe::server_settings(options)?;
    let sandbox = options.parsed("sandbox", boolean)?.unwrap_or(false);
    if sandbox && stripe.is_some() {
        return Err(usage("--sandbox and --stripe-key-file exclude each other"));
    }
    Ok(Settings {
        database,
        listen: options.parsed("listen", listen)?.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080))),
        metrics_listen: options.parsed("metrics-listen", listen)?,
        public_url: options.parsed("public-url", public_url)?,
        order_hold: options.parsed("order-hold", order_hold)?.unwrap_or(Duration::from_mins(30)),
        max_reserved_per_customer: Some(max_reserved_per_customer).filter(|limit| *limit > 0),
        rate_limit: Some(rate_limit).filter(|limit| *limit > 0),
        write_quota: Some(write_quota).filter(|quota| *quota > 0),
        failed_authentications: options.parsed("failed-authentications", requests)?.unwrap_or(60),
        allow_local_webhooks: options.parsed("allow-local-webhooks", boolean)?.unwrap_or(false),
        migration_copy: !options.parsed("no-migration-copy", boolean)?.unwrap_or(false),
        stripe,
        sandbox,
        fonts: options.raw("fonts").map(|fonts| fonts.value.into()),
        paper: options.parsed("paper", Paper::parse)?,
        log_format: options.parsed("log-format", log_format)?.unwrap_or(LogFormat::Text),
    })
}

fn organization(name: &str, options: &RawOptions) -> Result<CreateOrganization, Failure> {
    if name.is_empty() {
        return Err(usage("NAME must not be empty"));
    }
    let mut organization = CreateOrganization::new(name);
    if let Some(currency) = options.text("currency")? {
        organization.currency = currency;
    }
    if let Some(timezone) = options.text("timezone")? {
        organization.timezone = timezone;
    }
    organization.reference = options.text("reference")?;
    organization.check()?;
    Ok(organization)
}

fn organization_changes(options: &RawOptions) -> Result<UpdateOrganization, Failure> {
    let mut changes = UpdateOrganization::default();
    if let Some(name) = options.text("name")? {
        changes = changes.name(name);
    }
    if let Some(currency) = options.text("currency")? {
        changes = changes.currency(currency);
    }
    if let Some(timezone) = options.text("timezone")? {
        changes = changes.timezone(timezone);
    }
    if let Some(reference) = options.text("reference")? {
        changes = changes.reference(reference);
    }
    Ok(changes)
}

fn key(options: &RawOptions) -> Result<CreateApiKey, Failure> {
    let name = options.parsed("name", not_empty)?.unwrap_or_else(|| "My key".to_owned());
    let scopes = options.parsed("scopes", scopes)?.unwrap_or_else(Scopes::all);
    let mut key = CreateApiKey::new(name).scopes(scopes);
    key.expires_at = options.parsed("expires", |text| text.parse::<Timestamp>().map_err(|error| error.to_string()))?;
    Ok(key)
}

fn listen(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:8080")
}

fn public_url(text: &str) -> Result<String, &'static str> {
    let problem = "must be an http or https URL without a query, such as https://tickets.example.com";
    let url: Uri = text.parse().map_err(|_| problem)?;
    let web = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some_and(|host| !host.is_empty());
    if web && !text.contains(['?', '#']) { Ok(text.to_owned()) } else { Err(problem) }
}

fn order_hold(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds: &u32| *seconds > 0);
    seconds.map(|seconds| Duration::from_secs(seconds.into())).ok_or("must be a whole number of seconds, 1 or more")
}

fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false"),
    }
}

fn log_format(text: &str) -> Result<LogFormat, &'static str> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be text or json"),
    }
}

fn not_empty(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("must not be empty") } else { Ok(text.to_owned()) }
}

fn scopes(text: &str) -> Result<Scopes, String> {
    if text == "all" {
        return Ok(Scopes::all());
    }
    let scope = |name: &str| {
        Scope::from_text(name.trim()).ok_or_else(|| format!("unknown scope {name:?}: --help lists the scopes"))
    };
    text.split(',').map(scope).collect()
}
