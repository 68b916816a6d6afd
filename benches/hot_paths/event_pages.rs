//! Pages of events: the page that is kept in memory, compared with a bare axum handler that returns the same bytes; the
//! order form, compared with `GET /v1/events/{id}`; and the order that the form sends, compared with `POST /v1/orders`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::http::{CONNECTIONS, serve_bare, serve_store};
use crate::http_clients::{Client, Connections};
use crate::large_store::{LargeStore, TICKETS, email, scatter};
use crate::ratio::{Bench, time};

/// How old a form is when it is sent: the server does not accept a younger one.
const AGE_OF_FORM: Duration = Duration::from_millis(2100);

pub fn bench(bench: &mut Bench) {
    let page = "page of an event, 8 connections";
    let form = "order form, 1 connection";
    let order = "order of a form, 8 connections";
    if ![page, form, order].iter().any(|name| bench.includes(name)) {
        return;
    }
    let store = LargeStore::configured(TICKETS, |builder| builder.sandbox_gateway().event_pages());
    let (runtime, server) = serve_store(&store);
    let event = store.fixture.service.get_event(&store.fixture.caller, store.event).expect("the event");
    let path = format!("/e/{}/{}", store.fixture.caller.organization(), event.slug);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {}\r\n\r\n", store.key);
    let mut clients = Connections::open(server, CONNECTIONS);

    if bench.includes(page) {
        let (head, body) = Client::connect(server).exchange(&get(&path), 200);
        let bare = runtime.block_on(serve_bare("/e/{organization}/{slug}", &head, body.clone()));
        assert_eq!(Client::connect(bare).exchange(&get(&path), 200).1, body, "the same bytes");
        let mut bare_clients = Connections::open(bare, CONNECTIONS);
        let load = |clients: &mut Connections, count| {
            let request = get(&path);
            clients.send(count, 200, move || request.clone());
        };
        let round = CONNECTIONS * 500;
        bench.compare_as(
            page,
            ("ours", "bare axum"),
            round,
            |count| load(&mut clients, count),
            |count| load(&mut bare_clients, count),
        );
    }

    let form_path = format!("{path}/order?t.{}=2", store.ticket_type);
    if bench.includes(form) {
        let event = get(&format!("/v1/events/{}", store.event));
        let mut other = Client::connect(server);
        let mut send = |request: &str, count| (0..count).for_each(|_| drop(other.exchange(request, 200)));
        let mut client = Client::connect(server);
        bench.compare_as(
            form,
            ("form", "GET /v1/events/{id}"),
            500,
            |count| (0..count).for_each(|_| drop(client.exchange(&get(&form_path), 200))),
            |count| send(&event, count),
        );
    }

    let next = AtomicU64::new(0);
    let email = || email(scatter(next.fetch_add(1, Ordering::Relaxed)));
    let post = |path: &str, kind: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            store.key,
            body.len()
        )
    };
    let mut other_clients = Connections::open(server, CONNECTIONS);
    bench.compare_times(
        order,
        ("form", "POST /v1/orders"),
        CONNECTIONS * 200,
        |count| {
            let mut reader = Client::connect(server);
            let mut request = || {
                let (_, page) = reader.exchange(&get(&form_path), 200);
                let page = String::from_utf8(page).expect("a page");
                let value = |name| page.split(&format!("name=\"{name}\" value=\"")).nth(1)?.split('"').next();
                let [token, total] = ["token", "total"].map(|name| value(name).expect("a hidden field"));
                let email = email().replace('@', "%40");
                let body =
                    format!("token={token}&total={total}&t.{}=2&name=Ada+Lovelace&email={email}", store.ticket_type);
                post(&format!("{path}/order"), "application/x-www-form-urlencoded", &body)
            };
            let requests: Vec<String> = (0..count).map(|_| request()).collect();
            std::thread::sleep(AGE_OF_FORM);
            send_all(&mut clients, requests, 303)
        },
        |count| {
            let request = || {
                let body = format!(
                    r#"{{"eventId":"{}","customer":{{"name":"Ada Lovelace","email":"{}"}},"items":[{{"ticketId":"{}","quantity":2}}]}}"#,
                    store.event,
                    email(),
                    store.ticket_type
                );
                post("/v1/orders", "application/json", &body)
            };
            send_all(&mut other_clients, (0..count).map(|_| request()).collect(), 201)
        },
    );
    runtime.shutdown_background();
}

/// Sends these requests. Returns how long it took.
fn send_all(clients: &mut Connections, requests: Vec<String>, status: u16) -> Duration {
    let count = requests.len() as u64;
    let requests = Mutex::new(requests.into_iter());
    time(|| clients.send(count, status, move || requests.lock().expect("no panic").next().expect("one for each")))
}
