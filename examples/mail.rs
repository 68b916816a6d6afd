//! Sends the tickets of each completed order to the customer, as a mail with the PDF. The mails of this example are files in
//! a folder, which mail programs open. In its place, `Mailer::deliver` may pass them to lettre's `SmtpTransport`.
//!
//! `cargo run --example mail --features documents -- mails`

use std::error::Error as StdError;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use ticketing::documents::TicketDocuments;
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::notification::{Notification, NotificationDetails, NotificationTopic};
use ticketing::order::{CreateOrder, NewCustomer, Order};
use ticketing::organization::CreateOrganization;
use ticketing::payment::ManualMethod;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Error, TicketingService};

type Result<T = ()> = std::result::Result<T, Box<dyn StdError + Send + Sync>>;

fn main() -> Result {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: mail FOLDER")?;
    std::fs::create_dir_all(&folder)?;
    let mailer = Mailer { folder, domain: "tickets.example.com" };
    sell(move |service, notification| mailer.send_tickets(service, notification))
}

/// Sends mails from one address.
struct Mailer {
    folder: PathBuf,
    /// The domain of the sender, and of the ids of mails.
    domain: &'static str,
}

impl Mailer {
    /// Sends the mail of a completed order. After an error it is called again, up to eight times.
    fn send_tickets(&self, service: &TicketingService, notification: &Notification) -> Result {
        let NotificationDetails::OrderCompleted(completed) = &notification.details else { return Ok(()) };
        let caller = service.act_for(notification.organization_id)?;
        let order = service.get_order(&caller, completed.order_id)?;
        // Tickets that were sold at a box office have no address.
        let Some(address) = order.customer.mailbox() else { return Ok(()) };
        let document = match service.get_order_document(&caller, order.id) {
            // The order was cancelled before its mail was sent. A repetition would not change that.
            Err(Error::Gone(_)) => return Ok(()),
            document => document?,
        };
        let event = service.get_event(&caller, order.event_id)?;
        let page = service.get_order_details(&caller, order.id)?.documents_url.unwrap_or_default();
        let organizer = service.get_organization(notification.organization_id)?.name;

        // What people have written goes through the types of lettre, so that it cannot add a header.
        let from = Mailbox::new(Some(organizer.clone()), format!("tickets@{}", self.domain).parse()?);
        let to = Mailbox::new(Some(order.customer.name.clone()), address.parse()?);
        let start = event.start_date.to_local(&event.timezone)?.replace('T', " ");
        let text = format!(
            "Dear {},\n\nhere are your tickets for {}, which begins at {} ({}). You also find them on this page:\n{page}\n\n{organizer}\n",
            order.customer.name,
            event.title,
            &start[..16],
            event.timezone,
        );
        let pdf =
            Attachment::new(document.file_name).body(document.bytes.to_vec(), ContentType::parse("application/pdf")?);
        let mut message = Message::builder()
            // The same in each repetition, so that a mailbox shows a mail once that was sent twice.
            .message_id(Some(format!("<{}@{}>", notification.id, self.domain)))
            .date(SystemTime::UNIX_EPOCH + Duration::from_millis(notification.created_at.millis().try_into()?))
            .from(from)
            .to(to)
            .subject(format!("Your tickets: {}", event.title))
            .multipart(MultiPart::mixed().singlepart(SinglePart::plain(text)).singlepart(pdf))?;
        // No program answers that the customer is on holiday (RFC 3834).
        let name = HeaderName::new_from_ascii_str("Auto-Submitted");
        message.headers_mut().insert_raw(HeaderValue::new(name, "auto-generated".to_owned()));
        self.deliver(notification, &message)
    }

    /// Writes a mail to the folder. A repetition replaces it.
    fn deliver(&self, notification: &Notification, message: &Message) -> Result {
        let path = self.folder.join(format!("{}.eml", notification.id));
        std::fs::write(&path, message.formatted())?;
        println!("{}", path.display());
        Ok(())
    }
}

/// Sells tickets to a customer, to one who cancels before the mail is sent, and to one without an address. Mails are sent at
/// the end; without `handler_threads(false)`, a thread sends them at once.
fn sell(mail: impl Fn(&TicketingService, &Notification) -> Result + Send + Sync + 'static) -> Result {
    let service = TicketingService::temporary()
        .ticket_documents(TicketDocuments::default())
        .public_url("https://tickets.example.com")
        .on_topics("mail", [NotificationTopic::OrderCompleted], mail)
        .handler_threads(false)
        .open()?;
    let cellar = CreateOrganization::new("Jazz Cellar, Zürich").timezone("Europe/Zurich");
    let organization = service.create_organization(cellar)?;
    let caller = service.act_for(organization.id)?;
    let event = CreateEvent::new("Nuit d’été", "nuit-d-ete", "2100-06-01T18:00:00Z".parse()?);
    let event = service.create_event(&caller, event.status(EventStatus::Published))?;
    let ticket_type = CreateTicketType::new("Seat", Amount::cents(1250), 100);
    let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;
    let sold = |customer: NewCustomer| -> Result<Order> {
        let order = CreateOrder::new(event.id, customer, ticket_type.id, 2);
        let order = service.create_order(&caller, order)?.order;
        Ok(service.mark_order_paid(&caller, order.id, ManualMethod::Cash)?)
    };
    sold(NewCustomer::new("Zoë \"Z\" Müller, Bern", "zoe@example.com"))?;
    let cancelled = sold(NewCustomer::new("Bob", "bob@example.com"))?;
    service.cancel_order(&caller, cancelled.id)?;
    sold(NewCustomer::walk_in("Walk-in"))?;
    service.deliver_due_notifications()?;
    Ok(())
}

#[test]
fn one_customer_gets_one_mail_also_if_it_is_sent_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mailer = Mailer { folder: folder.path().to_owned(), domain: "tickets.example.com" };
    sell(move |service, notification| {
        // The program ended after it had sent the mail: the notification comes again.
        mailer.send_tickets(service, notification)?;
        mailer.send_tickets(service, notification)
    })
    .unwrap();
    let mails: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [path] = &mails[..] else { panic!("{mails:?}") };
    let id = path.file_stem().unwrap().to_str().unwrap();
    let mail = std::fs::read_to_string(path).unwrap();
    for part in [
        &*format!("Message-ID: <{id}@tickets.example.com>\r\n"),
        "<zoe@example.com>\r\n",
        "Auto-Submitted: auto-generated\r\n",
        "filename=\"nuit-d-ete-tickets.pdf\"\r\n",
        "Content-Type: application/pdf\r\n",
    ] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
}
