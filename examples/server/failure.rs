//! Errors of the program: one line on standard error and an exit status.

use std::fmt;
use std::process::ExitCode;

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
        "order_hold" => "order-hold",
        "public_url" => "public-url",
        "read_from" => "read-from",
        "secret_key" => "stripe-key-file",
        "webhook_secret" => "stripe-webhook-secret-file",
        "url" => "database",
        "api_base" => "stripe-api-base",
        path => path,
    };
    format!("--{option} {}", error.message)
}
