//! Text in HTML.

use std::fmt::{self, Write};

/// Text with HTML's special characters escaped.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// The hash of a style sheet for a content security policy.
#[cfg(all(test, feature = "http"))]
pub(crate) fn style_hash(style: &str) -> String {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(style)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_in_titles_and_names_is_escaped() {
        let text = Escaped("<b onclick='x'>\"Tom & Jerry\"</b>").to_string();
        assert_eq!(text, "&lt;b onclick=&#39;x&#39;&gt;&quot;Tom &amp; Jerry&quot;&lt;/b&gt;");
    }
}
