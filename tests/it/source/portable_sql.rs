//! The statements of the store are in the subset of SQL that SQLite and PostgreSQL share. Those about the SQLite file
//! itself are in `store/engine/sqlite/`, and those about a PostgreSQL database in `store/engine/postgres/`: these are
//! not looked at.
//!
//! This finds what only SQLite accepts, and what the engines understand differently: a comparison that is selected as a
//! number, the type of a sum, a column without a name, an INSERT whose failure would have to be repeated, a condition
//! for which PostgreSQL may read an index of all rows in a state instead of the one row that is named.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::sources::{files_under, files_with_extension};

/// Words that only SQLite understands.
const WORDS: &[&str] = &[
    "INSERT OR ",
    "REPLACE INTO",
    "rowid",
    "IFNULL(",
    "GLOB ",
    "STRFTIME(",
    "strftime(",
    "datetime(",
    "IIF(",
    "PRAGMA",
    "EXPLAIN",
    "sqlite_",
    "COLLATE NOCASE",
    "WITHOUT ROWID",
];

/// Comparisons and other operators whose result SQLite returns as a number and PostgreSQL as a boolean.
const BOOLEAN: &[&str] =
    &[" = ", " <> ", " < ", " > ", " <= ", " >= ", " IS ", " IN ", " LIKE ", " AND ", " OR ", "NOT ", "EXISTS "];

/// What is wrong with a statement, or with a part of one.
fn problems(sql: &str, text_columns: &BTreeSet<String>) -> Vec<String> {
    let mut found: Vec<String> =
        WORDS.iter().filter(|word| sql.contains(*word)).map(|word| (*word).to_owned()).collect();
    for name in ["MAX(", "MIN("] {
        let arguments = sql.match_indices(name).map(|(at, _)| split(until_closed(&sql[at + name.len()..]), ','));
        found.extend(arguments.filter(|arguments| arguments.len() > 1).map(|_| format!("{name} of several values")));
    }
    for (at, _) in sql.match_indices("SUM(") {
        // What is only compared has any type.
        let is_compared = sql[..at].contains(" HAVING ");
        if !is_compared && !calls_around(&sql[..at]).any(|call| call == "CAST") {
            found.push("SUM without CAST".to_owned());
        }
    }
    found.extend(unary_plus(sql).filter(|column| text_columns.contains(*column)).map(|column| format!("+{column}")));
    for item in selected(sql) {
        if !has_name(item) {
            found.push(format!("no name: {item}"));
        }
        let outside = outside_case(item);
        if BOOLEAN.iter().any(|operator| outside.contains(operator)) {
            found.push(format!("a boolean: {item}"));
        }
    }
    let conditions = sql.split_once(" WHERE id = ?1 AND ").map_or("", |(_, conditions)| conditions).split(" AND ");
    let of_index =
        |condition: &&str| ["status = '", "status IN (", "state = '"].iter().any(|of| condition.starts_with(of));
    found.extend(conditions.filter(of_index).map(|condition| format!("of an index of its own: {condition}")));
    // The rest of a statement that is put together names its conflict elsewhere.
    let draws_id = sql.contains("INSERT INTO") && sql.contains(" (id, ") && !sql.ends_with("VALUES ");
    if draws_id && !sql.contains("ON CONFLICT") {
        found.push("INSERT without ON CONFLICT".to_owned());
    }
    found
}

