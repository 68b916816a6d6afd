//! Who may use whom: `server → service → payment, webhook → sales → store → rules → model → form → error`, downwards only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Each layer, and the layers below it that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("server", &["service", "payment", "webhook", "rules", "model", "form", "error", "scope", "text_enum"]),
    (
        "service",
        &[
            "payment",
            "webhook",
            "sales",
            "store",
            "rules",
            "environment",
            "model",
            "form",
            "error",
            "scope",
            "text_enum",
        ],
    ),
    ("payment", &["store", "rules", "environment", "model", "error", "text_enum"]),
    ("webhook", &["store", "rules", "environment", "model", "error", "text_enum"]),
    ("sales", &["store", "rules", "model", "form", "error", "text_enum"]),
    ("store", &["rules", "environment", "model", "form", "error", "scope", "text_enum"]),
    ("rules", &["model", "form", "error", "text_enum"]),
    ("environment", &["model"]),
    ("model", &["form", "error", "scope", "text_enum"]),
    ("form", &["error", "text_enum"]),
    // An error names the scope that is missing, and the reasons of a conflict are a text enum.
    ("error", &["scope", "text_enum"]),
    ("scope", &["text_enum"]),
    ("text_enum", &[]),
];

/// Which words stand in which files only: the words, and what the path of those files begins with.
const OWNED: &[(&[&str], &str)] = &[
    (&["rusqlite", "r2d2", "r2d2_sqlite"], "store/engine/sqlite/"),
    (&["ureq", "rustls"], "webhook/"),
    (&["axum", "tokio", "hyper", "hyper_util", "prometheus_client", "tower"], "server/"),
];

/// What no file of `model` says: words of SQL and of HTTP.
const NOT_IN_MODEL: &[&str] = &["SELECT", "INSERT", "DELETE", "VALUES", "StatusCode", "HeaderMap", "header", "http"];

/// The code of a file without its comments.
fn code_of(text: &str) -> String {
    let cut = |line: &str| {
        let comment = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':')).map(|(at, _)| at);
        line[..comment.unwrap_or(line.len())].to_owned()
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// The words of a text: names and numbers.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// What follows each `crate::`: the paths of its first two parts, those in braces one by one.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let rest = rest.split(';').next().unwrap_or_default();
        let two = |path: &str| {
            let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
            path[..end].split("::").take(2).collect::<Vec<_>>().join("::")
        };
        match rest.strip_prefix('{') {
            None => drop(paths.insert(two(rest))),
            Some(list) => {
                let mut depth = 0;
                let mut part = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => drop(paths.insert(two(std::mem::take(&mut part).trim()))),
                        _ if depth == 0 => part.push(c),
                        _ => {}
                    }
                }
                paths.insert(two(part.trim()));
            }
        }
    }
    paths.retain(|path| !path.is_empty());
    paths
}

/// What a file says that it must not. `path` is relative to `src`, with slashes.
fn complaints(path: &str, text: &str) -> Vec<String> {
    let code = code_of(text);
    let mut found = Vec::new();
    for (owned, owner) in OWNED {
        if !path.starts_with(owner) {
            found.extend(words(&code).filter(|word| owned.contains(word)).map(|word| format!("{path} names {word}")));
        }
    }
    let layer = path.split(['/', '.']).next().unwrap_or_default();
    if layer == "model" {
        found.extend(words(&code).filter(|word| NOT_IN_MODEL.contains(word)).map(|word| format!("{path} says {word}")));
    }
    if layer == "lib" {
        return found;
    }
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
        found.push(format!("{path} is in no layer"));
        return found;
    };
    for used in crate_paths(&code) {
        let first = used.split("::").next().unwrap_or_default();
        let known = LAYERS.iter().any(|(name, _)| *name == first);
        if first == layer || allowed.contains(&first) || allowed.contains(&used.as_str()) {
            continue;
        }
        // What is no layer is one of the crate's re-exports: the server may take those, and nobody below it needs them.
        if known || layer != "server" {
            found.push(format!("{path} uses {used}"));
        }
    }
    // The way around: up to the root, and down again.
    let up = if path.ends_with("/mod.rs") && path.matches('/').count() == 1 { "super::" } else { "super::super::" };
    for (name, _) in LAYERS.iter().filter(|(name, _)| *name != layer && !allowed.contains(name)) {
        if code.contains(&format!("{up}{name}::")) {
            found.push(format!("{path} uses {up}{name}"));
        }
    }
    found
}

