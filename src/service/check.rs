//! Looking whether a store is as it must be.

use super::TicketingService;
use crate::error::Result;
use crate::model::check::CheckReport;
use crate::store::check;

impl TicketingService {
    /// Checks the whole store on one state of it: the file and its indexes, and every invariant of orders, places, tickets,
    /// payments, discounts and webhooks. What does not hold is a finding in the report, and so is what cannot be read; the
    /// report names tables, rows and invariants, and nothing personal. It takes no caller: whoever can open the file may
    /// look.
    ///
    /// It only reads, beside whoever sells. It reads everything, which takes a while: for a million tickets ten seconds, for
    /// as many notifications that are kept about as long again, and more where others need the machine. What is written
    /// meanwhile stays in the write-ahead log until it is done, as with [`backup`](Self::backup): a large store that sells
    /// is better checked on a copy.
    ///
    /// # Errors
    /// Only those of a store that cannot be read at all.
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
