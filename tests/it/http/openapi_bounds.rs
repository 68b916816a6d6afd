//! The server enforces exactly the bounds that the OpenAPI document states for request fields and query parameters. A
//! value just within a bound gets no error for its field, and a value just beyond it gets an error for this field only.

use crate::common::http::{Client, Response};
use crate::common::{LARGEST_FILE, pixel_logo};
use crate::http::walkthrough::{Document, Walkthrough};
use serde_json::{Value, json};

/// A field of a request body.
#[derive(Debug)]
struct Field {
    /// Its JSON pointer in the body.
    pointer: String,
    /// The path by which a field error names it.
    path: String,
    schema: Value,
    required: bool,
}

/// The schema of the object, array or string that a schema describes, without the alternative null.
fn non_null_schema<'a>(document: &'a Document, schema: &'a Value) -> &'a Value {
    let first = schema.get("anyOf").map_or(schema, |alternatives| &alternatives[0]);
    document.resolve(first)
}

/// Collects every field of a schema, and the fields of its objects and arrays.
fn collect_fields(document: &Document, schema: &Value, pointer: &str, path: &str, fields: &mut Vec<Field>) {
    let schema = non_null_schema(document, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let pointer = format!("{pointer}/{name}");
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name));
        collect_fields(document, field, &pointer, &path, fields);
        if let Some(items) = non_null_schema(document, field).get("items") {
            let pointer = format!("{pointer}/0");
            let path = format!("{path}[0]");
            collect_fields(document, items, &pointer, &path, fields);
            fields.push(Field { pointer, path, schema: items.clone(), required: false });
        }
        fields.push(Field { pointer, path, schema: field.clone(), required });
    }
}

/// Values that a schema accepts, and values that it rejects.
#[derive(Default)]
struct Samples {
    valid: Vec<Value>,
    invalid: Vec<Value>,
}

/// Creates samples for a schema. `base` is a value that it accepts.
fn samples(document: &Document, schema: &Value, base: Option<&Value>) -> Samples {
    let mut samples = Samples::default();
    let has_null_type = schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
    let is_nullable = has_null_type || schema.get("anyOf").is_some();
    let mut merged = non_null_schema(document, schema).clone();
    for (name, value) in schema.as_object().into_iter().flatten() {
        if name != "$ref" && name != "anyOf" {
            merged[name] = value.clone();
        }
    }
    let schema = &merged;
    let json_type = schema["type"].as_array().map_or(&schema["type"], |types| &types[0]).as_str();
    let Some(json_type) = json_type else {
        samples.valid = vec![json!(null), json!(5), json!("x"), json!([{}]), json!({"a": []})];
        return samples;
    };
    if is_nullable {
        samples.valid.push(Value::Null);
    } else {
        samples.invalid.push(Value::Null);
    }
    let number = |name: &str| schema[name].as_i64();
    match json_type {
        "boolean" => {
            samples.valid.extend([json!(true), json!(false)]);
            samples.invalid.extend([json!("true"), json!(1)]);
        }
        "array" => {
            samples.invalid.extend([json!({}), json!("x")]);
            match number("minItems") {
                Some(1) => samples.invalid.push(json!([])),
                None => samples.valid.push(json!([])),
                other => panic!("this test does not know minItems {other:?}"),
            }
            let max_items = usize::try_from(schema["maxItems"].as_u64().expect("every list has a limit")).unwrap();
            samples.invalid.push(Value::Array(vec![Value::Null; max_items + 1]));
        }
        "object" => samples.invalid.extend([json!([]), json!("x")]),
        "integer" | "number" => {
            samples.invalid.extend([json!("1"), json!({})]);
            if json_type == "integer" {
                samples.invalid.push(json!(1.5));
            }
            if let Some(bound) = number("exclusiveMinimum") {
                samples.valid.push(json!(bound + 1));
                samples.invalid.push(json!(bound));
            } else {
                let minimum = number("minimum").unwrap();
                samples.valid.push(json!(minimum));
                samples.invalid.push(minimum.checked_sub(1).map_or(json!(-1e19), |below| json!(below)));
            }
            if let Some(maximum) = number("maximum") {
                samples.valid.push(json!(maximum));
                samples.invalid.push(json!(u64::try_from(maximum).unwrap() + 1));
            }
        }
        "string" => {
            samples.invalid.extend([json!(5), json!([])]);
            add_strings(schema, base, &mut samples);
        }
        other => panic!("this test does not know the type {other}"),
    }
    samples
}