/// The text up to the parenthesis that closes the one before it.
fn until_closed(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Splits at a separator outside of parentheses.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0;
    let mut from = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c == separator && depth == 0 {
            parts.push(text[from..at].trim());
            from = at + 1;
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// The names before the parentheses that are open at the end of a text.
fn calls_around(before: &str) -> impl Iterator<Item = &str> {
    let mut open = Vec::new();
    for (at, c) in before.char_indices() {
        match c {
            '(' => open.push(at),
            ')' => drop(open.pop()),
            _ => {}
        }
    }
    open.into_iter().map(|at| {
        let start = before[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |start| start + 1);
        &before[start..at]
    })
}

/// The columns after a plus that adds nothing. It keeps the planner from using an index.
fn unary_plus(sql: &str) -> impl Iterator<Item = &str> {
    sql.match_indices('+').filter_map(|(at, _)| {
        let operand = &sql[at + 1..];
        let end = operand.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(operand.len());
        operand[..end].rsplit('.').next().filter(|column| !column.is_empty())
    })
}

/// The items of the outermost SELECT or RETURNING.
fn selected(sql: &str) -> Vec<&str> {
    let outside = |at: usize| sql[..at].matches('(').count() == sql[..at].matches(')').count();
    let after =
        |word: &str| sql.match_indices(word).map(|(at, _)| at).find(|at| outside(*at)).map(|at| at + word.len());
    let list = match (sql.contains("INSERT INTO"), after("SELECT "), after(" RETURNING ")) {
        (_, _, Some(list)) | (false, Some(list), None) => &sql[list..],
        _ => return Vec::new(),
    };
    let end =
        list.match_indices(" FROM ").find(|(at, _)| split(&list[..*at], '(').len() == 1 && is_closed(&list[..*at]));
    split(&list[..end.map_or(list.len(), |(at, _)| at)], ',')
}

fn is_closed(text: &str) -> bool {
    text.matches('(').count() == text.matches(')').count()
}

/// Whether the result of an item has a name: that of its column, or one after AS. `SELECT 1` asks only for a row.
fn has_name(item: &str) -> bool {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let named = item.rsplit_once(" AS ").is_some_and(|(_, name)| is_word(name));
    let column = item.split('.').all(is_word) && item.split('.').count() <= 2;
    column || named
}

/// An item without what is inside CASE … END or parentheses.
fn outside_case(item: &str) -> String {
    let mut rest = item.to_owned();
    while let Some(start) = rest.find("CASE ") {
        let end = rest[start..].find(" END").map_or(rest.len(), |end| start + end + " END".len());
        rest.replace_range(start..end, "");
    }
    let mut depth = 0;
    rest.chars()
        .filter(|c| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        })
        .collect()
}

/// A string literal of a file, and the code between it and the one before.
struct Literal {
    before: String,
    text: String,
}

/// The string literals of a file that are no comment, with white space as in one line.
fn literals(code: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut before = String::new();
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => drop(chars.by_ref().find(|c| *c == '\n')),
            '\'' if before.ends_with('b') || chars.peek() == Some(&'"') => drop(chars.nth(1)),
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    text.push(if c == '\\' { chars.next().unwrap_or_default() } else { c });
                }
                let mut lines = text.split('\n');
                let first = lines.next().unwrap_or_default().to_owned();
                let text = lines.fold(first, |text, line| text + " " + line.trim_start());
                found.push(Literal { before: std::mem::take(&mut before), text });
            }
            c => before.push(c),
        }
    }
    found
}

/// The statements of a file. Literals that `concat!` joins are one, and a macro stands for the literal that it is.
fn statements(code: &str) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    let mut macros: Vec<(String, String)> = Vec::new();
    for Literal { before, text } in literals(code) {
        let separator = before.trim();
        let named = separator.strip_prefix(',').and_then(|rest| rest.trim().split_once("!()"));
        if let (Some((name, rest)), Some(last)) = (named, statements.last_mut()) {
            let columns = macros.iter().find(|(known, _)| known == name).map_or("column", |(_, columns)| columns);
            *last += columns;
            // Without another comma, the macro ends the statement.
            if rest == "," {
                *last += &text;
                continue;
            }
        }
        if let Some((_, definition)) = separator.rsplit_once("macro_rules! ")
            && let Some((name, "")) = definition
                .split_once(" {")
                .map(|(name, rest)| (name, rest.trim_matches(|c: char| "() =>{\n".contains(c))))
        {
            macros.push((name.to_owned(), text.clone()));
        }
        statements.push(text);
    }
    statements
}

/// The columns of the schema that hold text.
fn text_columns(store: &Path) -> BTreeSet<String> {
    let mut columns = BTreeSet::new();
    for file in files_with_extension(&store.join("migrations"), "sql") {
        for line in std::fs::read_to_string(file).expect("text").lines() {
            let mut words = line.split_whitespace();
            if let (Some(column), Some("TEXT")) = (words.next(), words.next().map(|word| word.trim_end_matches(','))) {
                columns.insert(column.to_owned());
            }
        }
    }
    columns
}

