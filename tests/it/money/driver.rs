//! A random run: customers, an organizer, banks and faults, in any order. What the test itself has decided is recorded,
//! so that at the end nobody who is owed money can be missing.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use ticketing::Error;
use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedTicket};
use ticketing::error::{Reason, Unavailable};
use ticketing::event::{CancelEventOrders, CancellationRunState, EventStatus};
use ticketing::id::{AllocationId, OrderId, PaymentId, TicketTypeId};
use ticketing::order::OrderStatus;
use ticketing::payment::{
    MarkRefunded, NoticeError, PaymentMode, PaymentPurpose, ReceivedPayment, Refund, RefundMethod, RefundOrder,
    RefundStatus,
};
use ticketing::ticket::TicketStatus;
use ticketing::ticket_type::TicketType;

use crate::common::fake_stripe::{Fault, Notice};
use crate::common::random::Random;
use crate::common::{HOLD, amount, percent_off};
use crate::gateways::Provider;
use crate::money::book::{Book, Entry, Kind, number, text};
use crate::money::shop::{ACCOUNT_WITH_FEE, Setup, Shop};

/// What the test has decided about an order.
pub struct Sale {
    order: OrderId,
    decimals: u8,
    /// What was refunded in parts, in minor units.
    given: i64,
    is_cancelled: bool,
    /// What was taken back of the decisions about each payment.
    withdrawn: HashMap<PaymentId, i64>,
}

pub struct Driver {
    pub shop: Shop,
    random: Random,
    seed: u64,
    types: Vec<(TicketType, u8)>,
    sales: Vec<Sale>,
    allocations: Vec<AllocationId>,
    /// The notices that are on their way.
    notices: Vec<Notice>,
    /// What was done, to be printed when a run fails.
    trail: Vec<String>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}:\n{}", self.seed, self.trail.join("\n"));
        }
    }
}