/// The pattern of texts that people write.
const WRITTEN: &str = r"^[^\x00-\x08\x0e-\x1f\x7f]*$";

/// The keywords of a string schema that [`add_strings`] knows.
const KNOWN_KEYWORDS: [&str; 8] =
    ["type", "title", "description", "enum", "minLength", "maxLength", "pattern", "format"];

fn add_strings(schema: &Value, base: Option<&Value>, samples: &mut Samples) {
    let has_known_keyword = |keyword: &String| KNOWN_KEYWORDS.contains(&keyword.as_str());
    assert!(schema.as_object().unwrap().keys().all(has_known_keyword), "{schema}");
    let Samples { valid, invalid } = samples;
    if let Some(choices) = schema["enum"].as_array() {
        valid.extend(choices.iter().cloned());
        let first = choices[0].as_str().unwrap();
        let lower_case = first.to_lowercase();
        let other_case = if first == lower_case { first.to_uppercase() } else { lower_case };
        invalid.extend([json!("NOPE"), json!(other_case)]);
        return;
    }
    // Lengths are in characters: each of these has two bytes.
    let of_length = |length: u64| json!("ä".repeat(usize::try_from(length).unwrap()));
    // A text that begins and ends like this, and has this length.
    let padded = |start: &str, length: usize, end: &str| {
        json!(format!("{start}{}{end}", "a".repeat(length - start.len() - end.len())))
    };
    let max_length = schema["maxLength"].as_u64().map(|length| usize::try_from(length).unwrap());
    let min_length = schema["minLength"].as_u64().unwrap_or(0);
    let pattern = schema["pattern"].as_str().unwrap();
    let is_written = pattern == WRITTEN;
    let is_plain_text = is_written || pattern == r"^[^\x00]*$";
    let has_lines = schema["description"].as_str().is_some_and(|text| text.contains("It may have several lines"));
    match schema["format"].as_str() {
        None if pattern.ends_with("Z$") => {
            let base = base.and_then(Value::as_str).unwrap_or("2026-06-10T00:00:00Z");
            valid.extend([json!(base), json!(base.replace(":00Z", "Z")), json!(base.replace('Z', ".987654321Z"))]);
            valid.extend([json!("1970-01-01T00:00:00Z"), json!("9999-12-31T23:59:59.999Z")]);
            invalid.extend(["1969-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z"].map(Value::from));
            invalid.extend([
                json!(base.replace('Z', "+00:00")),
                json!(base.replace('Z', "")),
                json!(base.replace('T', " ")),
            ]);
        }
        Some("uuid") => {
            valid.push(json!("0192F0C1-2a3b-7c4d-8e5f-0123456789ab"));
            invalid.extend(
                ["", "1", "0192f0c12a3b7c4d8e5f0123456789ab", "{0192f0c1-2a3b-7c4d-8e5f-0123456789a}"].map(Value::from),
            );
        }
        Some("email") => {
            valid.extend(["a@b.co", "O'Neill+x@sub.example.org"].map(Value::from));
            invalid.extend(["", "ada", "ada@", "a@b@example.com"].map(Value::from));
            // 64 characters, @, and a domain of labels with at most 63 characters: 189 in the longest, 190 in the other.
            let of_labels = |labels: [usize; 3]| {
                let domain = labels.map(|length| "b".repeat(length)).join(".");
                json!(format!("{}@{domain}", "a".repeat(64)))
            };
            assert_eq!(max_length, Some(254));
            valid.push(of_labels([63, 63, 61]));
            invalid.push(of_labels([63, 63, 62]));
        }
        Some("uri") => {
            let max_length = max_length.expect("every URL has a limit");
            valid.push(json!("https://example.com/a?b#c"));
            invalid.extend(["", "example.com", "https://exa mple.com"].map(Value::from));
            invalid.extend(
                ["javascript:alert(1)", "vbscript:x", "file:///x", "blob:x", "data:text/html,x"].map(Value::from),
            );
            // Only a logo may be a `data:` URI, which is longer than other URLs.
            if max_length > 2048 {
                let (start, pixel) = ("data:image/png;x=", pixel_logo(79, 0).replace("data:image/png", ""));
                valid.extend([json!(pixel_logo(LARGEST_FILE, 0)), padded(start, max_length, &pixel)]);
                invalid.extend([
                    json!("urn:x:y"),
                    json!("http://example.com/a"),
                    padded(start, max_length + 1, &pixel),
                ]);
                invalid.extend([json!(pixel_logo(LARGEST_FILE + 1, 0)), json!("data:image/jpeg;base64,/9j/")]);
            } else {
                valid.extend([
                    json!("urn:x:y"),
                    json!("myapp://paid"),
                    padded("https://example.com/", max_length, "#c"),
                ]);
                invalid.push(padded("https://example.com/", max_length + 1, "#c"));
            }
        }
        None if is_plain_text && schema["maxLength"] == 3 => {
            valid.push(json!("EUR"));
            invalid.extend([json!("EU"), json!("EURO")]);
        }
        None if is_plain_text => {
            valid.push(of_length(min_length));
            if min_length > 0 {
                invalid.push(of_length(min_length - 1));
            }
            if let Some(max_length) = schema["maxLength"].as_u64() {
                valid.push(of_length(max_length));
                invalid.push(of_length(max_length + 1));
            }
        }
        None if pattern == "^(?:[01][0-9]|2[0-3]):[0-5][0-9]$" => {
            valid.extend(["00:00", "09:59", "19:00", "23:59"].map(Value::from));
            invalid
                .extend(["", "24:00", "23:60", "6:00", "06:0", "06:00:00", " 06:00", "+6:00", "0600"].map(Value::from));
        }
        None if pattern == r"^[\x09-\x0d ]*[!-~]*[\x09-\x0d ]*$" => {
            valid.extend(["4006381333931", " #a-b/c?d=~ ", "!!!!!!"].map(Value::from));
            invalid.extend(["", "12345", "12345 67", "1234567ä", "1234567\u{7f}"].map(Value::from));
            let max_length = max_length.expect("every code has a limit");
            valid.push(padded("a", max_length, "b"));
            invalid.push(padded("a", max_length + 1, "b"));
        }
        None => {
            assert_eq!(pattern, "^[a-z0-9]+(?:-[a-z0-9]+)*$");
            valid.extend(["a", "0-9", "a-b-c"].map(Value::from));
            invalid.extend(["", "A", "a-", "-a", "a--b", "a_b", "ä"].map(Value::from));
            let max_length = max_length.expect("every slug has a limit");
            valid.push(padded("a", max_length, "b"));
            invalid.push(padded("a", max_length + 1, "b"));
        }
        Some(other) => panic!("this test does not know the format {other}"),
    }
    if is_plain_text || schema.get("format").is_some() || pattern.ends_with("Z$") {
        invalid.push(json!("ab\0cd@example.com"));
    }
    // White space at the ends is cut off, so that nothing is left of white space alone. What is left is one line, unless
    // the description says otherwise.
    if is_written && schema.get("format").is_none() && max_length.is_none_or(|most| most > 3) {
        valid.push(json!(format!("\t\u{200b} {}\u{a0}\r\n", "ä".repeat(usize::try_from(min_length.max(1)).unwrap()))));
        if min_length > 0 {
            invalid.push(json!(" \u{a0}\u{200b}\u{feff}\t\n"));
        }
    }
    if is_written {
        invalid.extend(["ab\u{1}cd", "ab\tcd", "ab\u{7f}cd", "ab\u{9f}cd"].map(Value::from));
        let lines = ["ab\ncd", "ab\r\ncd", "ab\rcd", "ab\u{85}cd", "ab\u{2028}cd", "ab\u{2029}cd"].map(Value::from);
        if has_lines { valid.extend(lines) } else { invalid.extend(lines) }
    }
}

