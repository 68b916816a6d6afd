//! Operations on mails.

use super::operation::{Operation, operation};
use crate::enums::scope::Scope::{MailRead, MailWrite, OrdersRead, TicketsRead};
use crate::error::Reason::{
    EventCancelled, LimitReached, MailDisabled, OrderNotCompleted, OrderNotPending, TicketCancelled, TicketImported,
};
use crate::model::sale::mail::{ListMails, PreviewMail, ResendTickets, UpdateMailSettings};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation!(list, list_mails::<ListMails>(caller), "/mails", MailRead)
            .docs("List mails", "Newest first: to whom each one was sent, and what became of it. Without their texts.")
            .conflicts(&[MailDisabled]),
        operation!(get_with_etag, get_mail_settings(caller), "/mail-settings", MailRead)
            .docs("Get the mail settings", "")
            .conflicts(&[MailDisabled]),
        operation!(update, update_mail_settings::<UpdateMailSettings>(conditional), "/mail-settings", MailWrite)
            .docs(
                "Update the mail settings",
                "With mail switched off, mails that wait are dropped. Switched on again, nothing old is sent.",
            )
            .conflicts(&[MailDisabled]),
        operation!(
            action_with_options,
            resend_tickets::<ResendTickets>(keyed, id),
            "/orders/{orderId}/resend-tickets",
            MailWrite
        )
        .docs(
            "Send the tickets of an order again",
            "In one mail: to the customer, or to another address, which is used for this mail only. Five times in 24 hours.",
        )
        .also_requires(OrdersRead)
        .also_requires(TicketsRead)
        .conflicts(&[MailDisabled, OrderNotCompleted, EventCancelled, LimitReached]),
        operation!(list, preview_mail::<PreviewMail>(caller, id), "/orders/{orderId}/mail-preview", MailRead)
            .docs("Preview a mail about an order", "The mail as it would be sent now. Nothing is sent.")
            .also_requires(OrdersRead)
            .also_requires(TicketsRead)
            .conflicts(&[MailDisabled, OrderNotCompleted, OrderNotPending]),
        operation!(
            action_with_options,
            resend_ticket::<ResendTickets>(keyed, id),
            "/tickets/{issuedTicketId}/resend",
            MailWrite
        )
        .docs(
            "Send an issued ticket again",
            "To its holder, or to another address, which is used for this mail only. Five times in 24 hours.",
        )
        .also_requires(OrdersRead)
        .also_requires(TicketsRead)
        .conflicts(&[MailDisabled, TicketImported, TicketCancelled, LimitReached]),
    ]
}
