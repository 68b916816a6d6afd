//! Exports, and the settlement of an event.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::enums::scope::Scope;
use crate::error::{Error, Result, Unavailable};
use crate::exports::{self, Export, ExportFile, ExportProgress, ExportReport, Settlement};
use crate::form::request::Request;
use crate::model::tenants::caller::Caller;
use crate::model::values::id::EventId;
use crate::service::TicketingService;
use crate::service::opening::builder::Builder;

/// From this size on of the write-ahead log, an export that keeps it from being reset is logged.
const LARGE_WAL: u64 = 256 * 1024 * 1024;

/// # Exports
impl Builder {
    /// Sets the folder of the temporary files of [exports](TicketingService::export). They contain personal data, have
    /// no name, and are gone when the export has ended. Default: the folder of the database file, or for a PostgreSQL
    /// database that of the system's temporary files.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ticketing.db");
    /// let service = ticketing::TicketingService::builder(path).export_folder(folder.path()).open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn export_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.export_folder = Some(folder.into());
        self
    }
}

/// # Exports
impl TicketingService {
    /// Writes an export to `output`: a file with all orders of an event, for example. The module [`exports`] describes
    /// the kinds and their columns. All rows are of one snapshot of the database, also of one that the thread
    /// [shares](Self::on_one_snapshot).
    ///
    /// `progress` is called after every thousand rows. If it returns `Break`, the export stops. Nothing is written to
    /// `output` before the file is complete.
    ///
    /// Two exports run at the same time, and one of an organization. Others wait for up to five seconds. Exports of at
    /// most 1,000 rows have two more permits, so they do not wait for larger ones. For a settlement, the payments and
    /// the items of orders that it adds up count as rows.
    ///
    /// Requires the [scopes](crate::exports::ExportKind::scopes) of the kind.
    ///
    /// # Errors
    /// - [`Error::Validation`] if the request selects neither an event of the organization nor at most 366 days, or if
    ///   the format cannot have as many rows.
    /// - [`Error::Unavailable`] if too many other exports run, or if the rows cannot be read within two minutes.
    /// - [`Error::Store`] with the kind `ExportStopped` if `progress` returns `Break`; `Full` or `Io` if a file cannot
    ///   be written.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use ticketing::exports::{Export, ExportKind};
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// let mut file = Vec::new();
    /// let export = Export::new(ExportKind::Orders).event(event.id);
    /// let report = service.export(&caller, export, &mut file, |_| ControlFlow::Continue(()))?;
    /// assert_eq!((report.rows, report.totals[0].amount), (1, Amount::cents(2500)));
    /// assert!(file.starts_with(b"\"orderId\",\"reference\",\"status\","));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn export(
        &self,
        caller: &Caller,
        request: Export,
        output: &mut impl Write,
        mut progress: impl FnMut(ExportProgress) -> ControlFlow<()>,
    ) -> Result<ExportReport> {
        let mut export = self.export_file(caller, request.into(), &mut progress)?;
        std::io::copy(&mut export.file, output).map_err(exports::failed)?;
        Ok(export.report)
    }

    /// Writes an export to a temporary file.
    pub(crate) fn export_file(
        &self,
        caller: &Caller,
        request: Request<Export>,
        progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
    ) -> Result<ExportFile> {
        for scope in request.body.kind.scopes() {
            caller.require(*scope)?;
        }
        let request = exports::check(request)?;
        let store = self.store()?;
        let has_few_rows = exports::has_few_rows(store, caller.organization, &request)?;
        let _permit = store.export_permit(caller.organization, has_few_rows)?;
        let mut is_logged = false;
        let mut progress = |done| {
            let wal = store.wal_bytes();
            if wal > LARGE_WAL && !is_logged {
                is_logged = true;
                let kind = request.kind;
                tracing::warn!(target: "ticketing::store", %kind, bytes = wal, "the write-ahead log grows during an export");
            }
            progress(done)
        };
        let written = exports::write(store, &self.export_folder(), caller.organization, &request, &mut progress);
        written.map_err(|error| match error {
            Error::Unavailable(Unavailable::SearchTooLong) => Error::Unavailable(Unavailable::ExportTooLong),
            other => other,
        })
    }

    fn export_folder(&self) -> PathBuf {
        let of_file = || self.store_in_operation().folder().map(Path::to_owned);
        match self.inner.export_folder.clone().or_else(of_file) {
            None => std::env::temp_dir(),
            // The path of the database is the name of a file.
            Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
            Some(folder) => folder,
        }
    }

    /// Returns the settlement of an event: what was sold of each ticket type, what was paid and given back, what is
    /// disputed and owed, and the balance. All lines are of the same instant.
    ///
    /// It adds up all payments of the event, so it is a search: of very many, an [export](Self::export) has more time.
    ///
    /// Requires the scope `orders:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the event does not exist.
    /// - [`Error::Unavailable`] after the time limit of a search.
    ///
    /// ```
    /// use ticketing::exports::SettlementSection;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?.order;
    /// service.mark_order_paid(&caller, order.id, ticketing::payment::ManualMethod::Cash)?;
    /// let settlement = service.get_settlement(&caller, event.id)?;
    /// assert_eq!(settlement.amount(SettlementSection::Balance), Amount::cents(2500));
    /// assert_eq!(settlement.count(SettlementSection::Sold), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_settlement(&self, caller: &Caller, id: EventId) -> Result<Settlement> {
        caller.require(Scope::OrdersRead)?;
        let organization = caller.organization;
        self.store()?.scan(Some(organization), |tx| exports::settlement_of_event(tx, organization, id))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::exports::{ExportFormat, ExportKind};
    use crate::model::tenants::organization::CreateOrganization;
    use crate::model::values::cancellation::CancellationToken;
    use crate::model::values::timestamp::Timestamp;

    #[test]
    fn a_file_for_which_nobody_waits_is_not_completed() {
        let service = TicketingService::temporary().open().unwrap();
        let organization = service.create_organization(CreateOrganization::default()).unwrap();
        let caller = service.act_for(organization.id).unwrap();
        let (from, before) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH.saturating_add(Duration::from_secs(1)));
        let formats: &[_] = if cfg!(feature = "xlsx") { ExportFormat::ALL } else { &[ExportFormat::Csv] };
        for format in formats {
            let request = Export::new(ExportKind::Orders).from(from).before(before).format(*format);
            let export = |ends: bool| {
                let (token, waiting) = CancellationToken::new();
                let mut waiting = Some(waiting);
                // All rows are read.
                let progress = |_| {
                    if ends {
                        drop(waiting.take());
                    }
                    ControlFlow::Continue(())
                };
                token.run(|| service.export(&caller, request.clone(), &mut Vec::new(), progress)).is_ok()
            };
            assert!(export(false) && !export(true), "{format}");
        }
    }

    #[test]
    fn rows_are_read_in_the_order_of_an_index_and_never_sorted() {
        let service = TicketingService::temporary().open().unwrap();
        for event in [Some(EventId::from_raw(2)), None] {
            let plans = service.store_in_operation().scan(None, |tx| {
                let explain = |sql: String| {
                    tx.query_all(&format!("{} QUERY PLAN {sql}", "EXPLAIN"), &[], |row| row.get::<String>("detail"))
                };
                exports::all_statements(tx, event)?.into_iter().map(explain).collect::<Result<Vec<_>>>()
            });
            for plan in plans.unwrap() {
                let is_bad = |step: &String| {
                    let is_scan = step.starts_with("SCAN ") && step != "SCAN CONSTANT ROW" && step != "SCAN first_rows";
                    step.contains("TEMP B-TREE") || is_scan
                };
                assert!(!plan.iter().any(is_bad), "{event:?}: {plan:#?}");
            }
        }
    }
}
