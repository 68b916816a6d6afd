//! What a mail says, in words: the parts that its HTML and its plain text show.

use askama::Template;

use super::addresses::header_text;
use crate::documents::code_in_groups;
use crate::error::{Error, Result};
use crate::model::sale::event::{DeliveryMethod, Event, EventStatus};
use crate::model::sale::mail::MailKind;
use crate::model::sale::order::{Order, OrderStatus};
use crate::model::sale::receipt::{OrderOnPage, Receipt};
use crate::model::sale::refund::Refund;
use crate::model::sale::ticket::{IssuedTicket, TicketStatus};
use crate::model::tickets::linked::LinkedTicket;
use crate::model::tickets::mail_facts::{MailFacts, MailSubject, MailedOrder};
use crate::model::values::amount::Amount;
use crate::pages::bill::Bill;
use crate::pages::heading::Heading;
use crate::pages::page_notice::{Notice, is_late, refunds};
use crate::rules::calendar::Zone;
use crate::rules::printed_text;
use crate::words::{self, Words};

/// How many tickets and items a mail shows.
const MAX_SHOWN: usize = 20;

/// How many tickets have a picture of their code.
const MAX_PICTURES: usize = 3;

/// How many issued tickets have a link.
const MAX_LINKS: usize = 10;

/// The greatest length of a subject, in characters.
const SUBJECT_LENGTH: usize = 150;

/// Where the tickets of a mail are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    /// In the attached document.
    Attached,
    /// The mail has only a link: the document is too large to be attached, or there is none.
    Linked,
}

/// The parts of a mail.
pub(super) struct Content<'a> {
    pub(super) words: &'static Words,
    pub(super) subject: String,
    title: String,
    sentences: Vec<String>,
    /// What the organizer says first.
    intro: Vec<String>,
    actions: Vec<Action>,
    heading: Heading<'a>,
    pub(super) tickets: Vec<TicketPart>,
    more_tickets: Option<String>,
    receipt: Option<ReceiptPart<'a>>,
    organizer: Option<String>,
    footer: Vec<String>,
}

/// A link.
struct Action {
    label: &'static str,
    url: String,
}

/// A ticket in a mail.
pub(super) struct TicketPart {
    position: Option<String>,
    ticket_type: String,
    /// What distinguishes it, such as its seat.
    label: Option<String>,
    /// That it is cancelled.
    state: Option<&'static str>,
    holder: Option<String>,
    /// The code. `None` if the mail does not have it.
    pub(super) code: Option<String>,
    /// The content id of the picture of its code.
    pub(super) picture: Option<String>,
    letters: Option<String>,
    url: Option<String>,
}

/// What was ordered, and paid for it.
struct ReceiptPart<'a> {
    number: String,
    /// The name and the address, for the organizer.
    customer: Option<(String, &'a str)>,
    bill: Bill,
    more: Option<String>,
}

#[derive(Template)]
#[template(path = "mail.html")]
struct Html<'c, 'a> {
    c: &'c Content<'a>,
}

#[derive(Template)]
#[template(path = "mail.txt", whitespace = "preserve")]
struct Text<'c, 'a> {
    c: &'c Content<'a>,
}

impl<'a> Content<'a> {
    pub(super) fn of(facts: &'a MailFacts, document: Document) -> Result<Self> {
        match &facts.subject {
            MailSubject::Order(order) => Self::of_order(facts, order, document),
            MailSubject::Tickets(tickets) => match tickets.first() {
                Some(first) => Self::of_tickets(facts, first, tickets, document),
                None => Err(Error::Internal("a mail about tickets names none".to_owned())),
            },
        }
    }

    pub(super) fn html(&self) -> Result<String> {
        rendered(&Html { c: self })
    }

