//! The files of a small sale, written down by hand.

use ticketing::allocation::{CreateAllocation, ImportTickets, ImportedHolder, ImportedTicket};
use ticketing::event::{DeliveryMethod, UpdateEvent};
use ticketing::exports::{CsvDialect, Export, ExportKind, columns};
use ticketing::order::{CreateOrder, NewCustomer, ShippingAddress};
use ticketing::payment::{ListLedgerEntries, ManualMethod};
use ticketing::ticket::{CheckInTicket, ListTickets, TicketStatus};

use super::readers::export;
use crate::common::door::let_in;
use crate::common::*;

/// The lines of a file without the header.
fn lines(fixture: &Fixture, request: Export) -> Vec<String> {
    let file = export(fixture, request);
    let text = file.text().strip_suffix("\r\n").expect("the end of the last line");
    text.split("\r\n").skip(1).map(str::to_owned).collect()
}

/// A sale in Berlin: an order of two kinds of tickets with a discount and an address that is paid in cash, one through
/// the gateway that is refunded in part, one that expires, and a ticket of the organizer.
pub(super) struct Sale {
    pub(super) fixture: Fixture,
    pub(super) event: ticketing::event::Event,
    seat: ticketing::ticket_type::TicketType,
    free: ticketing::ticket_type::TicketType,
    by_hand: ticketing::order::Order,
    by_gateway: ticketing::order::Order,
    expired: ticketing::order::Order,
}

impl Sale {
    pub(super) fn new() -> Self {
        let fixture = Fixture::new();
        let event = fixture.event_with(|new| {
            new.timezone = Some("Europe/Berlin".to_owned());
            new.delivery_method = DeliveryMethod::Physical;
            new.accepts_company = Some(true);
        });
        let seat = fixture.ticket_type_with(&event, |new| {
            new.access_areas = Some(vec!["Stalls".to_owned(), "Bar".to_owned()]);
        });
        let free = fixture.ticket_type_with(&event, |new| {
            new.name = "Child".to_owned();
            new.price = eur(0);
            new.sort_order = Some(1);
        });
        fixture.discount(amount_off(&event, "TEN", eur(1000)));
        let mut request =
            CreateOrder::new(event.id, NewCustomer::new("Zoë \"Z\" Müller", "zoe@example.com"), seat.id, 3);
        request.items.push(ticketing::order::NewOrderItem::new(free.id, 1));
        request.customer.company_name = Some("Müller & Co".to_owned());
        request.language = Some("de".to_owned());
        request.reference = Some("R-007".to_owned());
        request.affiliate_code = Some("blog".to_owned());
        request.discount_code = Some("ten".to_owned());
        request.shipping_address = Some(ShippingAddress::new("Gasse 1", "01067", "Dresden", "DE"));
        request.metadata = Some([("seat".to_owned(), "12".to_owned())].into());
        let by_hand = fixture.service.create_order(&fixture.caller, request).expect("an order").order;
        let till = fixture.caller.named("till-1").expect("a name");
        fixture.service.mark_order_paid(&till, by_hand.id, ManualMethod::Cash).expect("paid");
        let digital = UpdateEvent::default().delivery_method(DeliveryMethod::Digital);
        fixture.service.update_event(&fixture.caller, event.id, digital).expect("changed");
        fixture.set_clock("2026-06-01T13:00:00.500Z");
        let by_gateway = fixture.paid_order(&seat, 1);
        let expired = fixture.order(&seat, 1);
        fixture.set_clock("2026-06-01T22:30:00Z");
        fixture.refund_amount(by_gateway.id, eur(250)).expect("refunded");
        let own = fixture.issue(&free, 1).remove(0);
        fixture.service.check_in_ticket(&fixture.caller, CheckInTicket::new(&own.code)).expect("checked in");
        Self { fixture, event, seat, free, by_hand, by_gateway, expired }
    }
}

