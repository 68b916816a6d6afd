//! Everything that says how to get the package names this one. The crate with the name of the library on crates.io is another
//! one.

use std::path::Path;

use crate::common::sources;

/// The name in `Cargo.toml`.
const PACKAGE: &str = env!("CARGO_PKG_NAME");
const LIBRARY: &str = "ticketing";

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// The words of a command up to the end of the line, of the quotation or of the code.
fn words(line: &str) -> Vec<&str> {
    let end = line.find(['`', '"', '#']).unwrap_or(line.len());
    line[..end].split_whitespace().collect()
}

/// The texts behind a mark, such as the arguments of a command.
fn behind<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(mark).map(move |(start, _)| &text[start + mark.len()..])
}

/// What is wrong with the arguments of `cargo add` or `cargo install`. As long as the package is not published, they name a
/// folder or a repository, and no other package.
fn problem_of(arguments: &[&str]) -> Option<&'static str> {
    let is_value = |index: usize| index > 0 && arguments[index - 1].starts_with("--");
    let positional = |index: &usize| !arguments[*index].starts_with('-') && !is_value(*index);
    let others = (0..arguments.len()).filter(positional).any(|index| arguments[index] != PACKAGE);
    let has_source = arguments.iter().any(|argument| matches!(*argument, "--path" | "--git"));
    match (others, has_source) {
        (true, _) => Some("names another package"),
        (_, false) => Some("takes the package from crates.io, where it is not published"),
        _ => None,
    }
}

/// The places in a text that lead to another package than this one and its dependencies.
fn strangers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        for command in ["cargo add", "cargo install"] {
            found.extend(
                behind(line, command)
                    .filter_map(|rest| problem_of(&words(rest)))
                    .map(|problem| format!("{line}: {problem}")),
            );
        }
        for host in ["docs.rs/", "crates.io/crates/", "lib.rs/crates/"] {
            let of_crates = behind(line, host).map(|rest| {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
                &rest[..end]
            });
            let unknown = of_crates.filter(|name| !is_dependency(name));
            found.extend(unknown.map(|name| format!("{line}: {name} is no dependency of this package")));
        }
        if LIBRARY != PACKAGE {
            let key = line.trim_start().strip_prefix(LIBRARY).map(str::trim_start);
            let is_dependency = key.and_then(|rest| rest.strip_prefix('=')).map(str::trim_start);
            let packages = ["-p ", "--package "].iter().flat_map(|option| behind(line, option)).map(words);
            let is_named = packages.into_iter().any(|words| words.first() == Some(&LIBRARY));
            if is_dependency.is_some_and(|value| value.starts_with(['"', '{'])) || is_named {
                found.push(format!("{line}: the package is {PACKAGE}"));
            }
        }
    }
    found
}

fn is_dependency(name: &str) -> bool {
    let lock = read("Cargo.lock");
    name != PACKAGE && lock.lines().any(|line| line == format!("name = \"{name}\""))
}

#[test]
fn every_text_that_says_how_to_get_the_package_names_this_one() {
    let mut files =
        ["README.md", "Cargo.toml", ".ci/aws_lc_rs/Cargo.toml", ".github/CONTRIBUTING.md"].map(Into::into).to_vec();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["src", "examples", "benches"] {
        for extension in ["md", "rs", "html", "json"] {
            files.extend(sources::files_with_extension(&root.join(folder), extension));
        }
    }
    let mut commands = 0;
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(root.join(&file)).expect("a text");
        commands += text.matches("cargo add").count() + text.matches("cargo install").count();
        found.extend(strangers(&text).into_iter().map(|place| format!("{}: {place}", file.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(commands >= 8, "only {commands} commands were found");
}

#[test]
fn the_readme_says_how_to_add_install_and_start_it() {
    let readme = read("README.md");
    for command in [
        "cargo add --path ",
        "cargo add --git ",
        "cargo install --path . --features program",
        "cargo run --features program",
        "cargo run --example server --features server",
    ] {
        assert!(readme.contains(command), "{command}");
    }
    assert!(readme.contains(&format!("`{PACKAGE}`")) && readme.contains(&format!("`{LIBRARY}`")));
}

#[test]
fn control_texts_that_lead_to_another_package_are_found() {
    for text in [
        "cargo add ticketing",
        "//! run `cargo install ticketing --features program`.",
        "cargo install ticketing-engine --features program",
        "cargo add --git https://example.com/repository.git ticketing",
        "`cargo install --features",
        "[`server`]: https://docs.rs/ticketing/latest/ticketing/server/",
        "\"contact\": {\"url\": \"https://docs.rs/ticketing\"}",
        "https://docs.rs/ticketing-engine",
        "https://crates.io/crates/ticketing",
        "ticketing = \"0.4\"",
        "ticketing = { version = \"0.4\" }",
        "cargo test -p ticketing",
    ] {
        assert_eq!(strangers(text).len(), 1, "{text}");
    }
    for text in [
        "cargo add --path ../ticketing-engine",
        "cargo add --git https://example.com/repository.git ticketing-engine",
        "cargo add ticketing-engine --path ../ticketing-engine --features ring",
        "//! `cargo install --path . --features program,postgres` in a checkout",
        "[`tracing`](https://docs.rs/tracing)",
        "ticketing-engine = { path = \"../..\" }",
        "let ticketing = service.open();",
        "cargo test -p ticketing-engine",
    ] {
        assert_eq!(strangers(text), Vec::<String>::new(), "{text}");
    }
}
