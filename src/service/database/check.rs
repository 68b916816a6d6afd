//! The consistency check of a database.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::model::operation::check::{CheckProgress, CheckReport};
use crate::service::TicketingService;

/// # Checking the database
impl TicketingService {
    /// Checks the consistency of the whole database: the file and its indexes, and every invariant of orders, seats,
    /// tickets, payments, discounts and webhooks.
    ///
    /// The report lists a finding for each violation and for everything that cannot be read. It names tables, rows and
    /// invariants, but no personal data. This method takes no caller: a program that can open the database may check
    /// it.
    ///
    /// The check consists of steps. Each step reads a snapshot of the database while others write, so that the
    /// write-ahead log grows less than during a [backup](Self::backup). The longest one compares the tickets with their
    /// orders. Up to four steps run at a time, each on its own thread, but only one of those that mostly look up rows.
    /// On two processors, a million tickets take about 10 seconds, and a million stored notifications about 25. The
    /// time grows in proportion. A check that finds something may take several times as long.
    ///
    /// # Errors
    /// - [`Error::Store`](crate::Error::Store) if the database cannot be read at all.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let report = service.check()?;
    /// assert!(report.is_clean(), "{:?}", report.findings);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<CheckReport> {
        self.check_with_progress(|_| ControlFlow::Continue(()))
    }

    /// Checks the database like [`check`](Self::check), and calls `progress` after each step. If it returns
    /// [`ControlFlow::Break`], the check ends after the steps that are running.
    ///
    /// # Errors
    /// As of [`check`](Self::check), and [`Error::Store`](crate::Error::Store) if `progress` returns `Break`.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let report = service.check_with_progress(|progress| {
    ///     println!("{} of {}", progress.steps, progress.total_steps);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert!(report.is_clean(), "{:?}", report.findings);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_with_progress(
        &self,
        mut progress: impl FnMut(CheckProgress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        self.store()?.check(&mut progress)
    }
}
