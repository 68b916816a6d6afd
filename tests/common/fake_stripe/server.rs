//! The sockets of the fake: a thread for each connection, and the faults on the way.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use ticketing::environment::{Clock, SystemClock};

use super::Shared;
use super::answers::Answer;
use super::api::{self, Handled, Step};
use super::faults::{self, Fault};
use super::page::{self, Page};
use super::request::{RecordedRequest, Request};
use super::state::API_VERSION;

pub fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // Errors are expected: the clients close connections, and so do some faults.
            let _ = serve(stream, &shared);
        });
    }
}

/// Answers the requests of a connection, one after the other.
fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    while let Some(mut request) = Request::read(&mut stream)? {
        if !request.path.starts_with("/v1/") {
            pages(&mut stream, shared, &request)?;
            continue;
        }
        let (index, fault) = {
            let mut state = shared.lock();
            request.id = state.new_id("req_", 14);
            let recorded = RecordedRequest { request: request.clone(), status: None, is_replay: false };
            state.requests.push(recorded);
            let fault = faults::take(&mut state.rules, &request.method, &request.path);
            let is_too_fast = state.is_too_fast(&format!("{} {}", request.method, request.path));
            (state.requests.len() - 1, if is_too_fast { Some(Fault::RateLimited) } else { fault })
        };
        shared.changed.notify_all();
        let handled = match fault {
            Some(Fault::CloseBefore) => return Ok(()),
            Some(Fault::RateLimited) => Answer::too_many_requests().into(),
            Some(Fault::RateLimitedForLong) => {
                Answer { should_retry: Some(false), ..Answer::too_many_requests() }.into()
            }
            Some(Fault::AsksToRetry) => Answer::to_retry().into(),
            Some(Fault::BadGateway) => {
                shared.lock().requests[index].status = Some(502);
                return write!(
                    stream,
                    "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 20\r\nConnection: close\r\n\r\n\
                    <h1>Bad Gateway</h1>"
                );
            }
            ref fault => handle(shared, &request, fault.as_ref()),
        };
        match fault {
            Some(Fault::CloseAfter) => return Ok(()),
            Some(Fault::HangAfter) => return hang(shared),
            _ => {}
        }
        {
            let recorded = &mut shared.lock().requests[index];
            recorded.status = Some(handled.answer.status);
            recorded.is_replay = handled.replay_of.is_some();
        }
        shared.record(index);
        let date_ahead = shared.lock().date_ahead;
        answer(&mut stream, &request, &handled, date_ahead)?;
    }
    Ok(())
}

fn handle(shared: &Shared, request: &Request, fault: Option<&Fault>) -> Handled {
    let step = api::begin(&mut shared.lock(), request);
    match step {
        Step::Answered(handled) => handled,
        Step::Run(key) => {
            if let Some(Fault::Slow(pause)) = fault {
                sleep(*pause);
            }
            api::run(&mut shared.lock(), request, key.as_deref(), fault).into()
        }
    }
}

/// Keeps the connection open without an answer until the fake stops.
fn hang(shared: &Shared) -> io::Result<()> {
    while !shared.is_stopped.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn answer(stream: &mut TcpStream, request: &Request, handled: &Handled, date_ahead: Option<i64>) -> io::Result<()> {
    let Answer { status, body, should_retry, .. } = &handled.answer;
    let mut headers = format!("Request-Id: {}\r\nStripe-Version: {API_VERSION}\r\n", request.id);
    if let Some(key) = request.header("idempotency-key") {
        headers += &format!("Idempotency-Key: {key}\r\n");
    }
    if let Some(first) = &handled.replay_of {
        headers += &format!("Idempotent-Replayed: true\r\nOriginal-Request: {first}\r\n");
    }
    if let Some(should_retry) = should_retry {
        headers += &format!("Stripe-Should-Retry: {should_retry}\r\n");
    }
    if let Some(seconds) = date_ahead {
        headers += &format!("Date: {}\r\n", date(seconds));
    }
    let body = serde_json::to_string_pretty(body).expect("JSON");
    send(stream, *status, "application/json", &headers, &body)
}

/// The time of this machine and so many seconds more, as in the header `Date`.
fn date(seconds_ahead: i64) -> String {
    let offset = Duration::from_secs(seconds_ahead.unsigned_abs());
    let now = SystemTime::from(SystemClock.now());
    httpdate::fmt_http_date(if seconds_ahead < 0 { now - offset } else { now + offset })
}

fn send(stream: &mut TcpStream, status: u16, content_type: &str, headers: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Text\r\nServer: nginx\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// Answers requests that are not to the API: the payment page, and the record of requests.
fn pages(stream: &mut TcpStream, shared: &Shared, request: &Request) -> io::Result<()> {
    if request.path == "/requests" {
        let lines: Vec<_> = shared.lock().requests.iter().map(|recorded| recorded.to_json().to_string()).collect();
        return send(stream, 200, "application/jsonl", "", &lines.join("\n"));
    }
    let Some(session) = request.path.strip_prefix("/c/pay/") else {
        return send(stream, 404, "text/plain", "", "There is nothing here.");
    };
    let page = page::open(&mut shared.lock(), request, session);
    shared.changed.notify_all();
    match page {
        Page::Html(status, html) => send(stream, status, "text/html; charset=utf-8", "", &html),
        Page::Redirect(url) => {
            shared.wait_for_delivery();
            send(stream, 303, "text/html", &format!("Location: {url}\r\n"), "")
        }
    }
}
