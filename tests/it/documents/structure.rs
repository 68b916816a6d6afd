//! What screen readers get of a document: its parts, their order, and the language of each.

use serde_json::Value;
use ticketing::documents::TicketDocuments;
use ticketing::event::Event;
use ticketing::payment::ManualMethod;

use crate::common::*;
use crate::documents::tools::*;

/// The document of an order with one ticket, in this language.
fn ordered(language: &str) -> File {
    let fixture = with_documents(TicketDocuments::default());
    let event: Event = fixture.event_with(|event| {
        event.title = "Letnia noc".to_owned();
        event.location = Some("Ogród Botaniczny".to_owned());
    });
    let ticket_type = fixture.ticket_type_with(&event, |ticket_type| {
        ticket_type.name = "Parter".to_owned();
        ticket_type.access_areas = Some(vec!["Ogród".to_owned()]);
        ticket_type.ticket_text = Some("Wejście od 18:00.\n\nJeden kod, jedna osoba.".to_owned());
    });
    let (service, caller) = (&fixture.service, &fixture.caller);
    let mut order = new_order(event.id, ticket_type.id, 1);
    order.language = Some(language.to_owned());
    let order = service.create_order(caller, order).expect("an order").order;
    service.mark_order_paid(caller, order.id, ManualMethod::Cash).expect("paid");
    File::new(service.get_order_document(caller, order.id).expect("a document"))
}

/// The parts of a document's structure in the order in which they are read: what each is, and its own language, if it
/// has one. `None` if `qpdf` is not installed.
fn parts(file: &File) -> Option<Vec<String>> {
    let json = run("qpdf", &["--json", utf8(&file.path())])?;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let objects = json["qpdf"][1].as_object().expect("objects");
    let root = objects.values().map(|object| &object["value"]).find(|value| value["/Type"] == "/StructTreeRoot");
    let mut parts = Vec::new();
    let mut open = vec![root.expect("a structure")];
    while let Some(part) = open.pop() {
        if let Some(kind) = part["/S"].as_str() {
            let language = part["/Lang"].as_str().map(|language| language.replace("u:", " "));
            parts.push(format!("{}{}", &kind[1..], language.unwrap_or_default()));
        }
        let children = part["/K"].as_array().into_iter().flatten().rev();
        open.extend(children.filter_map(Value::as_str).map(|child| &objects[&format!("obj:{child}")]["value"]));
    }
    Some(parts)
}

#[test]
fn the_heading_of_a_ticket_is_read_before_its_fields_and_these_before_its_code() {
    let Some(structure) = ordered("en").structure() else { return };
    let of = |text: &str| structure.find(text).unwrap_or_else(|| panic!("{text} is not in:\n{structure}"));
    let read = [
        "H1 \"Letnia noc\"",
        "Wednesday",
        "Ogród Botaniczny",
        "H2 \"Parter\"",
        "\"Name\"",
        "\"Access\"",
        "Figure",
        "Wejście od 18:00.",
        "\"Order ",
    ];
    assert!(read.is_sorted_by_key(|text| of(text)), "{structure}");
    let code = structure.lines().skip_while(|line| !line.contains("Figure")).nth(3).expect("the code in letters");
    assert_eq!(code.split_whitespace().map(str::len).collect::<Vec<_>>(), [6, 5, 5, 6], "{structure}");
}

#[test]
fn texts_of_the_organizer_have_their_language_and_words_that_of_the_document() {
    let with_language = |language: &str| {
        let parts = parts(&ordered(language))?;
        Some((parts.iter().filter(|part| part.contains(' ')).cloned().collect::<Vec<_>>().join(", "), parts.len()))
    };
    let Some((polish, all)) = with_language("pl-PL") else { return };
    // Title and place, ticket type and access areas, and the two lines of the text.
    assert_eq!(polish, "Document en, H1 pl-PL, P pl-PL, H2 pl-PL, P pl-PL, P pl-PL, P pl-PL");
    assert!(all > 14, "{all} parts");
    // The language of the document is theirs, or the text is no language tag.
    for (language, expected) in
        [("de-AT", "Document de"), ("en-GB", "Document en"), ("pl_PL", "Document en"), ("Polish!", "Document en")]
    {
        assert_eq!(with_language(language), Some((expected.to_owned(), all)), "{language}");
    }
}
