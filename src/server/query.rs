//! Name-value pairs as a query string and a form write them (`application/x-www-form-urlencoded`).

/// The pairs in their order, repeated names included; `None` where an escape is broken or what it spells is no UTF-8.
pub(super) fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pieces = text.split('&').filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_in_their_order() {
        let read = pairs("q=J%C3%A4zz+Night&&limit=5&flag&q=2").unwrap();
        let expected = [("q", "Jäzz Night"), ("limit", "5"), ("flag", ""), ("q", "2")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(pairs(""), Some(Vec::new()));
    }

    #[test]
    fn a_broken_escape_cannot_be_read() {
        for text in ["q=%", "q=%4", "q=%zz", "q=%+1", "%FF=1", "q=%C3"] {
            assert_eq!(pairs(text), None, "{text}");
        }
    }
}
