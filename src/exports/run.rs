//! Writes an export: reads the rows of a kind one after another, and writes the cells of its columns.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use super::columns::{Cell, Column, Read};
use super::file::ExportFile;
use super::selection::{Selection, Statements};
use super::sheet::Sheet;
use super::{attendees, check_ins, movements, settlement, sold_items, table};
use crate::error::{Error, FieldErrors, Result, StoreErrorKind};
use crate::form::request::Request;
use crate::model::operation::export::{Export, ExportFormat, ExportKind, ExportProgress, ExportReport, ExportTotal};
use crate::model::sale::event::Event;
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::values::amount::Amount;
use crate::model::values::id::OrganizationId;
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::{Checked, checked, file_name};
use crate::store::order::order_details::{self, StoredDetails};
use crate::store::sale::events;
use crate::store::{Row, Store, Transaction};

/// How long the rows of an export may be read: as long, the log of a database file grows by what is written.
const MAX_TIME: Duration = Duration::from_mins(2);

/// After how many rows the thread lets others run that wait for a processor, such as those that answer requests.
const ROWS_AT_ONCE: u64 = 100;

/// After how many rows the progress is reported.
const REPORTED_ROWS: u64 = 1000;

/// The greatest number of rows of an export that does not wait for larger ones. It takes some hundredths of a second.
const FEW_ROWS: u64 = 1000;

/// How many days an export without an event may have.
const MAX_DAYS: u64 = 366;

/// How many rows a sheet has, besides its header.
const MAX_XLSX_ROWS: u64 = 1_048_575;

/// Checks what a request says by itself.
pub(crate) fn check(Request { body, mut errors }: Request<Export>) -> Result<Checked<Export>> {
    let request: &Export = &body;
    let is_xlsx = request.format == Some(ExportFormat::Xlsx);
    let can_write = cfg!(feature = "xlsx") || !is_xlsx;
    errors.check(can_write, "format", "must be csv: this program is compiled without the feature xlsx");
    errors.check(request.dialect.is_none() || !is_xlsx, "dialect", "must be absent: only CSV files have a dialect");
    let has_codes = request.codes.is_none() || request.kind == ExportKind::Attendees;
    errors.check(has_codes, "codes", "must be absent: only attendees have codes");
    check_rows(request, &mut errors);
    checked(body, errors)
}

/// Checks that a request selects an event, or few enough days.
fn check_rows(request: &Export, errors: &mut FieldErrors) {
    let Export { kind, event_id, from, before, .. } = *request;
    if ["eventId", "from", "before"].iter().any(|field| errors.covers(field)) {
        return;
    }
    if kind.needs_event() {
        errors.check(event_id.is_some(), "eventId", "is required");
        errors.check(from.is_none(), "from", "must be absent: this export is of the whole event");
        errors.check(before.is_none(), "before", "must be absent: this export is of the whole event");
        return;
    }
    if let (Some(from), Some(before)) = (from, before) {
        errors.check(from < before, "before", "must be after from");
    }
    let latest = from.map(|from| from.saturating_add(Duration::from_hours(24 * MAX_DAYS)));
    let is_short = latest.zip(before).is_some_and(|(latest, before)| before <= latest);
    let problem = "must be given, with a before at most 366 days later, unless eventId is given";
    errors.check(event_id.is_some() || is_short, "from", problem);
}

/// Whether an export has few rows, and adds up few. Rows that come after this do not count.
pub(crate) fn has_few_rows(store: &Store, organization: OrganizationId, request: &Checked<Export>) -> Result<bool> {
    let counted = store.scan(Some(organization), |tx| {
        let selection = Selection::new(tx, organization, request)?;
        let count = statements(tx, &selection, request.kind)?.count_up_to(FEW_ROWS + 1);
        tx.query_opt(&count, &[], |row| Ok(row.count("number")? <= FEW_ROWS))
    });
    match counted {
        // There are many if it takes long to count a few.
        Err(Error::Unavailable(_)) => Ok(false),
        counted => Ok(counted?.unwrap_or_default()),
    }
}

