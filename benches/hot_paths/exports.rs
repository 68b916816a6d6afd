//! The attendees of an event of 50,000 tickets in a database of a million, as CSV.

use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::Path;

use csv::{QuoteStyle, Terminator, WriterBuilder};
use rusqlite::{Connection, Row};
use ticketing::exports::{Export, ExportKind};
use ticketing::{Amount, Timestamp};

use crate::by_hand;
use crate::common::database::{id_digits, stored_id};
use crate::large_store::LargeStore;
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    let name = "export of 50,000 attendees";
    if !bench.includes(name) {
        return;
    }
    let store = LargeStore::open();
    let (_folder, path) = LargeStore::open().fixture.into_file();
    let connection = by_hand::connect(&path);
    // The cache size of the crate's exports.
    connection.execute_batch("PRAGMA cache_size = -4096").expect("a known pragma");
    let event = stored_id(store.event);
    let folder = tempfile::tempdir_in(path.parent().expect("a folder")).expect("a folder");
    let (ours, theirs) = (folder.path().join("ours.csv"), folder.path().join("theirs.csv"));
    let export = || {
        let mut file = File::create(&ours).expect("a file");
        let request = Export::new(ExportKind::Attendees).event(store.event);
        let progress = |_| ControlFlow::Continue(());
        let report = store.fixture.service.export(&store.fixture.caller, request, &mut file, progress);
        assert_eq!(report.expect("an export").rows, 50_000);
    };
    let by_hand = || write(&connection, event, &theirs).expect("written");
    export();
    by_hand();
    assert_eq!(std::fs::metadata(&ours).expect("a file").len(), std::fs::metadata(&theirs).expect("a file").len());
    bench.compare(name, 2, |count| (0..count).for_each(|_| export()), |count| (0..count).for_each(|_| by_hand()));
}

/// Writes the same file.
fn write(connection: &Connection, event: i64, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut query = connection.prepare_cached(
        "SELECT t.id, t.status, t.ticket_type_id, y.name, t.customer_name, c.email, t.order_id, o.reference,
            (i.price * i.quantity - i.discount) / i.quantity, t.created_at, t.check_in_at, t.check_out_at, t.first_scan_at,
            t.scan_count, t.expires_at, y.access_areas, o.currency, t.event_id
        FROM tickets t JOIN ticket_types y ON y.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id
            LEFT JOIN orders o ON o.id = t.order_id LEFT JOIN order_items i ON i.id = t.order_item_id
        WHERE t.event_id = ?1 ORDER BY t.ticket_type_id, t.status, t.id",
    )?;
    let file = BufWriter::new(File::create(path)?);
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .quote_style(QuoteStyle::NonNumeric)
        .buffer_capacity(64 * 1024)
        .from_writer(file);
    writer.write_record([
        "ticketId",
        "status",
        "ticketTypeId",
        "ticketTypeName",
        "customerName",
        "customerEmail",
        "orderId",
        "orderReference",
        "isInternal",
        "pricePaid",
        "createdAt",
        "createdLocal",
        "checkInDate",
        "checkInLocal",
        "checkOutDate",
        "checkOutLocal",
        "firstScanDate",
        "firstScanLocal",
        "scanCount",
        "expiresAt",
        "expiresLocal",
        "accessAreas",
        "currency",
        "eventId",
    ])?;
    let mut rows = query.query([event])?;
    while let Some(row) = rows.next()? {
        let id = |prefix: &str, column: usize| row.get(column).map(|id| format!("{prefix}_{}", id_digits(id)));
        let text = |column: usize| text(row, column);
        writer.write_field(id("ticket", 0)?)?;
        writer.write_field(text(1)?)?;
        writer.write_field(id("type", 2)?)?;
        for column in 3..6 {
            writer.write_field(text(column)?)?;
        }
        writer.write_field(id("order", 6)?)?;
        writer.write_field(text(7)?)?;
        writer.write_field("false")?;
        writer.write_field(Amount::cents(row.get(8)?).to_string())?;
        // The time zone of the event is UTC.
        let instant = |writer: &mut csv::Writer<_>, column: usize| -> Result<(), Box<dyn std::error::Error>> {
            let at: Option<i64> = row.get(column)?;
            let at = at.map(Timestamp::from_millis).transpose()?.map(|at| at.to_string()).unwrap_or_default();
            writer.write_field(&at)?;
            writer.write_field(at.get(..19).unwrap_or_default().replace('T', " "))?;
            Ok(())
        };
        for column in 9..13 {
            instant(&mut writer, column)?;
        }
        writer.write_field(row.get::<_, i64>(13)?.to_string())?;
        instant(&mut writer, 14)?;
        let areas: Vec<String> = serde_json::from_str(text(15)?)?;
        writer.write_field(areas.join(", "))?;
        writer.write_field(text(16)?)?;
        writer.write_field(id("event", 17)?)?;
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()?;
    Ok(())
}

/// A text, empty if there is none.
fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, Box<dyn std::error::Error>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.unwrap_or_default())
}
