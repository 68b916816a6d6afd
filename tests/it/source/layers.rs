//! The layers of `src`, and which of them each may use: `server → service, pages → payments → payment, documents, webhook
//! → write → sales → store → rules → model → form → error`, downwards only. `stripe` is above `payment` and `webhook`, and
//! no layer uses it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::imports::{self, Sources};
use crate::common::sources;

/// Each layer, and the layers below it that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "server",
        &[
            "service",
            "pages",
            "payment",
            "documents",
            "exports",
            "webhook",
            // A request that prepares a write, and waits for it without a thread.
            "write",
            "environment",
            "model",
            "form",
            "error",
            "fair",
            "enums",
        ],
    ),
    (
        "service",
        &[
            "payments",
            "payment",
            "mail",
            "documents",
            "exports",
            "webhook",
            "work",
            "write",
            "sales",
            "store",
            "rules",
            "environment",
            "model",
            "form",
            "error",
            "enums",
        ],
    ),
    ("mail", &["pages", "documents", "words", "rules", "environment", "model", "error"]),
    ("pages", &["documents", "words", "rules", "model", "form", "error"]),
    ("stripe", &["https", "payment", "webhook", "environment", "model", "error", "fair"]),
    ("payment", &["rules", "environment", "model", "form", "error", "fair"]),
    ("documents", &["words", "rules", "environment", "model", "form", "error", "fair"]),
    ("exports", &["store", "rules", "environment", "model", "form", "error"]),
    ("webhook", &["https", "store", "rules", "environment", "model", "error", "fair"]),
    // What is asked of a payment gateway, and when.
    ("payments", &["payment", "write", "sales", "store", "rules", "environment", "model", "form", "error", "fair"]),
    // The queue of what is done later.
    ("work", &["write", "store", "environment", "model", "error"]),
    // The pipeline of every change.
    ("write", &["sales", "store", "environment", "model", "form", "error", "fair", "enums"]),
    ("sales", &["store", "https", "rules", "model", "form", "error"]),
    ("store", &["https", "rules", "environment", "model", "form", "error", "fair", "enums"]),
    ("words", &["rules", "model"]),
    ("rules", &["model", "form", "error"]),
    ("environment", &["model"]),
    ("model", &["form", "error", "enums"]),
    ("form", &["error", "enums"]),
    // An error names the scope that is missing, and the reasons of a conflict are a text enum.
    ("error", &["enums"]),
    ("enums", &[]),
    ("https", &["environment", "error", "fair"]),
    ("fair", &["environment", "model"]),
    // Documentation only.
    ("guide", &[]),
];

/// The order of the folders in a layer or a folder, from the top: a folder uses only folders that stand after it. Files
/// beside the folders have no place in it.
const FOLDERS: &[(&str, &[&str])] = &[
    ("server", &["public", "openapi", "operations", "http", "net", "prometheus", "responses"]),
    ("service", &["facade", "background", "database", "figures", "reconciliation", "opening", "calls", "state"]),
    ("stripe", &["objects", "api"]),
    ("sales", &["checkouts", "orders", "money", "tickets", "catalog"]),
    (
        "store",
        &[
            "check",
            "money",
            "order",
            "webhooks",
            "tickets",
            "sale",
            "tenants",
            "lists",
            "engine",
            "commits",
            "migrations",
        ],
    ),
    ("store/engine", &["postgres", "sqlite", "sql"]),
    ("store/engine/postgres", &["writing", "connections", "statements", "net"]),
    ("store/engine/sqlite", &["inspection", "files"]),
    ("rules", &["entrance", "money"]),
    ("model", &["notifications", "operation", "payments", "tickets", "sale", "tenants", "values"]),
    ("form", &["declare", "json"]),
];