#[test]
fn every_statement_is_in_the_subset_that_the_engines_share() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let text_columns = text_columns(&store);
    assert!(text_columns.contains("code_key") && !text_columns.contains("event_id"));
    let mut number = 0;
    for file in files_under("src/store") {
        if ["engine/sqlite", "engine/postgres"].iter().any(|own| file.starts_with(store.join(own))) {
            continue;
        }
        let code = std::fs::read_to_string(&file).expect("text");
        for statement in statements(&code) {
            let found = problems(&statement, &text_columns);
            assert!(found.is_empty(), "{}: {statement}\n{found:#?}", file.display());
            number += usize::from(statement.contains("SELECT ") || statement.contains("UPDATE "));
        }
    }
    assert!(number > 100, "the statements are found: {number}");
}

#[test]
fn planted_statements_of_each_kind_are_found() {
    let text_columns = BTreeSet::from(["code".to_owned()]);
    for sql in [
        "INSERT OR IGNORE INTO t (a) VALUES (?1)",
        "SELECT rowid FROM t",
        "PRAGMA user_version",
        "UPDATE t SET at = MAX(at, ?1)",
        "UPDATE t SET n = MIN(f(a), 2)",
        "SELECT a FROM t WHERE +t.code = ?1",
        "SELECT a FROM t WHERE n = ?1 AND +code = ?2",
        "SELECT SUM(n) AS total FROM t",
        "SELECT a FROM t WHERE n <> (SELECT COALESCE(SUM(n), 0) FROM u)",
        "SELECT COUNT(*) FROM t",
        "SELECT a, b - c FROM t",
        "SELECT a, (SELECT b FROM u) FROM t",
        "UPDATE t SET a = 1 WHERE id = ?1 RETURNING a - b",
        "SELECT a, b = ?1 AS same FROM t",
        "SELECT a, t.b = ?1 FROM t",
        "SELECT b IS NULL AS missing FROM t",
        "UPDATE t SET a = 1 WHERE id = ?1 RETURNING a > b AS more",
        "INSERT INTO t (id, a) VALUES (?1, ?2)",
        "UPDATE t SET a = 1 WHERE id = ?1 AND b = ?2 AND status = 'PENDING'",
    ] {
        assert_ne!(problems(sql, &text_columns), [""; 0], "{sql}");
    }
    for sql in [
        "SELECT MAX(f(a, b)) AS last, MIN(a) AS first FROM t",
        "SELECT a FROM t WHERE +t.event_id = ?1 AND a + code > 1",
        "SELECT CAST(SUM(n) FILTER (WHERE a = 1) AS BIGINT) AS total FROM t",
        "SELECT t.a, t.b - (SELECT COUNT(*) FROM u WHERE u.a = t.a) AS left_over FROM t WHERE a = ?1",
        "SELECT 1 FROM t WHERE a = ?1",
        "SELECT a, CASE WHEN b = ?1 THEN 1 ELSE 0 END AS same FROM t",
        "UPDATE t SET a = 1 WHERE b = ?1 RETURNING a - b AS c, d",
        "INSERT INTO t (id, a) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING",
        "INSERT INTO t (id, a) SELECT ?1, ?2 WHERE a = 1 ON CONFLICT (id) DO NOTHING",
        "INSERT INTO t (a) VALUES (?1)",
        "UPDATE t SET a = 1 WHERE id = ?1 AND status || '' = 'PENDING' AND b = ?2",
    ] {
        assert_eq!(problems(sql, &text_columns), [""; 0], "{sql}");
    }
}

#[test]
fn statements_are_read_as_the_compiler_joins_them() {
    let code = r#"
        // "no statement"
        macro_rules! columns { () => { "a, b" }; }
        const LIST: &str = concat!(
            "SELECT ",
            columns!(),
            " FROM t
                WHERE a = '\"'"
        );
        const DELETE: &str = "DELETE FROM t";
    "#;
    assert_eq!(statements(code), ["a, b", r#"SELECT a, b FROM t WHERE a = '"'"#, "DELETE FROM t"]);
}