/// Messages of field errors that a schema cannot express, because they depend on other fields or on stored data.
const ERRORS_BEYOND_THE_SCHEMA: [&str; 20] = [
    "must be an import of this ticket type",
    "or allocationId must be set, and not both",
    "must be at most the number of tickets",
    "must be set with a key that is not restricted to an event",
    "or ticketId must be set, and not both",
    "must be set with ticketId, and only then",
    "must not be before startDate",
    "must be in the future: the event may be over",
    "must be at most 7 days after the end of the event",
    "must be after validFrom",
    "must be after saleStartDate",
    "must be a time zone of the IANA database, such as Europe/Berlin",
    "must be an event of this organization",
    "must be a ticket type of this organization",
    "must be a ticket type of this event",
    "must be a ticket of this order",
    "must be one of the event's shippingCountries, which are two-letter codes (ISO 3166-1 alpha-2)",
    "must be a cursor returned by this list",
    "Discount code not found",
    "must be an https URL of a public address, on port 443 or a port from 1024 to 65535",
];

/// Checks the responses to requests that vary one field.
struct FieldCheck<'a> {
    /// The name of the operation.
    operation: &'a str,
    /// The path of the field.
    path: &'a str,
    /// How many responses were checked.
    checked: usize,
}

impl FieldCheck<'_> {
    /// Asserts that the response has no error for the field, except one that the schema cannot express.
    fn assert_accepted(&mut self, response: &Response, value: &dyn std::fmt::Debug) {
        self.checked += 1;
        let Self { operation, path, .. } = self;
        assert!(response.status != 400 && response.status < 500, "{operation}: {path} = {value:?}: {response:?}");
        if response.status != 422 {
            return;
        }
        for error in response.json()["errors"].as_array().unwrap() {
            let message = error["message"].as_str().unwrap();
            let contradicts_schema =
                error["path"].as_str().unwrap() == *path && !ERRORS_BEYOND_THE_SCHEMA.contains(&message);
            assert!(!contradicts_schema, "{operation}: {path} = {value:?} is rejected: {message}");
        }
    }

    /// Asserts that the response has an error for the field, and no other error.
    fn assert_rejected(&mut self, response: &Response, value: &dyn std::fmt::Debug) {
        self.checked += 1;
        let Self { operation, path, .. } = self;
        assert_eq!(response.status, 422, "{operation}: {path} = {value:?}: {response:?}");
        assert_eq!(response.paths(), [*path], "{operation}: {path} = {value:?}: {response:?}");
    }
}

