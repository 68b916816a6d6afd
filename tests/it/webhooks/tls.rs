//! The HTTPS transport over TLS: certificates, and the same behaviour as without TLS.

use std::time::Duration;

use rcgen::KeyPair;

use crate::common::issuer::Issuer;
use crate::common::receiver::{MockResponse, WebhookReceiver};
use crate::common::resolver::FakeResolver;
use crate::webhooks::transport::timeout_while;
use ticketing::webhook::{
    CertificatesError, FailureKind, HttpsTransport, Transport, WebhookFailure, WebhookRequest, WebhookResponse,
};

/// Longer than any complete response takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(600);

const NAME: &str = "hooks.example.com";

fn send_to(
    transport: &HttpsTransport,
    host: &str,
    receiver: &WebhookReceiver,
) -> Result<WebhookResponse, WebhookFailure> {
    let url = format!("https://{host}:{}/hook", receiver.address.port());
    transport.send(&WebhookRequest::new(url, [], "{}"), LONG)
}

fn send(transport: &HttpsTransport, receiver: &WebhookReceiver) -> Result<WebhookResponse, WebhookFailure> {
    send_to(transport, NAME, receiver)
}

fn network(message: &str) -> Result<WebhookResponse, WebhookFailure> {
    Err(WebhookFailure::new(FailureKind::ConnectionFailed, message).connection_tried(true))
}

#[test]
fn the_host_name_is_sent_as_server_name_and_host_header() {
    let issuer = Issuer::new("known");
    let receiver = issuer.receiver(NAME);
    let transport = issuer.transport();
    let host = |name: &str| format!("{name}:{}", receiver.address.port());
    for name in [NAME, "hooks.example.com."] {
        assert_eq!(send_to(&transport, name, &receiver).unwrap().status, 204, "{name}");
        let request = receiver.requests().pop().unwrap();
        // A server name has no trailing dot (RFC 6066).
        assert_eq!(request.server_name.as_deref(), Some(NAME));
        assert_eq!(request.header("Host"), Some(host(name).as_str()));
    }
    assert_eq!(send_to(&transport, "HOOKS.Example.com", &receiver).unwrap().status, 204);
}

#[test]
fn a_certificate_may_be_for_an_address() {
    let issuer = Issuer::new("known");
    let receiver = issuer.receiver("127.0.0.1");
    assert_eq!(send_to(&issuer.transport(), "127.0.0.1", &receiver).unwrap().status, 204);
    let untrusted = network("the certificate is not trusted: it is for another name");
    assert_eq!(send(&issuer.transport(), &receiver), untrusted);
}

#[test]
fn a_receiver_with_an_untrusted_certificate_gets_no_request() {
    let issuer = Issuer::new("known");
    let stranger = Issuer::new("stranger");
    for (receiver, reason) in [
        (stranger.receiver(NAME), "its issuer is unknown"),
        (issuer.receiver_in(NAME, 2000, 2001), "it has expired"),
        (issuer.receiver_in(NAME, 3000, 4000), "it is not valid yet"),
        (issuer.receiver("example.com"), "it is for another name"),
        (issuer.receiver("*.hooks.example.com"), "it is for another name"),
    ] {
        let untrusted = network(&format!("the certificate is not trusted: {reason}"));
        assert_eq!(send(&issuer.transport(), &receiver), untrusted);
        assert_eq!((receiver.requests().len(), receiver.connections()), (0, 1));
    }
}

#[test]
fn the_default_roots_are_those_of_mozilla() {
    let issuer = Issuer::new("known");
    let receiver = issuer.receiver(NAME);
    let transport =
        HttpsTransport::builder().allow_local(true).resolver(FakeResolver::at(&["127.0.0.1"])).build().unwrap();
    assert_eq!(send(&transport, &receiver), network("the certificate is not trusted: its issuer is unknown"));
}

#[test]
fn text_without_a_certificate_is_rejected_as_root() {
    let key = KeyPair::generate().unwrap().serialize_pem();
    for text in ["", "nonsense", key.as_str()] {
        let error = HttpsTransport::builder().root_certificates(text).unwrap_err();
        assert_eq!(error, CertificatesError::Missing);
    }
    let broken = "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n";
    assert_eq!(HttpsTransport::builder().root_certificates(broken).unwrap_err(), CertificatesError::Malformed);
}

