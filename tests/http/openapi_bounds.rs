//! The document of the interface says of each field of a request what it may be. Here each of these statements is held
//! against a server: what is just within a bound is not refused for that field, and what is just beyond it is refused for
//! that field and nothing else.

use crate::common::http::{Client, Response};
use crate::walkthrough::{Document, Walkthrough};
use serde_json::{Value, json};

/// A field of a request: its place in the body, the path by which a refusal names it, and what is said of it.
#[derive(Debug)]
struct Field {
    pointer: String,
    path: String,
    schema: Value,
    required: bool,
}

/// The form of an object or a list, where null may stand beside it.
fn form<'a>(document: &'a Document, schema: &'a Value) -> &'a Value {
    let first = schema.get("anyOf").map_or(schema, |choices| &choices[0]);
    document.resolve(first)
}

/// Every field of a schema, and of what is in it.
fn fields(document: &Document, schema: &Value, pointer: &str, path: &str, found: &mut Vec<Field>) {
    let schema = form(document, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let (pointer, dot) = (format!("{pointer}/{name}"), if path.is_empty() { "" } else { "." });
        let path = format!("{path}{dot}{name}");
        let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|each| each == name));
        fields(document, field, &pointer, &path, found);
        if let Some(items) = form(document, field).get("items") {
            let (pointer, path) = (format!("{pointer}/0"), format!("{path}[0]"));
            fields(document, items, &pointer, &path, found);
            found.push(Field { pointer, path, schema: items.clone(), required: false });
        }
        found.push(Field { pointer, path, schema: field.clone(), required });
    }
}

/// Values of which a schema says that they may be, and those of which it says that they may not be. `base` is a good one.
fn values(document: &Document, schema: &Value, base: Option<&Value>) -> (Vec<Value>, Vec<Value>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let nullable =
        schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!("null"))) || schema.get("anyOf").is_some();
    let schema = &{
        let mut laid = form(document, schema).clone();
        for (name, value) in
            schema.as_object().into_iter().flatten().filter(|(name, _)| *name != "$ref" && *name != "anyOf")
        {
            laid[name] = value.clone();
        }
        laid
    };
    let kind = schema["type"].as_array().map_or(&schema["type"], |kinds| &kinds[0]).as_str();
    let Some(kind) = kind else { return (vec![json!(null), json!(5), json!("x"), json!([{}]), json!({"a": []})], bad) };
    if nullable { &mut good } else { &mut bad }.push(Value::Null);
    let number = |name: &str| schema[name].as_i64();
    match kind {
        "boolean" => {
            good.extend([json!(true), json!(false)]);
            bad.extend([json!("true"), json!(1)]);
        }
        "array" => {
            bad.extend([json!({}), json!("x")]);
            match number("minItems") {
                Some(1) => bad.push(json!([])),
                None => good.push(json!([])),
                other => panic!("a bound without a test: {other:?}"),
            }
        }
        "object" => bad.extend([json!([]), json!("x")]),
        "integer" | "number" => {
            bad.extend([json!("1"), json!({})]);
            if kind == "integer" {
                bad.push(json!(1.5));
            }
            let least = number("minimum").unwrap();
            good.push(json!(least));
            bad.push(least.checked_sub(1).map_or(json!(-1e19), |beyond| json!(beyond)));
            if let Some(most) = number("maximum") {
                good.push(json!(most));
                bad.push(json!(u64::try_from(most).unwrap() + 1));
            }
        }
        "string" => {
            bad.extend([json!(5), json!([])]);
            texts(schema, base, &mut good, &mut bad);
        }
        other => panic!("a kind without a test: {other}"),
    }
    (good, bad)
}

/// Every word that can bound a text, of those that this test knows.
const KNOWN: [&str; 10] =
    ["type", "title", "description", "default", "enum", "minLength", "maxLength", "pattern", "format", "example"];

