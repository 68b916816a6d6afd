//! What happened in a sale, as its buyers saw it.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// What every buyer writes into.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// How long each order took that was placed.
    pub(crate) orders: Vec<Duration>,
    /// How long each order took that was refused.
    pub(crate) refusals: Vec<Duration>,
    /// How long each click on the checkout page took.
    pub(crate) clicks: Vec<Duration>,
    /// How often an order was refused, by the reason.
    pub(crate) refused: BTreeMap<String, usize>,
    /// The orders whose buyers were told that they have paid, and did not cancel afterwards.
    pub(crate) paid: HashSet<String>,
    /// How many places those have.
    pub(crate) sold: usize,
    /// Payments that came too late and went back.
    pub(crate) too_late: usize,
    /// Answers that a buyer must not get: 5xx above all.
    pub(crate) unexpected: Vec<String>,
    /// How long the sale took until the first order was refused, and how many had been placed by then.
    pub(crate) rush: Option<(Duration, usize)>,
    /// How long the whole sale took.
    pub(crate) took: Duration,
    /// How many slow connections the server closed, each of which another followed.
    pub(crate) slow_closed: usize,
}

impl Record {
    pub(crate) fn requests(&self) -> usize {
        self.orders.len() + self.refusals.len() + self.clicks.len()
    }

    /// Orders a second while there were places for everybody.
    pub(crate) fn rate(&self) -> f64 {
        let (time, orders) = self.rush.unwrap_or((self.took, self.orders.len()));
        orders as f64 / time.as_secs_f64()
    }
}

/// The time within which so many of a hundred requests were answered, where there was any.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    sorted.get((sorted.len() * percent / 100).min(last)).copied()
}