/// Which words stand in which files only: the words, and what the paths of those files begin with.
const OWNED: &[(&[&str], &[&str])] = &[
    (&["rusqlite"], &["store/engine/sqlite/"]),
    (&["bytes::BytesMut"], &["store/engine/postgres/"]),
    (&["tokio_postgres", "tokio_postgres_rustls", "webpki_roots"], &["store/engine/postgres/"]),
    (
        &["ureq"],
        &[
            "https/",
            "webhook/https_transport.rs",
            "webhook/https_failure.rs",
            "stripe/api/client.rs",
            "stripe/api/key_connection.rs",
            "stripe/builder.rs",
        ],
    ),
    (
        &["rustls"],
        &[
            "https/",
            "webhook/https_transport.rs",
            "webhook/https_failure.rs",
            "stripe/api/client.rs",
            "stripe/api/key_connection.rs",
            "stripe/builder.rs",
            "store/engine/postgres/",
            "service/opening/postgres_database.rs",
        ],
    ),
    (&["unversioned", "unversioned_rustls_crypto_provider"], &["https/ureq_traits.rs"]),
    (&["form_urlencoded"], &["server/", "stripe/api/form.rs"]),
    (&["lettre"], &["mail/"]),
    (&["fast_qr", "hashlink", "icu_properties", "krilla", "parley"], &["documents/"]),
    (&["data_url", "zune_jpeg"], &["form/picture.rs"]),
    (&["rust_xlsxwriter"], &["exports/"]),
    (&["axum", "httparse", "hyper", "hyper_util", "prometheus_client", "socket2", "tower"], &["server/"]),
    (
        &["tokio"],
        &[
            "server/",
            "service/calls/async_calls.rs",
            "write/blocking_threads.rs",
            "store/engine/jobs.rs",
            "store/engine/postgres/net/pipelining_client.rs",
            "store/engine/postgres/net/hosts.rs",
        ],
    ),
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
    // A feature has the name of its crate.
    let code = code_of(text).replace("feature = \"tokio\"", "");
    let mut found = Vec::new();
    for (owned, owners) in OWNED {
        if !owners.iter().any(|owner| path.starts_with(owner)) {
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

/// The files of the library: the program in `bin` is a user of it.
fn files_of_the_library() -> Vec<PathBuf> {
    let files = sources::files_under("src").into_iter();
    files.filter(|file| !file.starts_with(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin"))).collect()
}

#[test]
fn every_layer_uses_only_what_is_below_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_of_the_library();
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
        ("store/engine/transaction.rs", "use rusqlite::Connection;"),
        ("store/mod.rs", "use super::payment::Checkout;"),
        ("payment/mod.rs", "let agent = ureq::agent();"),
        ("https/tcp.rs", "use ureq::unversioned::transport::Transport;"),
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

/// Folders in which files still use each other in a circle. Remove an entry as soon as its circle is gone.
const KNOWN_CYCLES: &[&str] = &[];

fn sources() -> Sources {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_of_the_library();
    let relative = |file: &Path| file.strip_prefix(&source).expect("under src").to_string_lossy().replace('\\', "/");
    files.iter().map(|file| (relative(file), std::fs::read_to_string(file).expect("text"))).collect()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let cycles = imports::cycles(&imports::uses(&sources()));
    let lies_in = |cycle: &BTreeSet<String>, folder: &str| cycle.iter().all(|file| file.starts_with(folder));
    for cycle in &cycles {
        assert!(KNOWN_CYCLES.iter().any(|folder| lies_in(cycle, folder)), "a new circle: {cycle:?}");
    }
    for folder in KNOWN_CYCLES {
        assert!(cycles.iter().any(|cycle| lies_in(cycle, folder)), "{folder} has no circle any more: remove its entry");
    }
}

#[test]
fn no_file_uses_a_file_of_a_layer_above_it() {
    let layer_of = |file: &str| file.split(['/', '.']).next().unwrap_or_default().to_owned();
    let uses = imports::uses(&sources());
    assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 400, "the paths are resolved");
    let mut found = Vec::new();
    for (file, used) in &uses {
        let layer = layer_of(file);
        let (_, allowed) = LAYERS.iter().find(|(name, _)| *name == layer).expect("a layer");
        for other in used {
            let below = layer_of(other);
            if below != layer && !allowed.contains(&below.as_str()) {
                found.push(format!("{file} uses {other}"));
            }
        }
    }
    assert_eq!(found, [""; 0]);
}

/// The folder in which both files are and the folders of each in it, if they are in two.
fn folders_of<'a>(file: &'a str, other: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
    let same = file.split('/').zip(other.split('/')).take_while(|(one, two)| one == two).map(|(one, _)| one.len() + 1);
    let common = same.sum::<usize>().checked_sub(1)?;
    let folder = |path: &'a str| Some(path[common + 1..].split_once('/')?.0);
    Some((&file[..common], folder(file)?, folder(other)?))
}

/// The uses from a folder to a folder above it, and the uses of folders that are not listed.
fn uses_upwards(uses: &imports::Uses) -> Vec<String> {
    let mut found = Vec::new();
    for (file, used) in uses {
        for other in used {
            let Some((parent, from, to)) = folders_of(file, other) else { continue };
            let order = FOLDERS.iter().find(|(name, _)| *name == parent).map_or(&[][..], |(_, order)| order);
            let place = |folder: &str| order.iter().position(|listed| *listed == folder);
            if place(from).zip(place(to)).is_none_or(|(from, to)| from > to) {
                found.push(format!("{file} uses {other}"));
            }
        }
    }
    found
}

#[test]
fn every_folder_of_a_layer_uses_only_those_below_it() {
    assert_eq!(uses_upwards(&imports::uses(&sources())), [""; 0]);
    // Every folder is listed, and every listed folder is there.
    let all = sources();
    let files: Vec<_> = all.keys().map(String::as_str).collect();
    for (parent, order) in FOLDERS {
        let begin = format!("{parent}/");
        let folders = files.iter().filter_map(|file| Some(file.strip_prefix(&begin)?.split_once('/')?.0));
        assert_eq!(folders.collect::<BTreeSet<_>>(), order.iter().copied().collect(), "{parent}");
    }
}

#[test]
fn a_planted_use_upwards_between_folders_is_found() {
    let mut planted = sources();
    let lowest = planted.get_mut("store/sale/events.rs").expect("the file");
    lowest.push_str("\nfn planted() { crate::store::order::orders::planted() }\n");
    assert_eq!(uses_upwards(&imports::uses(&planted)), ["store/sale/events.rs uses store/order/orders.rs"]);
}

#[test]
fn every_layer_uses_what_it_may_use() {
    let layer_of = |file: &str| file.split(['/', '.']).next().unwrap_or_default().to_owned();
    let uses = imports::uses(&sources());
    let used: BTreeSet<(String, String)> =
        uses.iter().flat_map(|(file, used)| used.iter().map(|other| (layer_of(file), layer_of(other)))).collect();
    let allowed =
        LAYERS.iter().flat_map(|(layer, below)| below.iter().map(|below| ((*layer).to_owned(), (*below).to_owned())));
    let unused: Vec<_> = allowed.filter(|pair| !used.contains(pair)).collect();
    assert_eq!(unused, [], "remove these from the list");
}

#[test]
fn planted_cycles_between_files_are_found() {
    let cycles_of = |files: &[(&str, &str)]| {
        let sources = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let cycles = imports::cycles(&imports::uses(&sources));
        cycles.iter().map(|files| files.iter().cloned().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let root = ("lib.rs", "mod a; mod b; pub use a::A;");
    for (a, b) in [
        ("use crate::b::B; pub struct A;", "use crate::a::A; pub struct B;"),
        ("use super::b::{self, B}; pub struct A;", "pub struct B; fn f() { crate::a::g() }"),
        ("use crate::{b as other}; fn f() { other::g() }", "pub(crate) fn g() { super::a::f() }"),
        // Through the re-export of the root.
        ("fn f(b: crate::b::B) {}", "use crate::A; pub struct B;"),
        ("use crate::b::*; pub struct A;", "use crate::a::A;"),
        ("macro_rules! m { () => { $crate::b::B } }", "use super::a::m; pub struct B;"),
        ("mod inner { use super::super::b::B; }", "fn f() { crate::a::inner::g(); } pub struct B;"),
    ] {
        assert_eq!(cycles_of(&[root, ("a.rs", a), ("b.rs", b)]), ["a.rs b.rs"], "{a} | {b}");
    }
    for (a, b) in [
        ("use crate::b::B; pub struct A;", "pub struct B; // crate::a::A"),
        ("use crate::b::B; pub struct A;", "const TEXT: &str = \"crate::a::A\"; pub struct B;"),
        ("use crate::b::B; pub struct A;", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
        ("use crate::b::B; pub struct A;", "use std::collections::BTreeMap as A; pub struct B;"),
    ] {
        assert_eq!(cycles_of(&[root, ("a.rs", a), ("b.rs", b)]), [""; 0], "{a} | {b}");
    }
    // What a folder's `mod.rs` only re-exports is no use by `mod.rs`; what it uses itself is one.
    let c = ("folder/c.rs", "use super::D; pub struct C;");
    let lib = ("lib.rs", "mod folder;");
    let re_exports = ("folder/mod.rs", "mod c; mod d; pub(crate) use c::C; pub(crate) use d::D;");
    let d = ("folder/d.rs", "pub struct D;");
    assert_eq!(cycles_of(&[lib, re_exports, c, d]), [""; 0]);
    let defines = ("folder/mod.rs", "mod c; pub(crate) use c::C; pub(crate) struct D { c: C }");
    assert_eq!(cycles_of(&[lib, defines, c]), ["folder/c.rs folder/mod.rs"]);
    let through_the_folder = ("folder/d.rs", "pub struct D; use super::C;");
    assert_eq!(cycles_of(&[lib, re_exports, c, through_the_folder]), ["folder/c.rs folder/d.rs"]);
}
