//! How the program ends when it cannot do what it was asked for: one line, and a status.

use std::fmt;
use std::process::ExitCode;

use ticketing::{Error, FieldError};

/// Why the program ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or the environment asks for something that cannot be: status 2, and nothing was made.
    Usage(String),
    /// It could be, and did not work: status 1.
    Run(String),
}

impl Failure {
    pub(crate) fn status(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Run(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    /// One line, whatever was quoted in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(text) | Self::Run(text)) = self;
        text.chars().try_for_each(|letter| match letter.is_control() {
            true => write!(f, "{}", letter.escape_default()),
            false => write!(f, "{letter}"),
        })
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

/// A wrong command line or environment.
pub(crate) fn usage(problem: impl fmt::Display) -> Failure {
    Failure::Usage(problem.to_string())
}

/// Names a refused field by the option or word that it came from.
fn describe(error: &FieldError) -> String {
    let option = match error.path.as_str() {
        "path" => return format!("PATH {}", error.message),
        "expiresAt" => "expires",
        "order_hold" => "order-hold",
        "public_url" => "public-url",
        path => path,
    };
    format!("--{option} {}", error.message)
}
