//! Assertions about the errors of the facade.

use std::fmt::Debug;

use ticketing::error::Reason;
use ticketing::{Error, Result};

/// Returns the reason of a conflict. Panics if the result is anything else.
#[track_caller]
pub fn reason<T: Debug>(result: Result<T>) -> Reason {
    let error = result.expect_err("expected an error");
    error.reason().unwrap_or_else(|| panic!("expected a conflict, got {error:?}"))
}

/// Returns the paths of the field errors, in their order. Panics if the result is anything else.
#[track_caller]
pub fn paths<T: Debug>(result: Result<T>) -> Vec<String> {
    let error = result.expect_err("expected an error");
    assert!(!error.fields().is_empty(), "expected field errors, got {error:?}");
    error.fields().iter().map(|field| field.path.clone()).collect()
}

/// Asserts that the error is `NotFound`.
#[track_caller]
pub fn assert_not_found<T: Debug>(result: Result<T>) {
    let error = result.expect_err("expected an error");
    assert!(matches!(error, Error::NotFound(_)), "expected not found, got {error:?}");
}
