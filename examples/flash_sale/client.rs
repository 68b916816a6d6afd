//! An HTTP client with one keep-alive connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::Result;

/// The parts of a response that this program uses.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) location: String,
    body: Vec<u8>,
}

impl Response {
    /// Returns the body, or null if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body of a successful response, and an error for any other status.
    pub(crate) fn success(self) -> Result<Value> {
        match self.status {
            200 | 201 => Ok(self.json()),
            status => Err(format!("{status}: {}", String::from_utf8_lossy(&self.body)).into()),
        }
    }
}

pub(crate) struct Client {
    address: SocketAddr,
    key: String,
    connection: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr, key: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { address, key: key.to_owned(), connection: BufReader::new(stream) })
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Response> {
        self.send("GET", path, "application/json", "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Result<Response> {
        self.send("POST", path, "application/json", &body.to_string())
    }

    /// Sends a POST request without a body.
    pub(crate) fn post_empty(&mut self, path: &str) -> Result<Response> {
        self.send("POST", path, "application/json", "")
    }

    /// Sends a POST request with form data, like the checkout page.
    pub(crate) fn submit_form(&mut self, path: &str, form: &str) -> Result<Response> {
        self.send("POST", path, "application/x-www-form-urlencoded", form)
    }

    /// Returns all items of a list, page by page.
    pub(crate) fn list(&mut self, path: &str) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let mut page = self.get(&format!("{path}{cursor}"))?.success()?;
            match page["data"].take() {
                Value::Array(page) => items.extend(page),
                other => return Err(format!("a page of {path} has no list of items but {other}").into()),
            }
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(items),
            }
        }
    }

    fn send(&mut self, method: &str, path: &str, media_type: &str, body: &str) -> Result<Response> {
        let host = self.address;
        let key = &self.key;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nX-Api-Key: {key}\r\nContent-Type: {media_type}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.connection.get_mut().write_all(request.as_bytes())?;
        self.receive()
    }

    fn receive(&mut self) -> Result<Response> {
        let mut line = String::new();
        self.connection.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or("the server closed a connection")?;
        let mut location = String::new();
        let mut length = 0;
        loop {
            line.clear();
            self.connection.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse()?,
                Some((name, value)) if name.eq_ignore_ascii_case("location") => value.clone_into(&mut location),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body)?;
        Ok(Response { status, location, body })
    }
}
