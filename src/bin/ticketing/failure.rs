//! Errors of the program: one line on standard error and an exit status.

use std::error::Error as _;
use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use ticketing::Error;
use ticketing::error::FieldError;

/// Why the program failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or the environment is invalid: exit status 2. No file was created.
    Usage(String),
    /// The command failed: exit status 1.
    Run(String),
    /// The database could not be checked: exit status 2.
    NotChecked(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::NotChecked(_) => ExitCode::from(2),
            Self::Run(_) => ExitCode::from(1),
        }
    }
}

impl Failure {
    /// An error of clap in one line. An invalid value is named by its environment variable if it comes from there.
    pub(crate) fn of_arguments(error: &clap::Error, arguments: &[OsString]) -> Self {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => Some(listed(texts)),
            _ => None,
        };
        let invalid = context(ContextKind::InvalidArg).zip(context(ContextKind::InvalidValue));
        let is_value = matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue);
        if let Some((argument, value)) = invalid.filter(|_| is_value) {
            let source = source(&argument, arguments);
            return match (error.source(), context(ContextKind::ValidValue)) {
                _ if value.is_empty() => usage(format!("{source} needs a value")),
                (Some(problem), _) => usage(format!("invalid value {value:?} for {source}: {problem}")),
                (None, Some(valid)) => usage(format!("invalid value {value:?} for {source}: must be {valid}")),
                (None, None) => usage(format!("invalid value {value:?} for {source}")),
            };
        }
        // The message, often a tip, the usage, and how to get help.
        let text = error.to_string();
        let line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let paragraphs = text.trim_start_matches("error: ").split("\n\n").map(line);
        let paragraphs = paragraphs.filter(|paragraph| !paragraph.starts_with("For more information"));
        usage(paragraphs.chain(choices(error.kind(), &text, arguments)).collect::<Vec<_>>().join("; "))
    }
}

/// What there is, if the command is unknown, or lacks a value that has few. `text` says what is wrong.
fn choices(kind: ErrorKind, text: &str, arguments: &[OsString]) -> Option<String> {
    let definition = super::arguments::definition();
    let mut commands = definition.get_subcommands();
    if kind == ErrorKind::InvalidSubcommand {
        return Some(format!("Commands: {}", commands.map(clap::Command::get_name).collect::<Vec<_>>().join(", ")));
    }
    let command = commands.find(|command| arguments.iter().any(|argument| argument == command.get_name()))?;
    let is_missing = |argument: &&clap::Arg| text.contains(&format!("<{}>", argument.get_id().as_str().to_uppercase()));
    let missing = command.get_positionals().find(is_missing).filter(|_| kind == ErrorKind::MissingRequiredArgument)?;
    let values: Vec<_> = missing.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    (!values.is_empty()).then(|| format!("{} is {}", missing.get_id().as_str().to_uppercase(), listed(&values)))
}

/// Lists texts as in a sentence: `a, b or c`.
fn listed<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<_> = texts.iter().map(AsRef::as_ref).collect();
    match texts.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => texts.concat(),
    }
}

/// The option or environment variable that has an invalid value. `argument` is an option with its placeholder, or a
/// placeholder.
fn source(argument: &str, arguments: &[OsString]) -> String {
    let option = argument.split(' ').next().unwrap_or_default();
    let is_given = arguments.iter().any(|given| given.to_string_lossy().split('=').next() == Some(option));
    match option.strip_prefix("--") {
        Some(name) if !is_given => format!("TICKETING_{}", name.to_uppercase().replace('-', "_")),
        _ => option.trim_matches(['<', '>']).to_owned(),
    }
}

impl fmt::Display for Failure {
    /// Writes one line: control characters, which quoted input may contain, are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(text) | Self::Run(text) | Self::NotChecked(text)) = self;
        for character in text.chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        Ok(())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.fields() {
            [] => Self::Run(error.to_string()),
            fields => Self::Usage(fields.iter().map(describe).collect::<Vec<_>>().join("; ")),
        }
    }
}

/// An invalid command line or environment.
pub(crate) fn usage(message: impl fmt::Display) -> Failure {
    Failure::Usage(message.to_string())
}

/// Describes a field error by the option or argument that the field came from.
fn describe(error: &FieldError) -> String {
    let option = match error.path.as_str() {
        "backup" => return format!("BACKUP {}", error.message),
        "path" => return format!("PATH {}", error.message),
        "expiresAt" => "expires",
        "eventId" => "event",
        "order_hold" => "order-hold",
        "public_url" => "public-url",
        "read_from" => "read-from",
        "pageName" => "page-name",
        "imprintUrl" => "imprint-url",
        "privacyUrl" => "privacy-url",
        "secret_key" => "stripe-key-file",
        "webhook_secret" => "stripe-webhook-secret-file",
        "url" => "database",
        "api_base" => "stripe-api-base",
        "mail.from" => "mail-from",
        "mail.per_second" => "mail-per-second",
        path => path,
    };
    format!("--{option} {}", error.message)
}
