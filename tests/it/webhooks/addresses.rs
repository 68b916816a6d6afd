//! The addresses that the transport connects to, and those that it refuses.

use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver as Channel, channel};
use std::time::Duration;

use crate::common::processes::{alone_with, child_variable};
use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::resolver::FakeResolver;
use ticketing::webhook::{
    FailureKind, HttpsTransport, Resolver, Transport, WebhookFailure, WebhookRequest, WebhookResponse,
};

/// Longer than any complete response takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(600);

const REFUSED: &str = "the URL is not allowed: it must be an https URL of a public address, on \
    port 443 or a port from 1024 to 65535";

/// The same message for an unknown name and for a name of the internal network, so that it does not reveal internal
/// names.
const NOT_PUBLIC: &str = "the host name does not resolve to public addresses";

fn send(transport: &HttpsTransport, url: impl Into<String>) -> Result<WebhookResponse, WebhookFailure> {
    let request = WebhookRequest::new(url, [], "{}");
    transport.send(&request, LONG)
}

fn refused() -> Result<WebhookResponse, WebhookFailure> {
    unconnected(FailureKind::AddressNotAllowed, REFUSED)
}

fn not_public() -> Result<WebhookResponse, WebhookFailure> {
    unconnected(FailureKind::AddressNotAllowed, NOT_PUBLIC)
}

/// A failure before a connection was tried.
fn unconnected(kind: FailureKind, message: &str) -> Result<WebhookResponse, WebhookFailure> {
    Err(WebhookFailure::new(kind, message).connection_tried(false))
}

fn local(names: &FakeResolver) -> HttpsTransport {
    HttpsTransport::builder().allow_local(true).resolver(names.clone()).build().unwrap()
}

fn public(names: &FakeResolver) -> HttpsTransport {
    HttpsTransport::builder().resolver(names.clone()).build().unwrap()
}

/// Returns the URL of a receiver with a host name.
fn named_url(receiver: &WebhookReceiver, scheme: &str) -> String {
    format!("{scheme}://hooks.example.com:{}/hook", receiver.address.port())
}

#[test]
fn the_url_is_checked_at_every_attempt() {
    let receiver = WebhookReceiver::start();
    let names = FakeResolver::at(&["127.0.0.1"]);
    let port = receiver.address.port();
    let transport = public(&names);
    for url in [
        receiver.url("/hook"),
        named_url(&receiver, "http"),
        format!("https://127.0.0.1:{port}/"),
        format!("https://[::1]:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://a.localhost:{port}/"),
        format!("https://127.1:{port}/"),
        format!("https://hooks.internal:{port}/"),
        "https://hooks.example.com:22/".to_owned(),
        "https://user@hooks.example.com/".to_owned(),
        "https:\\\\hooks.example.com".to_owned(),
        "nonsense".to_owned(),
        String::new(),
    ] {
        assert_eq!(send(&transport, &url), refused(), "{url}");
    }
    assert_eq!((names.lookups().len(), receiver.connections()), (0, 0));
}

#[test]
fn a_name_with_any_address_that_is_not_public_is_refused() {
    let receiver = WebhookReceiver::start();
    for addresses in [
        &["127.0.0.1"][..],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["::1"],
        &["::ffff:8.8.8.8"],
        &["64:ff9b::7f00:1"],
        &["fd00::1"],
        &["8.8.8.8", "127.0.0.1"],
        &["127.0.0.1", "8.8.8.8"],
        &["8.8.8.8", "2606:4700:4700::1111", "fe80::1"],
    ] {
        assert_eq!(
            send(&public(&FakeResolver::at(addresses)), named_url(&receiver, "https")),
            not_public(),
            "{addresses:?}"
        );
    }
    // A name with more addresses than are tried.
    let many = [["8.8.8.8"; 20].as_slice(), &["127.0.0.1"]].concat();
    assert_eq!(send(&public(&FakeResolver::at(&many)), named_url(&receiver, "https")), not_public());
    assert_eq!(receiver.connections(), 0);
}

#[test]
fn allow_local_permits_loopback_addresses_only() {
    let receiver = WebhookReceiver::start();
    assert_eq!(send(&local(&FakeResolver::at(&["127.0.0.1"])), named_url(&receiver, "http")).unwrap().status, 204);
    for addresses in [&["10.0.0.1"][..], &["127.0.0.1", "192.168.0.1"], &["0.0.0.0"], &["::ffff:127.0.0.1"]] {
        assert_eq!(
            send(&local(&FakeResolver::at(addresses)), named_url(&receiver, "http")),
            not_public(),
            "{addresses:?}"
        );
    }
    assert_eq!(receiver.connections(), 1);
}

#[test]
fn each_attempt_resolves_once_and_connects_to_those_addresses() {
    let receiver = WebhookReceiver::start();
    // A second lookup within an attempt would return the other address.
    let names = FakeResolver::at(&["127.0.0.1"]).then(&["10.0.0.1"]);
    let transport = local(&names);
    assert_eq!(send(&transport, named_url(&receiver, "http")).unwrap().status, 204);
    assert_eq!(names.lookups(), ["hooks.example.com"]);
    // The connection to the old address is still open.
    assert_eq!(send(&transport, named_url(&receiver, "http")), not_public());
    assert_eq!((receiver.requests().len(), receiver.connections()), (1, 1));
}

