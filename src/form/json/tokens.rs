//! The tokens of a JSON text.

/// Iterates over the first byte of every value and key of a JSON text, in their order: `{` or `[` for what nests, `"`
/// for a string or a key, and the first character of anything else. If the text is not valid JSON, so is the result.
pub(super) struct Tokens<'t>(&'t [u8]);

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self(text.as_bytes())
    }
}

impl Iterator for Tokens<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let start = self.0.iter().position(|byte| !is_between_tokens(*byte))?;
        let rest = &self.0[start..];
        let length = match rest[0] {
            b'{' | b'[' => 1,
            b'"' => string_length(rest),
            _ => rest.iter().position(|byte| is_between_tokens(*byte)).unwrap_or(rest.len()),
        };
        self.0 = &rest[length..];
        Some(rest[0])
    }
}

/// White space, separators and closing brackets.
fn is_between_tokens(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b'}' | b']')
}

/// The length of the string at the beginning of a text, with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_key_is_one_token() {
        let tokens = |text| String::from_utf8(Tokens::of(text).collect()).expect("ASCII");
        assert_eq!(tokens(""), "");
        assert_eq!(tokens(" -1.5e+3 "), "-");
        assert_eq!(
            tokens(r#"{"a": [1, 2.5], "b\\\"": {"c": null}, "d": "}\\", "e":[[]],"f":true}"#),
            "{\"[12\"{\"n\"\"\"[[\"t"
        );
        assert_eq!(tokens("\"not closed"), "\"");
    }
}
