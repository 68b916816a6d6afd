//! What the report of an event shows.

use std::cmp::Reverse;

use super::event::Event;
use super::event_sales::{SalesByMode, SalesSums};
use super::gateway_account::PaymentMode;
use super::summary::EventSummary;
use crate::model::values::timestamp::Timestamp;

/// How many codes a report names. The others are summed.
const MAX_CODES: usize = 20;

/// How an event sells, in one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct EventReport<A> {
    pub(crate) as_of: Timestamp,
    pub(crate) event: Event,
    pub(crate) organizer: String,
    pub(crate) summary: EventSummary,
    /// Whether the money in charts and codes is real.
    pub(crate) mode: PaymentMode,
    pub(crate) sales: ReportedSales,
    /// The arrivals, on the day of the event.
    pub(crate) arrivals: Option<A>,
}

/// The sales of an event.
#[derive(Debug, Clone)]
pub(crate) struct ReportedSales {
    /// By the first instant of each quarter of an hour in which something happened.
    pub(crate) quarters: Vec<(Timestamp, SalesByMode)>,
    /// The tickets that were sold today, and a week before until the same local time.
    pub(crate) today: i64,
    pub(crate) week_before: i64,
    pub(crate) discounts: Vec<CodeSums>,
    pub(crate) affiliates: Vec<CodeSums>,
}

/// What was sold with one code, or with several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeSums {
    /// `Err` with their number if these are the codes that a report does not name.
    pub(crate) code: Result<String, usize>,
    pub(crate) sums: SalesSums,
}

impl CodeSums {
    /// The codes with the largest revenue, and then with the most tickets, and the sum of the others.
    pub(crate) fn sorted(codes: impl IntoIterator<Item = (String, SalesSums)>) -> Vec<Self> {
        let mut codes: Vec<_> = codes.into_iter().filter(|(_, sums)| sums.orders > 0).collect();
        codes.sort_by(|(code, sums), (other, others)| {
            let key = |sums: &SalesSums| Reverse((sums.revenue, sums.tickets));
            key(sums).cmp(&key(others)).then_with(|| code.cmp(other))
        });
        let others = codes.split_off(codes.len().min(MAX_CODES));
        let mut sorted: Vec<_> = codes.into_iter().map(|(code, sums)| Self { code: Ok(code), sums }).collect();
        if !others.is_empty() {
            let mut sum = SalesSums::default();
            for (_, sums) in &others {
                sum.add(*sums);
            }
            sorted.push(Self { code: Err(others.len()), sums: sum });
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_codes_come_first_and_the_others_are_summed() {
        let sums = |revenue, tickets| SalesSums { orders: 1, tickets, revenue, ..SalesSums::default() };
        let small = (0..25).map(|number| (format!("code-{number:02}"), sums(100, 1)));
        let codes =
            [("few".to_owned(), sums(500, 1)), ("many".to_owned(), sums(500, 2)), ("big".to_owned(), sums(900, 1))];
        let sorted = CodeSums::sorted(small.chain(codes));
        let names: Vec<_> = sorted.iter().take(4).map(|code| code.code.as_deref()).collect();
        assert_eq!(names, [Ok("big"), Ok("many"), Ok("few"), Ok("code-00")]);
        // 28 codes, of which 20 are named.
        let others = SalesSums { orders: 8, tickets: 8, revenue: 800, ..SalesSums::default() };
        assert_eq!(sorted[20..], [CodeSums { code: Err(8), sums: others }]);
    }
}
