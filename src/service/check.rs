//! The consistency check of a database.

use super::TicketingService;
use crate::error::Result;
use crate::model::check::CheckReport;
use crate::store::check;

/// # Checking the database
impl TicketingService {
    /// Checks the consistency of the whole database: the file and its indexes, and every invariant of orders, seats,
    /// tickets, payments, discounts and webhooks.
    ///
    /// The report lists a finding for each violation and for everything that cannot be read. It names tables, rows and
    /// invariants, but no personal data. This method takes no caller: a program that can open the database may check
    /// it.
    ///
    /// The check reads one snapshot of the database while others write. It takes about 10 seconds for a million
    /// tickets, and about 10 more for a million stored notifications; on a busy machine it takes longer. Until it ends,
    /// the write-ahead log grows, as during a [backup](Self::backup). Therefore check a copy of a large database that is
    /// in use.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the database cannot be read at all.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let report = service.check()?;
    /// assert!(report.is_clean(), "{:?}", report.findings);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<CheckReport> {
        self.store().read_on_dedicated_connection(check::run)
    }
}
