//! What the responses of exports have in common.

use serde_json::{Map, Value, json};

use crate::server::http::export_body::media_types;

/// The headers of an exported file, in addition to those of all responses.
pub(super) const HEADERS: [&str; 3] = ["Content-Disposition", "X-Export-Rows", "Repr-Digest"];

/// The formats of an exported file.
pub(super) fn content() -> Value {
    let formats = media_types().map(|media_type| {
        let is_text = media_type.starts_with("text/");
        let schema = if is_text { json!({"type": "string"}) } else { json!({"type": "string", "format": "binary"}) };
        (media_type.to_owned(), json!({"schema": schema}))
    });
    Value::Object(formats.collect::<Map<_, _>>())
}

/// The descriptions of the headers, by the names of their components.
pub(super) fn headers() -> [(&'static str, Value); 3] {
    let text = |description: &str| json!({"description": description, "schema": {"type": "string"}, "required": true});
    [
        ("ContentDisposition", text("The name under which browsers save the file.")),
        (
            "XExportRows",
            json!({
                "description": "The number of rows, without the header.", "required": true,
                "schema": {"type": "integer", "minimum": 0},
            }),
        ),
        ("ReprDigest", text("The SHA-256 of the file (RFC 9530).")),
    ]
}
