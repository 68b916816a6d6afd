//! A CSV file.

use std::io::Write as _;

use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};

use super::columns::Cell;
use super::file::{Output, local_text};
use crate::error::Result;
use crate::form::text_kind::breaks_line;
use crate::model::operation::export::CsvDialect;

/// The size of the buffer, in bytes.
const BUFFER: usize = 64 * 1024;

/// With one of these at its beginning, a spreadsheet takes a cell for a formula. Some also convert the full-width forms.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Some spreadsheets drop these characters at the beginning of a cell.
const WHITE_SPACE: [char; 3] = ['\t', '\r', '\n'];

/// A CSV file that is being written.
pub(super) struct CsvSheet {
    writer: Writer<Output>,
    dialect: CsvDialect,
    text: Vec<u8>,
}

impl CsvSheet {
    pub(super) fn new(mut output: Output, dialect: CsvDialect) -> Result<Self> {
        let delimiter = match dialect {
            CsvDialect::Standard => b',',
            CsvDialect::Excel => {
                output.write_all("\u{feff}".as_bytes()).map_err(super::file::failed)?;
                b';'
            }
        };
        // Quotes around every text: they keep most texts in one cell, also in a program that expects another delimiter.
        let writer = WriterBuilder::new()
            .delimiter(delimiter)
            .terminator(Terminator::CRLF)
            .quote_style(QuoteStyle::NonNumeric)
            .buffer_capacity(BUFFER)
            .from_writer(output);
        Ok(Self { writer, dialect, text: Vec::new() })
    }

    pub(super) fn write_row(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        for cell in cells {
            self.write_cell(cell)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(failed)
    }

    fn write_cell(&mut self, cell: &Cell<'_>) -> Result<()> {
        let text = &mut self.text;
        text.clear();
        let written = match cell {
            Cell::Empty => Ok(()),
            Cell::Text(content) if !needs_guard(content) => {
                return self.writer.write_field(content.as_bytes()).map_err(failed);
            }
            Cell::Text(content) => {
                add_guarded(text, content);
                Ok(())
            }
            Cell::Flag(flag) => write!(text, "{flag}"),
            Cell::Number(number) => write!(text, "{number}"),
            Cell::Amount(amount) => write!(text, "{amount}"),
            Cell::Instant(instant) => write!(text, "{instant}"),
            Cell::Local(millis) => {
                text.extend_from_slice(&local_text(*millis));
                Ok(())
            }
        };
        if matches!(cell, Cell::Amount(_)) && self.dialect == CsvDialect::Excel {
            text.iter_mut().filter(|byte| **byte == b'.').for_each(|point| *point = b',');
        }
        written.map_err(super::file::failed)?;
        self.writer.write_field(text).map_err(failed)
    }

    pub(super) fn finish(self) -> Result<Output> {
        self.writer.into_inner().map_err(|error| super::file::failed(error.into_error()))
    }
}

/// Whether a text has a character at which it may need an apostrophe. It reads all bytes, because this is faster than to
/// stop at the first that is found.
fn needs_guard(text: &str) -> bool {
    // 0xEF begins the full-width forms.
    let may_begin_formula = |byte| matches!(byte, b'=' | b'+' | b'-' | b'@' | 0xEF);
    text.starts_with(WHITE_SPACE) || text.bytes().fold(false, |found, byte| found | may_begin_formula(byte))
}

/// Adds a text with an apostrophe before each place where a cell would be a formula, also in a program that expects
/// another delimiter. Such a program does not know which quotes enclose a text: it may begin a cell behind any
/// delimiter, quote or line break.
fn add_guarded(cell: &mut Vec<u8>, text: &str) {
    if text.starts_with(WHITE_SPACE) {
        cell.push(b'\'');
    }
    let mut begins_cell = true;
    let mut added = 0;
    for (position, c) in text.char_indices() {
        if begins_cell && FORMULA.contains(&c) {
            cell.extend_from_slice(&text.as_bytes()[added..position]);
            cell.push(b'\'');
            added = position;
        }
        begins_cell = matches!(c, ',' | ';' | '\t' | '"') || breaks_line(c);
    }
    cell.extend_from_slice(&text.as_bytes()[added..]);
}

fn failed(error: csv::Error) -> crate::error::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => super::file::failed(error),
        other => crate::error::Error::Internal(format!("a row of an export cannot be written: {other:?}")),
    }
}