    pub(super) fn text(&self) -> Result<String> {
        let text = rendered(&Text { c: self })?;
        // Lines are kept apart by one empty line at most.
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines().map(str::trim_end) {
            if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(line);
            }
        }
        Ok(format!("{}\n", lines.join("\n").trim()))
    }

    fn of_order(facts: &'a MailFacts, mailed: &'a MailedOrder, document: Document) -> Result<Self> {
        let MailedOrder { page, tickets } = mailed;
        let OrderOnPage { order, event, organizer, receipt } = page;
        let kind = facts.mail.kind;
        let words = words::of(facts.language.as_deref());
        let number = order.id.number();
        let is_by_post = event.delivery_method == DeliveryMethod::Physical;
        let shows = match kind {
            MailKind::Tickets if is_by_post => Shows::Types,
            MailKind::Tickets => Shows::Codes,
            MailKind::OrderCancelled if order.status != OrderStatus::Cancelled => Shows::Cancelled,
            _ => Shows::Nothing,
        };
        let (title, sentences) = said(kind, page, is_by_post, document, words)?;
        let (tickets, more_tickets) = of_order(order, tickets, shows, words);
        // The page of an order has its tickets, but for an order that is not paid yet.
        let is_shown = !is_by_post || kind == MailKind::PaymentReminder;
        let action = action(kind, order, receipt, words).filter(|_| is_shown);
        let customer = (kind == MailKind::OrganizerOrder)
            .then(|| (printed_text::line(&order.customer.name), order.customer.email.as_str()));
        let bill = Bill::of(order, event, receipt, words)?;
        Ok(Self {
            words,
            subject: subject(title, &event.title, Some(&number), words),
            title: title.to_owned(),
            sentences,
            actions: action.into_iter().collect(),
            tickets,
            more_tickets,
            receipt: Some(ReceiptPart::new(number, customer, bill, words)),
            ..Self::about_event(event, organizer, facts, words)?
        })
    }

    fn of_tickets(
        facts: &'a MailFacts,
        first: &'a LinkedTicket,
        tickets: &'a [LinkedTicket],
        document: Document,
    ) -> Result<Self> {
        let event = &first.event;
        let words = words::of(facts.language.as_deref());
        let is_cancelled = facts.mail.kind == MailKind::OrderCancelled;
        let title = if is_cancelled { words.tickets.ticket_cancelled } else { words.tickets.your_tickets };
        let sentence = match document {
            _ if is_cancelled => words.tickets.no_entry,
            Document::Attached => words.mail.attached,
            Document::Linked => words.mail.download,
        };
        let parts = tickets.iter().enumerate().map(|(index, linked)| {
            let shows = if is_cancelled { Shows::Cancelled } else { Shows::Codes };
            let part = TicketPart::new(&linked.ticket, &linked.ticket_type.name, None, index, shows, words);
            let url = page_of(&linked.ticket).filter(|_| !is_cancelled && index < MAX_LINKS);
            TicketPart { url, ..part }
        });
        let parts: Vec<_> = parts.take(MAX_SHOWN).collect();
        Ok(Self {
            words,
            subject: subject(title, &event.title, None, words),
            title: title.to_owned(),
            sentences: vec![sentence.to_owned()],
            actions: Vec::new(),
            more_tickets: more(tickets.len(), parts.len(), words),
            tickets: parts,
            receipt: None,
            ..Self::about_event(event, &first.organizer, facts, words)?
        })
    }

    /// What all mails say of an event and its organizer. The rest is empty.
    fn about_event(event: &'a Event, organizer: &str, facts: &'a MailFacts, words: &'static Words) -> Result<Self> {
        let (settings, kind) = (&facts.settings, facts.mail.kind);
        let lines_of = |text: &Option<String>| {
            let text = text.as_deref().filter(|_| kind != MailKind::OrganizerOrder).unwrap_or_default();
            let lines: Vec<_> = printed_text::lines(text).collect();
            if lines.iter().all(String::is_empty) { Vec::new() } else { lines }
        };
        Ok(Self {
            words,
            subject: String::new(),
            title: String::new(),
            sentences: Vec::new(),
            intro: lines_of(&settings.mail_intro),
            actions: Vec::new(),
            heading: Heading::of(event, words, facts.language.as_deref())?,
            tickets: Vec::new(),
            more_tickets: None,
            receipt: None,
            organizer: printed_text::organizer(organizer),
            footer: lines_of(&settings.mail_footer),
        })
    }
}

