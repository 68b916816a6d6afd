//! What a mail says, from the rows that it is about.

use super::{linked_documents, receipts};
use crate::error::Result;
use crate::model::sale::mail::Mail;
use crate::model::tickets::mail_facts::{MailFacts, MailSubject, MailedOrder};
use crate::model::values::id::OrganizationId;
use crate::store::Transaction;
use crate::store::tenants::mail_settings;
use crate::store::tickets::issued_tickets;

pub(crate) fn read(tx: &Transaction<'_>, organization: OrganizationId, mail: Mail) -> Result<MailFacts> {
    let subject = match mail.order_id {
        Some(order) => MailSubject::Order(Box::new(MailedOrder {
            page: receipts::on_page(tx, organization, order)?,
            tickets: issued_tickets::of_order_with_holders(tx, organization, order)?,
        })),
        None => {
            let tickets = mail.ticket_ids.iter();
            let tickets = tickets.map(|ticket| linked_documents::without_logo(tx, organization, *ticket));
            MailSubject::Tickets(tickets.collect::<Result<_>>()?)
        }
    };
    let language = match &subject {
        MailSubject::Order(order) => order.page.receipt.language(),
        MailSubject::Tickets(tickets) => tickets.first().and_then(|linked| linked.language.clone()),
    };
    Ok(MailFacts { settings: mail_settings::get(tx, organization)?, mail, language, subject })
}
