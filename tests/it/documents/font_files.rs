//! Files with several fonts: which of them a document takes.

use std::path::Path;

use ticketing::documents::{TicketDocument, TicketDocuments};
use ticketing::order::{CreateOrder, NewCustomer};

use crate::common::unavailable;
use crate::documents::tools::*;

const FOLDER: &str = "/usr/share/fonts/opentype/noto";
const REGULAR: &str = "NotoSansCJK-Regular.ttc";

/// The settings with a collection of fonts. `None` if it is not installed.
fn with_collection(file: &str) -> Option<TicketDocuments> {
    match std::fs::read(Path::new(FOLDER).join(file)) {
        Ok(font) => Some(TicketDocuments::default().font(font)),
        Err(error) => {
            unavailable(format_args!("{FOLDER}/{file}: {error}"));
            None
        }
    }
}

#[test]
fn each_start_takes_the_same_fonts_of_a_file() {
    for file in [REGULAR, "NotoSansCJK-Bold.ttc", "NotoSerifCJK-Regular.ttc", "NotoSerifCJK-Bold.ttc"] {
        let Some(documents) = with_collection(file) else { return };
        let Printed { fixture, ticket, file: first, .. } =
            printed(documents.clone(), "王小明", |event| event.title = "直骨今、。".to_owned(), |_| {});
        for _ in 0..4 {
            let other = fixture.second_service_with(|builder| builder.ticket_documents(documents.clone()));
            let again = other.get_ticket_document(&fixture.caller, ticket.id).expect("a document");
            assert_eq!(again.sha256, first.document.sha256, "{file}");
        }
    }
}

#[test]
fn the_language_of_an_order_decides_in_whose_form_characters_are_drawn() {
    let Some(documents) = with_collection(REGULAR) else { return };
    let fixture = with_documents(documents);
    let document = |language: Option<&str>, title: &str| -> TicketDocument {
        let event = fixture.event_with(|event| event.title = title.to_owned());
        let ticket_type =
            fixture.ticket_type_with(&event, |ticket_type| ticket_type.price = "0".parse().expect("free"));
        let buyer = NewCustomer::new("Ada", "ada@example.com");
        let mut request = CreateOrder::new(event.id, buyer, ticket_type.id, 1);
        request.language = language.map(str::to_owned);
        let order = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
        fixture.service.get_order_document(&fixture.caller, order.id).expect("a document")
    };
    for (language, title, expected) in [
        (Some("ja"), "直骨今", "NotoSansCJKjp"),
        (Some("ko-KR"), "直骨今", "NotoSansCJKkr"),
        (Some("zh"), "直骨今", "NotoSansCJKsc"),
        (Some("zh-TW"), "直骨今", "NotoSansCJKtc"),
        (Some("zh-Hant"), "直骨今", "NotoSansCJKtc"),
        (Some("zh-HK"), "直骨今", "NotoSansCJKhk"),
        // The letters decide if the language is another one.
        (Some("en"), "夜のコンサート", "NotoSansCJKjp"),
        (None, "서울 音樂會", "NotoSansCJKkr"),
        // The first of the file.
        (None, "直骨今", "NotoSansCJKjp"),
    ] {
        let file = File::new(document(language, title));
        let Some(fonts) = run("pdffonts", &[utf8(&file.path())]) else { return };
        let taken: Vec<_> = fonts.lines().filter(|line| line.contains("CJK")).collect();
        assert!(taken.len() == 1 && taken[0].contains(expected), "{language:?} {title}: {fonts}");
    }
}
