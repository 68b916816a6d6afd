//! A service that sells with the fake of Stripe, and a till.

use std::ops::{ControlFlow, Deref, DerefMut};

use tempfile::TempDir;
use ticketing::discount::Percentage;
use ticketing::environment::{Clock, ManualClock};
use ticketing::event::{Event, EventSummary};
use ticketing::id::{EventId, OrderId};
use ticketing::order::{Order, OrderStatus};
use ticketing::payment::{
    LedgerEntry, ListDisputes, ListLedgerEntries, ListPayments, ListRefunds, ManualMethod, MarkRefunded,
    MarkRefundedResponse, PaymentMode, ReceivedPayment, Refund, RefundMethod, RefundSource, SettledRefund,
};
use ticketing::stripe::ConnectedAccount;
use ticketing::ticket_type::TicketType;
use ticketing::{Builder, Result, Timestamp, page};

use crate::common::database::FILE;
use crate::common::fake_stripe::FakeStripe;
use crate::common::{Fixture, NOW, at};
use crate::gateways::{self, Provider};
use crate::money::book::{Book, Cash};
use crate::money::comparison;
use crate::stripe::gateway::settings;

/// How the program is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    Stripe,
    /// The options of Stripe were lost: the sandbox runs.
    Sandbox,
    /// The program has no payment gateway.
    Nothing,
    /// The organization has an account of its own, or another one.
    Account(&'static str),
}

/// An account of which the platform gets a fee.
pub const ACCOUNT_WITH_FEE: &str = "acct_2";

/// The shop of the contract of gateways, with several events, restarts with other settings, and a till.
pub struct Shop {
    shop: gateways::shop::Shop<FakeStripe>,
    pub setup: Setup,
    pub till: Vec<Cash>,
    events: Vec<Event>,
}

impl Deref for Shop {
    type Target = gateways::shop::Shop<FakeStripe>;

    fn deref(&self) -> &Self::Target {
        &self.shop
    }
}

impl DerefMut for Shop {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.shop
    }
}

fn configure(builder: Builder, setup: Setup, fake: &FakeStripe) -> Builder {
    let gateway = settings(fake);
    let gateway = match setup {
        Setup::Sandbox => return builder.sandbox_gateway(),
        Setup::Nothing => return builder,
        Setup::Stripe => gateway,
        Setup::Account(id) => {
            let fee = if id == ACCOUNT_WITH_FEE { Percentage::whole(3).unwrap() } else { Percentage::ZERO };
            gateway.account_for(move |_| Some(ConnectedAccount::new(id).application_fee(fee)))
        }
    };
    builder.payment_gateway(gateway.build().unwrap())
}

impl Shop {
    /// A shop that takes real money.
    pub fn open() -> Self {
        Self::open_in(PaymentMode::Live)
    }

    pub fn open_in(mode: PaymentMode) -> Self {
        let clock = ManualClock::new(at(NOW));
        let fake = FakeStripe::start(clock.clone());
        if mode == PaymentMode::Live {
            fake.go_live();
        }
        fake.accept_small_amounts();
        let shop = gateways::shop::Shop::open_with(fake, clock);
        Self { shop, setup: Setup::Stripe, till: Vec::new(), events: Vec::new() }
    }