/// Returns the body with another value for a field, or without the field.
fn body_with(base: &Value, pointer: &str, value: Option<&Value>) -> Value {
    let mut body = base.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (body.pointer_mut(parent).unwrap(), value) {
        (Value::Object(members), Some(value)) => drop(members.insert(name.to_owned(), value.clone())),
        (Value::Object(members), None) => drop(members.remove(name)),
        (Value::Array(items), Some(value)) => *items = vec![value.clone()],
        (other, _) => panic!("{pointer} in {other}"),
    }
    body
}

/// The request for an order that is already paid.
fn with_payment(base: &Value) -> Value {
    body_with(&body_with(base, "/checkoutRedirectUrls", None), "/paid", Some(&json!({})))
}

#[test]
fn each_field_of_each_body_has_exactly_the_documented_bounds() {
    let walkthrough = Walkthrough::run();
    let (mut checked, mut keys) = (0, 0);
    for operation in walkthrough.document.operations() {
        let Some(schema) = operation.spec.pointer("/requestBody/content/application~1json/schema") else {
            continue;
        };
        let example = &walkthrough.examples[&operation.name];
        let path = example["path"].as_str().unwrap();
        let mut client: Client = walkthrough.server.client();
        let mut fields = Vec::new();
        collect_fields(&walkthrough.document, schema, "", "", &mut fields);
        // An update operation has the same fields as the create operation, whose example contains all of them.
        let mut base = example.get("request").cloned().unwrap_or(json!({}));
        let is_settings = ["update_event_settings", "update_mail_settings"].contains(&operation.name.as_str());
        if operation.method == "PATCH" && !is_settings {
            base = walkthrough.examples[&operation.name.replace("update", "create")]["request"].clone();
        }
        for field in fields {
            let mut check = FieldCheck { operation: &operation.name, path: &field.path, checked: 0 };
            let mut send = |value: Option<&Value>| {
                let body = match field.pointer.strip_prefix("/paid") {
                    // An order with a payment has no checkout.
                    Some(_) => body_with(&with_payment(&base), &field.pointer, value),
                    None => body_with(&base, &field.pointer, value),
                };
                keys += 1;
                match operation.name.as_str() {
                    // An amount is refunded only with a key.
                    "refund_order" => client.post_with_key(&format!("refund-{keys}"), path, &body),
                    _ => client.json(&operation.method, path, &body),
                }
            };
            if !field.path.ends_with(']') {
                let absent = send(None);
                if field.required {
                    check.assert_rejected(&absent, &"absent");
                } else {
                    check.assert_accepted(&absent, &"absent");
                }
            }
            let samples = samples(&walkthrough.document, &field.schema, base.pointer(&field.pointer));
            // Rejected requests come first, because they change nothing.
            for value in &samples.invalid {
                check.assert_rejected(&send(Some(value)), value);
            }
            for value in &samples.valid {
                check.assert_accepted(&send(Some(value)), value);
            }
            checked += check.checked;
        }
    }
    assert!(checked > 900, "{checked}");
}

