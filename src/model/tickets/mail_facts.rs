//! What a mail says, before it is put into words.

use super::linked::LinkedTicket;
use crate::model::sale::mail::{Mail, MailSettings};
use crate::model::sale::receipt::OrderOnPage;
use crate::model::sale::ticket::IssuedTicket;

/// A mail, and the rows that it is about as they are now.
#[derive(Debug)]
pub(crate) struct MailFacts {
    pub(crate) mail: Mail,
    pub(crate) settings: MailSettings,
    /// The language tag of the reader, such as `de-AT`.
    pub(crate) language: Option<String>,
    pub(crate) subject: MailSubject,
}

/// What a mail is about.
#[derive(Debug)]
pub(crate) enum MailSubject {
    Order(Box<MailedOrder>),
    /// Tickets that were issued without an order: at least one.
    Tickets(Vec<LinkedTicket>),
}

/// An order, as its page shows it, with its tickets in the order in which they were issued.
#[derive(Debug)]
pub(crate) struct MailedOrder {
    pub(crate) page: OrderOnPage,
    pub(crate) tickets: Vec<IssuedTicket>,
}