    /// Creates an event that is far in the future.
    pub fn event(&mut self, currency: &str) -> Event {
        let event = self.fixture.event_with(|new| {
            new.currency = Some(currency.to_owned());
            new.start_date = at("2100-01-01T00:00:00Z");
            new.end_date = None;
        });
        self.events.push(event.clone());
        event
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// A ticket type of a new event.
    pub fn ticket_type(&mut self, cents: i64) -> TicketType {
        let event = self.event("EUR");
        self.fixture.ticket_type(&event, cents, 100_000)
    }

    /// Drops the service without closing it, and opens another one on the same file.
    pub fn restart(&mut self, setup: Setup) {
        self.setup = setup;
        self.fixture.service = self.fixture.second_service_with(|builder| configure(builder, setup, &self.fake));
    }

    /// Makes a backup of the database in a folder of its own.
    pub fn backup(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        self.service().backup(folder.path().join(FILE), |_| ControlFlow::Continue(())).unwrap();
        folder
    }

    /// Goes on with a backup.
    pub fn restore(&mut self, backup: TempDir) {
        let now = self.fixture.clock.now();
        self.fixture.skip_final_check();
        self.fixture = Fixture::in_folder(backup, |builder| configure(builder, self.setup, &self.fake));
        self.fixture.clock.set(now);
    }

    pub fn has_stripe(&self) -> bool {
        matches!(self.setup, Setup::Stripe | Setup::Account(_))
    }

    /// Lets Stripe's clock be ahead of ours by so many seconds.
    pub fn turn_clock_of_stripe(&self, seconds_ahead: i64) {
        let millis = self.fixture.clock.now().millis() + 1000 * seconds_ahead;
        self.clock.set(Timestamp::from_millis(millis).unwrap());
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until there is nothing left to do: no faults, all notices delivered, and nothing due for the maintenance.
    pub fn become_quiet(&mut self) {
        self.fake.permit_refunds(true);
        if !self.has_stripe() {
            self.restart(Setup::Stripe);
        }
        self.shop.become_quiet();
    }

    // Sales.

    /// An order and its session.
    pub fn order(&self, ticket_type: &TicketType, quantity: i64) -> (Order, String) {
        let order = self.fixture.order(ticket_type, quantity);
        let session = self.fake.checkouts(order.id).remove(0);
        (order, session)
    }

    /// An order that is paid, and Stripe's id of the payment.
    pub fn sale(&self, ticket_type: &TicketType, quantity: i64) -> (OrderId, String) {
        let (order, session) = self.order(ticket_type, quantity);
        let intent = self.fake.pay(&session).unwrap();
        self.deliver_all();
        assert_eq!(self.status(order.id), OrderStatus::Completed);
        (order.id, intent)
    }

    /// The customer pays in cash.
    pub fn take_cash(&mut self, order: OrderId) -> Result<()> {
        let amount = self.fixture.read_order(order).total.minor_units();
        let currency = self.balance(order).currency;
        self.service().mark_order_paid(&self.fixture.caller, order, ManualMethod::Cash)?;
        self.till.push(Cash { order, amount, currency });
        Ok(())
    }

    /// The organizer gives back by hand what is asked for, or what is owed.
    pub fn give_cash(&mut self, order: OrderId, request: MarkRefunded) -> Result<Vec<SettledRefund>> {
        assert_ne!(request.how, Some(RefundMethod::Gateway));
        let wanted = request.amount;
        let response = self.service().mark_order_refunded(&self.fixture.caller, order, request)?;
        let given: i64 = response.settled.iter().map(|settled| settled.amount.minor_units()).sum();
        assert!(wanted.is_none_or(|wanted| wanted.minor_units() == given), "{wanted:?}: {response:?}");
        for SettledRefund { amount, currency, .. } in &response.settled {
            self.till.push(Cash { order, amount: -amount.minor_units(), currency: currency.clone() });
        }
        Ok(response.settled)
    }

    /// The organizer says that the money went back in the Dashboard.
    pub fn look_in_dashboard(&self, order: OrderId) -> Result<MarkRefundedResponse> {
        self.service().mark_order_refunded(&self.fixture.caller, order, MarkRefunded::all(RefundMethod::Gateway))
    }

    // What the service says.

    pub fn ledger(&self) -> Vec<LedgerEntry> {
        let list =
            |page| self.service().list_ledger_entries(&self.fixture.caller, ListLedgerEntries::default().page(page));
        page::all(list).collect::<Result<_>>().unwrap()
    }

    pub fn payments(&self) -> Vec<ReceivedPayment> {
        let list = |page| self.service().list_payments(&self.fixture.caller, ListPayments::default().page(page));
        page::all(list).collect::<Result<_>>().unwrap()
    }

    pub fn refunds(&self) -> Vec<Refund> {
        let list = |page| self.service().list_refunds(&self.fixture.caller, ListRefunds::default().page(page));
        page::all(list).collect::<Result<_>>().unwrap()
    }

    /// The refunds of an order with this source, the newest first.
    pub fn refunds_of(&self, order: OrderId, source: RefundSource) -> Vec<Refund> {
        let mut refunds = self.refunds();
        refunds.retain(|refund| refund.order_id == order && refund.source == source);
        refunds
    }

    /// Stripe's ids of the disputes that the service knows.
    pub fn known_disputes(&self) -> Vec<String> {
        let list = |page| self.service().list_disputes(&self.fixture.caller, ListDisputes::default().page(page));
        page::all(list).map(|dispute| dispute.unwrap().reference).collect()
    }

    pub fn summary(&self, event: EventId) -> EventSummary {
        self.service().get_event_summary(&self.fixture.caller, event).unwrap()
    }

    // What happened.

    pub fn book(&self) -> Book {
        Book::of(&self.fake, &self.till)
    }

    /// What Stripe and the till keep of an order, in minor units.
    pub fn kept(&self, order: OrderId) -> i64 {
        self.book().of_order(order).kept()
    }

    /// What the service says otherwise than the book.
    pub fn differences(&self) -> Vec<String> {
        let book = self.book();
        let mut differences = comparison::of_ledger(&book, &self.ledger());
        differences.extend(comparison::of_figures(self, &book));
        let report = self.service().check().unwrap();
        differences.extend(report.findings.iter().map(|finding| format!("check: {finding:?}")));
        differences
    }

    /// Asserts that the service says what the book says.
    #[track_caller]
    pub fn assert_books_are_right(&self, context: &str) {
        let differences = self.differences();
        assert!(differences.is_empty(), "{context}:\n{}", differences.join("\n"));
    }
}