#[test]
fn a_receiver_without_tls_gets_no_request() {
    let issuer = Issuer::new("known");
    let receiver = WebhookReceiver::start();
    receiver.enqueue(MockResponse::Early(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
    let failure = send(&issuer.transport(), &receiver).unwrap_err();
    assert_eq!((failure.kind, failure.connection_tried), (FailureKind::ConnectionFailed, true));
    assert!(failure.message.starts_with("the TLS handshake failed: "), "{}", failure.message);
    // Without an early response, the receiver waits for the rest of the TLS handshake as if it were a request.
    let url = format!("https://{NAME}:{}/", receiver.address.port());
    let request = WebhookRequest::new(url, [], "{}");
    let message = "timed out after 0.6 s while negotiating TLS";
    let timed_out = WebhookFailure::new(FailureKind::TimedOut, message).connection_tried(true);
    let failure = timeout_while("negotiating TLS", || issuer.transport().send(&request, SHORT));
    assert_eq!(failure, timed_out);
    assert_eq!(receiver.requests().len(), 0);
}

#[test]
fn connections_are_reused_over_tls() {
    let issuer = Issuer::new("known");
    let receiver = issuer.receiver(NAME);
    let transport = issuer.transport();
    receiver.enqueue(MockResponse::Body(200, "ok".to_owned()));
    for status in [200, 204, 204] {
        assert_eq!(send(&transport, &receiver).unwrap().status, status);
    }
    assert_eq!(receiver.connections(), 1);
    receiver.close_connections();
    assert_eq!(send(&transport, &receiver).unwrap().status, 204);
    receiver.enqueue(MockResponse::Close).enqueue(MockResponse::Status(201));
    assert_eq!(send(&transport, &receiver).unwrap().status, 201);
    assert_eq!(receiver.connections(), 3);
}

#[test]
fn data_after_a_response_is_not_the_response_to_the_next_request() {
    let issuer = Issuer::new("Tests");
    let next = "HTTP/1.1 201 Early\r\nContent-Length: 0\r\n\r\n";
    // TLS decrypts up to 16 KiB at once, and they are read in chunks of 8 KiB: the rest stays in the TLS buffer.
    for length in [100, 8191, 8192, 8193, 16384, 16385] {
        for more in [next.to_owned(), next.repeat(200)] {
            let receiver = issuer.receiver(NAME);
            let head = "HTTP/1.1 200 OK\r\nX-Padding: ";
            let end = "\r\nContent-Length: 2\r\n\r\nok";
            let padding = "x".repeat(length - head.len() - end.len());
            receiver.enqueue(MockResponse::Bytes(format!("{head}{padding}{end}{more}").into_bytes()));
            let transport = issuer.transport();
            assert_eq!(send(&transport, &receiver).unwrap().status, 200);
            assert_eq!(send(&transport, &receiver).unwrap().status, 204, "{length} bytes, and {} more", more.len());
            assert_eq!((receiver.requests().len(), receiver.connections()), (2, 2));
        }
    }
}

#[test]
fn invalid_responses_fail_over_tls_as_without() {
    let issuer = Issuer::new("known");
    let receiver = issuer.receiver(NAME);
    let head = b"HTTP/1.1 200 OK\r\nX-Long: ".to_vec();
    for (mock, message) in [
        (MockResponse::Last(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()), "the response is not valid HTTP"),
        (MockResponse::Endless(head, vec![b'x'; 1024]), "the response head is larger than 64 KiB"),
        (MockResponse::Close, "the connection was closed while waiting for the response"),
    ] {
        receiver.enqueue(mock);
        assert_eq!(send(&issuer.transport(), &receiver), network(message));
    }
    receiver.enqueue(MockResponse::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 1024]));
    assert_eq!(send(&issuer.transport(), &receiver).unwrap().body, [b'x'; 4096]);
    receiver.enqueue(MockResponse::Dribble(vec![b'H'; 10_000], Duration::ZERO));
    let url = format!("https://{NAME}:{}/", receiver.address.port());
    let request = WebhookRequest::new(url, [], "{}");
    let failure = issuer.transport().send(&request, LONG).unwrap_err();
    assert_eq!(failure.message, "the response is not valid HTTP");
    let incomplete = [b"HTTP/1.1 200 OK\r\nX-Long: ".to_vec(), vec![b'x'; 60_000]].concat();
    receiver.set_default_response(MockResponse::Dribble(incomplete, Duration::ZERO));
    let failure = timeout_while("waiting for the response", || issuer.transport().send(&request, SHORT));
    assert_eq!(failure.message, "timed out after 0.6 s while waiting for the response");
}
