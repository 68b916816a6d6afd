//! Programs that read exported files back.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use ticketing::exports::{Export, ExportReport};
use ticketing::{Amount, Result};

use crate::common::*;

/// An exported file.
pub struct File {
    pub report: ExportReport,
    pub bytes: Vec<u8>,
    folder: TempDir,
}

/// The rows of a file, as a program reads it.
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

pub fn try_export(fixture: &Fixture, request: Export) -> Result<File> {
    let mut bytes = Vec::new();
    let report = fixture.service.export(&fixture.caller, request, &mut bytes, |_| ControlFlow::Continue(()))?;
    Ok(File { report, bytes, folder: tempfile::tempdir().expect("a folder") })
}

pub fn export(fixture: &Fixture, request: Export) -> File {
    try_export(fixture, request).expect("an export")
}

/// Python with openpyxl and DuckDB. Says that the test is skipped if there is none.
fn python() -> Option<PathBuf> {
    python::python("duckdb, openpyxl")
}

/// Whether Python can read files. Says that the test is skipped if it cannot.
pub fn has_python() -> bool {
    python().is_some()
}

/// Whether LibreOffice is installed. Says that the test is skipped if it is not.
pub fn has_libreoffice() -> bool {
    let found = Command::new("soffice").arg("--version").output().is_ok();
    if !found {
        unavailable("libreoffice-calc-nogui is not installed");
    }
    found
}

/// What `read.py` prints.
pub fn read(arguments: &[&str], path: &Path) -> Vec<Vec<Value>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/exports/read.py");
    let mut command = Command::new(python().expect("Python"));
    command.arg(script).arg(arguments[0]).arg(path).args(&arguments[1..]);
    let output = command.output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("rows")
}

/// Lets LibreOffice convert a file to CSV, as it shows it.
pub fn by_libreoffice(path: &Path) -> Table {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("soffice");
    // A profile of its own, because two programs cannot share one. UTF-8, commas, every text in quotes.
    command.arg(format!("-env:UserInstallation=file://{}/profile", folder.path().display()));
    command.args(["--headless", "--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false"]);
    let output = command.arg("--outdir").arg(folder.path()).arg(path).output().expect("LibreOffice runs");
    let converted = folder.path().join(path.file_stem().expect("a name")).with_extension("csv");
    assert!(converted.exists(), "{output:?}");
    Table::of(read(&["csv"], &converted))
}

impl Table {
    fn of(mut rows: Vec<Vec<Value>>) -> Self {
        let header = rows.remove(0).iter().map(|name| name.as_str().expect("a name").to_owned()).collect();
        Self { header, rows }
    }

    /// The cells of a column.
    pub fn column(&self, name: &str) -> Vec<&Value> {
        let index = self.header.iter().position(|known| known == name).expect(name);
        self.rows.iter().map(|row| &row[index]).collect()
    }

    /// The cells of a column of texts.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.column(name).iter().map(|cell| cell.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The sum of a column of euros, in cents.
    pub fn cents(&self, name: &str) -> i64 {
        self.column(name).into_iter().map(cents).sum()
    }
}

/// The cents of a cell: a number, or the text of one. An empty one has none.
pub fn cents(cell: &Value) -> i64 {
    let text = match cell {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => panic!("{other}"),
    };
    if text.is_empty() {
        return 0;
    }
    let amount: Amount = text.parse().expect("an amount");
    amount.minor_with(2).expect("cents")
}

impl File {
    /// Writes the file with this extension.
    pub fn path(&self, extension: &str) -> PathBuf {
        let path = self.folder.path().join("export").with_extension(extension);
        std::fs::write(&path, &self.bytes).expect("written");
        path
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("UTF-8")
    }

    /// The rows of a CSV file, as Python reads them.
    pub fn by_python(&self) -> Table {
        Table::of(read(&["csv"], &self.path("csv")))
    }

    /// The rows of a workbook, as openpyxl reads them.
    pub fn by_openpyxl(&self) -> Table {
        Table::of(read(&["xlsx"], &self.path("xlsx")))
    }
}
