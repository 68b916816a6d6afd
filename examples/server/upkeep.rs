//! Backing a store up and checking it, while a server runs on it or not.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use ticketing::TicketingService;

use crate::failure::Failure;
use crate::{admin, say};

/// Copies the store to a new file, and says how large the copy is. On a terminal a bar shows how far it is.
pub(crate) fn back_up(database: &Path, path: &str) -> Result<(), Failure> {
    let service = open(database)?;
    // It is drawn to standard error, and only where that is a terminal.
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let copied = service.backup(path, |progress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.bytes);
    });
    bar.finish_and_clear();
    let copied = copied?;
    say(&json!({ "path": path, "bytes": copied.bytes, "pages": copied.pages }).to_string())
}

/// Checks the store and says what was found. Findings are a failure.
pub(crate) fn check(database: &Path) -> Result<(), Failure> {
    let report = open(database)?.check()?;
    say(&json!({ "clean": report.is_clean(), "counts": report.counts, "findings": report.findings }).to_string())?;
    match report.counts.len() {
        0 => Ok(()),
        broken => Err(Failure::Run(format!("the store is not as it must be: {broken} of its invariants do not hold"))),
    }
}

fn open(database: &Path) -> Result<TicketingService, Failure> {
    admin::must_be_there(database)?;
    Ok(TicketingService::builder(database).readers(1).open()?)
}
