//! A service that sells two seats for 25.00 with a payment provider, and clocks that the test moves together.

use std::time::Duration;

use ticketing::environment::ManualClock;
use ticketing::id::OrderId;
use ticketing::order::OrderStatus;
use ticketing::payment::{
    CheckoutStatus, LedgerEntry, ListDisputes, ListLedgerEntries, ListRefunds, NoticeOutcome, OrderBalance, Refund,
    RefundSource,
};
use ticketing::ticket_type::TicketType;
use ticketing::{Builder, Result, TicketingService};

use super::Provider;
use crate::common::{Fixture, HOLD, NOW, at, eur};

pub const DAY: Duration = Duration::from_hours(24);
pub const MINUTE: Duration = Duration::from_mins(1);

/// By when a payment is settled whose notices were all lost, counted from the end of the hold.
pub const SETTLED_AFTER: Duration = Duration::from_secs(70);

/// After these pauses, everything that the maintenance does by itself is done, up to the last look at a refund after 30
/// days.
pub const QUIET: &[Duration] = &[
    Duration::from_secs(2),
    Duration::from_secs(61),
    HOLD,
    Duration::from_mins(65),
    Duration::from_mins(65),
    Duration::from_hours(25),
    Duration::from_hours(25),
    Duration::from_hours(6 * 24),
    Duration::from_hours(25 * 24),
    Duration::from_mins(65),
];

pub struct Shop<P> {
    pub fixture: Fixture,
    pub fake: P,
    /// The provider's clock.
    pub clock: ManualClock,
    pub ticket_type: TicketType,
}

impl<P: Provider> Shop<P> {
    pub fn open() -> Self {
        let clock = ManualClock::new(at(NOW));
        Self::open_with(P::start(clock.clone()), clock)
    }

    /// A shop with this provider, which was started with this clock.
    pub fn open_with(fake: P, clock: ManualClock) -> Self {
        let fixture = Fixture::with(|builder| fake.configure(builder));
        let ticket_type = fixture.new_ticket_type(1250, 1000);
        Self { fixture, fake, clock, ticket_type }
    }

    pub fn service(&self) -> &TicketingService {
        &self.fixture.service
    }

    /// Drops the service, and opens another one on the same file.
    pub fn restart(&mut self) {
        self.fixture.service = self.fixture.second_service_with(|builder| self.fake.configure(builder));
    }

    /// Opens a service on the same file that has another gateway, or none.
    pub fn restart_with(&mut self, configure: impl FnOnce(Builder) -> Builder) {
        self.fixture.service = self.fixture.second_service_with(configure);
    }

    // Time.

    /// Lets time pass at both ends, in which the service does nothing.
    pub fn skip(&self, time: Duration) {
        self.clock.advance(time);
        self.fixture.clock.advance(time);
    }

    pub fn maintain(&self) {
        self.service().run_maintenance().unwrap();
    }

    /// Lets time pass, with a run of the maintenance after it.
    pub fn pass(&self, time: Duration) {
        self.skip(time);
        self.maintain();
    }

    /// Lets seconds pass, with a run of the maintenance after each, as with a background thread.
    pub fn run(&self, seconds: u64) {
        for _ in 0..seconds {
            self.pass(Duration::from_secs(1));
        }
    }

    /// Lets the hold of an order that was created now end, and the time pass by which its payment has to be settled.
    pub fn pass_hold(&self) {
        self.skip(HOLD - SETTLED_AFTER);
        self.run(2 * SETTLED_AFTER.as_secs());
    }

    /// Waits until nothing is left to do: nothing goes wrong, all notices arrive, and nothing is due.
    pub fn become_quiet(&self) {
        self.fake.repair();
        self.deliver_all();
        for pause in QUIET {
            self.skip(*pause);
            for _ in 0..3 {
                self.maintain();
                self.deliver_all();
            }
        }
    }

    // Notices.

    /// Signs a notice and passes it to the service.
    pub fn receive(&self, notice: &P::Notice) -> Result<Vec<NoticeOutcome>> {
        self.fake.send(self.service(), notice)
    }

