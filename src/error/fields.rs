//! The fields of a request that violate constraints.

use std::collections::HashSet;
use std::fmt;

/// A field that violates a constraint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct FieldError {
    /// The path of the field, such as `items[0].quantity`; empty for the request as a whole.
    pub path: String,
    /// A message for people. It completes the sentence `<field> …`.
    pub message: String,
}

/// The fields of a request that violate constraints, in the order in which they were found: at most 100.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldErrors {
    errors: Vec<FieldError>,
    /// The paths of `errors`, for a fast lookup.
    paths: HashSet<String>,
    has_more: bool,
}

/// How many errors are collected at most, so that a request with many errors needs little work and memory.
const MAX_ERRORS: usize = 100;

/// How many errors the message contains at most.
const MAX_IN_MESSAGE: usize = 20;

impl FieldErrors {
    /// Adds an error, unless the field or its parent has one already: a field that could not be read has a placeholder,
    /// about which further errors would make no sense.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.has_more {
            return;
        }
        let path = path.into();
        if self.covers(&path) {
            return;
        }
        if self.errors.len() == MAX_ERRORS {
            self.has_more = true;
            return;
        }
        self.paths.insert(path.clone());
        self.errors.push(FieldError { path, message: message.into() });
    }

    /// Adds an error unless the condition `holds`.
    pub(crate) fn check(&mut self, holds: bool, path: impl Into<String>, message: impl Into<String>) {
        if !holds {
            self.add(path, message);
        }
    }

    /// Removes the errors of a field and of its parts if they are exactly those that `forgiven` returns, which is only
    /// called if there are any. Does nothing if there are more errors than are kept. Returns whether it removed them.
    pub(crate) fn forgive(&mut self, field: &str, forgiven: impl FnOnce() -> Option<Self>) -> bool {
        let is_of_field =
            |path: &str| path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let mut of_field = self.errors.iter().filter(|error| is_of_field(&error.path)).peekable();
        let is_forgiven = !self.has_more
            && of_field.peek().is_some()
            && forgiven().is_some_and(|forgiven| of_field.eq(&forgiven.errors));
        if is_forgiven {
            self.errors.retain(|error| !is_of_field(&error.path));
            self.paths.retain(|path| !is_of_field(path));
        }
        is_forgiven
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Whether there are more errors than the first 100, which are the only ones that are kept.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// The errors, in the order in which they were found.
    #[must_use]
    pub fn as_slice(&self) -> &[FieldError] {
        &self.errors
    }

    /// Whether the field or its parent has an error.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let ends = path.match_indices(['.', '[']).map(|(end, _)| end);
        std::iter::once(0).chain(ends).chain([path.len()]).any(|end| self.paths.contains(&path[..end]))
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().take(MAX_IN_MESSAGE).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            if error.path.is_empty() {
                write!(f, "{separator}the request {}", error.message)?;
            } else {
                // Most messages continue the sentence. Messages for customers are whole sentences, which follow a colon.
                let colon = if error.message.starts_with(char::is_uppercase) { ":" } else { "" };
                write!(f, "{separator}{}{colon} {}", error.path, error.message)?;
            }
        }
        match self.errors.len().saturating_sub(MAX_IN_MESSAGE) {
            0 => Ok(()),
            more if self.has_more => {
                write!(f, "; and {more} more; only the first {MAX_ERRORS} errors are listed, and there are more")
            }
            more => write!(f, "; and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_gets_no_error_if_its_parent_has_one() {
        let mut errors = FieldErrors::default();
        for path in ["items[1]", "items[1].quantity", "items[10]", "items[1]x", "customer", "customer.email", "custom"]
        {
            errors.add(path, "is wrong");
        }
        let paths: Vec<_> = errors.as_slice().iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["items[1]", "items[10]", "items[1]x", "customer", "custom"]);
        errors.add("", "must be an object");
        assert!(errors.covers("anything") && errors.covers(""));
    }

    #[test]
    fn the_message_has_the_first_errors_and_the_number_of_the_others() {
        let mut errors = FieldErrors::default();
        for index in 0..MAX_IN_MESSAGE + 5 {
            errors.add(format!("tags[{index}]"), "must be a string");
        }
        let sentence = errors.to_string();
        assert!(sentence.starts_with("tags[0] must be a string; tags[1] must be a string; "), "{sentence}");
        assert!(sentence.ends_with("; tags[19] must be a string; and 5 more"), "{sentence}");
        assert_eq!(errors.as_slice().len(), 25);
    }

    #[test]
    fn a_message_that_is_a_sentence_of_its_own_follows_a_colon() {
        let mut errors = FieldErrors::default();
        errors.add("price", "must be a number");
        errors.add("discountCode", "Discount code not found");
        assert_eq!(errors.to_string(), "price must be a number; discountCode: Discount code not found");
    }

    #[test]
    fn the_errors_of_a_field_and_of_its_parts_are_forgiven_together() {
        let mut errors = FieldErrors::default();
        let mut forgiven = FieldErrors::default();
        for path in ["tags[3]", "tags[5].x"] {
            errors.add(path, "is wrong");
            errors.forgive("tags", || Some(forgiven.clone()));
            forgiven.add(path, "is wrong");
        }
        for path in ["tagsets", "title"] {
            errors.add(path, "is wrong");
        }
        assert_eq!(errors.as_slice().len(), 4, "not all errors of the field were forgiven");
        errors.forgive("tags", || Some(forgiven.clone()));
        let paths: Vec<_> = errors.as_slice().iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["tagsets", "title"]);
        errors.add("tags[3]", "is wrong again");
        assert!(errors.covers("tags[3]"));
    }

    #[test]
    fn only_the_first_100_errors_are_kept() {
        let mut errors = FieldErrors::default();
        for index in 0..100 {
            errors.add(format!("tags[{index}]"), "must be a string");
        }
        errors.add("tags[7]", "is listed already");
        assert!(!errors.has_more());
        errors.add("tags[100]", "must be a string");
        errors.add("title", "is required");
        assert!(errors.has_more());
        assert_eq!(errors.as_slice().last().map(|error| error.path.as_str()), Some("tags[99]"));
        assert_eq!(errors.as_slice().len(), 100);
        let sentence = errors.to_string();
        let end = "; and 80 more; only the first 100 errors are listed, and there are more";
        assert!(sentence.ends_with(end), "{sentence}");
    }
}