fn rendered(template: &impl Template) -> Result<String> {
    template.render().map_err(|error| Error::Internal(format!("a mail could not be rendered: {error}")))
}

/// What a mail shows of tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Nothing,
    /// The valid ones without their codes.
    Types,
    /// The valid ones with their codes.
    Codes,
    /// The cancelled ones.
    Cancelled,
}

/// The title of a mail about an order, and the sentences below it.
fn said(
    kind: MailKind,
    page: &OrderOnPage,
    is_by_post: bool,
    document: Document,
    words: &'static Words,
) -> Result<(&'static str, Vec<String>)> {
    let OrderOnPage { order, event, receipt, .. } = page;
    let notice = Notice::of_order(order, event.status, receipt, None, words).map(|notice| notice.text);
    let notice = notice.filter(|text| !text.is_empty());
    let moved = Some(refunds(&receipt.refunds, words)).filter(|text| !text.is_empty());
    let how = returned_by(receipt, words).map(str::to_owned);
    let (title, sentences) = match kind {
        MailKind::Tickets => {
            let where_they_are = match document {
                _ if is_by_post => words.mail.sent_by_post,
                Document::Attached => words.mail.attached,
                Document::Linked => words.mail.download,
            };
            (words.tickets.your_tickets, vec![notice, Some(where_they_are.to_owned())])
        }
        MailKind::OrderCancelled if order.status == OrderStatus::Cancelled => {
            (words.tickets.order_cancelled, vec![notice, how])
        }
        MailKind::OrderCancelled => (words.mail.tickets_cancelled, vec![moved, how]),
        MailKind::Refund => (words.mail.refund, vec![moved, how]),
        MailKind::PaymentReturned => {
            let why = if is_late(receipt) { words.payment.too_late } else { words.payment.mismatch };
            (words.mail.payment_returned, vec![Some(why.text.to_owned()), moved, how])
        }
        MailKind::PaymentReminder => {
            let zone = Zone::stored(&event.timezone)?;
            let until = receipt.details.hold_until.map(|until| words::moment(words, zone, until));
            let reserved = until.map(|until| format!("{}.", (words.event.reserved_until)(&until)));
            (words.mail.reminder, vec![reserved, Some(words.mail.expires.to_owned())])
        }
        MailKind::OrganizerOrder => (words.mail.new_order, Vec::new()),
    };
    Ok((title, sentences.into_iter().flatten().collect()))
}

