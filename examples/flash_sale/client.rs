//! One keep-alive connection to the server, and requests over it one after another.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::Result;

/// An answer as far as this program looks at it.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: String,
    body: Vec<u8>,
}

impl Answer {
    /// The body; null where it is no JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body of a success.
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

    pub(crate) fn get(&mut self, path: &str) -> Result<Answer> {
        self.send("GET", path, "application/json", "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Result<Answer> {
        self.send("POST", path, "application/json", &body.to_string())
    }

    /// POST without a body.
    pub(crate) fn act(&mut self, path: &str) -> Result<Answer> {
        self.send("POST", path, "application/json", "")
    }

    /// POST of a form, as the checkout page sends it.
    pub(crate) fn submit(&mut self, path: &str, form: &str) -> Result<Answer> {
        self.send("POST", path, "application/x-www-form-urlencoded", form)
    }

    /// Every item of a list, page by page.
    pub(crate) fn all(&mut self, path: &str) -> Result<Vec<Value>> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        loop {
            let mut page = self.get(&format!("{path}{cursor}"))?.success()?;
            match page["data"].take() {
                Value::Array(found) => items.extend(found),
                other => return Err(format!("a page of {path} is {other}").into()),
            }
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(items),
            }
        }
    }

    fn send(&mut self, method: &str, path: &str, media_type: &str, body: &str) -> Result<Answer> {
        let (host, key, length) = (self.address, &self.key, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nX-Api-Key: {key}\r\nContent-Type: {media_type}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.connection.get_mut().write_all(request.as_bytes())?;
        self.receive()
    }

    fn receive(&mut self) -> Result<Answer> {
        let mut line = String::new();
        self.connection.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or("the server closed a connection")?;
        let (mut location, mut length) = (String::new(), 0);
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
        Ok(Answer { status, location, body })
    }
}
