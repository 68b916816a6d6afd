//! The command line and the environment.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Uri;
use lexopt::{Arg, Parser};
use ticketing::{CreateApiKey, CreateOrganization, Scope, Scopes, TextEnum, Timestamp};

use crate::failure::{Failure, usage};
use crate::given::Given;

pub(crate) const HELP: &str = "\
The ticketing server: events, orders, tickets and the door, over one SQLite file.
Payments are those of a sandbox, which takes no money.

Usage: server [OPTIONS]
       server COMMAND [--database PATH]

Options, each with its environment variable, over which the option wins:
  --database PATH         TICKETING_DATABASE       the database file [ticketing.db]
  --listen ADDRESS:PORT   TICKETING_LISTEN         where to listen; port 0 takes a free one [127.0.0.1:8080]
  --public-url URL        TICKETING_PUBLIC_URL     what checkout links begin with [the listening address]
  --order-hold SECONDS    TICKETING_ORDER_HOLD     how long an unpaid order holds its places [1800]
  --rate-limit N          TICKETING_RATE_LIMIT     requests a minute for each key, 0 for no limit [1200]
  --failed-authentications N
                          TICKETING_FAILED_AUTHENTICATIONS
                                                   requests a minute without a valid key for each address, before it
                                                   hears no more than that they are too many [60]
  --allow-local-webhooks  TICKETING_ALLOW_LOCAL_WEBHOOKS
                                                   webhooks may go to this machine, and by plain http: for
                                                   development; true or false in the environment [false]
  --log-format text|json  TICKETING_LOG_FORMAT     what a line of the log is, on standard error [text]
  --help                                           shows this text
  --version                                        shows the version

Commands, while a server runs on the same file or not; each answers with one JSON object:
  create-organization NAME [--currency CODE] [--timezone ZONE]
  list-organizations
  create-key ORGANIZATION [--name NAME] [--scopes SCOPE,SCOPE|all] [--expires TIMESTAMP]
  list-keys ORGANIZATION
  revoke-key KEY_ID
  backup PATH             copies the database to a new file
  check                   looks whether the file is sound and all that is stored agrees; status 1 where it does not

The first start on a fresh file makes an organization and a key with every scope, and prints the key: it can be read
there and nowhere else.

Status: 0 done, 1 it did not work, 2 the command line or the environment is wrong.";

/// What the program is asked to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Version,
    Serve(Settings),
    Administer { database: PathBuf, task: Task },
    BackUp { database: PathBuf, path: String },
    Check { database: PathBuf },
}

/// How to serve.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) database: PathBuf,
    pub(crate) listen: SocketAddr,
    /// The listening address where it is not given.
    pub(crate) public_url: Option<String>,
    pub(crate) order_hold: Duration,
    /// Requests a minute for each key, or any number.
    pub(crate) rate_limit: Option<u32>,
    /// Requests a minute without a valid key, for each address.
    pub(crate) failed_authentications: u32,
    /// Whether webhooks may go to this machine, and by plain HTTP.
    pub(crate) allow_local_webhooks: bool,
    pub(crate) log_format: LogFormat,
}

/// How a line of the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For a person.
    Text,
    /// One JSON object.
    Json,
}

/// What to do with organizations and keys. Ids are kept as text: one that is malformed is simply not there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    CreateOrganization(CreateOrganization),
    ListOrganizations,
    CreateKey { organization: String, key: CreateApiKey },
    ListKeys { organization: String },
    RevokeKey { key: String },
}

/// The options that take a value.
const OPTIONS: [&str; 12] = [
    "database",
    "listen",
    "public-url",
    "order-hold",
    "rate-limit",
    "failed-authentications",
    "log-format",
    "currency",
    "timezone",
    "name",
    "scopes",
    "expires",
];

/// Reads what the program is asked to do. Everything is checked here, before anything is made.
pub(crate) fn read(
    arguments: impl Iterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Command, Failure> {
    let mut parser = Parser::from_args(arguments);
    let mut given = Given::new(environment);
    let mut words = Vec::new();
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("version") | Arg::Short('V') => return Ok(Command::Version),
            Arg::Long("allow-local-webhooks") => given.add("allow-local-webhooks", "true".into()),
            Arg::Long(name) => match OPTIONS.into_iter().find(|known| *known == name) {
                Some(name) => given.add(name, parser.value().map_err(usage)?),
                None => return Err(usage(format!("unknown option --{name}"))),
            },
            Arg::Value(word) => words.push(word.into_string().map_err(|word| usage(format!("{word:?} is not UTF-8")))?),
            Arg::Short(letter) => return Err(usage(format!("unknown option -{letter}"))),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => settings(&given).map(Command::Serve),
        ["backup", path] => {
            given.only("backup", &[])?;
            Ok(Command::BackUp { path: (*path).to_owned(), database: database(&given)? })
        }
        ["check"] => {
            given.only("check", &[])?;
            Ok(Command::Check { database: database(&given)? })
        }
        words => Ok(Command::Administer { task: task(words, &given)?, database: database(&given)? }),
    }
}

