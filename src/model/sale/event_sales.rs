//! How an event sells: its sales, refunds and issued tickets by day or hour.

use super::gateway_account::PaymentMode;
use crate::enums::text_enum::text_enum;
use crate::form::declare::fields::form;
use crate::form::declare::setters::constructor;
use crate::model::values::amount::Amount;
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

/// The greatest number of items in one answer.
pub(crate) const MAX_ITEMS: usize = 1000;

text_enum! {
    /// How long the intervals are into which sales are summed.
    pub enum SalesInterval {
        /// A day in the time zone of the event. It has 23 or 25 hours if clocks are changed.
        Day = "day",
        /// An hour that passed, counted from the first instant of the day.
        Hour = "hour",
    }
}

constructor! { GetEventSales "Creates a request for all sales of an event by day." }

form! {
    /// A request for the sales of an event over time.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct GetEventSales {
        /// The length of the intervals. Default: day.
        pub interval: Option<SalesInterval>,
        /// Only what happened at this time or later. Default: from the first order.
        pub from: Option<Timestamp>,
        /// Only what happened before this time.
        pub before: Option<Timestamp>,
    }
}

responses! {
    /// The sales of an event over time. All figures are of one snapshot of its orders and tickets.
    ///
    /// An order counts in the interval in which it was completed, and stays there if it is cancelled later. Its refunds
    /// count in the intervals in which the money went back, and cancelled tickets in those in which they were cancelled.
    pub struct EventSales {
        /// The instant of the snapshot, by the clock of the service.
        pub as_of: Timestamp,
        /// The currency of all amounts.
        pub currency: String,
        /// The length of the intervals.
        pub interval: SalesInterval,
        /// The intervals in the order of time: at most 1,000. Intervals in which nothing happened are left out.
        pub items: Vec<SalesItem>,
    }

    /// The sales of an event in one interval. An interval with real money and that of tests has an item for each.
    pub struct SalesItem {
        /// The first instant of the interval, even if the request begins later.
        pub from: Timestamp,
        /// The first instant after the interval.
        pub until: Timestamp,
        /// TEST if the orders were paid in a test. Orders without a payment and tickets without an order are LIVE.
        pub mode: PaymentMode,
        /// The number of orders that were completed.
        pub orders: i64,
        /// The number of tickets of these orders.
        pub tickets: i64,
        /// The sum of the totals of these orders, after discounts.
        pub revenue: Amount,
        /// What went back of payments that completed orders, through the gateway or manually, less what came back because
        /// a refund failed. It may be below 0.
        pub refunded: Amount,
        /// The number of tickets that were issued without an order, without imported ones.
        pub issued: i64,
        /// The number of tickets that were sold elsewhere and imported.
        pub imported: i64,
        /// The number of tickets that were cancelled in this interval, whenever they were sold or issued.
        pub cancelled: i64,
    }
}

/// Sums of a quarter of an hour, or of any other interval. Amounts are in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SalesSums {
    pub(crate) orders: i64,
    pub(crate) tickets: i64,
    pub(crate) revenue: i64,
    pub(crate) refunded: i64,
    pub(crate) issued: i64,
    pub(crate) imported: i64,
    pub(crate) cancelled: i64,
}

impl SalesSums {
    /// Takes off what was sold of these sums.
    pub(crate) fn subtract_sold(&mut self, other: Self) {
        self.orders -= other.orders;
        self.tickets -= other.tickets;
        self.revenue = self.revenue.saturating_sub(other.revenue);
    }

    /// Sums stop at the greatest number.
    pub(crate) fn add(&mut self, other: Self) {
        self.orders += other.orders;
        self.tickets += other.tickets;
        self.revenue = self.revenue.saturating_add(other.revenue);
        self.refunded = self.refunded.saturating_add(other.refunded);
        self.issued += other.issued;
        self.imported += other.imported;
        self.cancelled += other.cancelled;
    }
}

/// The sums of real money and of that of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SalesByMode {
    pub(crate) live: SalesSums,
    pub(crate) test: SalesSums,
}

impl SalesByMode {
    #[cfg(feature = "server")]
    pub(crate) const fn of(self, mode: PaymentMode) -> SalesSums {
        match mode {
            PaymentMode::Live => self.live,
            PaymentMode::Test => self.test,
        }
    }

    pub(crate) const fn of_mut(&mut self, mode: PaymentMode) -> &mut SalesSums {
        match mode {
            PaymentMode::Live => &mut self.live,
            PaymentMode::Test => &mut self.test,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.live.add(other.live);
        self.test.add(other.test);
    }
}
