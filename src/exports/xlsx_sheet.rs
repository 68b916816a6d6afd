//! A workbook with one sheet: a header that stays in sight and has filters, and typed cells. On paper, each page has the
//! header, and the sheet is as wide as a page, or as several if the letters would be too small.

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

/// The least and the greatest width of a column, in characters. What is longer is cut off on paper.
const WIDTHS: (usize, usize) = (8, 60);

/// The most characters beside each other on a page of A4 paper in landscape: letters of about 7 points.
const PAGE_WIDTH: usize = 240;

/// The code of A4 paper.
const A4: u8 = 9;

/// The margins of a page in inches: left, right, top, bottom, and those of what stands above and below the sheet.
const MARGINS: [f64; 6] = [0.4, 0.4, 0.5, 0.6, 0.3, 0.3];

/// The width of the button of a filter beside the name of a column.
const FILTER_BUTTON: usize = 3;

/// The width of an instant with its indent, and that of a truth value.
const TIME_WIDTH: usize = 20;
const FLAG_WIDTH: usize = 5;

/// The days from 1899-12-30, where the count of spreadsheets begins, to 1970.
const DAYS_BEFORE_1970: f64 = 25_569.0;

const MILLIS_OF_DAY: f64 = 86_400_000.0;

/// A workbook that is being written. Its rows are in a temporary file.
pub(super) struct XlsxSheet {
    workbook: Workbook,
    /// The row of the header, and below it the row that is written next.
    header: u32,
    row: u32,
    /// The width of each column, in characters.
    widths: Vec<usize>,
    formats: Formats,
}

struct Formats {
    title: Format,
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
        // Not directly beside the currency that follows.
        let decimals = |format: &str| Format::new().set_num_format(format).set_align(FormatAlign::Right).set_indent(1);
        let formats = Formats {
            title: Format::new().set_bold().set_font_size(14),
            header: Format::new().set_bold(),
            time: Format::new().set_num_format("yyyy-mm-dd hh:mm:ss").set_align(FormatAlign::Left).set_indent(1),
            flag: Format::new().set_num_format(r#""TRUE";"TRUE";"FALSE""#).set_align(FormatAlign::Left),
            amounts: ["0", "0.0", "0.00", "0.000", "0.0000"].map(decimals),
        };
        Ok(Self { workbook, header: 0, row: 0, widths: Vec::new(), formats })
    }

    /// Writes lines above the header, each a label and a text, and leaves a row free below them. The first is the title.
    pub(super) fn write_head(&mut self, head: &[(&str, String)]) -> Result<()> {
        let formats = &self.formats;
        let sheet = self.workbook.worksheet_from_index(0).map_err(convert)?;
        guard(|| {
            for (row, (label, text)) in (0..).zip(head) {
                let format = if row == 0 { &formats.title } else { &formats.header };
                sheet.write_string_with_format(row, 0, *label, format)?;
                sheet.write_string(row, 1, shortened(text))?;
                self.header = row + 2;
            }
            Ok(())
        })
    }

    pub(super) fn write_header(&mut self, header: &[&str]) -> Result<()> {
        let (row, format) = (self.header, &self.formats.header);
        let sheet = self.workbook.worksheet_from_index(0).map_err(convert)?;
        guard(|| {
            let [left, right, top, bottom, above, below] = MARGINS;
            sheet.set_paper_size(A4).set_landscape().set_margins(left, right, top, bottom, above, below);
            sheet.set_footer("&R&P / &N");
            sheet.set_freeze_panes(row + 1, 0)?.set_repeat_rows(row, row)?;
            (0..)
                .zip(header)
                .try_for_each(|(column, name)| sheet.write_string_with_format(row, column, *name, format).map(drop))
        })?;
        self.row = row + 1;
        self.widths = header.iter().map(|name| name.len() + FILTER_BUTTON).collect();
        Ok(())
    }

    pub(super) fn write_row(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        let (row, formats) = (self.row, &self.formats);
        let sheet = self.workbook.worksheet_from_index(0).map_err(convert)?;
        guard(|| (0..).zip(cells).try_for_each(|(column, cell)| write_cell(sheet, row, column, cell, formats)))?;
        for (width, cell) in self.widths.iter_mut().zip(cells) {
            *width = (*width).max(width_of(cell));
        }
        self.row += 1;
        Ok(())
    }

    pub(super) fn finish(mut self, output: Output) -> Result<Output> {
        let (header, last_row, widths) = (self.header, self.row.saturating_sub(1), &self.widths);
        let last_column = u16::try_from(widths.len().saturating_sub(1)).unwrap_or(u16::MAX);
        let workbook = &mut self.workbook;
        let mut output = BufWriter::with_capacity(64 * 1024, output);
        guard(|| {
            let sheet = workbook.worksheet_from_index(0)?;
            sheet.autofilter(header, 0, last_row, last_column)?;
            let mut total = 0;
            for (column, width) in (0..).zip(widths) {
                // For the space at both sides, and for ids, whose letters are wide.
                let width = (width + 2).clamp(WIDTHS.0, WIDTHS.1);
                sheet.set_column_width(column, u8::try_from(width).unwrap_or(u8::MAX))?;
                total += width;
            }
            let pages = u16::try_from(total.div_ceil(PAGE_WIDTH)).unwrap_or(u16::MAX);
            sheet.set_print_fit_to_pages(pages, 0);
            if pages > 1 {
                // Each page has the first column too, and the pages of the same rows follow one another.
                sheet.set_repeat_columns(0, 0)?.set_page_order(false);
            }
            workbook.save_to_writer(&mut output)
        })?;
        output.flush().map_err(failed)?;
        output.into_inner().map_err(|error| failed(error.into_error()))
    }
}

/// Writes a text as a text, so that nothing in it becomes a formula or a link.
fn write_cell(
    sheet: &mut Worksheet,
    row: u32,
    column: u16,
    cell: &Cell<'_>,
    formats: &Formats,
) -> Result<(), XlsxError> {
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

/// The width of a cell, in characters.
fn width_of(cell: &Cell<'_>) -> usize {
    match cell {
        Cell::Empty => 0,
        Cell::Text(text) => text.chars().take(WIDTHS.1).map(width_of_character).sum(),
        Cell::Flag(_) => FLAG_WIDTH,
        Cell::Number(number) => number.to_string().len(),
        Cell::Amount(amount) => amount.to_string().len() + 1,
        Cell::Instant(_) | Cell::Local(_) => TIME_WIDTH,
    }
}

/// From the Hangul Jamo on, most characters are as wide as two letters.
fn width_of_character(character: char) -> usize {
    if character >= '\u{1100}' { 2 } else { 1 }
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