    #[track_caller]
    pub fn deliver<'n>(&self, notices: impl IntoIterator<Item = &'n P::Notice>)
    where
        P::Notice: 'n,
    {
        for notice in notices {
            self.receive(notice).unwrap();
        }
    }

    /// Delivers all notices in their order.
    #[track_caller]
    pub fn deliver_all(&self) {
        self.deliver(&self.fake.take_notices());
    }

    /// All notices are lost until now.
    pub fn lose_notices(&self) {
        drop(self.fake.take_notices());
    }

    // Sales.

    /// An order and its checkout.
    pub fn order(&self) -> (OrderId, String) {
        let order = self.fixture.order(&self.ticket_type, 2).id;
        (order, self.fake.checkouts(order).remove(0))
    }

    /// An order that is paid, and the provider's id of the payment.
    pub fn sale(&self) -> (OrderId, String) {
        let (order, checkout) = self.order();
        let payment = self.fake.pay(&checkout);
        self.deliver_all();
        assert_eq!(self.status(order), OrderStatus::Completed);
        (order, payment)
    }

    #[track_caller]
    pub fn cancel(&self, order: OrderId) {
        assert!(self.service().cancel_order(&self.fixture.caller, order).unwrap().success);
    }

    #[track_caller]
    pub fn refund_part(&self, order: OrderId, cents: i64) {
        self.fixture.refund_amount(order, eur(cents)).unwrap();
    }

    // What the service says.

    pub fn status(&self, order: OrderId) -> OrderStatus {
        self.fixture.order_status(order)
    }

    pub fn sold(&self) -> i64 {
        self.fixture.sold(&self.ticket_type)
    }

    pub fn checkout_status(&self, order: OrderId) -> CheckoutStatus {
        self.service().get_checkout(&self.fixture.caller, order).unwrap().status
    }

    /// The checkouts of an order that can be paid now.
    pub fn payable(&self, order: OrderId) -> Vec<String> {
        let mut checkouts = self.fake.checkouts(order);
        checkouts.retain(|checkout| self.fake.is_payable(checkout));
        checkouts
    }

    /// The newest first.
    pub fn refunds(&self) -> Vec<Refund> {
        self.service().list_refunds(&self.fixture.caller, ListRefunds::default()).unwrap().data
    }

    /// The newest refund with this source.
    #[track_caller]
    pub fn refund_from(&self, source: RefundSource) -> Refund {
        self.refunds().into_iter().find(|refund| refund.source == source).expect("a refund")
    }

    /// The newest refund that the service has decided.
    #[track_caller]
    pub fn own_refund(&self) -> Refund {
        self.refund_from(RefundSource::Order)
    }

    pub fn disputes(&self) -> Vec<ticketing::payment::Dispute> {
        self.service().list_disputes(&self.fixture.caller, ListDisputes::default()).unwrap().data
    }

    pub fn balance(&self, order: OrderId) -> OrderBalance {
        self.service().get_order_balance(&self.fixture.caller, order).unwrap()
    }

    /// What the organizer has to give back by hand, in cents.
    pub fn owed(&self, order: OrderId) -> i64 {
        self.balance(order).payments.iter().map(|payment| payment.sums.owed.minor_units()).sum()
    }

    pub fn summary(&self) -> ticketing::event::EventSummary {
        self.service().get_event_summary(&self.fixture.caller, self.ticket_type.event_id).unwrap()
    }

    pub fn ledger(&self, order: OrderId) -> Vec<LedgerEntry> {
        let request = ListLedgerEntries::default().limit(100);
        let mut entries = self.service().list_ledger_entries(&self.fixture.caller, request).unwrap().data;
        entries.retain(|entry| entry.order_id == order);
        entries
    }

    // What the provider says.

    /// The amounts of the refunds at the provider, the oldest first.
    pub fn refunded(&self) -> Vec<i64> {
        self.fake.refunds().into_iter().map(|(_, cents)| cents).collect()
    }

    /// The newest refund at the provider.
    #[track_caller]
    pub fn newest_refund(&self) -> String {
        self.fake.refunds().pop().expect("a refund").0
    }

    /// Asserts what the provider keeps of an order, that the ledger says so too, and what is owed by hand.
    #[track_caller]
    pub fn assert_books(&self, order: OrderId, kept: i64, owed: i64) {
        let in_ledger: i64 = self.ledger(order).iter().map(|entry| entry.amount.minor_units()).sum();
        let found = (self.fake.kept(order), in_ledger, self.owed(order));
        assert_eq!(found, (kept, kept, owed), "kept, in the ledger, owed: {:#?}", self.refunds());
    }

    /// Waits until nothing more happens, and asserts the same.
    #[track_caller]
    pub fn assert_ends(&self, order: OrderId, kept: i64, owed: i64) {
        self.become_quiet();
        self.assert_books(order, kept, owed);
    }
}
