//! The command `copy`, which moves a database file to PostgreSQL.

use crate::database_option::Database;
use crate::failure::Failure;

/// Copies the file to a PostgreSQL database, checks both, and prints the number of rows. On a terminal, progress bars are
/// shown.
#[cfg(feature = "postgres")]
pub(crate) fn copy(database: &Database, to: &Database) -> Result<(), Failure> {
    use std::ops::ControlFlow;

    use indicatif::{ProgressBar, ProgressStyle};
    use serde_json::json;

    let file = database.builder_of_command(false)?.open()?;
    // indicatif draws to standard error, and only if that is a terminal.
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} rows, {per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let result = file.copy_to(to.builder()?, |progress| {
        bar.set_length(progress.total_rows);
        bar.set_position(progress.rows);
        ControlFlow::Continue(())
    });
    bar.finish_and_clear();
    let copied = result?;
    let target = to.builder_of_command(false)?.open()?;
    let (before, after) = (crate::database::find(&file)?, crate::database::find(&target)?);
    let clean = before.is_clean() && after.is_clean();
    let json = json!({
        "rows": copied.rows, "clean": clean,
        "database": { "counts": before.counts, "findings": before.findings },
        "to": { "counts": after.counts, "findings": after.findings },
    });
    crate::print_line(&json.to_string())?;
    match clean {
        true => Ok(()),
        false => Err(Failure::Run("the check of the file or of the copy has findings".to_owned())),
    }
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn copy(_: &Database, to: &Database) -> Result<(), Failure> {
    // The option was refused before.
    to.builder().map(drop)
}