#[test]
fn an_order_has_a_row_for_each_item_with_its_address_discount_and_refund() {
    let Sale { fixture, event, seat, free, by_hand, by_gateway, expired } = Sale::new();
    // 3 × 12.50 less 10.00. Local times are two hours ahead.
    let of_hand = |item: &str| {
        format!(
            "\"{}\",\"R-007\",\"COMPLETED\",\"2026-06-01T12:00:00.000Z\",\"2026-06-01 14:00:00\",\
             \"2026-06-01T12:00:00.000Z\",\"2026-06-01 14:00:00\",\"\",\"\",\"MANUAL\",\"WAITING\",\"{}\",\
             \"Zoë \"\"Z\"\" Müller\",\"zoe@example.com\",\"Müller & Co\",\"Gasse 1\",01067,\"Dresden\",\"DE\",\"de\",\"blog\",\
             \"TEN\",{item},27.50,0.00,\"{{\"\"seat\"\":\"\"12\"\"}}\",\"EUR\",\"{}\"",
            by_hand.id, by_hand.customer_id, event.id
        )
    };
    let seats = of_hand(&format!("\"{}\",\"Seat\",3,12.50,37.50,10.00,27.50", seat.id));
    let children = of_hand(&format!("\"{}\",\"Child\",1,0.00,0.00,0.00,0.00", free.id));
    let plain = |order: &ticketing::order::Order,
                 status: &str,
                 completed: &str,
                 method: &str,
                 payment: &str,
                 refunded: &str| {
        format!(
            "\"{}\",\"\",\"{status}\",\"2026-06-01T13:00:00.500Z\",\"2026-06-01 15:00:00\",{completed},\"\",\"\",\
             \"{method}\",\"{payment}\",\"{}\",\"Ada\",\"ada@example.com\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"{}\",\
             \"Seat\",1,12.50,12.50,0.00,12.50,12.50,{refunded},\"\",\"EUR\",\"{}\"",
            order.id, order.customer_id, seat.id, event.id
        )
    };
    let completed = "\"2026-06-01T13:00:00.500Z\",\"2026-06-01 15:00:00\"";
    let paid = plain(&by_gateway, "COMPLETED", completed, "GATEWAY", "COMPLETED", "2.50");
    let unpaid = plain(&expired, "EXPIRED", "\"\",\"\"", "", "WAITING", "0.00");
    let expected = [seats, children, paid, unpaid];
    assert_eq!(lines(&fixture, Export::new(ExportKind::Orders).event(event.id)), expected);
    // The same of the dates.
    let june = Export::new(ExportKind::Orders).from(at("2026-06-01T00:00:00Z")).before(at("2026-07-01T00:00:00Z"));
    assert_eq!(lines(&fixture, june), expected);
    let first = Export::new(ExportKind::Orders).from(at("2026-06-01T00:00:00Z")).before(at("2026-06-01T13:00:00.500Z"));
    assert_eq!(lines(&fixture, first), expected[..2]);
    let later = Export::new(ExportKind::Orders).event(event.id).from(at("2026-06-01T13:00:00.500Z"));
    assert_eq!(lines(&fixture, later), expected[2..]);
}