impl Driver {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mode = random.pick(&[PaymentMode::Live, PaymentMode::Live, PaymentMode::Test]);
        let mut shop = Shop::open_in(mode);
        // Stripe's clock is ahead of ours, or behind it.
        shop.turn_clock_of_stripe(i64::try_from(random.below(41)).unwrap() - 20);
        if random.one_in(2) {
            shop.fake.refund_undisputed_rest();
        }
        let mut types = Vec::new();
        for (currency, decimals, prices) in [("EUR", 2, [1250, 333]), ("JPY", 0, [2000, 777])] {
            let event = shop.event(currency);
            shop.fixture.discount(percent_off(&event, "TENTH", 10));
            for price in prices {
                let new = |new: &mut ticketing::ticket_type::CreateTicketType| {
                    new.price = amount(price, decimals);
                    new.quantity = 100_000;
                };
                types.push((shop.fixture.ticket_type_with(&event, new), decimals));
            }
        }
        Self {
            shop,
            random,
            seed,
            types,
            sales: Vec::new(),
            allocations: Vec::new(),
            notices: Vec::new(),
            trail: Vec::new(),
        }
    }

    fn did(&mut self, what: impl std::fmt::Display) {
        let at = self.shop.now();
        self.trail.push(format!("{at} {what}"));
    }

    pub fn orders(&self) -> usize {
        self.sales.len()
    }

    /// Some orders, and what becomes of them until nothing more happens.
    pub fn run(&mut self, orders: usize, steps: usize) {
        for _ in 0..orders {
            self.order();
        }
        for _ in 0..steps {
            self.step();
            self.check_payable();
        }
        self.become_quiet();
        self.check();
    }

    /// All disputes end.
    pub fn end_disputes(&mut self) {
        for dispute in self.open_disputes() {
            let is_won = self.random.one_in(2);
            self.shop.fake.close_dispute(&dispute, is_won);
        }
        self.become_quiet();
        self.check();
        let due: Vec<_> = self.shop.refunds().into_iter().filter(|it| it.status == RefundStatus::Due).collect();
        let owed = due.iter().all(|refund| refund.owed.minor_units() > 0);
        assert!(owed, "{}: nothing waits when all banks have decided: {due:#?}", self.context());
    }

    /// No event takes place: runs cancel and refund all completed orders, beside faults and restarts.
    pub fn cancel_events(&mut self) {
        self.become_quiet();
        for event in self.shop.events().to_vec() {
            for index in 0..self.sales.len() {
                let order = self.shop.fixture.read_order(self.sales[index].order);
                if order.event_id == event.id && order.status == OrderStatus::Completed {
                    self.note_cancelled(index);
                }
            }
            self.did(format_args!("cancel {}", event.id));
            self.shop.fixture.set_event_status(event.id, EventStatus::Cancelled).unwrap();
            let request = CancelEventOrders::default();
            self.shop.service().cancel_event_orders(&self.shop.fixture.caller, event.id, request).unwrap();
            self.fault();
            self.restart();
            drop(self.shop.service().run_maintenance());
            self.restart();
        }
        self.become_quiet();
        self.check();
        for event in self.shop.events() {
            let run = self.shop.service().get_cancellation_run(&self.shop.fixture.caller, event.id).unwrap();
            assert_eq!((run.state, run.failed), (CancellationRunState::Done, 0), "{}", self.context());
        }
    }

    // Tickets that are set aside, and those of another seller: they never change the books.

    fn set_aside(&mut self) {
        let (ticket_type, quantity) = self.some_seats();
        let request = CreateAllocation::new("Guests", quantity);
        let created = self.shop.service().create_allocation(&self.shop.fixture.caller, ticket_type, request).unwrap();
        self.did(format_args!("set {quantity} aside as {}", created.id));
        self.allocations.push(created.id);
    }

    fn import(&mut self) {
        let (ticket_type, quantity) = self.some_seats();
        let codes =
            (0..quantity).map(|number| ImportedTicket::new(format!("{}-{number}", self.allocations.len() + 100_000)));
        let request = ImportTickets::new("Box office", codes);
        let import = self.shop.service().import_tickets(&self.shop.fixture.caller, ticket_type, request).unwrap();
        self.did(format_args!("import {quantity} as {}", import.allocation.id));
        self.allocations.push(import.allocation.id);
    }

    fn cancel_allocation(&mut self) {
        let index = self.random.below(self.allocations.len().max(1));
        if let Some(id) = self.allocations.get(index).copied() {
            self.did(format_args!("cancel {id}"));
            self.shop.service().cancel_allocation(&self.shop.fixture.caller, id).unwrap();
        }
    }

    fn some_seats(&mut self) -> (TicketTypeId, i64) {
        let index = self.random.below(self.types.len());
        (self.types[index].0.id, i64::try_from(1 + self.random.below(300)).unwrap())
    }

    fn become_quiet(&mut self) {
        self.did("become quiet");
        self.shop.fake.make_refunds_at_once();
        // The next restart may have another account, and all earlier ones stay known.
        if !self.shop.has_stripe() {
            self.shop.restart(Setup::Stripe);
        }
        self.shop.fake.repair();
        while self.end_delayed_payment() {}
        self.shop.deliver(&std::mem::take(&mut self.notices));
        self.shop.become_quiet();
        let payable: Vec<_> = self.sales.iter().flat_map(|sale| self.shop.payable(sale.order)).collect();
        assert!(payable.is_empty(), "{}: {payable:?} can be paid although their orders have ended", self.context());
    }

    fn context(&self) -> String {
        format!("seed {}", self.seed)
    }

    fn step(&mut self) {
        self.notices.extend(self.shop.fake.take_notices());
        match self.random.below(49) {
            0..6 => self.pay(),
            6..14 => self.deliver(),
            14 => self.lose_a_notice(),
            15 | 16 => self.cancel(),
            17 | 18 => self.refund_tickets(),
            19 | 20 => self.refund_amount(),
            21 | 22 => self.refund_in_dashboard(),
            23 => self.end_a_refund(),
            24 => self.change_refunds(),
            25 | 26 => self.dispute(),
            27 | 28 => self.end_a_dispute(),
            29 => self.fault(),
            30 => self.repair(),
            31 => self.pay_cash(),
            32 | 33 => self.mark_refunded(),
            34 => self.withdraw(),
            35 => self.restart(),
            36 => self.renew(),
            37 => self.come_back(),
            38 => self.lose_answers(),
            39 => self.decline(),
            40 => self.pay_later(),
            41 | 42 => drop(self.end_delayed_payment()),
            43 => self.expire(),
            46 => self.set_aside(),
            47 => self.import(),
            48 => self.cancel_allocation(),
            _ => self.wait(),
        }
    }

    // Customers.

    fn order(&mut self) {
        let index = self.random.below(self.types.len());
        let (ticket_type, decimals) = self.types[index].clone();
        let quantity = i64::try_from(1 + self.random.below(3)).unwrap();
        let before = self.shop.fake.all("checkout.session").len();
        let ordered = if self.random.one_in(4) {
            self.shop.fixture.try_order_with_code(&ticket_type, quantity, "TENTH")
        } else {
            self.shop.fixture.try_order(&ticket_type, quantity)
        };
        // An order whose start failed may have left a session.
        let session = self.shop.fake.all("checkout.session").split_off(before).into_iter().next();
        let of_session = session.map(|session| session["client_reference_id"].as_str().unwrap().parse().unwrap());
        if let Some(order) = ordered.map(|order| order.id).ok().or(of_session) {
            self.did(format_args!("order {order} of {} times {quantity}", ticket_type.price));
            let withdrawn = HashMap::new();
            self.sales.push(Sale { order, decimals, given: 0, is_cancelled: false, withdrawn });
        }
    }

    fn some_sale(&mut self) -> usize {
        self.random.below(self.sales.len())
    }

    /// A session of some order: also one that was replaced, or of an order that has ended.
    fn some_session(&mut self) -> Option<String> {
        let index = self.some_sale();
        let mut sessions = self.shop.fake.checkouts(self.sales[index].order);
        let index = self.random.below(sessions.len().max(1));
        (index < sessions.len()).then(|| sessions.swap_remove(index))
    }

    fn pay(&mut self) {
        let Some(session) = self.some_session().filter(|session| self.shop.fake.is_payable(session)) else { return };
        if self.random.one_in(12) {
            let total = number(&self.shop.fake.get(&session), "amount_total");
            let other = total + i64::try_from(self.random.below(200)).unwrap() - 100;
            if self.random.one_in(2) {
                self.shop.fake.change_total(&session, other.max(1));
            } else {
                self.shop.fake.change_currency(&session, "usd");
            }
        }
        let intent = self.shop.fake.pay(&session).unwrap();
        let order = self.shop.fake.get(&session)["client_reference_id"].clone();
        self.did(format_args!("pay {order} with {intent} at {session}"));
    }

    fn decline(&mut self) {
        if let Some(session) = self.some_session() {
            let declined = self.shop.fake.decline(&session);
            self.did(format_args!("decline the card at {session}: {declined:?}"));
        }
    }

    /// The customer pays with a method that reports the payment later, although our sessions exclude those that are known.
    fn pay_later(&mut self) {
        if let Some(session) = self.some_session() {
            let paid = self.shop.fake.pay_later(&session, "a_method_of_next_year");
            self.did(format_args!("pay later at {session}: {paid:?}"));
        }
    }

    /// Some delayed payment succeeds or fails. Returns whether there was one.
    fn end_delayed_payment(&mut self) -> bool {
        let is_processing = |session: &Value| {
            let intent = session["payment_intent"].as_str().map(|intent| self.shop.fake.get(intent));
            intent.is_some_and(|intent| intent["status"] == "processing")
        };
        let mut waiting = self.shop.fake.all("checkout.session");
        waiting.retain(is_processing);
        let index = self.random.below(waiting.len().max(1));
        let Some(session) = waiting.get(index).map(|session| text(session, "id")) else { return false };
        let is_paid = !self.random.one_in(3);
        self.did(format_args!("end the payment at {session}, which is paid: {is_paid}"));
        self.shop.fake.settle_later(&session, is_paid);
        true
    }

    fn renew(&mut self) {
        let index = self.some_sale();
        // Stripe is asked about a session once in this time.
        self.shop.skip(Duration::from_secs(4));
        let order = self.sales[index].order;
        let renewed = self.shop.service().renew_checkout(&self.shop.fixture.caller, order);
        self.did(format_args!("renew {order}: {renewed:?}"));
        match renewed {
            _ if !self.shop.has_stripe() => {}
            Ok(renewed) => {
                let payable = self.shop.payable(order);
                let urls: Vec<_> = payable.iter().map(|session| text(&self.shop.fake.get(session), "url")).collect();
                assert_eq!(urls, [renewed.checkout_url], "{}", self.context());
            }
            Err(Error::CheckoutNotRenewed(_)) => {}
            Err(error) => {
                use Reason::{CheckoutInProgress, LimitReached, OrderNotPending, PaymentInProgress};
                let expected = [OrderNotPending, PaymentInProgress, CheckoutInProgress, LimitReached];
                let is_expected = error.reason().is_some_and(|reason| expected.contains(&reason));
                assert!(is_expected, "{}: {error:?}", self.context());
            }
        }
    }

    /// The customer's browser opens the page to which Stripe returns.
    fn come_back(&mut self) {
        if let Some(session) = self.some_session() {
            let settled = self.shop.service().settle_checkout(&session);
            self.did(format_args!("come back to {session}: {}", settled.is_ok()));
        }
    }

    fn pay_cash(&mut self) {
        let index = self.some_sale();
        // An order that is completed or cancelled cannot be paid.
        let order = self.sales[index].order;
        if self.shop.take_cash(order).is_ok() {
            self.did(format_args!("take cash for {order}"));
        }
    }

    // The organizer.

    fn cancel(&mut self) {
        let index = self.some_sale();
        let order = self.sales[index].order;
        if self.shop.service().cancel_order(&self.shop.fixture.caller, order).is_ok() {
            self.trail.push(format!("cancel {order}"));
            self.note_cancelled(index);
        }
    }

    /// What is left of the payment that has completed the order goes back, also what was withdrawn before.
    fn note_cancelled(&mut self, index: usize) {
        let sale = &mut self.sales[index];
        sale.is_cancelled = true;
        let of_order = self.shop.payments().into_iter();
        let mut completing = of_order.filter(|it| it.order_id == sale.order && it.purpose == PaymentPurpose::Order);
        if let Some(payment) = completing.next() {
            sale.withdrawn.remove(&payment.id);
        }
    }

    fn refund_tickets(&mut self) {
        let index = self.some_sale();
        let order = self.shop.fixture.read_order(self.sales[index].order);
        let valid = order.tickets().filter(|ticket| ticket.status != TicketStatus::Cancelled).map(|ticket| ticket.id);
        let count = 1 + self.random.below(2);
        let chosen: Vec<_> = valid.take(count).collect();
        if !chosen.is_empty() {
            self.refund(index, RefundOrder::of_tickets(chosen));
        }
    }

    fn refund_amount(&mut self) {
        let index = self.some_sale();
        let minor = 1 + i64::try_from(self.random.below(1500)).unwrap();
        let part = amount(minor, self.sales[index].decimals);
        self.refund(index, RefundOrder::of_amount(part));
    }

    fn refund(&mut self, index: usize, request: RefundOrder) {
        let caller = self.shop.fixture.caller_with_new_key();
        let order = self.sales[index].order;
        if let Ok(refunded) = self.shop.service().refund_order(&caller, order, request) {
            self.sales[index].given += refunded.value.amount.minor_units();
            self.did(format_args!("refund {} of {order}: {:?}", refunded.value.amount, refunded.value.refund_id));
        }
    }

    fn mark_refunded(&mut self) {
        // Mostly an order of which something is owed.
        let owing: Vec<_> = self.shop.refunds().into_iter().filter(|refund| refund.owed.minor_units() > 0).collect();
        let index = self.random.below(owing.len().max(1));
        let Some(refund) = owing.get(index) else {
            let index = self.some_sale();
            let _ = self.shop.look_in_dashboard(self.sales[index].order);
            return;
        };
        let how = self.random.pick(&[RefundMethod::Cash, RefundMethod::Transfer, RefundMethod::Other]);
        let mut request = MarkRefunded::all(how);
        let order = refund.order_id;
        let owed_before = self.shop.owed(order);
        let is_of_order = self.shop.balance(order).currency == refund.currency;
        match self.random.below(4) {
            0 if is_of_order => {
                let minor = 1 + self.random.below(usize::try_from(refund.owed.minor_units()).unwrap());
                request.amount = Some(amount(i64::try_from(minor).unwrap(), refund.amount.decimals()));
            }
            1 => request.refund_id = Some(refund.id),
            2 => {
                let _ = self.shop.look_in_dashboard(order);
                return;
            }
            _ => {}
        }
        let expected = match (request.amount, request.refund_id) {
            (Some(amount), _) => amount.minor_units(),
            (None, Some(_)) => refund.owed.minor_units(),
            (None, None) => owed_before,
        };
        match self.shop.give_cash(order, request) {
            Ok(settled) => {
                self.did(format_args!("give cash for {order}: {settled:?}"));
                let given: i64 = settled.iter().map(|settled| settled.amount.minor_units()).sum();
                assert_eq!(given, expected, "{}: {refund:?}", self.context());
                assert_eq!(self.shop.owed(order), owed_before - given, "{}: {refund:?}", self.context());
            }
            // Payments in another currency are not paid back by an amount in this one.
            Err(error) => assert_eq!(error.reason(), Some(Reason::NoManualRefundDue), "{}", self.context()),
        }
    }

    fn withdraw(&mut self) {
        let open: Vec<_> = self.shop.refunds().into_iter().filter(|it| it.returned < it.amount).collect();
        let index = self.random.below(open.len().max(1));
        let Some(refund) = open.get(index) else { return };
        match self.shop.service().withdraw_refund(&self.shop.fixture.caller, refund.id) {
            Ok(withdrawn) => {
                assert_eq!(withdrawn.status, RefundStatus::Withdrawn, "{}", self.context());
                let sale = self.sales.iter_mut().find(|sale| sale.order == refund.order_id).unwrap();
                self.trail.push(format!("withdraw {withdrawn:?}"));
                let rest = withdrawn.amount.minor_units() - withdrawn.returned.minor_units();
                *sale.withdrawn.entry(refund.payment_id).or_default() += rest;
            }
            Err(Error::Unavailable(Unavailable::GatewaySilent)) => {}
            Err(error) => {
                let expected = [Some(Reason::RefundInProgress), Some(Reason::RefundSettled)];
                assert!(expected.contains(&error.reason()), "{}: {error:?}", self.context());
            }
        }
    }

    /// Somebody ends a session that is open.
    fn expire(&mut self) {
        if let Some(session) = self.some_session().filter(|session| self.shop.fake.is_payable(session)) {
            self.shop.fake.expire(&session);
            self.did(format_args!("expire {session}"));
        }
    }

    fn refund_in_dashboard(&mut self) {
        let Some((intent, left)) = self.some_refundable() else { return };
        let part = 1 + i64::try_from(self.random.below(usize::try_from(left).unwrap())).unwrap();
        let chosen = if self.random.one_in(2) { left } else { part };
        let refund = self.shop.fake.refund_outside(&intent, Some(chosen));
        self.did(format_args!("refund {chosen} of {intent} in the Dashboard: {}", refund["id"]));
    }

    /// Some payment of which Stripe would refund a part, and how much.
    fn some_refundable(&mut self) -> Option<(String, i64)> {
        let (intent, left) = self.some_payment()?;
        let is_disputed =
            |dispute: &Value| dispute["payment_intent"] == intent && dispute["is_charge_refundable"] == false;
        // An account that refunds the undisputed rest takes the amounts of all disputes, also of lost ones, from what
        // is left.
        let is_blocked = self.shop.fake.all("dispute").iter().any(is_disputed);
        (!is_blocked && left > 0).then_some((intent, left))
    }

    /// Some payment, and what of it has neither gone back nor is disputed.
    fn some_payment(&mut self) -> Option<(String, i64)> {
        let mut intents = self.shop.fake.all("payment_intent");
        intents.retain(|intent| intent["status"] == "succeeded");
        let index = self.random.below(intents.len().max(1));
        let intent = intents.get(index)?;
        let charge = self.shop.fake.get(intent["latest_charge"].as_str()?);
        let is_disputed = |dispute: &Value| {
            let status = dispute["status"].as_str().unwrap();
            dispute["payment_intent"] == intent["id"] && status != "won" && status != "warning_closed"
        };
        let disputed: i64 =
            self.shop.fake.all("dispute").iter().filter(|it| is_disputed(it)).map(|it| number(it, "amount")).sum();
        Some((text(intent, "id"), number(&charge, "amount") - number(&charge, "amount_refunded") - disputed))
    }

    /// A refund fails, is canceled, or arrives.
    fn end_a_refund(&mut self) {
        let mut refunds = self.shop.fake.all("refund");
        refunds.retain(|refund| refund["status"] != "failed" && refund["status"] != "canceled");
        let index = self.random.below(refunds.len().max(1));
        let Some(refund) = refunds.get(index) else { return };
        let (id, is_pending) = (text(refund, "id"), refund["status"] != "succeeded");
        let end = self.random.below(3);
        self.did(format_args!("end refund {id} with {end}, which was pending: {is_pending}"));
        match end {
            0 => self.shop.fake.fail_refund(&id),
            1 if is_pending => self.shop.fake.cancel_refund(&id),
            _ if is_pending => self.shop.fake.succeed_refund(&id),
            _ => {}
        }
    }

    /// How refunds are made from now on.
    fn change_refunds(&mut self) {
        let how = self.random.below(4);
        self.did(format_args!("refunds from now on: {how}"));
        match how {
            0 => self.shop.fake.delay_refunds(),
            1 => self.shop.fake.ask_customers_about_refunds(),
            2 => self.shop.fake.permit_refunds(false),
            _ => {
                self.shop.fake.make_refunds_at_once();
                self.shop.fake.permit_refunds(true);
            }
        }
    }

    // Banks.

    fn dispute(&mut self) {
        let Some((intent, left)) = self.some_payment().filter(|(_, left)| *left > 0) else { return };
        let charge = self.shop.fake.get(self.shop.fake.get(&intent)["latest_charge"].as_str().unwrap());
        let unrefunded = number(&charge, "amount") - number(&charge, "amount_refunded");
        let how = self.random.below(3);
        self.did(format_args!("dispute {intent}: {how}, {left} left"));
        match how {
            0 if unrefunded == left => drop(self.shop.fake.inquire(&intent)),
            1 if unrefunded == left => drop(self.shop.fake.dispute(&intent)),
            _ => {
                let part = 1 + i64::try_from(self.random.below(usize::try_from(left).unwrap())).unwrap();
                self.shop.fake.dispute_part(&intent, part);
            }
        }
    }

    fn open_disputes(&self) -> Vec<String> {
        let mut disputes = self.shop.fake.all("dispute");
        disputes.retain(|dispute| dispute["status"].as_str().unwrap().ends_with("needs_response"));
        disputes.iter().map(|dispute| text(dispute, "id")).collect()
    }

    fn end_a_dispute(&mut self) {
        let open = self.open_disputes();
        let index = self.random.below(open.len().max(1));
        let Some(id) = open.get(index) else { return };
        let dispute = self.shop.fake.get(id);
        let (total, is_inquiry) = (number(&dispute, "amount"), dispute["status"] == "warning_needs_response");
        let charge = self.shop.fake.get(dispute["charge"].as_str().unwrap());
        let left = number(&charge, "amount") - number(&charge, "amount_refunded");
        let part = 1 + i64::try_from(self.random.below(usize::try_from(total).unwrap())).unwrap();
        let how = self.random.below(5);
        self.did(format_args!("dispute {id} over {total} changes: {how} with {part}, inquiry: {is_inquiry}"));
        match (how, is_inquiry) {
            // Only one dispute at a time may be about the whole payment.
            (0..3, true) if left >= total => self.shop.fake.escalate(id),
            (0, false) => self.shop.fake.change_dispute(id, part),
            (1, false) => self.shop.fake.lose_dispute_in_part(id, part),
            (number, _) => self.shop.fake.close_dispute(id, number != 2),
        }
    }

    // What goes wrong.

    /// Delivers a notice, and forgets it or keeps it to deliver it again.
    fn deliver(&mut self) {
        // Without Stripe, its signature is not known. It sends the notice again for three days.
        if self.notices.is_empty() || !self.shop.has_stripe() {
            return;
        }
        for _ in 0..1 + self.random.below(4) {
            let index = self.random.below(self.notices.len().max(1));
            let Some(notice) = self.notices.get(index) else { return };
            // Some destinations get events that only name their object.
            let thin = self.random.one_in(8).then(|| self.shop.fake.thin(notice));
            let received = self.shop.receive(thin.as_ref().unwrap_or(notice));
            let (kind, object) = (notice.kind.clone(), notice.object_id());
            self.did(format_args!("deliver {kind} of {object}: {received:?}"));
            // Some notices need an answer of Stripe, which may have a fault. Stripe sends them again.
            let is_refused =
                matches!(received, Err(Error::NoticeRefused(NoticeError::Unavailable(_)) | Error::Unavailable(_)));
            assert!(received.is_ok() || is_refused, "{}: {received:?}", self.context());
            if received.is_ok() && !self.random.one_in(3) {
                self.notices.remove(index);
            }
        }
    }

    /// Loses a notice for good, if the service asks about what it says by itself.
    fn lose_a_notice(&mut self) {
        let index = self.random.below(self.notices.len().max(1));
        let Some(notice) = self.notices.get(index) else { return };
        let object = self.shop.fake.get(&notice.object_id());
        let is_asked_about = match object["object"].as_str().unwrap() {
            "checkout.session" | "payment_intent" => true,
            "refund" => {
                let age = self.shop.now().millis() / 1000 - number(&object, "created");
                object["metadata"]["refund"].is_string() && age < 20 * 86_400
            }
            "dispute" => self.shop.known_disputes().contains(&text(&object, "id")),
            _ => false,
        };
        if is_asked_about {
            let notice = self.notices.remove(index);
            self.did(format_args!("lose {} of {}", notice.kind, notice.object_id()));
        }
    }

    fn fault(&mut self) {
        let faults = [
            Fault::RateLimited,
            Fault::RateLimitedForLong,
            Fault::ServerError,
            Fault::ServerErrorAfterEffect,
            Fault::BadGateway,
            Fault::CloseBefore,
            Fault::CloseAfter,
        ];
        let targets = [
            ("POST", "/v1/checkout/sessions"),
            ("GET", "/v1/checkout/sessions"),
            ("POST", "/v1/refunds"),
            ("POST", "/v1/refunds"),
            ("GET", "/v1/refunds"),
            ("GET", "/v1/disputes"),
        ];
        let fault = faults[self.random.below(faults.len())].clone();
        let (method, path) = self.random.pick(&targets);
        let count = 1 + self.random.below(3);
        self.did(format_args!("fault {fault:?} of {method} {path}, {count} times"));
        self.shop.fake.fail(method, path, fault, count);
    }

    /// Stripe makes refunds whose answers are lost, and the program runs again when Stripe has forgotten their keys.
    fn lose_answers(&mut self) {
        self.did("lose answers");
        self.shop.fake.repair();
        self.shop.fake.fail("POST", "/v1/refunds", Fault::CloseAfter, usize::MAX);
        self.refund_amount();
        self.refund_tickets();
        self.shop.fake.repair();
        self.shop.restart(Setup::Nothing);
        self.shop.pass(Duration::from_hours(26));
        self.shop.restart(Setup::Stripe);
        self.shop.maintain();
    }

    fn repair(&mut self) {
        self.did("repair");
        self.shop.fake.repair();
        self.shop.fake.permit_refunds(true);
    }

    fn restart(&mut self) {
        let setups = [
            Setup::Stripe,
            Setup::Stripe,
            Setup::Sandbox,
            Setup::Nothing,
            Setup::Account("acct_1"),
            Setup::Account(ACCOUNT_WITH_FEE),
        ];
        let setup = self.random.pick(&setups);
        self.did(format_args!("restart with {setup:?}"));
        self.shop.restart(setup);
    }

    fn wait(&mut self) {
        let waits = [
            Duration::from_secs(1),
            Duration::from_secs(20),
            Duration::from_mins(2),
            HOLD / 2,
            HOLD,
            Duration::from_hours(1),
            Duration::from_hours(26),
        ];
        let time = self.random.pick(&waits);
        self.did(format_args!("wait {time:?}"));
        self.shop.pass(time);
        self.shop.maintain();
    }

    // What must be true after each step.

    /// No order can be paid twice.
    fn check_payable(&self) {
        let mut payable: HashMap<String, String> = HashMap::new();
        for session in self.shop.fake.all("checkout.session").iter().filter(|session| session["status"] == "open") {
            let (id, order) = (text(session, "id"), text(session, "client_reference_id"));
            if self.shop.fake.is_payable(&id)
                && let Some(other) = payable.insert(order.clone(), id.clone())
            {
                panic!("{}: {order} can be paid at {id} and {other}", self.context());
            }
        }
    }

    // What must be true when nothing more happens.

    fn check(&self) {
        self.shop.assert_books_are_right(&self.context());
        let book = self.shop.book();
        let payments = self.shop.payments();
        let refunds = self.shop.refunds();
        for sale in &self.sales {
            let status = self.shop.status(sale.order);
            self.check_ticket(sale, status, &book, &refunds);
            let balance = self.shop.balance(sale.order);
            for payment in payments.iter().filter(|payment| payment.order_id == sale.order) {
                let context = || {
                    let of_payment: Vec<_> = refunds.iter().filter(|it| it.payment_id == payment.id).collect();
                    format!("{}, {} which is {status}: {payment:#?}\n{of_payment:#?}", self.context(), sale.order)
                };
                let withdrawn = sale.withdrawn.get(&payment.id).copied().unwrap_or(0);
                let received = payment.amount.minor_units();
                let decided = match payment.purpose {
                    PaymentPurpose::Order if !sale.is_cancelled => sale.given,
                    _ => received,
                };
                let (returned, taken) = (payment.returned.minor_units(), payment.taken.minor_units());
                let rest = ((decided - withdrawn).min(received - taken) - returned).max(0);
                let of_payment = balance.payments.iter().find(|it| it.payment_id == payment.id).expect("a balance");
                let sums = &of_payment.sums;
                let owed = sums.owed.minor_units();
                // Stripe may refuse to refund anything until the bank has decided about a part.
                let waits = sums.on_hold.minor_units() + sums.in_flight.minor_units();
                assert!(owed + waits >= rest, "{rest} are missing, {owed} owed, {waits} on hold: {}", context());
                let left = (received - taken - returned).max(0);
                assert!(owed + waits <= left, "{owed} are owed and {waits} on hold of {left}: {}", context());
                self.check_hold(payment.reference.as_deref(), waits, &context);
                self.check_returned(sale, payment, &book, &context);
            }
        }
        for refund in &refunds {
            let is_listed = match refund.status {
                RefundStatus::Done | RefundStatus::Withdrawn => refund.owed.minor_units() == 0,
                RefundStatus::Due | RefundStatus::Refused => true,
                other => panic!("{other} is new"),
            };
            assert!(is_listed, "{}: {refund:?}", self.context());
        }
    }

    /// A completed order has its money, unless it was given back without its tickets, or a bank took it.
    fn check_ticket(&self, sale: &Sale, status: OrderStatus, book: &Book, refunds: &[Refund]) {
        let figures = book.of_order(sale.order);
        if status == OrderStatus::Completed {
            let context = format!("{}: {} is COMPLETED with {figures:?}", self.context(), sale.order);
            assert!(figures.received > 0, "{context}");
            let is_given = sale.given > 0 || figures.taken > 0;
            let has_outside = refunds.iter().any(|it| it.order_id == sale.order && it.status == RefundStatus::Refused);
            assert!(is_given || has_outside || figures.kept() > 0, "{context}");
        } else if status == OrderStatus::Pending {
            assert_eq!(figures.received, 0, "{}: {} is PENDING", self.context(), sale.order);
        }
    }

    fn check_hold(&self, payment: Option<&str>, waits: i64, context: &dyn Fn() -> String) {
        if waits > 0 {
            let payment = payment.expect("cash is not disputed");
            let is_open = |dispute: &Value| {
                dispute["payment_intent"] == payment && dispute["status"].as_str().unwrap().ends_with("needs_response")
            };
            let is_disputed = self.shop.fake.all("dispute").iter().any(is_open);
            assert!(is_disputed, "{waits} wait without a dispute: {}", context());
        }
    }

    /// The service and the till together give back at most what was paid, and at most what was decided or what came
    /// back of the Dashboard's refunds. Only the Dashboard and banks may exceed it.
    fn check_returned(&self, sale: &Sale, payment: &ReceivedPayment, book: &Book, context: &dyn Fn() -> String) {
        let received = payment.amount.minor_units();
        // Of the whole order, with what was given back in cash.
        let of_order = book.of_order(sale.order);
        let by_us = book.figures(|entry| entry.order == sale.order && entry.kind != Kind::Payment && entry.is_ours);
        assert!(by_us.returned <= of_order.received, "{by_us:?} of {of_order:?}: {}", context());
        let Some(reference) = payment.reference.as_deref() else { return };
        let all = book.figures(|entry| entry.payment.as_deref() == Some(reference));
        let ours = book.figures(|entry| entry.payment.as_deref() == Some(reference) && entry.is_ours);
        let outside = all.returned - ours.returned + all.taken;
        assert!(ours.returned <= received, "{} of {received} went back: {}", ours.returned, context());
        let over = all.returned + all.taken - received;
        assert!(over <= 0 || over <= outside, "{all:?}: {}", context());
        if payment.purpose == PaymentPurpose::Order && !sale.is_cancelled {
            let in_cash = payment.returned.minor_units() - all.returned;
            let is_outside = |entry: &Entry| entry.payment.as_deref() == Some(reference) && !entry.is_ours;
            let ever_outside: i64 = book
                .entries
                .iter()
                .filter(|entry| is_outside(entry) && entry.kind == Kind::Refund)
                .map(|entry| entry.amount)
                .sum();
            let most = sale.given + ever_outside;
            assert!(ours.returned + in_cash <= most, "{ours:?} and {in_cash} in cash of {most}: {}", context());
        }
    }
}
