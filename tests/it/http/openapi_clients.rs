//! The OpenAPI document has only what generators of clients understand, and texts that make sense to its readers. Most
//! tests are about something that made a generator write a client that does not work.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::http::Server;
use crate::http::walkthrough::{Document, METHODS};
use serde_json::Value;

/// Collects a value and everything in it, each with its JSON pointer.
fn collect_values<'a>(value: &'a Value, path: &str, found: &mut BTreeMap<String, &'a Value>) {
    found.insert(path.to_owned(), value);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                collect_values(member, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_values(item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Every value of the document except the examples, which are not part of any schema.
fn values(document: &Document) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    collect_values(&document.0, "", &mut found);
    found.retain(|path, _| !path.contains("/example/") && !path.contains("/examples/"));
    found
}

/// The values of the document at the wanted paths, everything in them, and everything that they refer to.
fn reachable(document: &Document, is_wanted: impl Fn(&str) -> bool) -> BTreeMap<String, &Value> {
    let all = values(document);
    let is_below = |path: &str, parent: &str| path == parent || path.starts_with(&format!("{parent}/"));
    let mut found: BTreeMap<String, &Value> = BTreeMap::new();
    let mut pending: Vec<_> = all.keys().filter(|path| is_wanted(path)).cloned().collect();
    while let Some(parent) = pending.pop() {
        for (path, value) in all.iter().filter(|(path, _)| is_below(path, &parent)) {
            if found.insert(path.clone(), value).is_none()
                && let Some(reference) = value["$ref"].as_str()
            {
                pending.push(reference.strip_prefix('#').unwrap().to_owned());
            }
        }
    }
    found
}

fn document() -> Document {
    Document::of(&Server::start())
}

#[test]
fn no_tag_is_shared_by_operations_and_notifications() {
    let document = document();
    let tags = |section: &str| {
        let items = document.0[section].as_object().unwrap().values();
        let operations = items.flat_map(|item| METHODS.iter().filter_map(|method| item.get(*method)));
        let tags = operations.flat_map(|operation| operation["tags"].as_array().unwrap());
        tags.map(|tag| tag.as_str().unwrap()).collect::<BTreeSet<_>>()
    };
    let of_operations = tags("paths");
    let of_notifications = tags("webhooks");
    assert!(of_operations.contains("Webhooks"));
    assert_eq!(of_notifications, BTreeSet::from(["Notifications"]));
    assert!(of_operations.is_disjoint(&of_notifications));
    let declared = document.0["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap());
    assert_eq!(declared.collect::<BTreeSet<_>>(), &of_operations | &of_notifications);
}

#[test]
fn timestamps_are_text_with_a_pattern_in_requests_and_dates_in_responses() {
    let document = document();
    let mut in_requests = 0;
    let is_request = |path: &str| path.ends_with("/requestBody") || path.ends_with("/parameters");
    for (path, schema) in reachable(&document, |path| path.starts_with("/paths/") && is_request(path)) {
        assert!(schema.get("format").is_none_or(|format| format != "date-time"), "{path}: {schema}");
        if schema["pattern"].as_str().is_some_and(|pattern| pattern.contains("Z$")) {
            in_requests += 1;
            for (text, is_valid) in [
                ("2100-06-01T18:00:00Z", true),
                ("2100-06-01T18:00:00.123456Z", true),
                ("2100-06-01T18:00Z", true),
                ("2100-06-01T18:00:00+00:00", false),
                ("2100-06-01T18:00:00", false),
                ("2100-06-01 18:00:00Z", false),
                ("1969-12-31T23:59:59Z", false),
            ] {
                let errors = document.schema_errors(schema, &text.into());
                assert_eq!(errors.is_empty(), is_valid, "{path}: {text}: {errors:?}");
            }
        }
    }
    // 2 and 2 of events, 5 and 5 of ticket types, 2 and 2 of discounts; of lists 2 of events, 6 of orders, 2 of tickets,
    // 2 of payments, 2 of ledger entries; 1 of a scan, 1 of the list of scans, 1 of a door link; 2 of sales, 2 of
    // arrivals; 2 of each of 3 exports.
    assert_eq!(in_requests, if cfg!(feature = "exports") { 45 } else { 39 });
    let mut in_responses = 0;
    let is_response = |path: &str| path.starts_with("/paths/") && path.ends_with("/responses");
    // To a receiver, the request with a notification is like a response.
    for (path, schema) in reachable(&document, |path| is_response(path) || path == "/webhooks") {
        if schema.get("format").is_some_and(|format| format == "date-time") {
            in_responses += 1;
            assert!(schema.get("pattern").is_none(), "{path}: {schema}");
        }
    }
    assert!(in_responses > 40, "{in_responses}");
}

#[test]
fn patterns_use_only_what_all_regular_expressions_have_in_common() {
    let document = document();
    let mut patterns = BTreeSet::new();
    for (path, pattern) in values(&document).into_iter().filter(|(path, _)| path.ends_with("/pattern")) {
        let Some(pattern) = pattern.as_str() else { panic!("{path}: {pattern}") };
        patterns.insert(pattern);
        assert!(pattern.starts_with('^') && pattern.ends_with('$') && pattern.is_ascii(), "{path}: {pattern}");
        for escape in pattern.split('\\').skip(1) {
            let code = escape.strip_prefix('x').and_then(|rest| rest.get(..2));
            let is_ascii = code.is_some_and(|code| u8::from_str_radix(code, 16).is_ok_and(|code| code.is_ascii()));
            assert!(is_ascii || escape.starts_with('.'), "{path}: {pattern}");
        }
        for group in pattern.split("(?").skip(1) {
            assert!(group.starts_with(':'), "{path}: {pattern}");
        }
    }
    assert!(patterns.contains(r"^[^\x00]*$"), "{patterns:?}");
}

#[test]
fn no_schema_has_a_default_and_only_types_of_notifications_are_constants() {
    let document = document();
    let all = values(&document);
    let has_end = |end: &'static str| all.iter().filter(move |(path, _)| path.ends_with(end)).map(|(path, _)| path);
    let default_response = "/responses/default";
    assert_eq!(has_end("/default").filter(|path| !path.ends_with(default_response)).collect::<Vec<_>>(), [""; 0]);
    for path in has_end("/const") {
        assert!(path.ends_with("Notification/properties/type/const"), "{path}");
    }
}

#[test]
fn every_problem_has_the_same_named_schema() {
    let document = document();
    let media_type = "application~1problem+json";
    let mut problems = 0;
    for (path, schema) in values(&document) {
        if path.ends_with(&format!("/{media_type}/schema")) {
            assert_eq!(schema, &serde_json::json!({"$ref": "#/components/schemas/ProblemDetails"}), "{path}");
            problems += 1;
        }
    }
    // The shared responses, and the conflicts of every POST and of a few other operations.
    assert!(problems > 25, "{problems}");
    // The description of a response names each kind of problem and each reason in its examples.
    for operation in document.operations() {
        for (status, response) in operation.spec["responses"].as_object().unwrap() {
            let response = document.resolve(response);
            let examples = &response["content"]["application/problem+json"]["examples"];
            for (name, example) in examples.as_object().into_iter().flatten() {
                let description = response["description"].as_str().unwrap();
                let kind = example["value"]["type"].as_str().unwrap();
                let is_named = |text: &str| description.contains(&format!("`{text}`"));
                assert!(is_named(kind), "{} {status} {name}: {description}", operation.name);
                let reason = example["value"]["reason"].as_str();
                assert!(reason.is_none_or(is_named), "{} {status} {name}: {description}", operation.name);
            }
        }
    }
}

/// The name of the schema that a schema refers to, also if it allows null in addition.
fn referred_name(schema: &Value) -> Option<&str> {
    let schema = schema.get("anyOf").map_or(schema, |alternatives| &alternatives[0]);
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

#[test]
fn every_id_and_cursor_has_a_named_schema() {
    /// Fields whose text is not an id of this service's resources.
    const NOT_IDS: [&str; 1] = ["requestId"];
    let document = document();
    let mut names = BTreeSet::new();
    let mut check = |path: &str, field: &str, schema: &Value| {
        let is_id = field == "id" || field.ends_with("Id") || field.to_lowercase().ends_with("cursor");
        // Devices make their own ids, and their cursor says where a roster goes on.
        let is_of_device = schema["format"] == "uuid" || path.ends_with("/Roster/properties/cursor");
        if is_id && !is_of_device && !NOT_IDS.contains(&field) {
            let name = referred_name(schema).unwrap_or_else(|| panic!("{path} has no named schema: {schema}"));
            names.insert(name.to_owned());
        }
    };
    for (path, value) in values(&document) {
        if let Some((_, field)) = path.rsplit_once("/properties/") {
            check(&path, field, value);
        }
        if matches!(value["in"].as_str(), Some("path" | "query")) {
            check(&path, value["name"].as_str().unwrap(), &value["schema"]);
        }
    }
    let expected = [
        "AllocationId",
        "ApiKeyId",
        "CancellationRunId",
        "CustomerId",
        "DiscountId",
        "DisputeId",
        "EventId",
        "LedgerEntryId",
        #[cfg(feature = "mail")]
        "MailId",
        "NotificationId",
        "OrderId",
        "OrderItemId",
        "OrganizationId",
        "OutboxId",
        "PaymentId",
        "RefundId",
        "ScanId",
        "TicketId",
        "TicketTypeId",
        "WebhookDeliveryId",
        "WebhookId",
    ];
    assert_eq!(names, expected.map(str::to_owned).into());
}

#[test]
fn every_json_body_of_an_operation_has_a_named_schema() {
    let document = document();
    for (path, schema) in values(&document) {
        // Neither this document nor the manifest of a page is the body of an operation.
        let is_file = path.contains("openapi.json") || path.contains("manifest+json");
        if path.ends_with("json/schema") && !is_file {
            assert!(referred_name(schema).is_some(), "{path}: {schema}");
        }
    }
}

#[test]
fn the_document_has_a_contact_descriptions_and_the_redirect_of_the_checkout_form() {
    let document = document();
    let info = &document.0["info"];
    assert!(!info["contact"]["name"].as_str().unwrap().is_empty());
    // The crate has no address, and that of a published crate of this name is another one's.
    assert_eq!((&info["contact"]["url"], &document.0["externalDocs"]), (&Value::Null, &Value::Null));
    for operation in document.operations() {
        assert!(!operation.spec["description"].as_str().unwrap().is_empty(), "{}", operation.name);
    }
    let redirect = &document.operation("finish_checkout").spec["responses"]["303"];
    assert!(document.resolve(&redirect["headers"]["Location"])["required"] == true, "{redirect}");
}

#[test]
fn every_operation_and_path_parameter_is_documented() {
    let document = document();
    for operation in document.operations() {
        assert!(!operation.spec["summary"].as_str().unwrap().is_empty(), "{}", operation.name);
    }
    let mut parameters = 0;
    for (path, parameter) in values(&document).into_iter().filter(|(_, value)| value["in"] == "path") {
        assert!(!parameter["description"].as_str().unwrap().is_empty(), "{path}: {parameter}");
        assert!(parameter["schema"].as_object().is_some_and(|schema| !schema.is_empty()), "{path}: {parameter}");
        parameters += 1;
    }
    assert!(parameters > 30, "{parameters}");
}

/// The documentation of the types in `model` is used as it is, so it must make sense to clients of the API.
#[test]
fn descriptions_contain_no_rust() {
    let document = document();
    let mut all = BTreeMap::new();
    collect_values(&document.0, "", &mut all);
    let descriptions = all.into_iter().filter(|(path, _)| path.ends_with("/description"));
    let descriptions: Vec<_> = descriptions.filter_map(|(_, value)| value.as_str()).collect();
    assert!(descriptions.len() > 500, "{}", descriptions.len());
    let is_snake_case = |name: &str| name.contains('_') && name.contains(|letter: char| letter.is_lowercase());
    let is_rust_name = |name: &str| is_snake_case(name) && !name.ends_with(['_', '…']) && !name.contains(':');
    let has_rust = |text: &&str| {
        let mut code = text.split('`').skip(1).step_by(2);
        text.contains('[') && text.contains("`]") || code.any(|code| code == "None" || is_rust_name(code))
    };
    let with_rust: Vec<_> = descriptions.into_iter().filter(has_rust).collect();
    assert!(with_rust.is_empty(), "{with_rust:#?}");
}
