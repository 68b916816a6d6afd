//! Texts that spreadsheets take for formulas, numbers or dates, or that break a file: all of them come back as they
//! are, but for apostrophes in CSV. Only an earlier version could store those with line breaks.

use std::path::Path;
use std::process::Command;

use ticketing::exports::{CsvDialect, Export, ExportFormat, ExportKind};
use ticketing::order::{CreateOrder, NewCustomer};

use super::readers::{by_libreoffice, export, has_libreoffice, has_python, read};
use crate::common::database::{params, stored_id};
use crate::common::long_runs::repetitions;
use crate::common::random::Random;
use crate::common::*;

/// A cell that begins with it is taken for a formula.
const FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Behind it, a program may begin a cell.
const ENDS: [char; 11] = [',', ';', '\t', '"', '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

const PIECES: &[&str] = &[
    "=cmd|' /C calc'!A0",
    "+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "＝1",
    "＋1",
    "－1",
    "＠a",
    "\"",
    "\"\"",
    "'",
    "'=1",
    ",",
    ";",
    "\r\n",
    "\n",
    "\r",
    "\t",
    " ",
    "1E5",
    "00420",
    "12345678901234567890",
    "1.5",
    "1,5",
    "2026-06-01",
    "12.50",
    "TRUE",
    "NaN",
    "Ünï",
    "مرحبا",
    "\u{202e}abc",
    "\u{200f}",
    "🎟️",
    "\u{feff}",
    "_x0041_",
    "_x000D_",
    "&amp;",
    "<b>",
    "]]>",
    "\u{1}",
    "\u{1f}",
    "\u{7f}",
    "\u{fffe}",
    "\u{ffff}",
    "http://example.com",
    "mailto:a@example.com",
    "=HYPERLINK(\"http://x\")",
    "NULL",
    "#N/A",
    "\\",
];

/// Random texts of these pieces, which an order's reference can have.
fn texts(number: usize) -> Vec<String> {
    let mut random = Random::new(1);
    let mut texts: Vec<_> = PIECES.iter().map(|piece| (*piece).to_owned()).collect();
    while texts.len() < number {
        texts.push((0..1 + random.below(4)).map(|_| random.pick(PIECES)).collect());
    }
    texts
}

/// A store with an order for each text, which is its reference and the name of its customer.
fn store(texts: &[String]) -> (Fixture, ticketing::event::Event) {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 1_000_000);
    let database = fixture.database();
    for text in texts {
        let request = CreateOrder::new(event.id, NewCustomer::new("Ada", "ada@example.com"), ticket_type.id, 1);
        let order = fixture.service.create_order(&fixture.caller, request).expect(text).order;
        let sql = "UPDATE orders SET reference = ?2, customer_name = ?2 WHERE id = ?1";
        database.execute(sql, params![stored_id(order.id), text]);
    }
    (fixture, event)
}

/// A text as it stands in a CSV file.
fn guarded(text: &str) -> String {
    let mut guarded = if text.starts_with(['\t', '\r', '\n']) { "'" } else { "" }.to_owned();
    let mut previous = None;
    for c in text.chars() {
        if FORMULAS.contains(&c) && previous.is_none_or(|previous| ENDS.contains(&previous)) {
            guarded.push('\'');
        }
        guarded.push(c);
        previous = Some(c);
    }
    guarded
}

/// How many formulas LibreOffice finds in a CSV file with this separator.
fn formulas(file: &Path, separator: char) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("soffice");
    command.arg(format!("-env:UserInstallation=file://{}/profile", folder.path().display())).arg("--headless");
    // This separator, double quotes, UTF-8, from the first line on.
    command.arg(format!("--infilter=Text - txt - csv (StarCalc):{},34,76,1", u32::from(separator)));
    let output = command.args(["--convert-to", "fods", "--outdir"]).arg(folder.path()).arg(file).output();
    let sheet = folder.path().join(file.file_stem().expect("a name")).with_extension("fods");
    let sheet = std::fs::read_to_string(sheet).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert!(sheet.contains("order_"), "the rows are there");
    sheet.matches("table:formula=").count()
}

