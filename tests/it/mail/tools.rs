//! A transport in memory, and a fixture whose service sends mails over it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ticketing::documents::TicketDocuments;
use ticketing::id::OrderId;
use ticketing::mail::{
    ListMails, Mail, MailError, MailKind, MailOptions, MailReceipt, MailState, MailTransport, OutgoingMail,
    UpdateMailSettings,
};

use crate::common::*;

/// The address of the sender.
pub const FROM: &str = "tickets@example.com";

/// Keeps each mail, and answers what the test wants.
#[derive(Clone, Default)]
pub struct MemoryTransport {
    sent: Arc<Mutex<Vec<OutgoingMail>>>,
    answers: Arc<Mutex<VecDeque<Result<MailReceipt, MailError>>>>,
}

impl MemoryTransport {
    /// The mails that were accepted.
    pub fn sent(&self) -> Vec<OutgoingMail> {
        self.sent.lock().expect("the mails").clone()
    }

    /// Lets the next mails be answered like this.
    pub fn answer(&self, answers: impl IntoIterator<Item = Result<MailReceipt, MailError>>) {
        self.answers.lock().expect("the answers").extend(answers);
    }
}

impl MailTransport for MemoryTransport {
    fn send(&self, mail: &OutgoingMail) -> Result<MailReceipt, MailError> {
        let answer = self.answers.lock().expect("the answers").pop_front();
        let answer = answer.unwrap_or_else(|| Ok(MailReceipt::new("250 ok")));
        if answer.is_ok() {
            self.sent.lock().expect("the mails").push(mail.clone());
        }
        answer
    }
}

/// A fixture with mails, which are sent when the test says so.
pub struct Mails {
    pub fixture: Fixture,
    pub transport: MemoryTransport,
}

impl Mails {
    pub fn new() -> Self {
        Self::with(|options| options)
    }

    pub fn with(change: impl FnOnce(MailOptions) -> MailOptions) -> Self {
        let transport = MemoryTransport::default();
        let options = change(options(transport.clone()));
        let fixture = Fixture::with_gateway(|builder| {
            builder.public_url("https://tickets.example.com").ticket_documents(TicketDocuments::default()).mail(options)
        });
        Self { fixture, transport }
    }

    pub fn deliver(&self) {
        self.fixture.service.deliver_due_mails().expect("the database");
    }

    /// The mails about an order, the oldest first.
    pub fn of_order(&self, order: OrderId) -> Vec<Mail> {
        self.list(ListMails::new().order(order))
    }

    /// All mails, the oldest first.
    pub fn all(&self) -> Vec<Mail> {
        self.list(ListMails::new())
    }

    fn list(&self, request: ListMails) -> Vec<Mail> {
        let mut mails = self.fixture.service.list_mails(&self.fixture.caller, request).expect("the mails").data;
        mails.reverse();
        mails
    }

    pub fn kinds(&self, order: OrderId) -> Vec<(MailKind, MailState)> {
        self.of_order(order).iter().map(|mail| (mail.kind, mail.state)).collect()
    }

    pub fn set(&self, settings: UpdateMailSettings) {
        self.fixture.service.update_mail_settings(&self.fixture.caller, settings).expect("the settings");
    }
}

/// Options for tests: no threads, and no pauses.
pub fn options(transport: impl MailTransport) -> MailOptions {
    MailOptions::new(transport, FROM).threads(false).per_second(1_000_000)
}
