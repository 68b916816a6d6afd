//! Notices a head that gives its body more than one length. The parser settles such a contradiction silently; a proxy in
//! front may settle it otherwise, and then the two disagree about where the next request begins.
//!
//! Requests may follow each other without a pause: their bodies are counted through, and the head that comes after each
//! is looked at like the first. Where the parser refuses something the connection ends, so that what is thought of the
//! rest does not matter.

/// A look at the requests of a connection as they come in.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    part: Part,
    line: Line,
    head: Head,
    /// How many heads have come, and how many of them were asked about.
    heads: u64,
    asked: u64,
    /// Which head was ambiguous. Nobody can say what follows it.
    ambiguous: Option<u64>,
}

/// What the next byte is part of.
#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    Head,
    /// A body, of which so many bytes are to come.
    Body(u64),
    /// The line that tells the size of a chunk.
    Size,
    /// A chunk, of which so many bytes are to come.
    Chunk(u64),
    /// The end of the line that a chunk is.
    ChunkEnd,
    /// A line after the last chunk.
    Trailer,
}

/// What the lines of a head have said so far.
#[derive(Debug, Default)]
struct Head {
    lines: usize,
    lengths: usize,
    encodings: usize,
    /// What the last length said.
    length: u64,
}

/// A line so far.
#[derive(Debug, Default)]
struct Line {
    /// Its beginning, in lower case, as far as any name of interest reaches.
    name: [u8; 18],
    /// How long it is, up to its colon.
    length: usize,
    past_colon: bool,
    /// The number in it.
    number: u64,
    after_cr: bool,
}

impl HeadScan {
    /// Takes the next bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while self.ambiguous.is_none() && !bytes.is_empty() {
            let taken = match &mut self.part {
                Part::Body(left) | Part::Chunk(left) => {
                    let taken = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                    *left -= taken as u64;
                    taken
                }
                _ => 1,
            };
            let (now, rest) = bytes.split_at(taken);
            bytes = rest;
            self.part = match self.part {
                Part::Body(0) => Part::Head,
                Part::Chunk(0) => Part::ChunkEnd,
                part @ (Part::Body(_) | Part::Chunk(_)) => part,
                part => now.first().map_or(part, |byte| self.take(*byte)),
            };
        }
    }

    /// Takes a byte of a line. Says what the next one is part of.
    fn take(&mut self, byte: u8) -> Part {
        let after_cr = std::mem::replace(&mut self.line.after_cr, byte == b'\r');
        // The parser knows no end of a trailer but both.
        let ends = byte == b'\n' && (after_cr || !matches!(self.part, Part::Trailer));
        match self.part {
            _ if ends => self.end_line(),
            part if byte == b'\r' => part,
            part => {
                match part {
                    Part::Size => self.line.read_size(byte),
                    _ => self.line.read_field(byte),
                }
                part
            }
        }
    }

    fn end_line(&mut self) -> Part {
        let line = std::mem::take(&mut self.line);
        match self.part {
            // Empty lines before the request line are no end of it.
            Part::Head if line.length > 0 || self.head.lines == 0 => {
                self.head.read(&line);
                Part::Head
            }
            Part::Head => self.end_head(),
            Part::Size if line.number > 0 => Part::Chunk(line.number),
            Part::Size => Part::Trailer,
            Part::Trailer if line.length == 0 => Part::Head,
            Part::ChunkEnd => Part::Size,
            part => part,
        }
    }

    fn end_head(&mut self) -> Part {
        let head = std::mem::take(&mut self.head);
        self.heads += 1;
        match (head.lengths, head.encodings) {
            (0, 0) => Part::Head,
            (1, 0) if head.length == 0 => Part::Head,
            (1, 0) => Part::Body(head.length),
            (0, 1) => Part::Size,
            _ => {
                self.ambiguous = Some(self.heads);
                Part::Head
            }
        }
    }

    /// Whether the next head in turn gave its body two lengths, chunks twice, or a length beside chunks.
    pub(super) fn next_is_ambiguous(&mut self) -> bool {
        self.asked += 1;
        self.ambiguous == Some(self.asked)
    }
}

