//! Parameters of queries: an operation refuses those that it does not have, and values that cannot exist.

use std::collections::BTreeSet;

use crate::common::http::Response;
use crate::http::walkthrough::{Operation, Walkthrough};

/// The names of an operation's query parameters.
fn names(walkthrough: &Walkthrough, operation: &Operation) -> BTreeSet<String> {
    let parameters = operation.spec["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.map(|parameter| walkthrough.document.resolve(parameter));
    let names = parameters.filter(|parameter| parameter["in"] == "query").map(|parameter| &parameter["name"]);
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// The operations with an API key.
fn operations(walkthrough: &Walkthrough) -> Vec<Operation> {
    let operations = walkthrough.document.operations().into_iter();
    operations.filter(|operation| operation.path.starts_with("/v1/")).collect()
}

/// Sends the example of an operation with more parameters.
fn send(walkthrough: &Walkthrough, operation: &Operation, query: &str) -> Response {
    let example = &walkthrough.examples[&operation.name];
    let path = example["path"].as_str().unwrap();
    let path = format!("{path}{}{query}", if path.contains('?') { '&' } else { '?' });
    let mut client = walkthrough.server.client();
    match example.get("request") {
        Some(body) => client.json(&operation.method, &path, body),
        None => client.send(&operation.method, &path, &[], b""),
    }
}

#[test]
fn every_operation_refuses_each_parameter_that_it_does_not_have() {
    let walkthrough = Walkthrough::run();
    let operations = operations(&walkthrough);
    let all: BTreeSet<_> = operations.iter().flat_map(|operation| names(&walkthrough, operation)).collect();
    assert!(all.len() > 30, "{all:?}");
    let mut refused = 0;
    for operation in &operations {
        let own = names(&walkthrough, operation);
        let capital = |name: &String| format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        let in_other_cases =
            own.iter().flat_map(|name| [name.to_uppercase(), name.to_lowercase(), capital(name), format!("{name} ")]);
        let others = ["_", "page", "kind", "limit[]"].map(str::to_owned).into_iter().chain(in_other_cases);
        let unknown: BTreeSet<_> = all.iter().cloned().chain(others).filter(|name| !own.contains(name)).collect();
        for name in unknown {
            let response =
                send(&walkthrough, operation, &format!("{}=1", name.replace(' ', "+").replace("[]", "%5B%5D")));
            let response = response.expect(422);
            assert_eq!(response.paths(), [name.as_str()], "{} {name}", operation.name);
            refused += 1;
        }
    }
    assert!(refused > 1500, "{refused}");
}

#[test]
fn every_operation_refuses_a_parameter_that_is_given_twice() {
    let walkthrough = Walkthrough::run();
    let mut refused = 0;
    for operation in operations(&walkthrough) {
        for name in names(&walkthrough, &operation) {
            let response = send(&walkthrough, &operation, &format!("{name}=1&{name}=1")).expect(422);
            let is_named =
                |error: &serde_json::Value| error["path"] == name && error["message"] == "is given more than once";
            assert!(response.problem()["errors"].as_array().unwrap().iter().any(is_named), "{} {name}", operation.name);
            refused += 1;
        }
    }
    assert!(refused > 80, "{refused}");
}
