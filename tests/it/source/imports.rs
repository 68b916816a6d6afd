//! Which source file uses which: the paths in the code, resolved to the file that defines the named item.
//!
//! A path through a re-export (`pub use`) counts as a use of the file that defines the item, not of the file that
//! re-exports it. The path of a module on its own counts as nothing: the paths that go through it do.

use std::collections::{BTreeMap, BTreeSet};

/// The sources of a crate, by their path relative to `src`, with slashes.
pub type Sources = BTreeMap<String, String>;

/// The files that each file uses, other than itself.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// One module: a file, or an inline `mod name { … }` of a file.
#[derive(Debug, Default)]
struct Module {
    file: String,
    children: BTreeSet<String>,
    imports: Vec<Import>,
    /// The other paths in its code, in the order of their appearance.
    paths: Vec<Vec<String>>,
    /// Every name in its code outside `use` declarations.
    names: BTreeSet<String>,
}

/// One name that a `use` declaration brings into scope.
#[derive(Debug)]
struct Import {
    path: Vec<String>,
    /// The name in this module; `None` for `*`.
    name: Option<String>,
    is_public: bool,
}

/// Modules by their path from the crate root.
type Modules = BTreeMap<Vec<String>, Module>;

/// What a path leads to.
#[derive(Debug, PartialEq)]
enum Target {
    Module(Vec<String>),
    /// An item that a file defines.
    Item(String),
}

/// Finds which file uses which. Unit tests (`#[cfg(test)]`) and `lib.rs`, which re-exports everything, do not count.
pub fn uses(sources: &Sources) -> Uses {
    let modules = modules(sources);
    let mut uses = Uses::new();
    for (at, module) in modules.iter().filter(|(_, module)| module.file != "lib.rs") {
        let used = uses.entry(module.file.clone()).or_default();
        for import in &module.imports {
            let is_used = import.name.as_ref().is_none_or(|name| module.names.contains(name));
            if import.is_public && !is_used {
                continue;
            }
            match (resolve(&modules, at, &import.path, 0), &import.name) {
                (Some(Target::Item(file)), _) => drop(used.insert(file)),
                (Some(Target::Module(of)), None) => drop(used.insert(modules[&of].file.clone())),
                _ => {}
            }
        }
        for path in &module.paths {
            if let Some(Target::Item(file)) = resolve(&modules, at, path, 0) {
                used.insert(file);
            }
        }
        used.remove(&module.file);
    }
    uses
}

/// The groups of files that use each other in a circle.
pub fn cycles(uses: &Uses) -> BTreeSet<BTreeSet<String>> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|file| (file, reachable(uses, file))).collect();
    let mut cycles = BTreeSet::new();
    for (file, reached) in &reachable {
        if reached.contains(file) {
            let is_mutual = |other: &&&String| reachable.get(**other).is_some_and(|back| back.contains(file));
            cycles.insert(reached.iter().filter(is_mutual).map(|other| (*other).clone()).collect());
        }
    }
    cycles
}

fn reachable<'a>(uses: &'a Uses, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&String> = uses[from].iter().collect();
    while let Some(file) = waiting.pop() {
        if found.insert(file) {
            waiting.extend(uses.get(file).into_iter().flatten());
        }
    }
    found
}

/// Resolves a path relative to the module that contains it. `None` if it leads out of the crate or to a local name.
fn resolve(modules: &Modules, from: &[String], path: &[String], depth: usize) -> Option<Target> {
    // A re-export of a macro names itself: `pub use text_enum;`.
    if depth > 8 {
        return None;
    }
    let mut at = from.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        first => {
            let module = &modules[from];
            let is_known = module.imports.iter().any(|import| import.name.as_deref() == Some(first));
            if !is_known && !module.children.contains(first) {
                return None;
            }
        }
    }
    while let Some((name, further)) = rest.split_first() {
        let module = &modules[&at];
        if module.children.contains(name) {
            at.push(name.clone());
            if !modules.contains_key(&at) {
                return None;
            }
            rest = further;
            continue;
        }
        let named = module.imports.iter().filter(|import| import.name.as_ref() == Some(name));
        let globs = module.imports.iter().filter(|import| import.name.is_none() && import.is_public);
        for import in named.chain(globs) {
            let mut path = import.path.clone();
            if import.name.is_none() {
                path.push(name.clone());
            }
            if path == [name.clone()] {
                continue;
            }
            match resolve(modules, &at, &path, depth + 1) {
                Some(Target::Module(of)) => {
                    let path: Vec<String> = std::iter::once("self".to_owned()).chain(further.iter().cloned()).collect();
                    return resolve(modules, &of, &path, depth + 1);
                }
                Some(item) => return Some(item),
                // It comes from another crate.
                None if import.name.is_some() => return None,
                None => {}
            }
        }
        return Some(Target::Item(module.file.clone()));
    }
    Some(Target::Module(at))
}