impl Head {
    fn read(&mut self, line: &Line) {
        self.lines += usize::from(line.length > 0);
        match line.name.get(..line.length) {
            Some(b"content-length") => (self.lengths, self.length) = (self.lengths + 1, line.number),
            Some(b"transfer-encoding") => self.encodings += 1,
            _ => {}
        }
    }
}

impl Line {
    /// Takes a byte of a name, a colon and a value, of which the digits are the number.
    fn read_field(&mut self, byte: u8) {
        if self.past_colon {
            self.read_digit(byte, 10);
        } else if byte == b':' {
            self.past_colon = true;
        } else {
            if let Some(place) = self.name.get_mut(self.length) {
                *place = byte.to_ascii_lowercase();
            }
            self.length += 1;
        }
    }

    /// Takes a byte of a hexadecimal number and what comes after it.
    fn read_size(&mut self, byte: u8) {
        self.past_colon |= !byte.is_ascii_hexdigit();
        if !self.past_colon {
            self.read_digit(byte, 16);
        }
    }

    fn read_digit(&mut self, byte: u8, base: u32) {
        if let Some(digit) = char::from(byte).to_digit(base) {
            self.number = self.number.saturating_mul(base.into()).saturating_add(digit.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the heads in these bytes is ambiguous, and how many there are up to it.
    fn scan(bytes: &str) -> (Option<u64>, u64) {
        let mut at_once = HeadScan::default();
        at_once.feed(bytes.as_bytes());
        let mut by_bytes = HeadScan::default();
        bytes.as_bytes().iter().for_each(|byte| by_bytes.feed(&[*byte]));
        assert_eq!((at_once.ambiguous, at_once.heads), (by_bytes.ambiguous, by_bytes.heads), "{bytes:?}");
        (at_once.ambiguous, at_once.heads)
    }

    #[test]
    fn one_length_or_none_is_clear() {
        for head in [
            "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nX-Content-Length: 3\r\n\r\n",
            "\r\nPOST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
            "POST /content-length HTTP/1.1\r\nContent-Length: 3\r\nX: Content-Length: 3\r\n\r\n",
        ] {
            assert_eq!(scan(head), (None, 1), "{head}");
        }
    }

    #[test]
    fn two_lengths_and_a_length_beside_chunks_are_noticed() {
        for head in [
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nCONTENT-LENGTH: 3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\nTransfer-Encoding: chunked\nContent-Length: 3\n\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert_eq!(scan(head), (Some(1), 1), "{head}");
        }
    }

    #[test]
    fn what_is_in_a_body_is_no_head() {
        let two = "Content-Length: 3\r\nContent-Length: 4\r\n\r\n";
        let plain = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{two}", two.len());
        let chunks =
            format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:X};a=1f\r\n{two}\r\n0\r\n\r\n", two.len());
        let trailers = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n00\r\nContent-Length: 3\r\n\
                        Content-Length: 4\r\n\r\n";
        for first in [&plain, &chunks, trailers] {
            assert_eq!(scan(first), (None, 1), "{first}");
            assert_eq!(scan(&first.repeat(3)), (None, 3), "{first}");
        }
    }

    #[test]
    fn a_later_head_is_looked_at_like_the_first() {
        let ambiguous = "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
        for first in [
            "GET / HTTP/1.1\r\n\r\n",
            "\r\nGET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n0123456789\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n1 \r\n\n\r\n0\r\nX: y\n\r\n\r\n",
        ] {
            assert_eq!(scan(&format!("{first}{first}{ambiguous}{first}")), (Some(3), 3), "{first}");
        }
    }

    #[test]
    fn the_heads_are_asked_about_in_turn() {
        let mut scan = HeadScan::default();
        scan.feed(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n");
        assert_eq!(
            [scan.next_is_ambiguous(), scan.next_is_ambiguous(), scan.next_is_ambiguous()],
            [false, true, false]
        );
    }
}
