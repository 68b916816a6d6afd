//! Detects request heads that give the length of the body in more than one way.
//!
//! If a proxy in front of the server settles such a contradiction differently, the two disagree about where the next
//! request starts (request smuggling). hyper (1.12) refuses different or invalid `Content-Length`s, folded header
//! lines, and a `Transfer-Encoding` that does not end in `chunked`. But it accepts:
//!
//! - `Content-Length` twice with the same value; it drops the second.
//! - `Content-Length` and `Transfer-Encoding` together, in any order; it drops the `Content-Length`, executes the
//!   request, and closes the connection after the response.
//! - `Transfer-Encoding` twice, if the last one is `chunked`.
//!
//! The service cannot see the dropped headers. So the heads are parsed a second time here, with hyper's own parser, and
//! bodies are skipped to find the next head.

use httparse::{EMPTY_HEADER, Header, Status};

/// The number of header lines that hyper accepts.
const MAX_HEADERS: usize = 100;

/// Follows the bytes of a connection from request to request.
#[derive(Debug, Default)]
pub(in crate::server) struct FramingCheck {
    next: Part,
    /// The start of a part whose end has not arrived. hyper closes the connection if this gets too long.
    incomplete: Vec<u8>,
    /// The number of unambiguous heads that [`Self::next_is_unambiguous`] has not reported yet.
    unambiguous_heads: u64,
}

/// The part of a request that the next bytes belong to.
#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    Head,
    /// This many bytes of a body.
    Body(u64),
    ChunkSize,
    /// This many bytes: a chunk and the line end after it.
    Chunk(u64),
    /// The lines after the last chunk, up to an empty one.
    Trailers,
    /// Unknown after an ambiguous head, or after bytes that hyper refuses too. It lasts until the connection ends.
    Unknown,
}

impl FramingCheck {
    /// Takes the next bytes of the connection, before hyper sees them.
    pub(in crate::server) fn receive(&mut self, received: &[u8]) {
        if self.incomplete.is_empty() {
            let rest = self.skip_parts(received);
            self.incomplete.extend_from_slice(rest);
            return;
        }
        let mut bytes = std::mem::take(&mut self.incomplete);
        bytes.extend_from_slice(received);
        // A part that can be incomplete ends with a line feed. Without one, there is nothing new to find.
        self.incomplete = if received.contains(&b'\n') { self.skip_parts(&bytes).to_vec() } else { bytes };
    }

    /// Whether the head that hyper has parsed now is unambiguous. Must be called for each head, in order.
    pub(in crate::server) fn next_is_unambiguous(&mut self) -> bool {
        let is_unambiguous = self.unambiguous_heads > 0;
        self.unambiguous_heads = self.unambiguous_heads.saturating_sub(1);
        is_unambiguous
    }

    /// Skips all complete parts, and returns the incomplete rest.
    fn skip_parts<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        while !bytes.is_empty() {
            let Some(rest) = self.skip_part(bytes).and_then(|length| bytes.get(length..)) else { return bytes };
            bytes = rest;
        }
        bytes
    }

    /// The length of the next part, or `None` if it is incomplete.
    fn skip_part(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.next {
            Part::Head => {
                let mut headers = [EMPTY_HEADER; MAX_HEADERS];
                let mut request = httparse::Request::new(&mut headers);
                match request.parse(bytes) {
                    Ok(Status::Complete(length)) => {
                        self.next = part_after_head(request.headers);
                        if !matches!(self.next, Part::Unknown) {
                            self.unambiguous_heads += 1;
                        }
                        Some(length)
                    }
                    Ok(Status::Partial) => None,
                    Err(_) => {
                        self.next = Part::Unknown;
                        Some(bytes.len())
                    }
                }
            }
            Part::Body(length) | Part::Chunk(length) => {
                let skipped = bytes.len().min(usize::try_from(length).unwrap_or(usize::MAX));
                self.next = match (self.next, length - skipped as u64) {
                    (Part::Body(_), 0) => Part::Head,
                    (Part::Body(_), left) => Part::Body(left),
                    (_, 0) => Part::ChunkSize,
                    (_, left) => Part::Chunk(left),
                };
                Some(skipped)
            }
            Part::ChunkSize => match httparse::parse_chunk_size(bytes) {
                Ok(Status::Complete((length, size))) => {
                    self.next = if size == 0 { Part::Trailers } else { Part::Chunk(size.saturating_add(2)) };
                    Some(length)
                }
                Ok(Status::Partial) => None,
                Err(_) => {
                    self.next = Part::Unknown;
                    Some(bytes.len())
                }
            },
            Part::Trailers => {
                let line = bytes.windows(2).position(|pair| pair == b"\r\n")?;
                if line == 0 {
                    self.next = Part::Head;
                }
                Some(line + 2)
            }
            Part::Unknown => Some(bytes.len()),
        }
    }
}

fn part_after_head(headers: &[Header<'_>]) -> Part {
    let mut lengths = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("content-length"));
    let encodings = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("transfer-encoding"));
    match (lengths.next(), lengths.next(), encodings.count()) {
        (None, None, 0) => Part::Head,
        (None, None, 1) => Part::ChunkSize,
        (Some(length), None, 0) => match std::str::from_utf8(length.value).map(str::parse) {
            Ok(Ok(0)) => Part::Head,
            Ok(Ok(length)) => Part::Body(length),
            _ => Part::Unknown,
        },
        _ => Part::Unknown,
    }
}