#[test]
fn an_attendee_has_a_row_with_the_share_of_the_price_and_the_code_on_request() {
    let Sale { fixture, event, seat, free, by_hand, by_gateway, .. } = Sale::new();
    let tickets = fixture.service.list_tickets(&fixture.caller, ListTickets::default()).expect("tickets").data;
    let row = |ticket: usize, code: bool, rest: &str| {
        let ticket = &tickets[tickets.len() - 1 - ticket];
        let code = if code { format!("\"{}\",", ticket.code) } else { String::new() };
        format!("\"{}\",{code}{rest}", ticket.id)
    };
    let seat = |order: &ticketing::order::Order,
                reference: &str,
                name: &str,
                email: &str,
                price: &str,
                created: &str| {
        format!(
            "\"NOT_CHECKED_IN\",\"{}\",\"Seat\",\"{name}\",\"{email}\",\"{}\",\"{reference}\",\"false\",{price},{created},\
             \"\",\"\",\"\",\"\",\"\",\"\",0,\"\",\"\",\"Stalls, Bar\",\"EUR\",\"{}\",\"\",\"\",\"false\"",
            seat.id, order.id, event.id
        )
    };
    let noon = "\"2026-06-01T12:00:00.000Z\",\"2026-06-01 14:00:00\"";
    // 27.50 for three: 9.17 + 9.17 + 9.16.
    let zoe = |price| seat(&by_hand, "R-007", "Zoë \"\"Z\"\" Müller", "zoe@example.com", price, noon);
    let one = "\"2026-06-01T13:00:00.500Z\",\"2026-06-01 15:00:00\"";
    let ada = seat(&by_gateway, "", "Ada", "ada@example.com", "12.50", one);
    let midnight = "\"2026-06-01T22:30:00.000Z\",\"2026-06-02 00:30:00\"";
    let child = format!(
        "\"NOT_CHECKED_IN\",\"{}\",\"Child\",\"Zoë \"\"Z\"\" Müller\",\"zoe@example.com\",\"{}\",\"R-007\",\"false\",0.00,{noon},\
         \"\",\"\",\"\",\"\",\"\",\"\",0,\"\",\"\",\"\",\"EUR\",\"{}\",\"\",\"\",\"false\"",
        free.id, by_hand.id, event.id
    );
    let own = format!(
        "\"CHECKED_IN\",\"{}\",\"Child\",\"Ada\",\"ada@example.com\",\"\",\"\",\"true\",0.00,{midnight},{midnight},\"\",\"\",\
         {midnight},1,\"\",\"\",\"\",\"EUR\",\"{}\",\"\",\"\",\"false\"",
        free.id, event.id
    );
    for codes in [false, true] {
        let expected = [
            row(0, codes, &zoe("9.17")),
            row(1, codes, &zoe("9.17")),
            row(2, codes, &zoe("9.16")),
            row(4, codes, &ada),
            row(5, codes, &own),
            row(3, codes, &child),
        ];
        let request = Export::new(ExportKind::Attendees).event(event.id).codes(codes);
        assert_eq!(lines(&fixture, request), expected);
        let dates =
            Export::new(ExportKind::Attendees).from(at(NOW)).before(at("2026-06-01T22:30:00.001Z")).codes(codes);
        let mut by_time = expected.to_vec();
        by_time.swap(3, 5);
        by_time.swap(4, 5);
        assert_eq!(lines(&fixture, dates), by_time);
    }
    let check_ins = lines(&fixture, Export::new(ExportKind::CheckIns).event(event.id));
    let checked_in = &tickets[0];
    assert_eq!(checked_in.status, TicketStatus::CheckedIn);
    let before_the_log = format!("{midnight},\"{}\",\"Child\",\"IN\",\"ADMITTED\"", checked_in.id);
    assert_eq!(check_ins, [format!("{before_the_log},\"\",\"\",\"\"")]);

    // From now on, scans are logged.
    let gate = fixture.gate(&event);
    let seat = tickets.iter().find(|ticket| ticket.status == TicketStatus::NotCheckedIn).expect("a ticket");
    let scan = |number| let_in(number, &seat.code, "2026-06-01T12:00:00Z");
    fixture.report(&gate, "=Phone", [scan(1)]);
    fixture.report(&gate, "=Phone", [scan(2)]);
    fixture.report(&gate, "=Phone", [let_in(3, "0000", "2026-06-01T12:00:00Z")]);
    let of_seat = format!("{noon},\"{}\",\"{}\"", seat.id, seat.ticket_type.name);
    let expected = [
        format!("{of_seat},\"IN\",\"ADMITTED\",\"Gate A\",\"'=Phone\",\"\""),
        format!("{of_seat},\"IN\",\"ADMITTED_TWICE\",\"Gate A\",\"'=Phone\",\"already-checked-in\""),
        format!("{noon},\"\",\"\",\"IN\",\"UNKNOWN_CODE\",\"Gate A\",\"'=Phone\",\"\""),
        format!("{before_the_log},\"\",\"\",\"\""),
    ];
    assert_eq!(lines(&fixture, Export::new(ExportKind::CheckIns).event(event.id)), expected);
}

