//! A double-entry book that knows nothing of the service. It is written from what happened at the fake of Stripe and in
//! the till: each movement debits an account and credits another one, so that all accounts together hold nothing.

use std::collections::BTreeMap;

use serde_json::Value;
use ticketing::id::OrderId;

use crate::common::fake_stripe::FakeStripe;

/// Where money is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// The balance at Stripe of the platform (`None`), or of a connected account.
    Stripe(Option<String>),
    /// Cash, and everything else that moves by hand.
    Till,
    Customer,
    /// The customer's bank, for disputes.
    Bank,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Payment,
    Refund,
    RefundFailed,
    Dispute,
    DisputeReturned,
}

/// A movement of money from one account to another.
#[derive(Debug, Clone)]
pub struct Entry {
    pub kind: Kind,
    pub order: OrderId,
    /// Stripe's id of the payment, the refund or the dispute. `None` in the till.
    pub reference: Option<String>,
    /// Stripe's id of the payment that it is about. `None` in the till.
    pub payment: Option<String>,
    /// Whether the service has asked for it. Otherwise the organizer did, in the Dashboard, or a bank, or the customer.
    pub is_ours: bool,
    pub to: Account,
    pub from: Account,
    /// In minor units, more than 0.
    pub amount: i64,
    /// In capital letters.
    pub currency: String,
}

/// Money that went through the hands of the organizer: more than 0 for what was taken, less for what was given back.
#[derive(Debug, Clone)]
pub struct Cash {
    pub order: OrderId,
    pub amount: i64,
    pub currency: String,
}

/// Sums of movements, in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    pub received: i64,
    pub returned: i64,
    pub taken: i64,
}

impl Figures {
    pub fn kept(&self) -> i64 {
        self.received - self.returned - self.taken
    }

    pub fn add(&mut self, kind: Kind, amount: i64) {
        match kind {
            Kind::Payment => self.received += amount,
            Kind::Refund => self.returned += amount,
            Kind::RefundFailed => self.returned -= amount,
            Kind::Dispute => self.taken += amount,
            Kind::DisputeReturned => self.taken -= amount,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Book {
    pub entries: Vec<Entry>,
}

impl Book {
    /// Writes the book of everything that has happened so far.
    pub fn of(fake: &FakeStripe, till: &[Cash]) -> Self {
        let mut book = Self::default();
        let intents = fake.all("payment_intent");
        for intent in intents.iter().filter(|intent| intent["status"] == "succeeded") {
            if let Some(payment) = Payment::read(fake, intent) {
                book.record(&payment, Kind::Payment, &payment.id, false, number(intent, "amount_received"));
            }
        }
        for refund in fake.all("refund") {
            let Some(payment) = payment_of(fake, &refund) else { continue };
            let (id, amount) = (text(&refund, "id"), number(&refund, "amount"));
            let is_ours = refund["metadata"]["refund"].is_string();
            book.record(&payment, Kind::Refund, &id, is_ours, amount);
            if refund["status"] == "failed" || refund["status"] == "canceled" {
                book.record(&payment, Kind::RefundFailed, &id, is_ours, amount);
            }
        }
        for dispute in fake.all("dispute") {
            let Some(payment) = payment_of(fake, &dispute) else { continue };
            for movement in dispute["balance_transactions"].as_array().expect("a list") {
                let amount = number(movement, "amount");
                let kind = if amount < 0 { Kind::Dispute } else { Kind::DisputeReturned };
                book.record(&payment, kind, &text(&dispute, "id"), false, amount.abs());
            }
        }
        for cash in till {
            let (kind, to, from) = match cash.amount {
                1.. => (Kind::Payment, Account::Till, Account::Customer),
                _ => (Kind::Refund, Account::Customer, Account::Till),
            };
            book.entries.push(Entry {
                kind,
                order: cash.order,
                reference: None,
                payment: None,
                is_ours: true,
                to,
                from,
                amount: cash.amount.abs(),
                currency: cash.currency.clone(),
            });
        }
        book
    }

    fn record(&mut self, payment: &Payment, kind: Kind, reference: &str, is_ours: bool, amount: i64) {
        let stripe = Account::Stripe(payment.account.clone());
        let (to, from) = match kind {
            Kind::Payment | Kind::RefundFailed => (stripe, Account::Customer),
            Kind::Refund => (Account::Customer, stripe),
            Kind::Dispute => (Account::Bank, stripe),
            Kind::DisputeReturned => (stripe, Account::Bank),
        };
        self.entries.push(Entry {
            kind,
            order: payment.order,
            reference: Some(reference.to_owned()),
            payment: Some(payment.id.clone()),
            is_ours,
            to,
            from,
            amount,
            currency: payment.currency.clone(),
        });
    }

    /// What each account holds in each currency.
    pub fn balances(&self) -> BTreeMap<(Account, String), i64> {
        let mut balances = BTreeMap::new();
        for entry in &self.entries {
            *balances.entry((entry.to.clone(), entry.currency.clone())).or_default() += entry.amount;
            *balances.entry((entry.from.clone(), entry.currency.clone())).or_default() -= entry.amount;
        }
        balances
    }

    /// The sums of the entries that a test chooses.
    pub fn figures(&self, is_counted: impl Fn(&Entry) -> bool) -> Figures {
        let mut figures = Figures::default();
        for entry in self.entries.iter().filter(|entry| is_counted(entry)) {
            figures.add(entry.kind, entry.amount);
        }
        figures
    }

    pub fn of_order(&self, order: OrderId) -> Figures {
        self.figures(|entry| entry.order == order)
    }
}

/// A payment at Stripe.
struct Payment {
    id: String,
    order: OrderId,
    account: Option<String>,
    currency: String,
}

impl Payment {
    /// `None` for a payment that is not for an order.
    fn read(fake: &FakeStripe, intent: &Value) -> Option<Self> {
        let id = text(intent, "id");
        let order = intent["metadata"]["order"].as_str()?.parse().ok()?;
        let account = fake.account_of(&id);
        let currency = text(intent, "currency").to_ascii_uppercase();
        Some(Self { id, order, account, currency })
    }
}

fn payment_of(fake: &FakeStripe, object: &Value) -> Option<Payment> {
    Payment::read(fake, &fake.get(object["payment_intent"].as_str()?))
}

pub fn text(object: &Value, field: &str) -> String {
    object[field].as_str().expect(field).to_owned()
}

pub fn number(object: &Value, field: &str) -> i64 {
    object[field].as_i64().expect(field)
}
