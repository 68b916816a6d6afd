//! A workbook with one sheet: a header that stays in sight and has filters, and typed cells.

use std::io::{BufWriter, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, FormatAlign, Workbook, Worksheet, XlsxError};

use super::columns::Cell;
use super::file::{Output, failed};
use crate::error::{Error, Result, StoreErrorKind};
use crate::model::values::timestamp::Timestamp;

/// The most characters of a cell, in units of UTF-16. The rest of a longer text is left out.
const MAX_CHARACTERS: usize = 32_767;

/// The days from 1899-12-30, where the count of spreadsheets begins, to 1970.
const DAYS_BEFORE_1970: f64 = 25_569.0;

const MILLIS_OF_DAY: f64 = 86_400_000.0;

/// A workbook that is being written. Its rows are in a temporary file.
pub(super) struct XlsxSheet {
    workbook: Workbook,
    row: u32,
    columns: u16,
    formats: Formats,
}

struct Formats {
    header: Format,
    /// On the left, below its name in the header.
    time: Format,
    /// Otherwise `LibreOffice` shows 0 and 1.
    flag: Format,
    /// By the number of decimals.
    amounts: [Format; 5],
}

impl XlsxSheet {
    pub(super) fn new(folder: &Path, name: &str, as_of: Timestamp) -> Result<Self> {
        let mut workbook = Workbook::new();
        let created = ExcelDateTime::from_timestamp(as_of.millis() / 1000).map_err(convert)?;
        workbook.set_properties(&DocProperties::new().set_creation_datetime(&created));
        workbook.set_tempdir(folder).map_err(convert)?;
        workbook.add_worksheet_with_constant_memory().map_err(convert)?.set_name(name).map_err(convert)?;
        let decimals = |format: &str| Format::new().set_num_format(format);
        let formats = Formats {
            header: Format::new().set_bold(),
            time: Format::new().set_num_format("yyyy-mm-dd hh:mm:ss").set_align(FormatAlign::Left).set_indent(1),
            flag: Format::new().set_num_format(r#""TRUE";"TRUE";"FALSE""#).set_align(FormatAlign::Left),
            amounts: ["0", "0.0", "0.00", "0.000", "0.0000"].map(decimals),
        };
        Ok(Self { workbook, row: 0, columns: 0, formats })
    }

    pub(super) fn write_header(&mut self, header: &[(&str, u8)]) -> Result<()> {
        self.columns = u16::try_from(header.len()).unwrap_or(u16::MAX);
        let (columns, format) = (self.columns, &self.formats.header);
        let sheet = self.workbook.worksheet_from_index(0).map_err(convert)?;
        guard(|| {
            sheet.set_freeze_panes(1, 0)?;
            for (column, (name, width)) in (0..columns).zip(header) {
                sheet.set_column_width(column, *width)?;
                sheet.write_string_with_format(0, column, *name, format)?;
            }
            Ok(())
        })?;
        self.row = 1;
        Ok(())
    }

    pub(super) fn write_row(&mut self, cells: &[Cell]) -> Result<()> {
        let (row, formats) = (self.row, &self.formats);
        let sheet = self.workbook.worksheet_from_index(0).map_err(convert)?;
        guard(|| (0..).zip(cells).try_for_each(|(column, cell)| write_cell(sheet, row, column, cell, formats)))?;
        self.row += 1;
        Ok(())
    }

    pub(super) fn finish(mut self, output: Output) -> Result<Output> {
        let (last_row, last_column) = (self.row.saturating_sub(1), self.columns.saturating_sub(1));
        let workbook = &mut self.workbook;
        let mut output = BufWriter::with_capacity(64 * 1024, output);
        guard(|| {
            workbook.worksheet_from_index(0)?.autofilter(0, 0, last_row, last_column)?;
            workbook.save_to_writer(&mut output)
        })?;
        output.flush().map_err(failed)?;
        output.into_inner().map_err(|error| failed(error.into_error()))
    }
}

/// Writes a text as a text, so that nothing in it becomes a formula or a link.
fn write_cell(sheet: &mut Worksheet, row: u32, column: u16, cell: &Cell, formats: &Formats) -> Result<(), XlsxError> {
    match cell {
        Cell::Empty => return Ok(()),
        Cell::Text(text) => sheet.write_string(row, column, shortened(text))?,
        Cell::Flag(flag) => sheet.write_boolean_with_format(row, column, *flag, &formats.flag)?,
        #[expect(clippy::cast_precision_loss, reason = "the numbers of tickets and scans are small")]
        Cell::Number(number) => sheet.write_number(row, column, *number as f64)?,
        #[expect(clippy::cast_precision_loss, reason = "an amount of up to 15 digits is exact")]
        Cell::Amount(amount) => {
            let decimals = usize::from(amount.decimals()).min(formats.amounts.len() - 1);
            let value = amount.minor_units() as f64 / 10_f64.powi(i32::from(amount.decimals()));
            sheet.write_number_with_format(row, column, value, &formats.amounts[decimals])?
        }
        Cell::Instant(instant) => write_time(sheet, row, column, instant.millis(), formats)?,
        Cell::Local(millis) => write_time(sheet, row, column, *millis, formats)?,
    };
    Ok(())
}

fn write_time<'s>(
    sheet: &'s mut Worksheet,
    row: u32,
    column: u16,
    millis: i64,
    formats: &Formats,
) -> Result<&'s mut Worksheet, XlsxError> {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds until the year 9999 have 15 digits")]
    let days = DAYS_BEFORE_1970 + millis as f64 / MILLIS_OF_DAY;
    sheet.write_number_with_format(row, column, days, &formats.time)
}

/// The beginning of a text that fits into a cell.
fn shortened(text: &str) -> &str {
    if text.len() <= MAX_CHARACTERS {
        return text;
    }
    let mut units = 0;
    let end = text.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > MAX_CHARACTERS
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// Runs `work`. The crate panics with the error if its temporary file cannot be written.
fn guard(work: impl FnOnce() -> Result<(), XlsxError>) -> Result<()> {
    let panic = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(written) => return written.map_err(convert),
        Err(panic) => panic,
    };
    let message = panic.downcast_ref::<String>().map_or("", String::as_str);
    let is_full = ["StorageFull", "QuotaExceeded"].iter().any(|kind| message.contains(kind));
    Err(if is_full { StoreErrorKind::Full } else { StoreErrorKind::Io(format!("an exported workbook: {message}")) }
        .into())
}

fn convert(error: XlsxError) -> Error {
    match error {
        XlsxError::IoError(error) => failed(error),
        XlsxError::ZipError(problem) => StoreErrorKind::Io(format!("an exported workbook: {problem}")).into(),
        other => Error::Internal(format!("an exported workbook: {other}")),
    }
}
