//! Writes the document of a ticket, as its holder gets it.
//!
//! `cargo run --example ticket_document --features documents -- ticket.pdf`
//!
//! Further arguments are files of fonts, for names in other scripts.

use std::error::Error;
use std::path::PathBuf;

use ticketing::TicketingService;
use ticketing::documents::TicketDocuments;
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::organization::CreateOrganization;
use ticketing::ticket_type::CreateTicketType;

const TEXT: &str = "Doors open at 18:00. Please have this ticket ready, printed or on your phone.\n\n\
    Each code admits one person once: whoever shows it first is let in. Bags larger than A4 stay in the cloakroom, which \
    is free. In bad weather, the concert takes place in the great hall.";

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = std::env::args_os().skip(1).map(PathBuf::from);
    let path = files.next().filter(|path| !path.as_os_str().as_encoded_bytes().starts_with(b"-"));
    let path = path.ok_or("usage: ticket_document FILE.pdf [FONT…]")?;
    let mut documents = TicketDocuments::default();
    for font in files {
        documents = documents.font(std::fs::read(font)?);
    }
    let service = TicketingService::temporary().ticket_documents(documents).open()?;
    let organization = service.create_organization(CreateOrganization::default())?;
    let caller = service.act_for(organization.id)?;

    let event = CreateEvent::new("Summer Night with the Philharmonic", "summer-night", "2027-06-12T17:30:00Z".parse()?)
        .end_date("2027-06-12T21:00:00Z".parse()?)
        .timezone("Europe/Berlin")
        .location("Open-air stage in the Botanical Garden, Berlin")
        .status(EventStatus::Published);
    let event = service.create_event(&caller, event)?;
    let ticket_type = CreateTicketType::new("Parterre", "0".parse()?, 100)
        .access_areas(vec!["Parterre".to_owned(), "Garden".to_owned()])
        .validity_days(1)
        .ticket_text(TEXT);
    let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;

    let ada = NewCustomer::new("Ada Lovelace", "ada@example.com");
    let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 1))?.order;
    let document = service.get_order_document(&caller, order.id)?;
    std::fs::write(&path, &document.bytes)?;
    println!("{}: {} bytes", path.display(), document.bytes.len());
    Ok(())
}