/// How the money of refunds goes back. `None` if none does.
fn returned_by(receipt: &Receipt, words: &'static Words) -> Option<&'static str> {
    let of_refunds = || receipt.refunds.iter();
    if of_refunds().any(|refund| refund.owed > Amount::ZERO) {
        return Some(words.mail.returned_by_organizer);
    }
    let is_by_gateway = |refund: &Refund| {
        refund.gateway.is_some() && (refund.to_return() > Amount::ZERO || refund.returned > Amount::ZERO)
    };
    of_refunds().any(is_by_gateway).then_some(words.mail.returned_as_paid)
}

/// The link of a mail about an order.
fn action(kind: MailKind, order: &Order, receipt: &Receipt, words: &'static Words) -> Option<Action> {
    let details = &receipt.details;
    let page = details.order_url.clone().or_else(|| details.documents_url.clone());
    match kind {
        MailKind::OrganizerOrder => None,
        MailKind::PaymentReminder => {
            let checkout = order.payment_gateway.as_ref().map(|payment| payment.link.clone());
            let url = checkout.filter(|link| !link.is_empty()).or(page)?;
            Some(Action { label: words.checkout.back_to_payment, url })
        }
        _ => Some(Action { label: words.form.show_order, url: page? }),
    }
}

/// The tickets of an order that a mail shows, and how many more there are.
fn of_order(
    order: &Order,
    tickets: &[IssuedTicket],
    shows: Shows,
    words: &'static Words,
) -> (Vec<TicketPart>, Option<String>) {
    let is_shown = |ticket: &IssuedTicket| match shows {
        Shows::Nothing => false,
        Shows::Types | Shows::Codes => ticket.status != TicketStatus::Cancelled,
        Shows::Cancelled => ticket.status == TicketStatus::Cancelled,
    };
    let name_of = |ticket: &IssuedTicket| {
        let item = order.items.iter().find(|item| item.ticket_type_id == ticket.ticket_type_id);
        item.map_or("", |item| item.ticket_type_name.as_str())
    };
    let count = tickets.len();
    let numbered: Vec<_> = (1..).zip(tickets).filter(|(_, ticket)| is_shown(ticket)).collect();
    let parts = numbered.iter().take(MAX_SHOWN).enumerate().map(|(index, (number, ticket))| {
        let position = (count > 1).then(|| (words.ticket.position)(*number, count));
        TicketPart::new(ticket, name_of(ticket), position, index, shows, words)
    });
    let parts: Vec<_> = parts.collect();
    let more = more(numbered.len(), parts.len(), words);
    (parts, more)
}

fn more(all: usize, shown: usize, words: &Words) -> Option<String> {
    (all > shown).then(|| (words.mail.more)(all - shown))
}

impl TicketPart {
    fn new(
        ticket: &IssuedTicket,
        ticket_type: &str,
        position: Option<String>,
        index: usize,
        shows: Shows,
        words: &'static Words,
    ) -> Self {
        let is_cancelled = ticket.status == TicketStatus::Cancelled;
        let has_code = shows == Shows::Codes && !is_cancelled;
        Self {
            position,
            ticket_type: printed_text::line(ticket_type),
            label: ticket.ticket_label.as_deref().map(printed_text::line),
            state: is_cancelled.then_some(words.mail.cancelled),
            holder: ticket.customer.as_ref().map(|customer| printed_text::line(&customer.name)),
            code: has_code.then(|| ticket.code.clone()),
            picture: (has_code && index < MAX_PICTURES).then(|| format!("code-{}", index + 1)),
            letters: has_code.then(|| code_in_groups(&ticket.code)),
            url: None,
        }
    }
}

impl<'a> ReceiptPart<'a> {
    fn new(number: String, customer: Option<(String, &'a str)>, mut bill: Bill, words: &Words) -> Self {
        let all = bill.items.len();
        bill.items.truncate(MAX_SHOWN);
        let more = more(all, bill.items.len(), words);
        Self { number, customer, bill, more }
    }
}

/// The page of a ticket.
fn page_of(ticket: &IssuedTicket) -> Option<String> {
    ticket.download_ticket_url.as_deref()?.strip_suffix("/ticket.pdf").map(str::to_owned)
}

/// A subject: what the mail is about, of which event, and the number of the order. A long title is cut.
fn subject(label: &str, title: &str, order: Option<&str>, words: &Words) -> String {
    let end = order.map(|number| format!(" ({number})")).unwrap_or_default();
    let beginning = format!("{label}{} {}", words.mail.colon, header_text(title));
    let room = SUBJECT_LENGTH.saturating_sub(end.chars().count());
    let cut = beginning.char_indices().nth(room).map(|_| {
        let kept: String = beginning.chars().take(room.saturating_sub(1)).collect();
        format!("{}…", kept.trim_end())
    });
    format!("{}{end}", cut.unwrap_or(beginning))
}

/// Whether an order has a document to attach.
pub(crate) fn has_document(facts: &MailFacts) -> bool {
    let event = match &facts.subject {
        MailSubject::Order(order) => &order.page.event,
        MailSubject::Tickets(tickets) => match tickets.first() {
            Some(first) => &first.event,
            None => return false,
        },
    };
    facts.mail.kind == MailKind::Tickets
        && event.status != EventStatus::Cancelled
        && event.delivery_method == DeliveryMethod::Digital
}