/// The statements of a kind. A settlement has lines in place of rows, and adds up what is counted.
fn statements(tx: &Transaction<'_>, selection: &Selection, kind: ExportKind) -> Result<Statements> {
    Ok(match kind {
        ExportKind::Ledger => movements::statements(tx, selection)?,
        ExportKind::Orders => sold_items::statements(tx, selection)?,
        ExportKind::Attendees => attendees::statements(selection),
        ExportKind::CheckIns => check_ins::statements(selection),
        ExportKind::Settlement => {
            let mut counted = movements::statements(tx, selection)?.counted;
            counted.append(&mut sold_items::statements(tx, selection)?.counted);
            Statements { rows: Vec::new(), counted }
        }
    })
}

/// Writes the file of a request, for an organization that has a permit. `progress` may stop it.
pub(crate) fn write(
    store: &Store,
    folder: &Path,
    organization: OrganizationId,
    request: &Checked<Export>,
    progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
) -> Result<ExportFile> {
    let mut written = None;
    store.export(MAX_TIME, &mut |tx| {
        written = Some(read(tx, folder, organization, request, progress)?);
        Ok(())
    })?;
    // A workbook is put together when the snapshot has ended.
    let (sheet, report) = written.ok_or_else(|| Error::Internal("an export was not read".to_owned()))?;
    sheet.finish()?.complete(report)
}

fn read(
    tx: &Transaction<'_>,
    folder: &Path,
    organization: OrganizationId,
    request: &Export,
    progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
) -> Result<(Sheet, ExportReport)> {
    let selection = Selection::new(tx, organization, request)?;
    let columns: Vec<Column> =
        table(request.kind).iter().copied().filter(|column| is_wanted(column, request)).collect();
    let names = columns.iter().flat_map(|column| [Some(column.name), column.local_name].into_iter().flatten());
    let header: Vec<_> = names.collect();
    let as_of = tx.now();
    let event = request.event_id.map(|id| events::get(tx, organization, id)).transpose()?;
    let file_name = file_name(request, event.as_ref(), as_of);
    if request.kind == ExportKind::Settlement {
        let event = event.ok_or_else(|| Error::field("eventId", "is required"))?;
        let lines = settlement::of_event(tx, organization, event.id)?.lines;
        let head = settlement::head(tx, &event)?;
        let mut sheet = Sheet::create(folder, request, as_of, &head, &header)?;
        let is_for_people = request.format == Some(ExportFormat::Xlsx);
        for line in &lines {
            let cells = match is_for_people {
                true => settlement::cells_in_words(&columns, line),
                false => settlement::cells(&columns, line),
            };
            sheet.write_row(&cells)?;
        }
        return Ok((sheet, ExportReport { file_name, rows: lines.len() as u64, totals: Vec::new(), as_of }));
    }
    let statements = statements(tx, &selection, request.kind)?;
    let total_rows = tx.query_opt(&statements.count(), &[], |row| row.count("number"))?.unwrap_or(0);
    if request.format == Some(ExportFormat::Xlsx) && total_rows > MAX_XLSX_ROWS {
        let problem = format!("must be csv, because there are {total_rows} rows: xlsx has at most {MAX_XLSX_ROWS}");
        return Err(Error::field("format", problem));
    }
    let mut sheet = Sheet::create(folder, request, as_of, &[], &header)?;
    let kind = request.kind;
    let mut rows = Rows { kind, columns: &columns, zone: None, totals: Totals::of(kind) };
    let mut done = ExportProgress { rows: 0, total_rows };
    for statement in &statements.rows {
        tx.query_table(statement, |row| {
            rows.write(row, &mut sheet)?;
            done.rows += 1;
            if done.rows.is_multiple_of(ROWS_AT_ONCE) {
                std::thread::yield_now();
            }
            if done.rows.is_multiple_of(REPORTED_ROWS) { report(done, progress) } else { Ok(()) }
        })?;
    }
    report(done, progress)?;
    Ok((sheet, ExportReport { file_name, rows: done.rows, totals: rows.totals.sums, as_of }))
}

/// The name of the file: the event, the kind, and the date there at the instant of the export.
fn file_name(request: &Export, event: Option<&Event>, as_of: Timestamp) -> String {
    let format = request.format.unwrap_or(ExportFormat::Csv);
    let local = event.and_then(|event| as_of.to_local(&event.timezone).ok());
    let date = &local.unwrap_or_else(|| as_of.to_string())[..10];
    let name = format!("{}-{date}.{format}", request.kind);
    match event {
        Some(event) => file_name::of_event(&event.slug, &name),
        None => name,
    }
}

