//! The values of options, from the command line and from the environment, before they are parsed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;

use crate::database_option;
use crate::failure::{Failure, usage};

/// The options that can also be set by an environment variable.
const WITH_VARIABLE: [&str; 20] = [
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

/// Option values by name, without the leading dashes.
pub(crate) struct RawOptions<'e> {
    command_line: BTreeMap<&'static str, OsString>,
    environment: &'e dyn Fn(&str) -> Option<OsString>,
}

/// A value, and the option or environment variable that it comes from.
pub(crate) struct RawValue {
    pub(crate) source: String,
    pub(crate) value: OsString,
}

impl<'e> RawOptions<'e> {
    pub(crate) fn new(environment: &'e dyn Fn(&str) -> Option<OsString>) -> Self {
        Self { command_line: BTreeMap::new(), environment }
    }

    /// Adds a value from the command line. If an option occurs twice, the last value wins.
    pub(crate) fn add(&mut self, option: &'static str, value: OsString) {
        self.command_line.insert(option, value);
    }

    /// A variable of the environment that has no option.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        (self.environment)(name)
    }

    /// Fails if the command line has an option that `command` does not accept. Every command accepts those of the database.
    pub(crate) fn allow_only(&self, command: &str, options: &[&str]) -> Result<(), Failure> {
        for option in self.command_line.keys() {
            if !database_option::OPTIONS.contains(option) && !options.contains(option) {
                return Err(usage(format!("--{option} is not an option of {command}")));
            }
        }
        Ok(())
    }

    /// Returns the value of an option. The command line takes precedence over the environment.
    pub(crate) fn raw(&self, option: &str) -> Option<RawValue> {
        if let Some(value) = self.command_line.get(option) {
            return Some(RawValue { source: format!("--{option}"), value: value.clone() });
        }
        if !WITH_VARIABLE.contains(&option) {
            return None;
        }
        let variable = format!("TICKETING_{}", option.to_uppercase().replace('-', "_"));
        let value = (self.environment)(&variable)?;
        Some(RawValue { source: variable, value })
    }

    /// Returns the value of an option, parsed. A parse error names the option or the variable, and the value.
    pub(crate) fn parsed<T, E: Display>(
        &self,
        option: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Failure> {
        let Some(RawValue { source, value }) = self.raw(option) else { return Ok(None) };
        let text =
            value.to_str().ok_or_else(|| usage(format!("invalid value {value:?} for {source}: not valid UTF-8")))?;
        match parse(text) {
            Ok(parsed) => Ok(Some(parsed)),
            Err(problem) => Err(usage(format!("invalid value {text:?} for {source}: {problem}"))),
        }
    }

    pub(crate) fn text(&self, option: &str) -> Result<Option<String>, Failure> {
        self.parsed(option, |text| Ok::<_, String>(text.to_owned()))
    }
}
