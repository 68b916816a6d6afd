//! Mails to customers and organizers.

use crate::enums::text_enum::text_enum;
#[cfg(feature = "mail")]
use crate::form::declare::fields::form;
#[cfg(feature = "mail")]
use crate::form::declare::writable_fields::writable_fields;
#[cfg(feature = "mail")]
use crate::form::limits::NumberLimit::{Max, Min};
#[cfg(feature = "mail")]
use crate::form::limits::TextLimit::{Email, Lines, MaxLength, MinLength};
#[cfg(feature = "mail")]
use crate::form::limits::{ANY_LINES, EMAIL_LENGTH, LINE_LENGTH};
#[cfg(feature = "mail")]
use crate::model::values::id::{MailId, OrderId, TicketId};
#[cfg(feature = "mail")]
use crate::model::values::page::{PageRequest, list_request};
#[cfg(feature = "mail")]
use crate::model::values::responses::responses;
#[cfg(feature = "mail")]
use crate::model::values::timestamp::Timestamp;

/// The greatest length of a mail's introduction, in characters.
#[cfg(feature = "mail")]
const INTRO_LENGTH: usize = 2_000;

/// The greatest length of a mail's footer, in characters.
#[cfg(feature = "mail")]
const FOOTER_LENGTH: usize = 1_000;

text_enum! {
    /// What a mail is about.
    pub enum MailKind {
        /// To the customer: an order is completed, or tickets were issued. With all of them.
        Tickets = "TICKETS",
        /// To the customer: a completed order, or some of its tickets, or an issued ticket is cancelled.
        OrderCancelled = "ORDER_CANCELLED",
        /// To the customer: an amount is refunded, and nothing is cancelled.
        Refund = "REFUND",
        /// To the customer: a payment came too late, or was not for the order, and goes back.
        PaymentReturned = "PAYMENT_RETURNED",
        /// To the customer: an order is not paid yet, and will soon expire.
        PaymentReminder = "PAYMENT_REMINDER",
        /// To the organizer: an order is completed.
        OrganizerOrder = "ORGANIZER_ORDER",
    }
}

#[cfg(feature = "mail")]
text_enum! {
    /// What became of a mail.
    pub enum MailState {
        /// It is sent as soon as possible, or tried again.
        Waiting = "WAITING",
        /// The relay has accepted it.
        Sent = "SENT",
        /// The relay has refused it, or could not be reached for two days.
        Failed = "FAILED",
        /// It was not sent, because it says what is no longer true, or because mail was switched off.
        Dropped = "DROPPED",
    }
}

#[cfg(feature = "mail")]
responses! {
    /// A mail, without its text.
    pub struct Mail {
        /// The id. It is also in the `Message-ID` of the mail.
        pub id: MailId,
        /// What it is about.
        pub kind: MailKind,
        /// What became of it.
        pub state: MailState,
        /// The order. Not set if it is about issued tickets.
        pub order_id: Option<OrderId>,
        /// The issued tickets. Empty if it is about an order.
        pub ticket_ids: Vec<TicketId>,
        /// The e-mail address to which it is sent.
        pub recipient: String,
        /// When it was caused.
        pub created_at: Timestamp,
        /// When the relay has accepted it.
        pub sent_at: Option<Timestamp>,
        /// What the relay has last said, or why the mail was not sent: at most 500 characters.
        pub last_answer: Option<String>,
    }

    /// A mail as it would be sent now.
    pub struct MailPreview {
        /// The subject.
        pub subject: String,
        /// The mail as plain text.
        pub text: String,
        /// The mail as HTML. Its pictures have `cid:` URLs.
        pub html: String,
    }

    /// What an organization has set about its mails.
    pub struct MailSettings {
        /// Whether mails are sent for the organization.
        pub mail_enabled: bool,
        /// The name of the sender. Not set if it is the name of the organization.
        pub sender_name: Option<String>,
        /// The e-mail address to which answers go.
        pub reply_to: Option<String>,
        /// The e-mail address to which the organizer's own mails go, such as those of new orders.
        pub notify_address: Option<String>,
        /// What mails to customers say first: plain text.
        pub mail_intro: Option<String>,
        /// What mails to customers say last, such as the imprint: plain text.
        pub mail_footer: Option<String>,
        /// How many minutes before the end of its hold the customer of an unpaid order gets a mail. Not set if none is
        /// sent.
        pub payment_reminder_minutes: Option<i64>,
        /// How often the settings were changed, from 1. It is the `ETag` of the settings.
        pub revision: i64,
    }
}

#[cfg(feature = "mail")]
writable_fields! {
    /// Changes to the mail settings of an organization.
    update UpdateMailSettings;
    fields MailSettingsFields of MailSettings;

    /// Whether mails are sent for the organization. Switched on again, nothing is sent for what happened meanwhile.
    mail_enabled: bool => required;
    /// The name of the sender: 1 to 255 characters. If it is null, the name of the organization.
    sender_name: String => nullable, MinLength(1), MaxLength(LINE_LENGTH);
    /// The e-mail address to which answers go: at most 254 characters.
    reply_to: String => nullable, MaxLength(EMAIL_LENGTH), Email;
    /// The e-mail address to which the organizer's own mails go, such as those of new orders: at most 254 characters.
    notify_address: String => nullable, MaxLength(EMAIL_LENGTH), Email;
    /// What mails to customers say first: plain text of at most 2,000 characters. It may have several lines.
    mail_intro: String => nullable, MaxLength(INTRO_LENGTH), Lines(ANY_LINES);
    /// What mails to customers say last, such as the imprint: plain text of at most 1,000 characters. It may have several
    /// lines.
    mail_footer: String => nullable, MaxLength(FOOTER_LENGTH), Lines(ANY_LINES);
    /// How many minutes before the end of its hold the customer of an unpaid order gets a mail: 5 to 1,440. If it is
    /// null, none is sent. Neither is it if the hold is not longer than twice that time.
    payment_reminder_minutes: i64 => nullable, Min(5), Max(1440);
}

#[cfg(feature = "mail")]
list_request! {
    /// A request to list mails.
    pub struct ListMails {
        /// Only mails about this order.
        pub order_id: Option<OrderId>,
        /// Only mails of this kind.
        pub kind: Option<MailKind>,
        /// Only mails in this state.
        pub state: Option<MailState>,
        /// The part of the list to return.
        pub page: PageRequest<MailId>,
    }
}

#[cfg(feature = "mail")]
form! {
    /// A request to send the tickets of an order, or an issued ticket, again.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct ResendTickets {
        /// The e-mail address to which this mail is sent: at most 254 characters. By default that of the customer.
        pub to: Option<String> [nullable, MaxLength(EMAIL_LENGTH), Email],
    }
}

#[cfg(feature = "mail")]
form! {
    /// Which mail is previewed.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct PreviewMail {
        /// The kind of the mail. By default TICKETS.
        pub kind: Option<MailKind>,
    }
}
