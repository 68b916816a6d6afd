//! Commands on the database file: backup and check. A server may use the file at the same time.

use std::ops::ControlFlow;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use ticketing::TicketingService;

use crate::failure::Failure;
use crate::print_line;

/// Copies the database to a new file and prints the size of the copy. On a terminal, a progress bar is shown.
pub(crate) fn back_up(database: &Path, path: &str) -> Result<(), Failure> {
    let service = open(database)?;
    // indicatif draws to standard error, and only if that is a terminal.
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let result = service.backup(path, |progress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.bytes);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let copy = result?;
    print_line(&json!({ "path": path, "bytes": copy.bytes, "pages": copy.pages }).to_string())
}

/// Checks the database and prints the findings. Findings are a failure.
pub(crate) fn check(database: &Path) -> Result<(), Failure> {
    let report = open(database)?.check()?;
    let json = json!({ "clean": report.is_clean(), "counts": report.counts, "findings": report.findings });
    print_line(&json.to_string())?;
    match report.counts.len() {
        0 => Ok(()),
        1 => Err(Failure::Run("the database violates 1 invariant".to_owned())),
        violated => Err(Failure::Run(format!("the database violates {violated} invariants"))),
    }
}

/// Fails if the file does not exist. Only the server and `create-organization` create a database.
pub(crate) fn require_file(database: &Path) -> Result<(), Failure> {
    if database.exists() {
        return Ok(());
    }
    Err(Failure::Run(format!("there is no database at {}", database.display())))
}

fn open(database: &Path) -> Result<TicketingService, Failure> {
    require_file(database)?;
    Ok(TicketingService::builder(database).readers(1).open()?)
}
