//! The documentation of Rust types in the words of the interface.

use serde_json::Value;

/// Goes through a document: descriptions speak of `null` and camelCase, and generic types have plain names.
pub(super) fn translate(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if name == "description" => *text = in_json(text),
                    Value::String(text) if name == "$ref" => *text = plain_name(text),
                    other => translate(other),
                }
            }
            if members.keys().any(|name| plain_name(name) != *name) {
                *members = std::mem::take(members).into_iter().map(|(name, of)| (plain_name(&name), of)).collect();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(translate),
        _ => {}
    }
}

/// An order with whole items is an order; one with summaries of items, the summary of one.
fn plain_name(name: &str) -> String {
    name.replace("OrderOfOrderItem", "Order")
}

/// A sentence about Rust as one about JSON: links lose their targets, names are camelCase, and `None` is null.
fn in_json(text: &str) -> String {
    let mut said = String::new();
    for (index, piece) in text.split('`').enumerate() {
        match (index % 2, piece) {
            (0, prose) => said.push_str(&without_brackets(prose)),
            (_, "None") => said.push_str("null"),
            (_, name) => {
                said.push('`');
                said.push_str(&camel(name));
                said.push('`');
            }
        }
    }
    said
}

/// What is between two names, without the brackets of a link around them.
fn without_brackets(prose: &str) -> String {
    let prose = prose.strip_suffix('[').unwrap_or(prose);
    match prose.strip_prefix("](").and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest.to_owned(),
        None => prose.strip_prefix(']').unwrap_or(prose).to_owned(),
    }
}

fn camel(name: &str) -> String {
    // A prefix such as `whsec_` is no name.
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && !name.ends_with('_');
    let mut words = name.split('_');
    match (plain, words.next()) {
        (true, Some(first)) => first.to_owned() + &words.map(capital).collect::<String>(),
        _ => name.to_owned(),
    }
}

/// The word with a capital at its beginning.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_about_rust_becomes_one_about_json() {
        assert_eq!(
            in_json("Before `valid_until`; `None` where [`Order`] has it."),
            "Before `validUntil`; null where `Order` has it."
        );
        assert_eq!(in_json("The [`limit`](Self::limit) of it."), "The `limit` of it.");
        assert_eq!(in_json("An `ETag`, or `items[0].quantity`."), "An `ETag`, or `items[0].quantity`.");
        assert_eq!(in_json("It begins with `whsec_`."), "It begins with `whsec_`.");
    }
}
