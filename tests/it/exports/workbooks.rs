//! Workbooks as people see them: on paper, and with words.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use ticketing::exports::{Export, ExportFormat, ExportKind};
use ticketing::organization::UpdateOrganization;

use super::contents::Sale;
use super::readers::{File, Table, export, has_libreoffice, has_python, read};

fn workbook(sale: &Sale, kind: ExportKind) -> File {
    export(&sale.fixture, Export::new(kind).event(sale.event.id).format(ExportFormat::Xlsx))
}

/// A sale of an organizer with a name.
fn sale() -> Sale {
    let sale = Sale::new();
    let mut name = UpdateOrganization::default();
    name.name = "Jazz & Co".to_owned().into();
    sale.fixture.service.update_organization(sale.event.organizer_id, name).expect("renamed");
    sale
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn a_sheet_is_printed_in_letters_that_can_be_read_with_its_header_on_each_page() {
    if !has_python() {
        return;
    }
    let sale = sale();
    for kind in ExportKind::ALL {
        let file = workbook(&sale, *kind);
        let path = file.path("xlsx");
        let paper = read(&["paper"], &path);
        let header = if *kind == ExportKind::Settlement { "$6:$6" } else { "$1:$1" };
        let width: f64 = paper[1].iter().filter_map(Value::as_f64).sum();
        // A page has room for 240 characters.
        let pages = (width / 240.0).ceil();
        assert_eq!(pages > 1.0, !matches!(kind, ExportKind::Settlement | ExportKind::CheckIns), "{kind}: {width}");
        let first_column = if pages > 1.0 { json!("$A:$A") } else { Value::Null };
        let expected = [json!("landscape"), json!(true), json!(pages as u64), json!(0), json!(header), first_column];
        assert_eq!(paper[0], expected, "{kind}");
        let Table { header, rows } = file.by_openpyxl();
        for (column, name) in header.iter().enumerate() {
            let texts = rows.iter().filter_map(|row| row[column].as_str()).map(|text| text.chars().count());
            let longest = texts.chain([name.len()]).max().unwrap_or_default();
            let width = paper[1][column].as_f64().expect("a width");
            let fits = (longest as f64..longest as f64 + 6.0).contains(&width) || width <= 8.0;
            assert!(fits, "{kind}: {name} has {longest} letters, and is {width} wide");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn the_settlement_for_people_says_whose_it_is_in_words() {
    if !has_python() {
        return;
    }
    let sale = sale();
    let file = workbook(&sale, ExportKind::Settlement);
    let head = read(&["paper"], &file.path("xlsx"));
    let expected = [
        [json!("Settlement"), Value::Null],
        [json!("Event"), json!("Summer Night")],
        [json!("Organizer"), json!("Jazz & Co")],
        [json!("As of"), json!("2026-06-02 00:30:00 (Europe/Berlin)")],
        [Value::Null, Value::Null],
    ];
    assert_eq!(head[2..], expected);
    let Table { header, rows } = file.by_openpyxl();
    assert_eq!(header, ["section", "label", "count", "amount", "currency"]);
    let lines: Vec<_> = rows.iter().map(|row| (row[0].as_str().expect("words"), &row[1], &row[3])).collect();
    for line in [
        ("Tickets sold", json!("Seat"), json!(40)),
        ("Payments", json!("Payment gateway"), json!(12.5)),
        ("Payments", json!("Cash"), json!(27.5)),
        ("Refunds", json!("Payment gateway"), json!(-2.5)),
        ("Balance", Value::Null, json!(37.5)),
    ] {
        assert!(lines.contains(&(line.0, &line.1, &line.2)), "{line:?}: {lines:?}");
    }
    assert_eq!(file.report.rows, lines.len() as u64);
}

/// The pages of a file as LibreOffice prints it.
fn printed(path: &Path) -> Vec<String> {
    let folder = path.parent().expect("a folder");
    let profile = format!("-env:UserInstallation=file://{}/profile", folder.display());
    let mut command = Command::new("soffice");
    command.args([&profile, "--headless", "--convert-to", "pdf", "--outdir"]).arg(folder).arg(path);
    let output = command.output().expect("LibreOffice runs");
    let text = Command::new("pdftotext").arg("-layout").arg(path.with_extension("pdf")).arg("-").output();
    let text = text.expect("pdftotext runs");
    assert!(text.status.success(), "{output:?}");
    String::from_utf8(text.stdout).expect("UTF-8").split_terminator('\u{c}').map(str::to_owned).collect()
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn libreoffice_prints_a_settlement_on_one_page_and_attendees_below_a_header_each() {
    if !has_libreoffice() {
        return;
    }
    let sale = sale();
    let settlement = printed(&workbook(&sale, ExportKind::Settlement).path("xlsx"));
    let [page] = &settlement[..] else { panic!("{settlement:?}") };
    for text in ["Settlement", "Summer Night", "Jazz & Co", "currency", "Refunds due by hand"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let ticket_type = sale.fixture.ticket_type(&sale.event, 0, 500);
    (0..25).for_each(|_| drop(sale.fixture.issue(&ticket_type, 10)));
    let attendees = printed(&workbook(&sale, ExportKind::Attendees).path("xlsx"));
    assert!(attendees.len() > 1, "{}", attendees.len());
    for page in &attendees {
        assert!(page.contains("ticketId"), "{page}");
    }
}