#[test]
fn each_query_parameter_has_exactly_the_documented_bounds() {
    let walkthrough = Walkthrough::run();
    let mut client = walkthrough.server.client();
    let mut checked = 0;
    for operation in walkthrough.document.operations() {
        if !operation.path.starts_with("/v1/") {
            continue;
        }
        for parameter in operation.spec["parameters"].as_array().unwrap() {
            let parameter = walkthrough.document.resolve(parameter);
            if parameter["in"] != "query" {
                continue;
            }
            let name = parameter["name"].as_str().unwrap();
            let is_required = name == "eventId"
                && ["export_check_ins", "export_settlement"].contains(&&*operation.name)
                || (&*operation.name, name) == ("get_ticket_by_code", "code");
            assert_eq!(parameter["required"], is_required, "{}", operation.name);
            let example = walkthrough.examples[&operation.name]["path"].as_str().unwrap();
            let (path, query) = example.split_once('?').unwrap_or((example, ""));
            // An export needs an event or dates, and a ticket is found by its code.
            let needed = if path.starts_with("/v1/exports/") { "eventId" } else { "code" };
            let needs_others = path.starts_with("/v1/exports/") || operation.name == "get_ticket_by_code";
            let others = if needs_others && name != needed { query } else { "" };
            let mut check = FieldCheck { operation: &operation.name, path: name, checked: 0 };
            // A query can contain strings, numbers and booleans, but no arrays, objects or null.
            let as_text = |value: &Value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
                other => Some(other.to_string()),
            };
            let is_text = walkthrough.document.resolve(&parameter["schema"])["type"] == "string";
            // The strings "1" and "true" are a valid number and a valid boolean in a query.
            let is_number_or_boolean = matches!(parameter["schema"]["type"].as_str(), Some("integer" | "boolean"));
            let is_valid_in_query = |value: &Value| is_number_or_boolean && (value == "1" || value == "true");
            let samples = samples(&walkthrough.document, &parameter["schema"], None);
            let mut send = |text: &str| client.get(&format!("{path}?{name}={}&{others}", percent_encoded(text)));
            for value in samples.invalid.iter().filter(|value| !is_text || value.is_string()) {
                if is_valid_in_query(value) {
                    continue;
                }
                if let Some(text) = as_text(value) {
                    check.assert_rejected(&send(&text), &text);
                }
            }
            for text in samples.valid.iter().filter_map(as_text) {
                check.assert_accepted(&send(&text), &text);
            }
            checked += check.checked;
        }
    }
    assert!(checked > 120, "{checked}");
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The default in the description of a field.
fn documented_default(field: &Value) -> Option<&str> {
    field["description"].as_str()?.split_once("Default: `")?.1.strip_suffix("`.")
}

#[test]
fn an_absent_field_gets_the_documented_default() {
    let walkthrough = Walkthrough::run();
    let mut client = walkthrough.server.client();
    let mut checked = 0;
    for name in ["create_event", "create_ticket_type", "create_discount", "create_webhook"] {
        let operation = walkthrough.document.operation(name);
        let schema =
            walkthrough.document.resolve(&operation.spec["requestBody"]["content"]["application/json"]["schema"]);
        let mut request = walkthrough.examples[name]["request"].clone();
        let fields = schema["properties"].as_object().unwrap();
        let defaults: Vec<_> =
            fields.iter().filter_map(|(name, field)| Some((name, documented_default(field)?))).collect();
        for (field, _) in &defaults {
            request.as_object_mut().unwrap().remove(*field);
        }
        for unique in ["slug", "code"] {
            if request.get(unique).is_some() {
                request[unique] = json!("another");
            }
        }
        let created = client.post(walkthrough.examples[name]["path"].as_str().unwrap(), &request).expect(201).json();
        for (field, default) in defaults {
            let created = match &created[field] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(created, default, "{name}: {field}");
            checked += 1;
        }
    }
    assert_eq!(checked, 16);
}
