//! The command that exports to a file.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde_json::json;
use ticketing::exports::{Export, ExportFormat};
use ticketing::id::EventId;
use ticketing::text_enum::TextEnum as _;

use super::admin::{organization_id, organization_of_event, parse_id};
use super::arguments::ExportSettings;
use super::database_option::Database;
use super::failure::{Failure, usage};
use super::output::{print_line, show, with_bar};

/// Writes an export to a new file, and prints the number of its rows and the sums. With the output `-`, it writes the
/// export to standard output, and these to standard error. On a terminal, a progress bar is shown.
pub(crate) fn export(database: &Database, settings: &ExportSettings) -> Result<(), Failure> {
    let service = database.builder_of_command(false)?.open()?.even_if_suspended();
    let event = settings.event.as_deref().map(|event| parse_id::<EventId>(event, "event")).transpose()?;
    let organization = match (&settings.organization, event) {
        (Some(organization), _) => organization_id(organization)?,
        (None, Some(event)) => organization_of_event(&service, event)?,
        (None, None) => return Err(usage("--event or --organization is required")),
    };
    let mut export = Export::new(settings.kind);
    export.format = settings.format.or_else(|| format_of(&settings.output));
    export.dialect = settings.dialect;
    export.event_id = event;
    (export.from, export.before) = (settings.from, settings.before);
    export.codes = settings.codes.then_some(true);
    let caller = service.act_for(organization)?;
    let failed = |error| Failure::Run(format!("cannot write {}: {error}", settings.output.display()));
    let is_file = settings.output != Path::new("-");
    let mut output: Box<dyn Write> = match is_file {
        true => Box::new(create(&settings.output).map_err(failed)?),
        false => Box::new(std::io::stdout()),
    };
    let result = with_bar("{wide_bar} {pos} of {len} rows, {per_sec}", |bar| {
        service.export(&caller, export, &mut output, |progress| show(bar, progress.rows, progress.total_rows))
    });
    let written = result.map_err(Failure::from).and_then(|report| output.flush().map(|()| report).map_err(failed));
    let report = written.inspect_err(|_| {
        // What is in it is not complete.
        let _ = is_file.then(|| std::fs::remove_file(&settings.output));
    })?;
    let path = settings.output.display().to_string();
    let json = json!({ "path": path, "rows": report.rows, "totals": report.totals, "asOf": report.as_of });
    if !is_file {
        eprintln!("{json}");
        return Ok(());
    }
    print_line(&json.to_string())
}

/// Creates a file that its owner only can read: it has personal data.
fn create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The format that a file's extension names.
fn format_of(path: &Path) -> Option<ExportFormat> {
    ExportFormat::from_text(&path.extension().and_then(OsStr::to_str)?.to_lowercase())
}
