//! Commands on the whole database: backup, restore and check. None of them migrates it.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Value, json};
use ticketing::TicketingService;
use ticketing::maintenance::{CheckProgress, CheckReport};

use super::database_option::Database;
use super::failure::Failure;
use super::output::{print_line, show, with_bar};

/// Copies the database to a new file and prints the size of the copy. On a terminal, a progress bar is shown. A server
/// may use the file at the same time.
pub(crate) fn back_up(database: &Database, path: &Path) -> Result<(), Failure> {
    let database = database.file("backup copies database files: copy a PostgreSQL database with pg_dump")?;
    require_file(database)?;
    let copy = with_bar("{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}", |bar| {
        TicketingService::backup_file(database, path, |progress| show(bar, progress.bytes, progress.total_bytes))
    })?;
    print_line(&json!({ "path": path.display().to_string(), "bytes": copy.bytes, "pages": copy.pages }).to_string())
}

/// Replaces the database by a copy of a backup. Fails if a server uses the file.
pub(crate) fn restore(backup: &Path, database: &Database) -> Result<(), Failure> {
    let database = database.file("restore replaces database files: restore a PostgreSQL database with pg_restore")?;
    TicketingService::restore(backup, database)?;
    print_line(
        &json!({ "backup": backup.display().to_string(), "database": database.display().to_string() }).to_string(),
    )
}

/// Checks the database and prints the findings. On a terminal, a progress bar is shown. Findings are a failure, and
/// another one than a database that cannot be looked at. A server may use the database at the same time.
pub(crate) fn check(database: &Database) -> Result<(), Failure> {
    let not_checked = |error: &dyn Display| Failure::NotChecked(error.to_string());
    let report = match database {
        Database::File(path) => {
            require_file(path).map_err(|failure| not_checked(&failure))?;
            with_steps(|progress| TicketingService::check_file_with_progress(path, progress))
        }
        Database::Postgres(_) => {
            let builder = database.builder_of_command(false)?;
            builder.open().and_then(|service| find(&service))
        }
    };
    let report = report.map_err(|error| not_checked(&error))?;
    print_line(&json_of(&report).to_string())?;
    match report.counts.len() {
        0 => Ok(()),
        1 => Err(Failure::Run("the database violates 1 invariant".to_owned())),
        violated => Err(Failure::Run(format!("the database violates {violated} invariants"))),
    }
}

/// What a check has found. Without violations, it has no `counts` of them.
pub(crate) fn json_of(report: &CheckReport) -> Value {
    let mut json = json!({ "clean": report.is_clean(), "findings": report.findings, "checked": report.checked });
    if !report.is_clean() {
        json["counts"] = json!(report.counts);
    }
    json
}

pub(crate) fn find(service: &TicketingService) -> ticketing::Result<CheckReport> {
    with_steps(|progress| service.check_with_progress(progress))
}

/// Runs a check, whose progress is shown in a bar.
fn with_steps<T>(check: impl FnOnce(&dyn Fn(CheckProgress) -> ControlFlow<()>) -> T) -> T {
    with_bar("{wide_bar} {pos} of {len} steps", |bar| {
        check(&|progress| show(bar, progress.steps, progress.total_steps))
    })
}

/// Fails if the file does not exist. Only the server and `create-organization` create a database.
fn require_file(database: &Path) -> Result<(), Failure> {
    if database.exists() {
        return Ok(());
    }
    Err(Failure::Run(format!("there is no database at {}", database.display())))
}
