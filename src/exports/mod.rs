//! Exports: what an organization sold, paid and gave back, and who comes, as files for spreadsheets and accounting.
//!
//! [`TicketingService::export`](crate::TicketingService::export) writes one of five kinds as CSV, or with the feature
//! `xlsx` as XLSX. [`columns`] lists their columns, and [the guide](crate::guide::exports) describes the files.
//! [`TicketingService::get_settlement`](crate::TicketingService::get_settlement) returns the settlement of an event.
//!
//! All rows of a file are of one snapshot of the database, which is read in one pass and never in memory as a whole.
//! The rows are first written to a temporary file without a name, so that the snapshot ends when they are read, however
//! slow the one is who gets the file.

mod attendees;
mod check_ins;
mod columns;
mod csv_sheet;
mod file;
mod movements;
mod run;
mod selection;
mod settlement;
mod sheet;
mod sold_items;
#[cfg(feature = "xlsx")]
mod xlsx_sheet;

pub use crate::model::operation::export::{
    CsvDialect, Export, ExportFormat, ExportKind, ExportProgress, ExportReport, ExportTotal,
};
pub use crate::model::sale::settlement::{Settlement, SettlementLine, SettlementSection};

use columns::{Column, LOCAL};
pub(crate) use file::{ExportFile, failed};
#[cfg(test)]
pub(crate) use run::all_statements;
pub(crate) use run::{check, has_few_rows, write};
pub(crate) use settlement::of_event as settlement_of_event;

/// A column of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportColumn {
    /// The name in the header. It never changes: further columns are only added behind the others.
    pub name: &'static str,
    /// What its cells contain: text, a number, an amount, an instant in UTC, a local time, or true or false.
    pub contents: &'static str,
    /// What it means, in Markdown.
    pub description: &'static str,
}

/// Returns the columns of a kind, in their order.
///
/// # Ledger
///
#[doc = movements::columns_doc!()]
///
/// # Orders
///
#[doc = sold_items::columns_doc!()]
///
/// # Attendees
///
#[doc = attendees::columns_doc!()]
///
/// # Check-ins
///
#[doc = check_ins::columns_doc!()]
///
/// # Settlement
///
#[doc = settlement::columns_doc!()]
///
/// ```
/// use ticketing::exports::{ExportKind, columns};
/// let names: Vec<_> = columns(ExportKind::Settlement).map(|column| column.name).collect();
/// assert_eq!(names, ["section", "label", "count", "amount", "currency"]);
/// ```
pub fn columns(kind: ExportKind) -> impl Iterator<Item = ExportColumn> {
    table(kind).iter().flat_map(|column| {
        let Column { name, contents, description, .. } = *column;
        let local = |name| ExportColumn { name, contents: LOCAL.0, description: LOCAL.1 };
        [Some(ExportColumn { name, contents, description }), column.local_name.map(local)].into_iter().flatten()
    })
}

const fn table(kind: ExportKind) -> &'static [Column] {
    match kind {
        ExportKind::Ledger => movements::COLUMNS,
        ExportKind::Orders => sold_items::COLUMNS,
        ExportKind::Attendees => attendees::COLUMNS,
        ExportKind::CheckIns => check_ins::COLUMNS,
        ExportKind::Settlement => settlement::COLUMNS,
    }
}
