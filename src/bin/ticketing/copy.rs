//! The command `copy`, which moves a database file to PostgreSQL, and takes that back.

use serde_json::json;
use ticketing::TicketingService;

use super::database_option::{Database, DatabaseOptions};
use super::failure::Failure;

/// Copies the file to a PostgreSQL database, checks both, puts the file out of use, and prints the number of rows. On a
/// terminal, progress bars are shown.
#[cfg(feature = "postgres")]
pub(crate) fn copy(options: &DatabaseOptions, to: &str) -> Result<(), Failure> {
    use super::output::{show, with_bar};

    let (database, to) = Database::read_copy(options, to)?;
    let path = database.file("copy reads a database file")?;
    let file = database.builder_of_command(false)?.open()?;
    let target = to.database(true)?;
    let copied = with_bar("{wide_bar} {pos} of {len} rows, {per_sec}", |bar| {
        file.copy_to(target, |progress| show(bar, progress.rows, progress.total_rows))
    })?;
    let target = Database::Postgres(to).builder_of_command(false)?.open()?;
    let (before, after) = (super::database::find(&file)?, super::database::find(&target)?);
    let clean = before.is_clean() && after.is_clean();
    if clean {
        TicketingService::mark_as_moved(path)?;
    }
    let json = json!({
        "rows": copied.rows, "clean": clean, "moved": clean,
        "database": super::database::json_of(&before), "to": super::database::json_of(&after),
    });
    super::output::print_line(&json.to_string())?;
    match clean {
        true => Ok(()),
        false => {
            let problem = "the check of the file or of the copy has findings, so that the file stays in use";
            Err(Failure::Run(problem.to_owned()))
        }
    }
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn copy(options: &DatabaseOptions, to: &str) -> Result<(), Failure> {
    // This fails: a URL needs the feature.
    Database::read_copy(options, to).map(drop)
}

/// Puts a file into use again that was copied to PostgreSQL.
pub(crate) fn undo(database: &Database) -> Result<(), Failure> {
    let path = database.file("copy --undo puts a database file into use again")?;
    TicketingService::undo_move(path)?;
    super::output::print_line(&json!({ "database": path.display().to_string(), "moved": false }).to_string())
}
