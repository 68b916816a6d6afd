//! The command that exports to a file.

use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::json;
use tempfile::NamedTempFile;
use ticketing::exports::{Export, ExportFormat, ExportReport};
use ticketing::id::EventId;
use ticketing::text_enum::TextEnum as _;

use super::admin::{organization_id, organization_of_event, parse_id};
use super::arguments::ExportSettings;
use super::database_option::Database;
use super::failure::{Failure, usage};
use super::output::{print_line, show, with_bar};

/// Writes an export to a new file, and prints its path, the number of its rows and the sums. In a folder, the file has the
/// name that the export gives it. With the output `-`, it writes the export to standard output, and these to standard
/// error. On a terminal, a progress bar is shown.
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
    let write = |mut output: &mut dyn Write| -> Result<ExportReport, Failure> {
        let report = with_bar("{wide_bar} {pos} of {len} rows, {per_sec}", |bar| {
            service.export(&caller, export, &mut output, |progress| show(bar, progress.rows, progress.total_rows))
        })?;
        output.flush().map(|()| report).map_err(|error| failed(&settings.output, error))
    };
    if settings.output == Path::new("-") {
        let report = write(&mut std::io::stdout())?;
        eprintln!("{}", line(&settings.output, &report));
        return Ok(());
    }
    let is_folder = settings.output.is_dir();
    let folder = match is_folder {
        true => &settings.output,
        false if settings.output.exists() => return Err(exists(&settings.output)),
        false => settings.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")),
    };
    // Its owner only can read it, because it has personal data. It has its name when it is complete.
    let mut file = NamedTempFile::new_in(folder).map_err(|error| failed(&settings.output, error))?;
    let report = write(&mut file)?;
    let path = if is_folder { folder.join(&report.file_name) } else { settings.output.clone() };
    file.persist_noclobber(&path).map_err(|refused| match refused.error.kind() {
        ErrorKind::AlreadyExists => exists(&path),
        _ => failed(&path, refused.error),
    })?;
    print_line(&line(&path, &report))
}

/// What is printed about a file.
fn line(path: &Path, report: &ExportReport) -> String {
    let path = path.display().to_string();
    json!({ "path": path, "rows": report.rows, "totals": report.totals, "asOf": report.as_of }).to_string()
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    Failure::Run(format!("cannot write {}: {error}", path.display()))
}

fn exists(path: &Path) -> Failure {
    Failure::Run(format!(
        "cannot write {}: the file exists, and is not overwritten: choose another name",
        path.display()
    ))
}

/// The format that a file's extension names.
fn format_of(path: &Path) -> Option<ExportFormat> {
    ExportFormat::from_text(&path.extension().and_then(OsStr::to_str)?.to_lowercase())
}
