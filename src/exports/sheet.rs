//! A file in one of the formats.

use std::path::Path;

use super::columns::Cell;
use super::csv_sheet::CsvSheet;
use super::file::Output;
#[cfg(feature = "xlsx")]
use super::xlsx_sheet::XlsxSheet;
use crate::error::Result;
#[cfg(feature = "xlsx")]
use crate::model::operation::export::ExportFormat;
use crate::model::operation::export::{CsvDialect, Export};
use crate::model::values::timestamp::Timestamp;

/// A file that is being written.
pub(super) enum Sheet {
    Csv(Box<CsvSheet>),
    #[cfg(feature = "xlsx")]
    Xlsx(Box<XlsxSheet>, Output),
}

impl Sheet {
    /// Creates the file in this folder, and writes the header: the names of the columns. A workbook has the lines of
    /// `head` above it, each a label and a text.
    #[cfg_attr(not(feature = "xlsx"), expect(unused_variables, reason = "only workbooks have a date and a head"))]
    pub(super) fn create(
        folder: &Path,
        request: &Export,
        as_of: Timestamp,
        head: &[(&str, String)],
        header: &[&'static str],
    ) -> Result<Self> {
        let output = Output::create(folder)?;
        match request.format {
            #[cfg(feature = "xlsx")]
            Some(ExportFormat::Xlsx) => {
                let mut sheet = XlsxSheet::new(folder, request.kind.as_str(), as_of)?;
                sheet.write_head(head)?;
                sheet.write_header(header)?;
                Ok(Self::Xlsx(Box::new(sheet), output))
            }
            _ => {
                let mut sheet = CsvSheet::new(output, request.dialect.unwrap_or(CsvDialect::Standard))?;
                let names: Vec<_> = header.iter().map(|name| Cell::from(*name)).collect();
                sheet.write_row(&names)?;
                Ok(Self::Csv(Box::new(sheet)))
            }
        }
    }

    pub(super) fn write_row(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        match self {
            Self::Csv(sheet) => sheet.write_row(cells),
            #[cfg(feature = "xlsx")]
            Self::Xlsx(sheet, _) => sheet.write_row(cells),
        }
    }

    /// Writes what is left of the file.
    pub(super) fn finish(self) -> Result<Output> {
        match self {
            Self::Csv(sheet) => sheet.finish(),
            #[cfg(feature = "xlsx")]
            Self::Xlsx(sheet, output) => sheet.finish(output),
        }
    }
}