#[test]
fn tickets_that_are_set_aside_or_imported_have_their_allocation_and_label() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let seat = fixture.ticket_type(&event, 1250, 10);
    let (service, caller) = (&fixture.service, &fixture.caller);
    let guests = CreateAllocation::of_labels("Guests", ["=Ada"]);
    service.create_allocation(caller, seat.id, guests).expect("an allocation");
    service.run_maintenance().expect("a run");
    let tickets = [
        ImportedTicket::new("0000000017").label("Row 1").holder(ImportedHolder::new("Bob", "bob@example.com")),
        ImportedTicket::new("=code-2"),
    ];
    service.import_tickets(caller, seat.id, ImportTickets::new("Box office", tickets)).expect("imported");
    let rows = lines(&fixture, Export::new(ExportKind::Attendees).event(event.id).codes(true));
    let ends =
        [",\"Guests\",\"'=Ada\",\"false\"", ",\"Box office\",\"Row 1\",\"true\"", ",\"Box office\",\"\",\"true\""];
    let parts = [
        ",\"Seat\",\"\",\"\",\"\",\"\",\"true\",0.00,",
        ",\"Bob\",\"bob@example.com\",\"\",\"\",\"true\",0.00,",
        ",\"'=code-2\",",
    ];
    assert_eq!(rows.len(), 3);
    for ((row, end), part) in rows.iter().zip(ends).zip(parts) {
        assert!(row.ends_with(end) && row.contains(part), "{row}");
    }
    assert!(rows[1].contains(",0000000017,"), "{}", rows[1]);
}

#[test]
fn the_ledger_has_a_row_for_each_movement_in_the_order_of_recording() {
    let Sale { fixture, event, by_hand, by_gateway, .. } = Sale::new();
    let page = fixture.service.list_ledger_entries(&fixture.caller, ListLedgerEntries::new()).expect("entries");
    let entries: Vec<_> = page.data.into_iter().rev().collect();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let row = |index: usize, at: &str, what: &str, amount: &str, order: &ticketing::order::Order, reference: &str| {
        let entry = &entries[index];
        let refund = entry.refund_id.map(|id| id.to_string());
        let till = if index == 0 { "till-1" } else { "" };
        format!(
            "\"{}\",{at},{what},{amount},\"EUR\",\"{}\",\"{}\",\"{}\",\"\",\"{}\",\"{}\",\"Summer Night\",\"{reference}\",\
             \"false\",{at},\"{till}\"",
            entry.id,
            order.id,
            entry.payment_id,
            text(&refund),
            text(&entry.reference),
            event.id
        )
    };
    let noon = "\"2026-06-01T12:00:00.000Z\",\"2026-06-01 14:00:00\"";
    let one = "\"2026-06-01T13:00:00.500Z\",\"2026-06-01 15:00:00\"";
    let midnight = "\"2026-06-01T22:30:00.000Z\",\"2026-06-02 00:30:00\"";
    let gateway = text(&entries[1].gateway);
    let mode = entries[1].mode;
    let expected = [
        row(0, noon, "\"PAYMENT\",\"CASH\",\"\",\"\",\"LIVE\"", "27.50", &by_hand, "R-007"),
        row(1, one, &format!("\"PAYMENT\",\"GATEWAY\",\"{gateway}\",\"\",\"{mode}\""), "12.50", &by_gateway, ""),
        row(2, midnight, &format!("\"REFUND\",\"GATEWAY\",\"{gateway}\",\"\",\"{mode}\""), "-2.50", &by_gateway, ""),
    ];
    assert_eq!(lines(&fixture, Export::new(ExportKind::Ledger).event(event.id)), expected);
    let dates = Export::new(ExportKind::Ledger).from(at("2026-06-01T12:00:00.001Z")).before(at("2026-06-02T00:00:00Z"));
    assert_eq!(lines(&fixture, dates), expected[1..]);
}

