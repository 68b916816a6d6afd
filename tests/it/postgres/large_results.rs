//! Results that are larger than a page, and tables that are larger than the memory of a program.

use std::process::Stdio;
use std::sync::atomic::Ordering;

use ticketing::event::ListEvents;
use ticketing::ticket_type::{CreateTicketType, ListTicketTypes};
use ticketing::{Amount, Caller, TicketingService};

use crate::common::cluster::PASSWORD;
use crate::common::program::program;
use crate::common::statement_proxy::behind_counting_proxy;
use crate::common::{LARGEST_FILE, pixel_logo};
use crate::postgres::clusters::start;
use crate::postgres::sale::{Sale, open};

/// The size of a page, as it is documented.
const PAGE: u64 = 4 * 1024 * 1024;

/// The names of all ticket types, and how many pages they were on.
fn names_of_types(service: &TicketingService, caller: &Caller, sale: &Sale) -> (Vec<String>, usize) {
    let (mut names, mut pages) = (Vec::new(), 0);
    let mut request = ListTicketTypes::default().limit(100);
    loop {
        let page = service.list_ticket_types(caller, sale.event, request.clone()).unwrap();
        names.extend(page.data.into_iter().map(|ticket_type| ticket_type.name));
        pages += 1;
        match page.next_cursor {
            Some(cursor) => request = request.after(cursor),
            None => return (names, pages),
        }
    }
}

#[test]
fn a_page_of_long_texts_receives_little_that_it_has_no_room_for() {
    let Some(cluster) = start() else { return };
    let (url, sent) = behind_counting_proxy(&cluster.url("postgres"));
    let service = open(&url);
    let sale = Sale::new(&service, "event", 100);
    let caller = service.act_for(sale.organization).unwrap();
    let mut expected = vec!["Seat".to_owned()];
    for number in 0..40 {
        let name = format!("Seat {number}");
        let mut request = CreateTicketType::new(&name, Amount::cents(0), 10);
        request.ticket_logo = Some(pixel_logo(LARGEST_FILE, 0));
        service.create_ticket_type(&caller, sale.event, request).unwrap();
        expected.push(name);
    }
    let before = sent.load(Ordering::Relaxed);
    let page = service.list_ticket_types(&caller, sale.event, ListTicketTypes::default().limit(100)).unwrap();
    let received = sent.load(Ordering::Relaxed) - before;
    assert!(page.data.len() == 6 && page.next_cursor.is_some(), "{}", page.data.len());
    assert!(received < 2 * PAGE, "{received} bytes were received");
    assert_eq!(names_of_types(&service, &caller, &sale), (expected, 8));
}

#[test]
fn a_page_has_all_items_whose_values_are_shorter_than_their_texts() {
    let Some(cluster) = start() else { return };
    let service = open(&cluster.url("postgres"));
    let organization = Sale::new(&service, "event-0", 1).organization;
    let caller = service.act_for(organization).unwrap();
    for number in 1..20 {
        let start = "2100-07-01T18:00:00Z".parse().unwrap();
        let event = ticketing::event::CreateEvent::new("Night", format!("event-{number}"), start);
        service.create_event(&caller, event).unwrap();
    }
    // JSON that this program would have stored without the spaces.
    let sql = "UPDATE events SET location_metadata = '{' || REPEAT(' ', 1000000) || '}'";
    cluster.client("postgres").batch_execute(sql).unwrap();
    let page = service.list_events(&caller, ListEvents::default().limit(100)).unwrap();
    let slugs: Vec<_> = page.data.iter().map(|event| event.slug.clone()).collect();
    let expected: Vec<_> = (0..20).rev().map(|number| format!("event-{number}")).collect();
    assert_eq!((slugs, page.next_cursor), (expected, None));
}

#[test]
#[cfg(target_os = "linux")]
fn a_check_keeps_no_table_in_memory() {
    let Some(cluster) = start() else { return };
    Sale::new(&open(&cluster.url("postgres")), "event", 1);
    // 240 MB as the server sends them.
    let sql = "INSERT INTO customers (id, organization_id, email, email_key, metadata, created_at)
        SELECT n, organization_id, n || '@example.com', n || '@example.com', '{\"a\":\"' || REPEAT('x', 16000) || '\"}', created_at
        FROM events, generate_series(1, 15000) n";
    cluster.client("postgres").execute(sql, &[]).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let url = cluster.url_without_password("postgres");
    let mut check = program(folder.path(), &["check", "--database", &url]);
    let mut child = check.env("PGPASSWORD", PASSWORD).stdout(Stdio::piped()).spawn().unwrap();
    let mut most = 0;
    let status = loop {
        most = most.max(peak_memory(child.id()));
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    };
    assert!(status.success());
    assert!(most > 1_000_000 && most < 100_000_000, "{most} bytes");
}

/// The greatest size that the memory of a process has had, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    peak.trim().trim_end_matches(" kB").parse().map_or(0, |kilobytes: u64| kilobytes * 1024)
}