fn files_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_under(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_layer_uses_only_what_is_below_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    files_under(&source, &mut files);
    assert!(files.len() > 50, "the sources are there");
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&source).expect("under src").to_string_lossy().replace('\\', "/");
        found.extend(complaints(&path, &std::fs::read_to_string(&file).expect("text")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_the_rule_forbids_is_found() {
    for (path, text) in [
        ("server/orders.rs", "use crate::store::orders;"),
        ("server/orders.rs", "use crate::{error::Error, store::{orders, events}};"),
        ("rules/order.rs", "fn f() { crate::store::x() }"),
        ("store/orders.rs", "use crate::service::TicketingService;"),
        ("store/orders.rs", "use rusqlite::Connection;"),
        ("store/engine/writer.rs", "use rusqlite::Connection;"),
        ("store/mod.rs", "use super::payment::Checkout;"),
        ("payment/mod.rs", "let agent = ureq::agent();"),
        ("model/order.rs", "use crate::rules::Checked;"),
        ("model/order.rs", "const SQL: &str = \"SELECT 1\";"),
        ("model/order.rs", "use crate::environment::Clock;"),
        ("payment/mod.rs", "use crate::webhook::Sender;"),
        ("service/orders.rs", "use axum::Json;"),
        ("service/orders.rs", "let x = tokio::spawn(y);"),
        ("error.rs", "use crate::model::order::Order;"),
        ("store/orders.rs", "use crate::Order;"),
        ("extra.rs", ""),
    ] {
        assert!(!complaints(path, text).is_empty(), "{path}: {text}");
    }
    for (path, text) in [
        ("server/orders.rs", "use axum::Json; use crate::service::TicketingService;"),
        ("server/orders.rs", "fn f(service: &crate::TicketingService) {}"),
        ("rules/order.rs", "/// See [`crate::TicketingService`].\nuse crate::model::order::Order; // not crate::store"),
        ("store/engine/sqlite/database.rs", "use rusqlite::Connection;"),
        ("rules/text.rs", "const URI: &str = \"https://example.com\";"),
        ("lib.rs", "pub use crate::service::TicketingService;"),
    ] {
        assert_eq!(complaints(path, text), [""; 0], "{path}: {text}");
    }
}

/// What of SQL only SQLite understands: its own words, and the greater or smaller of two values by MAX and MIN.
fn only_of_sqlite(text: &str) -> Vec<&str> {
    let own =
        ["INSERT OR ", "REPLACE INTO", "rowid", "IFNULL(", "GLOB ", "STRFTIME(", "strftime(", "datetime(", "IIF("];
    let mut found: Vec<&str> = own.into_iter().filter(|words| text.contains(words)).collect();
    for name in ["MAX(", "MIN("] {
        for (at, _) in text.match_indices(name) {
            let mut depth = 0;
            let inside = text[at + name.len()..].chars().map(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                (c, depth)
            });
            // A comma further in is of another call.
            let comma = inside.take_while(|(_, depth)| *depth >= 0).any(|inside| inside == (',', 0));
            found.extend(comma.then_some(name));
        }
    }
    found
}

#[test]
fn no_statement_says_what_only_sqlite_understands() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut files = Vec::new();
    files_under(&store, &mut files);
    files.retain(|file| !file.starts_with(store.join("engine/sqlite")));
    assert!(files.len() > 20, "the statements are there");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text");
        assert_eq!(only_of_sqlite(&code_of(&text)), [""; 0], "{}", file.display());
    }
    assert_eq!(only_of_sqlite("SET at = MAX(at, ?1), n = MIN(f(a), 2)"), ["MAX(", "MIN("]);
    assert_eq!(only_of_sqlite("SELECT MAX(f(a, b)), MIN(a) FROM t"), [""; 0]);
}
