//! Tests that do nothing, and say so.

use std::fmt::Display;
use std::io::Write;

/// Set to 1, it lets tests fail that would be skipped because something is not installed.
const REQUIRE_ALL: &str = "TICKETING_REQUIRE_ALL_TESTS";

/// What a test finds out in a process with other rights, and sends to its parent.
pub const NO_MOUNT: &str = "nothing can be mounted here";

/// Prints that this test is skipped, and why, also if the output of tests is hidden: it does not concern this engine,
/// or the system does not allow what it does.
pub fn skipped(reason: impl Display) {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a test");
    writeln!(std::io::stderr(), "skipped: {test}: {reason}").expect("an output");
}

/// The same because something is not installed. Panics if [`REQUIRE_ALL`] is set.
pub fn unavailable(reason: impl Display) {
    assert!(std::env::var_os(REQUIRE_ALL).is_none_or(|value| value != "1"), "{REQUIRE_ALL}=1: {reason}");
    skipped(reason);
}
