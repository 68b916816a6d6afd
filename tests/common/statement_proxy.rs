//! A proxy between a service and PostgreSQL that changes the statements on their way. It takes a lock out of them, for
//! a control that shows what the lock prevents.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What to write instead of a part of a statement. It must not be longer.
pub type Edit = (&'static str, &'static str);

/// Takes the locks of events, organizations and tickets out of the statements.
pub const WITHOUT_ROW_LOCKS: [Edit; 8] = [
    (" FOR NO KEY UPDATE SKIP LOCKED", ""),
    (" FOR NO KEY UPDATE OF e", ""),
    (" FOR NO KEY UPDATE OF t", ""),
    (" FOR NO KEY UPDATE", ""),
    (" FOR KEY SHARE OF o", ""),
    (" FOR KEY SHARE", ""),
    (" FOR UPDATE SKIP LOCKED", ""),
    (" FOR UPDATE", ""),
];

/// Takes out of the statements what keeps two processes from expanding the same notifications.
pub const WITHOUT_EXPANSION_LOCKS: [Edit; 2] =
    [(" FOR NO KEY UPDATE SKIP LOCKED", ""), ("AND organization_id = $1 RETURNING", "RETURNING")];

/// Takes the locks of idempotency keys out of the statements.
pub const WITHOUT_KEY_LOCKS: [Edit; 1] = [("pg_advisory_xact_lock(", "ABS(")];

/// Returns the URL of the same database behind a new proxy, which lives as long as the process.
pub fn behind_proxy(url: &str, edits: &'static [Edit]) -> String {
    start(url, edits, &Arc::default())
}

/// Returns the URL of the same database behind a new proxy, and how many bytes the server has sent through it.
pub fn behind_counting_proxy(url: &str) -> (String, Arc<AtomicU64>) {
    let sent = Arc::default();
    (start(url, &[], &sent), sent)
}

fn start(url: &str, edits: &'static [Edit], sent: &Arc<AtomicU64>) -> String {
    let (start, database) = url.rsplit_once('/').expect("a database");
    let (scheme_and_user, server) = start.rsplit_once('@').expect("a user");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server: Arc<str> = server.into();
    let sent = Arc::clone(sent);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (server, sent) = (Arc::clone(&server), Arc::clone(&sent));
            // A connection ends with an error.
            std::thread::spawn(move || drop(forward(client, &server, edits, sent)));
        }
    });
    format!("{scheme_and_user}@{address}/{database}")
}

fn forward(mut client: TcpStream, server: &str, edits: &[Edit], sent: Arc<AtomicU64>) -> io::Result<()> {
    let mut to_server = TcpStream::connect(server)?;
    to_server.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (from_server, mut to_client) = (to_server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut Counted { stream: from_server, bytes: &sent }, &mut to_client);
        to_client.shutdown(std::net::Shutdown::Both)
    });
    // The first messages have no type: a request for TLS, if there is one, and the start of the session.
    while read_message(&mut client, &mut to_server, &[], &[])? {}
    loop {
        let mut kind = [0];
        client.read_exact(&mut kind)?;
        read_message(&mut client, &mut to_server, &kind, edits)?;
    }
}

/// A stream whose bytes are counted.
struct Counted<'s> {
    stream: TcpStream,
    bytes: &'s AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Forwards a message. Returns whether it asks for TLS.
fn read_message(client: &mut TcpStream, server: &mut TcpStream, kind: &[u8], edits: &[Edit]) -> io::Result<bool> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut body)?;
    for (part, instead) in edits {
        replace(&mut body, part.as_bytes(), instead.as_bytes());
    }
    server.write_all(&[kind, &length, &body].concat())?;
    Ok(kind.is_empty() && body == 80_877_103_u32.to_be_bytes())
}

/// Replaces each `part`. Spaces fill the rest, so that the length of the message stays the same.
fn replace(body: &mut [u8], part: &[u8], instead: &[u8]) {
    let mut start = 0;
    while let Some(found) = body[start..].windows(part.len()).position(|window| window == part) {
        start += found;
        let target = &mut body[start..start + part.len()];
        target.fill(b' ');
        target[..instead.len()].copy_from_slice(instead);
    }
}
