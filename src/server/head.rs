//! Notices a head that gives its body more than one length. The parser settles such a contradiction silently; a proxy in
//! front may settle it otherwise, and then the two disagree about where the next request begins.

/// A look at the lines of a head as they come in.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    /// The beginning of the current line, in lower case, as far as any name of interest reaches.
    name: [u8; 18],
    /// How long the current line is, up to its colon.
    length: usize,
    past_colon: bool,
    lines: usize,
    done: bool,
    lengths: usize,
    encodings: usize,
}

impl HeadScan {
    /// Takes the next bytes; those after the head are let by.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                _ if self.done => return,
                b'\n' => {
                    // Empty lines before the request line are no end of it.
                    self.done = self.length == 0 && self.lines > 0;
                    self.lines += usize::from(self.length > 0);
                    (self.length, self.past_colon) = (0, false);
                }
                b'\r' => {}
                b':' if !self.past_colon => {
                    self.past_colon = true;
                    match self.name.get(..self.length) {
                        Some(b"content-length") => self.lengths += 1,
                        Some(b"transfer-encoding") => self.encodings += 1,
                        _ => {}
                    }
                }
                _ if self.past_colon => {}
                other => {
                    if let Some(place) = self.name.get_mut(self.length) {
                        *place = other.to_ascii_lowercase();
                    }
                    self.length += 1;
                }
            }
        }
    }

    /// Whether there are two lengths, or a length beside chunks.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.lengths > 1 || (self.lengths > 0 && self.encodings > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ambiguous(head: &str) -> bool {
        let mut at_once = HeadScan::default();
        at_once.feed(head.as_bytes());
        let mut by_bytes = HeadScan::default();
        head.as_bytes().iter().for_each(|byte| by_bytes.feed(&[*byte]));
        assert_eq!(at_once.is_ambiguous(), by_bytes.is_ambiguous());
        at_once.is_ambiguous()
    }

    #[test]
    fn one_length_or_none_is_clear() {
        assert!(!is_ambiguous("GET / HTTP/1.1\r\nHost: a:80\r\n\r\n"));
        assert!(!is_ambiguous("POST / HTTP/1.1\r\nContent-Length: 3\r\nX-Content-Length: 3\r\n\r\n"));
        assert!(!is_ambiguous("\r\nPOST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"));
    }

    #[test]
    fn two_lengths_and_a_length_beside_chunks_are_noticed() {
        assert!(is_ambiguous("POST / HTTP/1.1\r\nContent-Length: 3\r\nCONTENT-LENGTH: 3\r\n\r\n"));
        assert!(is_ambiguous("POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"));
        assert!(is_ambiguous("POST / HTTP/1.1\nTransfer-Encoding: chunked\nContent-Length: 3\n\n"));
    }

    #[test]
    fn what_follows_the_head_does_not_count() {
        assert!(!is_ambiguous("POST / HTTP/1.1\r\nContent-Length: 20\r\n\r\nContent-Length: 3\r\n"));
    }
}