/// Reads every file into modules.
fn modules(sources: &Sources) -> Modules {
    let mut modules = Modules::new();
    let mut test_modules = BTreeSet::new();
    for (file, text) in sources {
        let path = file.trim_end_matches(".rs");
        let mut at: Vec<String> = path.split('/').map(str::to_owned).collect();
        if at.last().is_some_and(|last| last == "mod" || last == "lib") {
            at.pop();
        }
        let mut parser =
            Parser { tokens: tokens(text), next: 0, file, modules: &mut modules, tests: &mut test_modules };
        parser.items(&at);
    }
    modules.retain(|path, _| !(1..=path.len()).any(|length| test_modules.contains(&path[..length])));
    modules
}

struct Parser<'a> {
    tokens: Vec<String>,
    next: usize,
    file: &'a str,
    modules: &'a mut Modules,
    tests: &'a mut BTreeSet<Vec<String>>,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.next + ahead).map_or("", String::as_str)
    }

    fn take(&mut self) -> String {
        self.next += 1;
        self.tokens.get(self.next - 1).cloned().unwrap_or_default()
    }

    /// Reads a module up to its closing brace or the end of the file.
    fn items(&mut self, at: &[String]) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        let mut depth = 0;
        let mut is_test = false;
        let mut is_public = false;
        while self.next < self.tokens.len() {
            let token = self.take();
            match token.as_str() {
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                "#" if (0..6).map(|ahead| self.peek(ahead)).collect::<String>() == "[cfg(test)]" => {
                    is_test = true;
                    self.next += 6;
                    continue;
                }
                "pub" => {
                    is_public = true;
                    if self.peek(0) == "(" {
                        while self.take() != ")" {}
                    }
                    continue;
                }
                "mod" if is_identifier(self.peek(0)) && ["{", ";"].contains(&self.peek(1)) => {
                    let child: Vec<String> = at.iter().cloned().chain([self.take()]).collect();
                    if self.take() == "{" {
                        self.items(&child);
                    }
                    if is_test {
                        self.tests.insert(child.clone());
                    }
                    module.children.extend(child.last().cloned());
                }
                "use" => {
                    let before = module.imports.len();
                    self.use_tree(&[], is_public, &mut module.imports);
                    if is_test {
                        module.imports.truncate(before);
                    }
                }
                name if is_identifier(name) => {
                    let mut path = vec![token];
                    while self.peek(0) == "::" && is_identifier(self.peek(1)) {
                        self.next += 1;
                        path.push(self.take());
                    }
                    module.names.insert(path[0].clone());
                    if path.len() > 1 || self.peek(0) == "::" {
                        module.paths.push(path);
                    }
                }
                _ => {}
            }
            is_test = false;
            is_public = false;
        }
        self.modules.insert(at.to_vec(), module);
    }

    /// Reads what stands between `use` and `;`, or one entry of a list in braces.
    fn use_tree(&mut self, prefix: &[String], is_public: bool, imports: &mut Vec<Import>) {
        let mut path = prefix.to_vec();
        loop {
            match self.take().as_str() {
                "{" => {
                    while self.peek(0) != "}" && self.next < self.tokens.len() {
                        self.use_tree(&path, is_public, imports);
                        if self.peek(0) == "," {
                            self.next += 1;
                        }
                    }
                    self.next += 1;
                    return;
                }
                "*" => {
                    imports.push(Import { path, name: None, is_public });
                    return;
                }
                "::" => continue,
                "self" if !path.is_empty() => {}
                name => path.push(name.to_owned()),
            }
            if self.peek(0) != "::" {
                break;
            }
        }
        let mut name = path.last().cloned();
        if self.peek(0) == "as" {
            self.next += 1;
            name = Some(self.take());
        }
        imports.push(Import { path, name, is_public });
    }
}

fn is_identifier(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The names, numbers and punctuation of Rust code, without comments and the contents of literals. `$crate` is `crate`.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if first == '"' {
            string(rest)
        } else if first == '\'' {
            character_or_lifetime(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else {
            let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            if !first.is_whitespace() && first != '$' {
                tokens.push(rest[..length].to_owned());
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a raw string at the beginning of `text`.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let begin = text.len() - after.len() + hashes;
    text[begin..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[begin + 1..].find(&end).map_or(text.len(), |at| begin + 1 + at + end.len()))
}

/// The length of a string at the beginning of `text`.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal, or of the quote of a lifetime.
fn character_or_lifetime(text: &str) -> usize {
    let mut rest = text.char_indices().skip(1);
    match (rest.next(), rest.next()) {
        (Some((_, '\\')), Some((escaped, _))) => text[escaped + 1..].find('\'').map_or(1, |at| escaped + 1 + at + 1),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}