#[test]
fn an_open_connection_to_a_former_address_is_not_used() {
    let receiver = WebhookReceiver::start();
    let names = FakeResolver::at(&["127.0.0.1"]).then(&["127.0.0.1"]).then(&["127.0.0.2"]).then(&["127.0.0.1"]);
    let transport = local(&names);
    for _ in 0..2 {
        assert_eq!(send(&transport, named_url(&receiver, "http")).unwrap().status, 204);
    }
    assert_eq!(receiver.connections(), 1);
    let failure = send(&transport, named_url(&receiver, "http")).unwrap_err();
    assert_eq!(failure.message, "the connection was refused");
    assert_eq!(receiver.requests().len(), 2);
    assert_eq!(send(&transport, named_url(&receiver, "http")).unwrap().status, 204);
    assert_eq!(receiver.connections(), 2);
}

#[test]
fn the_addresses_are_tried_in_order() {
    let receiver = WebhookReceiver::start();
    let names = FakeResolver::at(&["127.0.0.2", "::1", "127.0.0.1"]);
    assert_eq!(send(&local(&names), named_url(&receiver, "http")).unwrap().status, 204);
    let many = [["127.0.0.2"; 20].as_slice(), &["127.0.0.1"]].concat();
    let failure = send(&local(&FakeResolver::at(&many)), named_url(&receiver, "http")).unwrap_err();
    assert_eq!((failure.message.as_str(), failure.connection_tried), ("the connection was refused", true));
}

#[test]
fn addresses_and_localhost_are_not_looked_up() {
    let receiver = WebhookReceiver::start();
    let names = FakeResolver::default();
    let transport = local(&names);
    let port = receiver.address.port();
    for host in ["127.0.0.1", "localhost", "LocalHost.", "a.b.localhost"] {
        assert_eq!(send(&transport, format!("http://{host}:{port}/")).unwrap().status, 204, "{host}");
    }
    assert_eq!(names.lookups(), [""; 0]);
}

#[test]
fn an_unknown_name_fails_with_the_message_for_internal_names() {
    let names = FakeResolver::default();
    let unknown = unconnected(FailureKind::AddressNotAllowed, NOT_PUBLIC);
    assert_eq!(send(&public(&names), "https://hooks.example.com/"), unknown);
    assert_eq!(names.lookups(), ["hooks.example.com"]);
}

/// A resolver that blocks until the test ends.
#[derive(Debug)]
struct Hanging(Mutex<Channel<()>>);

impl Resolver for Hanging {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let _ = self.0.lock().unwrap().recv();
        Err(io::ErrorKind::TimedOut.into())
    }
}

#[test]
fn a_hanging_lookup_fails_at_the_timeout() {
    let (ends, channel) = channel();
    let transport = HttpsTransport::builder().resolver(Hanging(Mutex::new(channel))).build().unwrap();
    let request = WebhookRequest::new("https://hooks.example.com/", [], "");
    let message = "timed out after 0.6 s while resolving the host name";
    assert_eq!(transport.send(&request, SHORT), unconnected(FailureKind::TimedOut, message));
    // An interrupt ends the wait for a lookup.
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| transport.send(&request, Duration::from_mins(10)));
        while !sending.is_finished() {
            // It may not have started yet.
            transport.interrupt();
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(sending.join().unwrap(), unconnected(FailureKind::ConnectionFailed, "the sender was stopped"));
    });
    drop(ends);
}

#[test]
fn an_address_that_does_not_accept_fails_at_the_timeout() {
    // Nobody accepts connections: when the backlog is full, the next one hangs.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut backlog = Vec::new();
    while let Ok(connection) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        backlog.push(connection);
        assert!(backlog.len() < 10_000, "the backlog is unlimited");
    }
    let transport = HttpsTransport::builder().allow_local(true).build().unwrap();
    let request = WebhookRequest::new(format!("http://{address}/"), [], "");
    let message = "timed out after 0.6 s while connecting";
    let expected = WebhookFailure::new(FailureKind::TimedOut, message).connection_tried(true);
    assert_eq!(transport.send(&request, SHORT), Err(expected));
    drop(backlog);
}

#[test]
fn proxies_from_the_environment_are_not_used() {
    const RECEIVER: &str = "WEBHOOK_TEST_RECEIVER";
    let receiver = WebhookReceiver::start();
    let proxy = WebhookReceiver::start();
    proxy.set_default_response(MockResponse::Status(299));
    let with_proxies = |process: &mut Command| {
        process.env(RECEIVER, receiver.url("/")).env_remove("no_proxy").env_remove("NO_PROXY");
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            process.env(name, proxy.url("")).env(name.to_uppercase(), proxy.url(""));
        }
    };
    let test = concat!(module_path!(), "::proxies_from_the_environment_are_not_used");
    let is_parent = alone_with(test, with_proxies, || {
        let url = child_variable(RECEIVER);
        let transport = HttpsTransport::builder().allow_local(true).build().unwrap();
        assert_eq!(send(&transport, &url).unwrap().status, 204);
        // Plain ureq would use the proxy.
        assert!(ureq::get(&url).call().is_err());
    });
    if is_parent {
        assert_eq!((receiver.requests().len(), proxy.connections()), (1, 1));
    }
}
