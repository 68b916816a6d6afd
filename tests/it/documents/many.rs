//! Many tickets, read back from their pages.

use std::path::Path;

use ticketing::documents::TicketDocuments;
use ticketing::order::{CreateOrder, NewCustomer, NewOrderItem, Order};

use crate::common::random::Random;
use crate::documents::scripts::random_text;
use crate::documents::tools::*;

/// The fonts that are installed for the scripts of random texts.
fn fonts() -> TicketDocuments {
    let files = [
        "truetype/noto/NotoSansArabic-Regular.ttf",
        "truetype/noto/NotoSansHebrew-Regular.ttf",
        "truetype/noto/NotoSansThai-Regular.ttf",
        "truetype/noto/NotoSansDevanagari-Regular.ttf",
    ];
    let installed = files.iter().filter_map(|file| std::fs::read(Path::new("/usr/share/fonts").join(file)).ok());
    installed.fold(TicketDocuments::default(), TicketDocuments::font)
}

/// The codes of an order's tickets, in their order.
fn codes(order: &Order) -> Vec<String> {
    order.items.iter().flat_map(|item| item.issued_tickets.iter().map(|ticket| ticket.code.clone())).collect()
}

#[test]
fn the_codes_of_a_thousand_random_tickets_are_read_back_from_their_pages() {
    let fixture = with_documents(fonts());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let mut random = Random::new(11);
    let mut read = 0;
    for round in 0..20 {
        let mut text = |most: usize| {
            let length = random.below(most) + 1;
            format!("abc{}", random_text(&mut random, length))
        };
        let event = fixture.event_with(|event| {
            event.title = text(200);
            event.location = Some(text(100));
        });
        let mut items = Vec::new();
        for number in 0..10 {
            let ticket_type = fixture.ticket_type_with(&event, |ticket_type| {
                ticket_type.name = text(80);
                ticket_type.price = "0".parse().expect("an amount");
                ticket_type.ticket_text = Some(text(if number == 0 { 1500 } else { 60 }));
            });
            items.push(NewOrderItem::new(ticket_type.id, 5));
        }
        let mut request =
            CreateOrder::new(event.id, NewCustomer::new(text(195), "a@example.com"), items[0].ticket_type_id, 5);
        request.items = items;
        let order = service.create_order(caller, request).expect("an order").order;
        let document = service.get_order_document(caller, order.id).expect("a document");
        let file = File::new(document);
        let Some(pages) = file.corners() else { return };
        // Further pages of a ticket have none.
        let found: Vec<_> = pages.iter().flat_map(|page| Gray::read(page).qr_codes()).map(|(code, ..)| code).collect();
        assert_eq!(found, codes(&order), "round {round}");
        read += found.len();
    }
    assert_eq!(read, 1000);
}

#[test]
fn an_order_of_a_hundred_tickets_is_one_document_with_a_page_and_a_code_for_each() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type_with(&fixture.event(), |ticket_type| ticket_type.max_per_order = Some(100));
    let order = fixture.paid_order(&ticket_type, 100);
    let document = fixture.service.get_order_document(&fixture.caller, order.id).expect("a document");
    let file = File::new(document);
    let Some(pages) = file.corners() else { return };
    assert_eq!(pages.len(), 100);
    let found: Vec<_> = pages.iter().map(|page| Gray::read(page).qr_codes()).collect();
    assert_eq!(found, codes(&order).into_iter().map(|code| vec![(code, 2, 2)]).collect::<Vec<_>>());
    run("qpdf", &["--check", utf8(&file.path())]);
}
