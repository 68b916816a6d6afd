//! What was given on the command line, and behind it in the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;

use crate::failure::{Failure, usage};

/// The options that the environment can give, too.
const VARIABLES: [&str; 8] = [
    "database",
    "listen",
    "public-url",
    "order-hold",
    "rate-limit",
    "failed-authentications",
    "allow-local-webhooks",
    "log-format",
];

/// The options by name, without their dashes.
pub(crate) struct Given<'e> {
    options: BTreeMap<&'static str, OsString>,
    environment: &'e dyn Fn(&str) -> Option<OsString>,
}

impl<'e> Given<'e> {
    pub(crate) fn new(environment: &'e dyn Fn(&str) -> Option<OsString>) -> Self {
        Self { options: BTreeMap::new(), environment }
    }

    /// The last one wins.
    pub(crate) fn add(&mut self, option: &'static str, value: OsString) {
        self.options.insert(option, value);
    }

    /// Refuses every option that is not for `command`.
    pub(crate) fn only(&self, command: &str, options: &[&str]) -> Result<(), Failure> {
        match self.options.keys().find(|given| **given != "database" && !options.contains(given)) {
            Some(stranger) => Err(usage(format!("--{stranger} is not an option of {command}"))),
            None => Ok(()),
        }
    }

    /// The value of an option, and where it stands.
    pub(crate) fn raw(&self, option: &str) -> Option<(String, OsString)> {
        if let Some(value) = self.options.get(option) {
            return Some((format!("--{option}"), value.clone()));
        }
        if !VARIABLES.contains(&option) {
            return None;
        }
        let variable = format!("TICKETING_{}", option.to_uppercase().replace('-', "_"));
        (self.environment)(&variable).map(|value| (variable, value))
    }

    /// The value as `read` understands it. What `read` objects to is told with the name of the option or variable.
    pub(crate) fn setting<T, E: Display>(
        &self,
        option: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Failure> {
        let Some((place, value)) = self.raw(option) else { return Ok(None) };
        let text = value.to_str().ok_or_else(|| usage(format!("{place} is not UTF-8: {value:?}")))?;
        read(text).map(Some).map_err(|problem| usage(format!("{place} {problem}: {text:?}")))
    }

    pub(crate) fn text(&self, option: &str) -> Result<Option<String>, Failure> {
        self.setting(option, |text| Ok::<_, String>(text.to_owned()))
    }
}
