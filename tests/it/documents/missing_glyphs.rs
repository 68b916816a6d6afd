//! What no font has is reported to the operator: once, and without what the ticket says.

use ticketing::TicketingService;
use ticketing::documents::TicketDocuments;
use ticketing::monitoring::DocumentStatistics;
use ticketing::ticket_type::UpdateTicketType;

use crate::common::*;
use crate::documents::tools::*;

fn counted(service: &TicketingService) -> u64 {
    let DocumentStatistics { with_missing_glyphs, .. } = service.statistics().documents;
    with_missing_glyphs
}

#[test]
fn a_document_with_missing_characters_is_logged_and_counted_once_until_it_changes() {
    let fixture = with_documents(TicketDocuments::default());
    let (service, caller) = (&fixture.service, &fixture.caller);
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let whole = issue_to(&fixture, &ticket_type, "Grace Hopper");
    let ticket = issue_to(&fixture, &ticket_type, "Ada 王明");
    let lines = |work: &dyn Fn()| -> Vec<String> {
        let (_, log) = log::during(work);
        log.lines().into_iter().filter(|line| line.starts_with("ticketing::documents ")).collect()
    };
    let print = || drop(service.get_ticket_document(caller, ticket.id).expect("a document"));

    let none = lines(&|| drop(service.get_ticket_document(caller, whole.id).expect("a document")));
    assert_eq!((none.len(), counted(service)), (0, 0));
    let first = lines(&print);
    assert_eq!(first.len(), 1, "{first:?}");
    for part in [ticket.id.to_string().as_str(), "characters=2"] {
        assert!(first[0].contains(part), "{first:?}");
    }
    for secret in ["Ada", "王", "明", &ticket.code] {
        assert!(!first[0].contains(secret), "{first:?}");
    }
    let again = lines(&|| (0..3).for_each(|_| print()));
    assert_eq!((again.len(), counted(service)), (0, 1));

    let change = UpdateTicketType::default().access_areas(vec!["Garden".to_owned()]);
    service.update_ticket_type(caller, ticket_type.id, change).expect("changed");
    let changed = lines(&print);
    assert_eq!((changed.len(), counted(service)), (1, 2));
}

#[test]
fn a_client_that_asks_for_such_documents_causes_no_warning() {
    let fixture = with_documents(TicketDocuments::default());
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let ticket = issue_to(&fixture, &ticket_type, "王明");
    let (_, log) = log::during(|| fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect("a document"));
    let levels = log.levels_of("ticketing::documents");
    assert_eq!(levels, [tracing::Level::INFO]);
}

#[test]
fn a_title_of_which_no_font_has_a_letter_is_a_warning_that_names_the_option() {
    let fixture = with_documents(TicketDocuments::default());
    for (title, level) in [
        ("東京 2027", tracing::Level::WARN),
        ("東京 Jazz", tracing::Level::INFO),
        // No letter is missing.
        ("Jazz \u{1F998}", tracing::Level::INFO),
    ] {
        let event = fixture.event_with(|event| event.title = title.to_owned());
        let ticket = issue_to(&fixture, &fixture.ticket_type(&event, 1250, 10), "王明");
        let (_, log) = log::during(|| fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect(title));
        assert_eq!(log.levels_of("ticketing::documents"), [level], "{title}");
        let names_option = log.lines().iter().any(|line| line.contains("--fonts"));
        assert_eq!(names_option, level == tracing::Level::WARN, "{title}");
        assert!(!log.lines().iter().any(|line| line.contains('東')), "{title}");
    }
}

#[cfg(feature = "server")]
#[test]
fn the_metrics_have_the_count() {
    use ticketing::Builder;

    use crate::common::http::{Server, event_on_sale};

    let server = Server::with(|builder: Builder| builder.ticket_documents(TicketDocuments::default()), |_| {});
    let on_sale = event_on_sale(&mut server.client(), "summer-night");
    let value = || {
        let metrics = server.client_with("").get("/metrics").expect(200);
        let name = "ticketing_documents_with_missing_glyphs_total ";
        let value = metrics.text().lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        value.expect("the metric")
    };
    assert_eq!(value(), "0");
    let caller = server.service.act_for(server.organization).expect("the organization");
    let holder = ticketing::order::NewCustomer::new("王明", "holder@example.com");
    let request = ticketing::ticket::IssueTickets::new(on_sale.ticket_type.parse().expect("an id"), holder, 1);
    let ticket = server.service.issue_tickets(&caller, request).expect("a ticket").issued_tickets.remove(0);
    server.service.get_ticket_document(&caller, ticket.id).expect("a document");
    assert_eq!(value(), "1");
}
