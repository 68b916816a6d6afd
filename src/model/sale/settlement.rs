//! The settlement of an event: what was sold, paid and given back, and what is left.

use super::gateway_account::PaymentMode;
use crate::enums::text_enum::text_enum;
use crate::model::values::amount::Amount;
use crate::model::values::id::EventId;
use crate::model::values::responses::responses;
use crate::model::values::timestamp::Timestamp;

text_enum! {
    /// What a line of a settlement is about. The amounts of `PAYMENTS`, `OTHER_PAYMENTS`, `REFUNDS` and
    /// `DISPUTES_TAKEN` add up to that of `BALANCE`.
    pub enum SettlementSection {
        /// The valid tickets of a type, and what was sold of it after discounts in all orders that were ever completed.
        /// The label is the name of the type.
        Sold = "SOLD",
        /// The tickets of a type, including cancelled ones and those that the organizer issued.
        Issued = "ISSUED",
        /// The cancelled tickets of a type.
        Cancelled = "CANCELLED",
        /// The valid tickets of a type that another seller has sold. A type without any has no line.
        Imported = "IMPORTED",
        /// The discounts on a type, in the same orders.
        Discounts = "DISCOUNTS",
        /// The payments that completed orders, by method: `GATEWAY`, or recorded manually as `CASH`, `CARD`,
        /// `TRANSFER` or `OTHER`.
        Payments = "PAYMENTS",
        /// Payments that completed no order: they came too late, twice, or with another amount.
        OtherPayments = "OTHER_PAYMENTS",
        /// What went back, less than 0: of payments that completed orders by the `GATEWAY` or by `HAND`, and of
        /// `OTHER_PAYMENTS`.
        Refunds = "REFUNDS",
        /// What banks have taken for disputes and have not given back: less than 0.
        DisputesTaken = "DISPUTES_TAKEN",
        /// What the organizer has: the sum of the entries in the ledger.
        Balance = "BALANCE",
        /// The payments that still have to be refunded, at least in part, and the amount.
        RefundsDue = "REFUNDS_DUE",
        /// The part of it that has to be returned manually.
        Owed = "OWED",
        /// The disputed amounts, by the status of the dispute: `OPEN`, `WON` or `LOST`.
        Disputes = "DISPUTES",
        /// The balance of money that is in none of the other lines: in another currency, or of tests beside real money.
        /// The label is its mode.
        OtherMoney = "OTHER_MONEY",
    }
}

responses! {
    /// The settlement of an event. All lines are of one consistent state. Their figures are those of the event's
    /// [summary](crate::event::EventSummary), and sums of its ledger.
    pub struct Settlement {
        /// The event.
        pub event_id: EventId,
        /// The currency of the event.
        pub currency: String,
        /// Whether the amounts are real money, as in the summary. Not set if nothing was received.
        pub mode: Option<PaymentMode>,
        /// The instant whose state it shows.
        pub as_of: Timestamp,
        /// The lines, in the order of their sections. Ticket types are sorted like their list.
        pub lines: Vec<SettlementLine>,
    }

    /// A line of a settlement.
    pub struct SettlementLine {
        /// What it is about.
        pub section: SettlementSection,
        /// What distinguishes it from the other lines of its section. May be empty.
        pub label: String,
        /// How many there are. Not set for sums only.
        pub count: Option<i64>,
        /// The amount. Not set if only their number is told.
        pub amount: Option<Amount>,
        /// The currency of the amount: an ISO 4217 code.
        pub currency: String,
    }
}

impl Settlement {
    /// The sum of the amounts of a section.
    ///
    /// ```
    /// use ticketing::exports::SettlementSection;
    /// use ticketing::Amount;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let settlement = service.get_settlement(&caller, event.id)?;
    /// assert_eq!(settlement.amount(SettlementSection::Balance), Amount::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn amount(&self, section: SettlementSection) -> Amount {
        self.of(section).filter_map(|line| line.amount).reduce(Amount::plus).unwrap_or(Amount::ZERO)
    }

    /// The sum of the numbers of a section.
    #[must_use]
    pub fn count(&self, section: SettlementSection) -> i64 {
        self.of(section).filter_map(|line| line.count).sum()
    }

    fn of(&self, section: SettlementSection) -> impl Iterator<Item = &SettlementLine> {
        self.lines.iter().filter(move |line| line.section == section)
    }
}