#[test]
fn no_cell_is_a_formula_whatever_separator_a_program_expects() {
    if !has_libreoffice() {
        return;
    }
    let ends = ["", ",", ";", "\t", "\n", "\r\n", "\"", "\";", "\",", ";\"", ",\"", "\n;", "\n\"", "\n,\""];
    let mut hostile: Vec<_> = ends.iter().map(|end| format!("a{end}=1+1{end}b")).collect();
    hostile.extend(ends.iter().map(|end| format!("{end}=1+1{end}")));
    hostile.extend(ends.iter().map(|end| format!("a\n{end}=SUM(1)\n")));
    hostile.extend(texts(200));
    let (fixture, event) = store(&hostile);
    for dialect in [CsvDialect::Standard, CsvDialect::Excel] {
        let file = export(&fixture, Export::new(ExportKind::Orders).event(event.id).dialect(dialect));
        let path = file.path("csv");
        // The control: apostrophes only at the beginning of a text.
        let control = path.with_file_name("control.csv");
        let unguarded = ENDS.iter().fold(file.text().to_owned(), |text, end| match end {
            '"' => text.replace("\"\"'=", "\"\"="),
            end => text.replace(&format!("{end}'="), &format!("{end}=")),
        });
        std::fs::write(&control, unguarded).expect("written");
        for separator in [',', ';', '\t'] {
            assert_eq!(formulas(&path, separator), 0, "{dialect} with {separator:?}");
            let is_its_own = separator == if dialect == CsvDialect::Standard { ',' } else { ';' };
            assert!(is_its_own || formulas(&control, separator) > 0, "{dialect} with {separator:?}");
        }
    }
}

#[test]
fn python_and_duckdb_read_hostile_texts_back_with_an_apostrophe_before_formulas() {
    if !has_python() {
        return;
    }
    let texts = texts(usize::try_from(repetitions("TICKETING_HOSTILE_TEXTS", 400)).expect("a number"));
    let (fixture, event) = store(&texts);
    let expected: Vec<_> = texts.iter().map(|text| guarded(text)).collect();
    let request = Export::new(ExportKind::Orders).event(event.id);
    let file = export(&fixture, request.clone());
    let by_python = file.by_python();
    assert_eq!(by_python.texts("reference"), expected);
    assert_eq!(by_python.texts("customerName"), expected);
    let by_duckdb = read(&["duckdb"], &file.path("csv"));
    let references: Vec<_> =
        by_duckdb.iter().skip(1).map(|row| row[1].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(references, expected);
    let for_excel = export(&fixture, request.dialect(CsvDialect::Excel));
    let rows = read(&["csv", ";"], &for_excel.path("csv"));
    assert_eq!(rows[0][0], "orderId", "the byte order mark is no part of the header");
    let references: Vec<_> = rows.iter().skip(1).map(|row| row[1].as_str().expect("a text").to_owned()).collect();
    assert_eq!(references, expected);
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn openpyxl_reads_hostile_texts_of_a_workbook_back_and_finds_no_formula_and_no_link() {
    if !has_python() {
        return;
    }
    let texts = texts(usize::try_from(repetitions("TICKETING_HOSTILE_TEXTS", 400)).expect("a number"));
    let (fixture, event) = store(&texts);
    let request = Export::new(ExportKind::Orders).event(event.id).format(ExportFormat::Xlsx);
    let workbook = export(&fixture, request).by_openpyxl();
    assert_eq!(workbook.texts("reference"), texts);
    assert_eq!(workbook.texts("customerName"), texts);
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn libreoffice_computes_nothing_of_an_export_and_something_without_the_guard() {
    if !has_libreoffice() || !has_python() {
        return;
    }
    let texts = ["=1+1", "+1+1", "-1+3", "@SUM(1;1)", "00420", "12345678901234567890", "=HYPERLINK(\"http://x\")"];
    let texts = texts.map(str::to_owned);
    let (fixture, event) = store(&texts);
    let request = Export::new(ExportKind::Orders).event(event.id);
    let csv = export(&fixture, request.clone());
    let shown = by_libreoffice(&csv.path("csv")).texts("reference");
    let expected: Vec<_> = texts.iter().map(|text| guarded(text)).collect();
    assert_eq!(shown[..4], expected[..4]);
    let workbook = export(&fixture, request.format(ExportFormat::Xlsx));
    assert_eq!(by_libreoffice(&workbook.path("xlsx")).texts("reference"), texts);

    // The control: without the apostrophe and the quotes.
    let unguarded = csv.path("csv").with_file_name("unguarded.csv");
    std::fs::write(&unguarded, "reference\r\n=1+1\r\n").expect("written");
    assert_eq!(by_libreoffice(&unguarded).texts("reference"), ["2"]);
}