fn texts(schema: &Value, base: Option<&Value>, good: &mut Vec<Value>, bad: &mut Vec<Value>) {
    assert!(schema.as_object().unwrap().keys().all(|word| KNOWN.contains(&word.as_str())), "{schema}");
    if let Some(choices) = schema["enum"].as_array() {
        good.extend(choices.iter().cloned());
        let first = choices[0].as_str().unwrap();
        let (small, large) = (first.to_lowercase(), first.to_uppercase());
        bad.extend([json!("NOPE"), json!(if first == small { large } else { small })]);
        return;
    }
    // More than a byte each: characters are counted.
    let of_length = |length: u64| json!("ä".repeat(usize::try_from(length).unwrap()));
    let least = schema["minLength"].as_u64().unwrap_or(0);
    let pattern = schema["pattern"].as_str().unwrap();
    let plain = pattern == r"^[^\u0000]*$";
    match schema["format"].as_str() {
        Some("date-time") => {
            let base = base.and_then(Value::as_str).unwrap_or("2026-06-10T00:00:00Z");
            good.extend([json!(base), json!(base.replace(":00Z", "Z")), json!(base.replace('Z', ".987654321Z"))]);
            good.extend([json!("1970-01-01T00:00:00Z"), json!("9999-12-31T23:59:59.999Z")]);
            bad.extend(["1969-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z"].map(Value::from));
            bad.extend([
                json!(base.replace('Z', "+00:00")),
                json!(base.replace('Z', "")),
                json!(base.replace('T', " ")),
            ]);
        }
        Some("email") => {
            good.extend(["a@b.co", "O'Neill+x@sub.example.org"].map(Value::from));
            bad.extend(["", "ada", "ada@", "a@b@example.com"].map(Value::from));
        }
        Some("uri") => {
            good.extend(["urn:x:y", "https://example.com/a?b#c"].map(Value::from));
            bad.extend(["", "example.com", "https://exa mple.com"].map(Value::from));
        }
        None if plain && schema["maxLength"] == 3 => {
            good.push(json!("EUR"));
            bad.extend([json!("EU"), json!("EURO")]);
        }
        None if plain => {
            good.push(of_length(least));
            if least > 0 {
                bad.push(of_length(least - 1));
            }
            if let Some(most) = schema["maxLength"].as_u64() {
                good.push(of_length(most));
                bad.push(of_length(most + 1));
            }
        }
        None => {
            assert_eq!(pattern, "^[a-z0-9]+(?:-[a-z0-9]+)*$");
            good.extend(["a", "0-9", "a-b-c"].map(Value::from));
            bad.extend(["", "A", "a-", "-a", "a--b", "a_b", "ä"].map(Value::from));
        }
        Some(other) => panic!("a format without a test: {other}"),
    }
    if plain || schema.get("format").is_some() {
        bad.push(json!("ab\0cd@example.com"));
    }
}

/// What depends on more than the field: refusals of a field that no schema can foresee.
const BEYOND_A_SCHEMA: [&str; 11] = [
    "must not be before startDate",
    "must be after validFrom",
    "must be after saleStartDate",
    "must be a time zone of the IANA database, such as Europe/Berlin",
    "must be an event of this organization",
    "must be a ticket type of this organization",
    "must be a ticket type of this event",
    "is not one that this event ships to",
    "is no cursor of this list",
    "Discount code not found",
    "must be an https URL of a public address, on port 443 or one from 1024 up",
];

struct Trying<'a> {
    name: &'a str,
    path: &'a str,
    tried: usize,
}

impl Trying<'_> {
    fn is_not_refused(&mut self, answer: &Response, value: &dyn std::fmt::Debug) {
        self.tried += 1;
        let Self { name, path, .. } = self;
        assert!(answer.status != 400 && answer.status < 500, "{name}: {path} = {value:?}: {answer:?}");
        if answer.status != 422 {
            return;
        }
        for error in answer.json()["errors"].as_array().unwrap() {
            let (of, message) = (error["path"].as_str().unwrap(), error["message"].as_str().unwrap());
            let foreseen = of == *path && !BEYOND_A_SCHEMA.contains(&message);
            assert!(!foreseen, "{name}: {path} = {value:?} is refused: {message}");
        }
    }

    fn is_refused(&mut self, answer: &Response, value: &dyn std::fmt::Debug) {
        self.tried += 1;
        let Self { name, path, .. } = self;
        assert_eq!(answer.status, 422, "{name}: {path} = {value:?}: {answer:?}");
        assert_eq!(answer.paths(), [*path], "{name}: {path} = {value:?}: {answer:?}");
    }
}

/// The body with another value for a field, or without the field.
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

