//! Python with the packages that read back what is made, which `.ci/exports/packages` installs.

use std::path::PathBuf;
use std::process::Command;

use super::skipped::unavailable;

/// Python, if it has these packages. Says that the test is skipped if it has not.
pub fn python(packages: &str) -> Option<PathBuf> {
    let python = std::env::var_os("TICKETING_TEST_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let found = Command::new(&python).args(["-c", &format!("import {packages}")]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    unavailable(format!("{} has not all of {packages}: .ci/exports/packages installs them", python.display()));
    None
}
