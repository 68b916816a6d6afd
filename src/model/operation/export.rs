//! Exports: the request, the kinds and formats, and the report of what was written.

use crate::enums::scope::Scope;
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::amount::Amount;
use crate::model::values::id::EventId;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// What is exported. [`columns`](crate::exports::columns) lists the columns of each.
    pub enum ExportKind {
        /// Every movement of money: a row for each entry of the ledger.
        Ledger = "ledger",
        /// Orders of any status: a row for each item.
        Orders = "orders",
        /// Issued tickets: a row for each.
        Attendees = "attendees",
        /// The scans of an event, and its checked-in tickets without a recorded scan: a row for each.
        CheckIns = "check-ins",
        /// The settlement of an event: a row for each line.
        Settlement = "settlement",
    }
}

impl ExportKind {
    /// The scopes that a caller needs.
    ///
    /// ```
    /// use ticketing::exports::ExportKind;
    /// use ticketing::organization::Scope;
    /// assert_eq!(ExportKind::Attendees.scopes(), [Scope::TicketsRead, Scope::OrdersRead]);
    /// ```
    #[must_use]
    pub const fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Ledger | Self::Orders | Self::Settlement => &[Scope::OrdersRead],
            Self::Attendees => &[Scope::TicketsRead, Scope::OrdersRead],
            Self::CheckIns => &[Scope::TicketsRead],
        }
    }

    /// Whether it exports one event, and not what happened in a range of dates.
    pub(crate) const fn needs_event(self) -> bool {
        matches!(self, Self::CheckIns | Self::Settlement)
    }
}

text_enum! {
    /// The format of an exported file.
    pub enum ExportFormat {
        /// Comma-separated values (RFC 4180), in UTF-8.
        Csv = "csv",
        /// A workbook of Office Open XML. It needs the feature `xlsx`, and has at most 1,048,575 rows.
        Xlsx = "xlsx",
    }
}

text_enum! {
    /// How an exported CSV file is written.
    pub enum CsvDialect {
        /// With commas between the columns, and points in amounts.
        Standard = "standard",
        /// For Excel in countries that write 12,50: with a byte order mark, semicolons between the columns, and commas
        /// in amounts.
        Excel = "excel",
    }
}

/// # Constructors
impl Export {
    /// Creates a request for a CSV file. Its setters select the event or the dates.
    #[must_use]
    pub fn new(kind: ExportKind) -> Self {
        Self { kind, format: None, dialect: None, event_id: None, from: None, before: None, codes: None }
    }
}

form! {
    /// A request for an export: of one event, or of at most 366 days.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Export {
        /// What is exported.
        pub kind: ExportKind,
        /// The format of the file. Default: CSV.
        pub format: Option<ExportFormat>,
        /// How a CSV file is written. Default: standard.
        pub dialect: Option<CsvDialect>,
        /// Only what belongs to this event. Check-ins and settlements need it.
        pub event_id: Option<EventId>,
        /// Only orders created, tickets issued, or movements recorded at this time or later. Needed without an event.
        pub from: Option<Timestamp>,
        /// Only orders created, tickets issued, or movements recorded before this time. Without an event it is needed,
        /// and at most 366 days after `from`.
        pub before: Option<Timestamp>,
        /// Whether attendees have a column with the codes that are scanned at check-in. Default: false.
        pub codes: Option<bool>,
    }
}

/// What an export has written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExportReport {
    /// A name for the file: the slug of the event, the kind, and the date of `as_of` in the time zone of the event, such as
    /// `summer-night-orders-2026-11-28.csv`. Without an event, the kind and the date in UTC.
    pub file_name: String,
    /// The number of rows, without the header.
    pub rows: u64,
    /// The sums of the amounts: of the movements, of the final amounts of items, or of the prices of tickets. Empty for
    /// check-ins and settlements.
    pub totals: Vec<ExportTotal>,
    /// The instant whose state the file shows.
    pub as_of: Timestamp,
}

/// The sum of the amounts of an export in one currency.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExportTotal {
    /// The currency.
    pub currency: String,
    /// Whether it is real money: only set for the ledger. Real money and that of tests are never added up.
    pub mode: Option<PaymentMode>,
    /// The sum. One of more than 2^63 - 1 minor units is reported as that number.
    pub amount: Amount,
}

/// The progress of an export. The total is known from the start, since one snapshot of the database is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportProgress {
    /// The number of rows written so far.
    pub rows: u64,
    /// The number of rows of the complete file.
    pub total_rows: u64,
}