#[test]
fn each_field_of_each_body_is_bounded_just_as_documented() {
    let walkthrough = Walkthrough::run();
    let mut tried = 0;
    for operation in walkthrough.document.operations() {
        let Some(schema) = operation.spec.pointer("/requestBody/content/application~1json/schema") else {
            continue;
        };
        let example = &walkthrough.examples[&operation.name];
        let path = example["path"].as_str().unwrap();
        let mut client: Client = walkthrough.server.client();
        let mut found = Vec::new();
        fields(&walkthrough.document, schema, "", "", &mut found);
        // An update has the same fields as its create, whose example has all of them.
        let mut base = example.get("request").cloned().unwrap_or(json!({}));
        if operation.method == "PATCH" && operation.name != "update_event_settings" {
            base = walkthrough.examples[&operation.name.replace("update", "create")]["request"].clone();
        }
        for field in found {
            let mut trying = Trying { name: &operation.name, path: &field.path, tried: 0 };
            let mut send =
                |value: Option<&Value>| client.json(&operation.method, path, &body_with(&base, &field.pointer, value));
            if !field.path.ends_with(']') {
                let absent = send(None);
                match field.required {
                    true => trying.is_refused(&absent, &"absent"),
                    false => trying.is_not_refused(&absent, &"absent"),
                }
            }
            let (good, bad) = values(&walkthrough.document, &field.schema, base.pointer(&field.pointer));
            // What is refused changes nothing, and so comes first.
            bad.iter().for_each(|value| trying.is_refused(&send(Some(value)), value));
            good.iter().for_each(|value| trying.is_not_refused(&send(Some(value)), value));
            tried += trying.tried;
        }
    }
    assert!(tried > 900, "{tried}");
}

#[test]
fn each_parameter_of_each_query_is_bounded_just_as_documented() {
    let walkthrough = Walkthrough::run();
    let mut client = walkthrough.server.client();
    let mut tried = 0;
    for operation in
        walkthrough.document.operations().into_iter().filter(|operation| operation.path.starts_with("/v1/"))
    {
        for parameter in operation.spec["parameters"].as_array().unwrap() {
            let parameter = walkthrough.document.resolve(parameter);
            if parameter["in"] != "query" {
                continue;
            }
            assert_eq!(parameter["required"], false, "{}", operation.name);
            let name = parameter["name"].as_str().unwrap();
            let path = walkthrough.examples[&operation.name]["path"].as_str().unwrap().split('?').next().unwrap();
            let mut trying = Trying { name: &operation.name, path: name, tried: 0 };
            // As text, every text is one, and so is every number and every boolean.
            let as_text = |value: &Value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
                other => Some(other.to_string()),
            };
            let is_text = walkthrough.document.resolve(&parameter["schema"])["type"] == "string";
            let (good, bad) = values(&walkthrough.document, &parameter["schema"], None);
            let mut send = |text: &str| client.get(&format!("{path}?{name}={}", encoded(text)));
            for value in bad.iter().filter(|value| !is_text || value.is_string()) {
                let other_kind = matches!((value, parameter["schema"]["type"].as_str()), (Value::String(text), Some("integer" | "boolean")) if text == "1" || text == "true");
                match as_text(value) {
                    Some(text) if !other_kind => trying.is_refused(&send(&text), &text),
                    _ => {}
                }
            }
            for text in good.iter().filter_map(as_text) {
                trying.is_not_refused(&send(&text), &text);
            }
            tried += trying.tried;
        }
    }
    assert!(tried > 120, "{tried}");
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn what_is_documented_to_stand_in_for_an_absent_field_does() {
    let walkthrough = Walkthrough::run();
    let mut client = walkthrough.server.client();
    let mut seen = 0;
    for name in ["create_event", "create_ticket_type", "create_discount", "create_webhook"] {
        let operation = walkthrough.document.operation(name);
        let schema =
            walkthrough.document.resolve(&operation.spec["requestBody"]["content"]["application/json"]["schema"]);
        let mut request = walkthrough.examples[name]["request"].clone();
        let fields = schema["properties"].as_object().unwrap();
        let defaults: Vec<_> = fields.iter().filter_map(|(name, field)| Some((name, field.get("default")?))).collect();
        defaults.iter().for_each(|(field, _)| drop(request.as_object_mut().unwrap().remove(*field)));
        for unique in ["slug", "code"] {
            if request.get(unique).is_some() {
                request[unique] = json!("another");
            }
        }
        let made = client.post(walkthrough.examples[name]["path"].as_str().unwrap(), &request).expect(201).json();
        for (field, default) in defaults {
            assert_eq!(&made[field], default, "{name}: {field}");
            seen += 1;
        }
    }
    assert_eq!(seen, 14);
}
