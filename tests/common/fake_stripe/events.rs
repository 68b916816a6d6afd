//! Events, and how they are signed and delivered to the endpoint.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

/// Where events are delivered.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// A URL of plain HTTP, with an address and a port.
    pub url: String,
    /// The signing secrets: several while one is replaced by another.
    pub secrets: Vec<String>,
    /// The types of events that are delivered. `*` means all.
    pub enabled_events: Vec<String>,
    /// Whether it is for the events of connected accounts.
    pub is_connect: bool,
}

impl Endpoint {
    pub fn wants(&self, kind: &str) -> bool {
        self.enabled_events.iter().any(|enabled| enabled == "*" || enabled == kind)
    }
}

/// An event as it is sent.
#[derive(Debug, Clone)]
pub struct Notice {
    pub id: String,
    pub kind: String,
    /// The JSON text, as Stripe formats it: with line breaks and two spaces for each level.
    pub body: String,
}

impl Notice {
    pub fn new(event: &Value) -> Self {
        let text = |field: &str| event[field].as_str().expect(field).to_owned();
        let body = serde_json::to_string_pretty(event).expect("JSON");
        Self { id: text("id"), kind: text("type"), body }
    }

    /// The id of the object that it is about.
    pub fn object_id(&self) -> String {
        let event: Value = serde_json::from_str(&self.body).expect("JSON");
        event["data"]["object"]["id"].as_str().expect("an id").to_owned()
    }
}

/// The value of the header `Stripe-Signature`: a time in seconds, and a signature `v1` for each secret. Events in test
/// mode have a signature `v0` too, which must be ignored.
pub fn signature(secrets: &[String], seconds: i64, body: &str) -> String {
    let mut header = format!("t={seconds}");
    for secret in secrets {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
        mac.update(format!("{seconds}.{body}").as_bytes());
        header += &format!(",v1={}", hex::encode(mac.finalize().into_bytes()));
    }
    header + ",v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"
}

/// Sends a body with this signature to a URL of plain HTTP. Returns the status of the response.
pub fn post(url: &str, signature: &str, body: &str) -> io::Result<u16> {
    let rest = url.strip_prefix("http://").expect("plain HTTP");
    let (address, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)\r\n\
        Accept: */*; q=0.5, application/xml\r\nCache-Control: no-cache\r\n\
        Content-Type: application/json; charset=utf-8\r\nStripe-Signature: {signature}\r\n\
        Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
