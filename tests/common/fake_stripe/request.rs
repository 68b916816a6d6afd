//! HTTP requests as the fake reads and records them.

use std::io::{self, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct Request {
    /// The id that the fake gives it, as in the header `Request-Id`.
    pub id: String,
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection. Returns `None` at the end.
    pub fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            match stream.read(&mut chunk)? {
                0 if bytes.is_empty() => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                amount => bytes.extend_from_slice(&chunk[..amount]),
            }
        };
        let mut body = bytes.split_off(end);
        let head = String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        let mut lines = head.lines();
        let line = lines.next().unwrap_or_default();
        let mut words = line.split(' ').map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let (path, query) = (path.to_owned(), query.to_owned());
        let mut request = Self { id: String::new(), method, path, query, headers, body: Vec::new() };
        assert!(request.header("transfer-encoding").is_none(), "the fake reads requests with a length only");
        let length = request.header("content-length").map_or(Ok(0), str::parse);
        let length: usize = length.map_err(|_| io::ErrorKind::InvalidData)?;
        let read = body.len();
        body.resize(length, 0);
        if read < length {
            stream.read_exact(&mut body[read..])?;
        }
        request.body = body;
        Ok(Some(request))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The connected account for which it is sent.
    pub fn account(&self) -> Option<String> {
        self.header("stripe-account").map(str::to_owned)
    }

    /// The API key: a bearer token, or the user name of basic authentication.
    pub fn api_key(&self) -> Option<String> {
        let header = self.header("authorization")?;
        if let Some(token) = header.strip_prefix("Bearer ") {
            return Some(token.to_owned());
        }
        let pair = STANDARD.decode(header.strip_prefix("Basic ")?).ok()?;
        let pair = String::from_utf8(pair).ok()?;
        pair.split_once(':').map(|(user, _)| user.to_owned())
    }
}

/// A request and how it was answered.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub request: Request,
    /// The status of the answer, or `None` if there was none.
    pub status: Option<u16>,
    /// Whether a stored answer was sent.
    pub is_replay: bool,
}

impl RecordedRequest {
    /// A JSON object for the judge of requests. The API key is left out.
    pub fn to_json(&self) -> Value {
        let request = &self.request;
        let header = |name: &str| request.header(name);
        json!({
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "body": String::from_utf8_lossy(&request.body),
            "content_type": header("content-type"),
            "idempotency_key": header("idempotency-key"),
            "stripe_version": header("stripe-version"),
            "stripe_account": header("stripe-account"),
            "status": self.status,
        })
    }
}