fn report(done: ExportProgress, progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>) -> Result<()> {
    match progress(done) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(StoreErrorKind::ExportStopped.into()),
    }
}

fn is_wanted(column: &Column, request: &Export) -> bool {
    request.codes == Some(true) || request.kind != ExportKind::Attendees || column.name != attendees::CODE
}

/// Reads rows, and writes them to a sheet.
struct Rows<'c> {
    kind: ExportKind,
    columns: &'c [Column],
    /// The time zone of the row that was read last.
    zone: Option<(String, Zone)>,
    totals: Totals,
}

impl Rows<'_> {
    fn write(&mut self, row: &Row<'_>, sheet: &mut Sheet) -> Result<()> {
        let mut cells = Vec::with_capacity(self.columns.len() * 2);
        let mut zone = None;
        let details = match self.kind {
            ExportKind::Orders => order_details::stored(row)?,
            _ => StoredDetails::default(),
        };
        for column in self.columns {
            let cell = match column.read {
                Read::Row(read) => read(row)?,
                Read::Item(read) => read(row, &details)?,
                Read::Line(_) => continue,
            };
            let local = match (column.local_name, &cell) {
                (None, _) => None,
                (Some(_), Cell::Instant(at)) => {
                    let zone: &Zone = match &zone {
                        Some(zone) => zone,
                        None => zone.insert(self.zone(row)?),
                    };
                    Some(Cell::Local(zone.local_millis(*at)))
                }
                (Some(_), _) => Some(Cell::Empty),
            };
            if Some(column.name) == self.totals.column
                && let Cell::Amount(amount) = cell
            {
                self.totals.add(row, amount)?;
            }
            cells.push(cell);
            cells.extend(local);
        }
        sheet.write_row(&cells)
    }

    /// The time zone of the event.
    fn zone(&mut self, row: &Row<'_>) -> Result<Zone> {
        let name = row.text("timezone")?.unwrap_or_default();
        match &self.zone {
            Some((known, zone)) if known == name => Ok(*zone),
            _ => {
                let zone = Zone::stored(name)?;
                self.zone = Some((name.to_owned(), zone));
                Ok(zone)
            }
        }
    }
}

/// The sums of a column of amounts.
struct Totals {
    column: Option<&'static str>,
    has_modes: bool,
    sums: Vec<ExportTotal>,
}

impl Totals {
    fn of(kind: ExportKind) -> Self {
        let column = match kind {
            ExportKind::Ledger => Some("amount"),
            ExportKind::Orders => Some("finalAmount"),
            ExportKind::Attendees => Some("pricePaid"),
            ExportKind::CheckIns | ExportKind::Settlement => None,
        };
        Self { column, has_modes: kind == ExportKind::Ledger, sums: Vec::new() }
    }

    fn add(&mut self, row: &Row<'_>, amount: Amount) -> Result<()> {
        let currency = row.text("currency")?.unwrap_or_default();
        let mode: Option<PaymentMode> = if self.has_modes { Some(row.get("mode")?) } else { None };
        let known = self.sums.iter_mut().find(|total| total.currency == currency && total.mode == mode);
        match known {
            Some(total) => total.amount = total.amount.plus(amount),
            None => self.sums.push(ExportTotal { currency: currency.to_owned(), mode, amount }),
        }
        Ok(())
    }
}

/// The statements of all kinds of an event, or of all dates.
#[cfg(test)]
pub(crate) fn all_statements(
    tx: &Transaction<'_>,
    event: Option<crate::model::values::id::EventId>,
) -> Result<Vec<String>> {
    let organization = OrganizationId::from_raw(1);
    let (from, before) = (Some(tx.now()), Some(tx.now()));
    let selection = Selection { organization, event, from, before, now: tx.now() };
    let all = ExportKind::ALL.iter().map(|kind| {
        let statements = statements(tx, &selection, *kind)?;
        let counts = [statements.count(), statements.count_up_to(FEW_ROWS + 1)];
        Ok(statements.rows.into_iter().chain(counts).collect::<Vec<_>>())
    });
    Ok(all.collect::<Result<Vec<_>>>()?.concat())
}