#[test]
fn the_settlement_has_a_line_for_each_figure() {
    let Sale { fixture, event, .. } = Sale::new();
    let expected = [
        "\"SOLD\",\"Seat\",4,40.00,\"EUR\"",
        "\"SOLD\",\"Child\",2,0.00,\"EUR\"",
        "\"ISSUED\",\"Seat\",4,\"\",\"EUR\"",
        "\"ISSUED\",\"Child\",2,\"\",\"EUR\"",
        "\"CANCELLED\",\"Seat\",0,\"\",\"EUR\"",
        "\"CANCELLED\",\"Child\",0,\"\",\"EUR\"",
        "\"DISCOUNTS\",\"Seat\",\"\",10.00,\"EUR\"",
        "\"DISCOUNTS\",\"Child\",\"\",0.00,\"EUR\"",
        "\"PAYMENTS\",\"GATEWAY\",1,12.50,\"EUR\"",
        "\"PAYMENTS\",\"CASH\",1,27.50,\"EUR\"",
        "\"REFUNDS\",\"GATEWAY\",1,-2.50,\"EUR\"",
        "\"BALANCE\",\"\",\"\",37.50,\"EUR\"",
        "\"REFUNDS_DUE\",\"\",0,0.00,\"EUR\"",
        "\"OWED\",\"\",0,0.00,\"EUR\"",
    ];
    assert_eq!(lines(&fixture, Export::new(ExportKind::Settlement).event(event.id)), expected);
}

#[test]
fn the_name_of_a_file_has_the_event_and_the_date_there() {
    let Sale { fixture, event, .. } = Sale::new();
    // It is 00:30 of the next day in Berlin.
    for kind in ExportKind::ALL {
        let file = export(&fixture, Export::new(*kind).event(event.id));
        assert_eq!(file.report.file_name, format!("{}-{kind}-2026-06-02.csv", event.slug));
    }
    let dates = Export::new(ExportKind::Orders).from(at("2026-06-01T00:00:00Z")).before(at("2026-07-01T00:00:00Z"));
    assert_eq!(export(&fixture, dates).report.file_name, "orders-2026-06-01.csv");
}

#[test]
fn the_dialect_for_excel_has_a_byte_order_mark_semicolons_and_decimal_commas() {
    let Sale { fixture, event, .. } = Sale::new();
    let request = Export::new(ExportKind::Settlement).event(event.id).dialect(CsvDialect::Excel);
    let file = export(&fixture, request);
    let mut lines = file.text().split("\r\n");
    assert_eq!(lines.next(), Some("\u{feff}\"section\";\"label\";\"count\";\"amount\";\"currency\""));
    assert_eq!(lines.next(), Some("\"SOLD\";\"Seat\";4;\"40,00\";\"EUR\""));
    assert!(file.text().contains("\"REFUNDS\";\"GATEWAY\";1;\"-2,50\";\"EUR\""));
}

#[test]
fn the_header_of_every_kind_is_the_documented_list_of_columns() {
    let fixture = Fixture::new();
    let event = fixture.event();
    for kind in ExportKind::ALL {
        let mut request = Export::new(*kind).event(event.id);
        request.codes = (*kind == ExportKind::Attendees).then_some(true);
        let file = export(&fixture, request);
        let names: Vec<_> = columns(*kind).map(|column| format!("\"{}\"", column.name)).collect();
        assert_eq!(file.text().lines().next(), Some(&*names.join(",")), "{kind}");
    }
}