fn task(words: &[&str], given: &Given) -> Result<Task, Failure> {
    let (command, options): (_, &[&str]) = match words[0] {
        "create-organization" => ("create-organization NAME", &["currency", "timezone"]),
        "list-organizations" => ("list-organizations", &[]),
        "create-key" => ("create-key ORGANIZATION", &["name", "scopes", "expires"]),
        "list-keys" => ("list-keys ORGANIZATION", &[]),
        "revoke-key" => ("revoke-key KEY_ID", &[]),
        "backup" => ("backup PATH", &[]),
        "check" => ("check", &[]),
        other => return Err(usage(format!("unknown command {other:?}"))),
    };
    given.only(words[0], options)?;
    match words {
        ["create-organization", name] => organization(name, given).map(Task::CreateOrganization),
        ["list-organizations"] => Ok(Task::ListOrganizations),
        ["create-key", organization] => {
            key(given).map(|key| Task::CreateKey { organization: (*organization).to_owned(), key })
        }
        ["list-keys", organization] => Ok(Task::ListKeys { organization: (*organization).to_owned() }),
        ["revoke-key", key] => Ok(Task::RevokeKey { key: (*key).to_owned() }),
        _ => Err(usage(format!("the command is {command}, not {:?}", words.join(" ")))),
    }
}

fn settings(given: &Given) -> Result<Settings, Failure> {
    let options = [
        "listen",
        "public-url",
        "order-hold",
        "rate-limit",
        "failed-authentications",
        "allow-local-webhooks",
        "log-format",
    ];
    given.only("the server", &options)?;
    let requests = |text: &str| text.parse::<u32>().map_err(|_| "must be a number of requests a minute");
    let rate_limit = given.setting("rate-limit", requests)?.unwrap_or(1200);
    Ok(Settings {
        database: database(given)?,
        listen: given.setting("listen", listen)?.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080))),
        public_url: given.setting("public-url", public_url)?,
        order_hold: given.setting("order-hold", order_hold)?.unwrap_or(Duration::from_mins(30)),
        rate_limit: Some(rate_limit).filter(|limit| *limit > 0),
        failed_authentications: given.setting("failed-authentications", requests)?.unwrap_or(60),
        allow_local_webhooks: given.setting("allow-local-webhooks", yes_or_no)?.unwrap_or(false),
        log_format: given.setting("log-format", log_format)?.unwrap_or(LogFormat::Text),
    })
}

fn database(given: &Given) -> Result<PathBuf, Failure> {
    match given.raw("database") {
        Some((place, path)) if path.is_empty() => Err(usage(format!("{place} must not be empty"))),
        Some((_, path)) => Ok(path.into()),
        None => Ok(PathBuf::from("ticketing.db")),
    }
}

fn organization(name: &str, given: &Given) -> Result<CreateOrganization, Failure> {
    if name.is_empty() {
        return Err(usage("NAME must not be empty"));
    }
    let mut organization = CreateOrganization { name: name.to_owned(), ..Default::default() };
    if let Some(currency) = given.text("currency")? {
        organization.currency = currency;
    }
    if let Some(timezone) = given.text("timezone")? {
        organization.timezone = timezone;
    }
    organization.check()?;
    Ok(organization)
}

fn key(given: &Given) -> Result<CreateApiKey, Failure> {
    Ok(CreateApiKey {
        name: given.setting("name", not_empty)?.unwrap_or_else(|| "My key".to_owned()),
        scopes: given.setting("scopes", scopes)?.unwrap_or_else(Scopes::all),
        expires_at: given.setting("expires", |text| text.parse::<Timestamp>().map_err(|error| error.to_string()))?,
    })
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
    seconds.map(|seconds| Duration::from_secs(seconds.into())).ok_or("must be a number of seconds, 1 or more")
}

fn yes_or_no(text: &str) -> Result<bool, &'static str> {
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
    let scope = |name: &str| Scope::from_text(name.trim()).ok_or_else(|| format!("names {name:?}, which is no scope"));
    text.split(',').map(scope).collect()
}
