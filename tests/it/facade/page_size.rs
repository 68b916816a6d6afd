//! Pages of lists have at most 4 MiB as JSON, whatever their items contain.

use serde_json::json;
use ticketing::event::{EventSettings, ListEvents};
use ticketing::order::ListOrders;
use ticketing::page::{self, Page};
use ticketing::ticket::ListTickets;
use ticketing::ticket_type::ListTicketTypes;

use crate::common::database::params;
use crate::common::*;

const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The number of items on each page of a list, and the keys of all items.
struct Pages {
    lengths: Vec<usize>,
    keys: Vec<String>,
}

/// Reads a list with pages of up to 100 items.
fn read_all<T: serde::Serialize, C>(
    mut list: impl FnMut(page::PageRequest<C>) -> ticketing::Result<Page<T, C>>,
    key: impl Fn(&T) -> String,
) -> Pages {
    let mut pages = Pages { lengths: Vec::new(), keys: Vec::new() };
    let mut request = page::PageRequest::first(100);
    loop {
        let page = list(request).expect("a page");
        let bytes = serde_json::to_string(&page.data).expect("JSON").len();
        assert!(bytes <= MAX_BYTES, "{bytes} bytes");
        // The page is not cut without need: each item here has less than a megabyte.
        assert!(page.next_cursor.is_none() || page.data.len() == 100 || bytes > MAX_BYTES - 1_000_000, "{bytes} bytes");
        pages.lengths.push(page.data.len());
        pages.keys.extend(page.data.iter().map(&key));
        match page.next_cursor {
            Some(cursor) => request = page::PageRequest::first(100).after(cursor),
            None => return pages,
        }
    }
}

#[test]
fn a_page_of_large_events_ends_early_and_the_next_one_goes_on() {
    let fixture = Fixture::new();
    let mut slugs = Vec::new();
    for _ in 0..120 {
        slugs.insert(0, fixture.event().slug);
    }
    // 20,000 characters of six bytes as JSON, of which the row has one byte each. An earlier version accepted them.
    fixture.database().execute("UPDATE events SET description = ?1", params!["\u{1}".repeat(20_000)]);
    let list = |page| fixture.service.list_events(&fixture.caller, ListEvents::default().page(page));
    let pages = read_all(list, |event| event.slug.clone());
    assert_eq!(pages.keys, slugs);
    // 120 kB each, and a few hundred bytes: 34 have 4.08 million, 35 more than 4,194,304.
    assert_eq!(pages.lengths, [34, 34, 34, 18]);
}

#[test]
fn a_page_of_ticket_types_with_logos_ends_early() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let logo = pixel_logo(LARGEST_FILE, 0);
    for _ in 0..12 {
        fixture.ticket_type_with(&event, |new| new.ticket_logo = Some(logo.clone()));
    }
    let list =
        |page| fixture.service.list_ticket_types(&fixture.caller, event.id, ListTicketTypes::default().page(page));
    let pages = read_all(list, |ticket_type| ticket_type.id.to_string());
    assert_eq!(pages.lengths, [5, 5, 2]);
    assert_eq!(pages.keys.len(), 12);
}

#[test]
fn a_page_of_tickets_with_large_metadata_ends_early() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(0, 1000);
    let mut request = new_order(ticket_type.event_id, ticket_type.id, 10);
    let metadata = [("n".to_owned(), "\u{1}".repeat(16_000))].into();
    request.customer.metadata = Some(metadata);
    for _ in 0..10 {
        fixture.service.create_order(&fixture.caller, request.clone()).expect("an order");
    }
    let list = |page| fixture.service.list_tickets(&fixture.caller, ListTickets::default().page(page));
    let pages = read_all(list, |ticket| ticket.id.to_string());
    // 96 kB of metadata each, and less than 2 kB of everything else.
    assert_eq!(pages.lengths, [43, 43, 14]);
    assert_eq!(pages.keys.len(), 100);
}

#[test]
fn a_page_of_orders_with_many_items_ends_early() {
    let fixture = Fixture::new();
    let ticket_type = fixture.new_ticket_type(1250, 1000);
    let mut ids: Vec<_> = (0..40).map(|_| fixture.order(&ticket_type, 1).id.to_string()).collect();
    ids.reverse();
    // Version 0.1 had no limit on the items of an order.
    fixture.skip_final_check();
    let add_items = |count: i64, orders: &str| {
        fixture.database().run(&format!(
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
            INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
            SELECT (SELECT MAX(id) FROM order_items) + ROW_NUMBER() OVER (ORDER BY id, n), order_id, ticket_type_id,
                quantity, price, discount FROM order_items, numbers
            WHERE order_id IN (SELECT id FROM orders {orders})"
        ));
    };
    let list = |page| fixture.service.list_orders(&fixture.caller, ListOrders::default().page(page));
    assert_eq!(read_all(list, |order| order.id.to_string()).lengths, [40]);
    // 200 items each: all are read at once, and fit into a page. 2,000 each are read order by order.
    add_items(199, "");
    let pages = read_all(list, |order| order.id.to_string());
    assert_eq!(pages.keys, ids);
    assert_eq!(pages.lengths, [40]);
    add_items(9, "");
    let pages = read_all(list, |order| order.id.to_string());
    assert_eq!(pages.keys, ids);
    assert!(pages.lengths.len() > 1, "{:?}", pages.lengths);
}

#[test]
fn an_item_larger_than_a_page_is_a_page_of_its_own() {
    let fixture = Fixture::new();
    let events = [fixture.event(), fixture.event(), fixture.event()];
    let settings = EventSettings::default().location_metadata(json!("before the update"));
    fixture.service.update_event_settings(&fixture.caller, events[1].id, settings).expect("changed");
    let text = json!("x".repeat(5_000_000));
    fixture
        .database()
        .run(&format!("UPDATE events SET location_metadata = '{text}' WHERE slug = '{}'", events[1].slug));
    let lengths: Vec<_> = [None, Some(events[2].id), Some(events[1].id)]
        .map(|cursor| {
            let mut request = ListEvents::default().limit(100);
            request.page.cursor = cursor;
            let page = fixture.service.list_events(&fixture.caller, request).expect("a page");
            (page.data.len(), page.next_cursor)
        })
        .into();
    assert_eq!(lengths, [(1, Some(events[2].id)), (1, Some(events[1].id)), (1, None)]);
}
