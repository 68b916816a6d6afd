//! The record of a sale, as its buyers saw it.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// What the buyers have recorded. A refused buyer tries again, and each refusal counts.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The latency of each order that was created.
    pub(crate) orders: Vec<Duration>,
    /// The same, by the second of the sale in which it was created.
    pub(crate) seconds: Vec<Vec<Duration>>,
    /// The latency of each order that was refused.
    pub(crate) refusals: Vec<Duration>,
    /// The latency of each page that was shown before an order.
    pub(crate) pages: Vec<Duration>,
    /// The latency of each click on the checkout page.
    pub(crate) clicks: Vec<Duration>,
    /// The number of refused orders, by reason.
    pub(crate) refused: BTreeMap<String, usize>,
    /// The orders whose payment was confirmed to the buyer, and which the buyer did not cancel after that.
    pub(crate) paid: HashSet<String>,
    /// The number of seats of those orders.
    pub(crate) sold: usize,
    /// Payments that arrived too late and were refunded.
    pub(crate) too_late: usize,
    /// Responses that a buyer must not get, such as 5xx.
    pub(crate) unexpected: Vec<String>,
    /// The part of the sale before the first order was refused, if one was.
    pub(crate) before_refusals: Option<BeforeRefusals>,
    /// The duration of the sale.
    pub(crate) duration: Duration,
    /// The number of slow connections that the server closed. Each was replaced by a new one.
    pub(crate) slow_closed: usize,
}

/// The part of a sale in which there were seats for every buyer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BeforeRefusals {
    pub(crate) duration: Duration,
    pub(crate) orders: usize,
}

impl Record {
    /// Records an order that was created so long after the beginning of the sale.
    pub(crate) fn order_created(&mut self, after: Duration, latency: Duration) {
        let second = usize::try_from(after.as_secs()).unwrap_or(usize::MAX);
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, Vec::new());
        }
        self.seconds[second].push(latency);
        self.orders.push(latency);
    }

    pub(crate) fn requests(&self) -> usize {
        self.orders.len() + self.refusals.len() + self.clicks.len() + self.pages.len()
    }

    /// Returns the number of orders per second while there were seats for every buyer.
    pub(crate) fn order_rate(&self) -> f64 {
        let whole_sale = BeforeRefusals { duration: self.duration, orders: self.orders.len() };
        let BeforeRefusals { duration, orders } = self.before_refusals.unwrap_or(whole_sale);
        orders as f64 / duration.as_secs_f64()
    }
}

/// Returns a percentile of the latencies, or `None` if there are none.
pub(crate) fn percentile(latencies: &[Duration], percent: usize) -> Option<Duration> {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    sorted.get((sorted.len() * percent / 100).min(last)).copied()
}
