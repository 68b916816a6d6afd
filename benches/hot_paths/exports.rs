//! The attendees and the orders of an event of 50,000 tickets in a database of a million, as CSV.

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

/// The details of each order.
const DETAILS: &str = r#"{"company_name":"Analytical Engines","locale":"en-GB","language":"en","shipping_address":{
    "street":"12 St James's Square","zip":"SW1Y 4JH","city":"London","country":"GB"},"checkout_redirect_urls":null}"#;

type Written = Result<(), Box<dyn std::error::Error>>;

pub fn bench(bench: &mut Bench) {
    compare(bench, "export of 50,000 attendees", ExportKind::Attendees, 50_000, write_attendees);
    compare(bench, "export of 25,000 orders", ExportKind::Orders, 25_000, write_orders);
}

/// Compares the export of a kind with `by_hand`, which writes the same file.
fn compare(
    bench: &mut Bench,
    name: &str,
    kind: ExportKind,
    rows: u64,
    by_hand: fn(&Connection, i64, &mut CsvWriter) -> Written,
) {
    if !bench.includes(name) {
        return;
    }
    let store = LargeStore::open();
    let (_folder, path) = LargeStore::open().fixture.into_file();
    let connection = by_hand::connect(&path);
    // The cache size of the crate's exports.
    connection.execute_batch("PRAGMA cache_size = -4096").expect("a known pragma");
    let event = stored_id(store.event);
    for database in [&connection, &Connection::open(store.fixture.path()).expect("the file")] {
        let set = "UPDATE orders SET details = ?1 WHERE event_id = ?2";
        database.execute(set, (DETAILS, event)).expect("updated");
    }
    let folder = tempfile::tempdir_in(path.parent().expect("a folder")).expect("a folder");
    let (ours, theirs) = (folder.path().join("ours.csv"), folder.path().join("theirs.csv"));
    let export = || {
        let mut file = File::create(&ours).expect("a file");
        let request = Export::new(kind).event(store.event);
        let progress = |_| ControlFlow::Continue(());
        let report = store.fixture.service.export(&store.fixture.caller, request, &mut file, progress);
        assert_eq!(report.expect("an export").rows, rows);
    };
    let by_hand = || {
        let mut writer = writer(&theirs).expect("a file");
        by_hand(&connection, event, &mut writer).expect("written");
        writer.flush().expect("written");
    };
    export();
    by_hand();
    assert!(std::fs::read(&ours).expect("a file") == std::fs::read(&theirs).expect("a file"), "the files differ");
    bench.compare(name, 2, |count| (0..count).for_each(|_| export()), |count| (0..count).for_each(|_| by_hand()));
}

type CsvWriter = csv::Writer<BufWriter<File>>;

fn writer(path: &Path) -> std::io::Result<CsvWriter> {
    let file = BufWriter::new(File::create(path)?);
    let mut builder = WriterBuilder::new();
    builder.terminator(Terminator::CRLF).quote_style(QuoteStyle::NonNumeric).buffer_capacity(64 * 1024);
    Ok(builder.from_writer(file))
}

fn write_attendees(connection: &Connection, event: i64, writer: &mut CsvWriter) -> Written {
    let mut query = connection.prepare_cached(
        "SELECT t.id, t.status, t.ticket_type_id, y.name, t.customer_name, c.email, t.order_id, o.reference,
            (i.price * i.quantity - i.discount) / i.quantity, t.created_at, t.check_in_at, t.check_out_at, t.first_scan_at,
            t.scan_count, t.expires_at, y.access_areas, o.currency, t.event_id, l.name, t.label
        FROM tickets t LEFT JOIN allocations l ON l.id = t.allocation_id JOIN ticket_types y ON y.id = t.ticket_type_id JOIN customers c ON c.id = t.customer_id
            LEFT JOIN orders o ON o.id = t.order_id LEFT JOIN order_items i ON i.id = t.order_item_id
        WHERE t.event_id = ?1 ORDER BY t.ticket_type_id, t.status, t.id",
    )?;
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
        "allocation",
        "ticketLabel",
        "imported",
    ])?;
    let mut rows = query.query([event])?;
    while let Some(row) = rows.next()? {
        let id = |prefix: &str, column: usize| id(row, prefix, column);
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
        for column in 9..13 {
            instant(row, column, writer)?;
        }
        writer.write_field(row.get::<_, i64>(13)?.to_string())?;
        instant(row, 14, writer)?;
        let areas: Vec<String> = serde_json::from_str(text(15)?)?;
        writer.write_field(areas.join(", "))?;
        writer.write_field(text(16)?)?;
        writer.write_field(id("event", 17)?)?;
        for column in 18..20 {
            writer.write_field(text(column)?)?;
        }
        writer.write_field("false")?;
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// The details of an order.
#[derive(serde::Deserialize)]
struct Details {
    company_name: Option<String>,
    language: Option<String>,
    shipping_address: Option<Address>,
}

#[derive(serde::Deserialize)]
struct Address {
    street: String,
    zip: String,
    city: String,
    country: String,
}

fn write_orders(connection: &Connection, event: i64, writer: &mut CsvWriter) -> Written {
    let mut query = connection.prepare_cached(
        "SELECT o.id, o.reference, o.status, o.created_at, o.completed_at, o.cancelled_at, o.payment_status, o.customer_id,
            o.customer_name, c.email, o.details, o.affiliate_code, o.discount_code, i.ticket_type_id, t.name, i.quantity,
            i.price, i.discount, o.total,
            (SELECT COALESCE(SUM(p.promised), 0) FROM payments p WHERE p.order_id = o.id AND p.purpose = 'ORDER'),
            o.metadata, o.currency, o.event_id
        FROM orders o JOIN order_items i ON i.order_id = o.id JOIN ticket_types t ON t.id = i.ticket_type_id
            JOIN customers c ON c.id = o.customer_id
        WHERE o.event_id = ?1 ORDER BY o.id, i.id",
    )?;
    writer.write_record([
        "orderId",
        "reference",
        "status",
        "createdAt",
        "createdLocal",
        "completedAt",
        "completedLocal",
        "cancelledAt",
        "cancelledLocal",
        "paymentMethod",
        "paymentStatus",
        "customerId",
        "customerName",
        "customerEmail",
        "companyName",
        "shippingStreet",
        "shippingZip",
        "shippingCity",
        "shippingCountry",
        "language",
        "affiliateCode",
        "discountCode",
        "ticketTypeId",
        "ticketTypeName",
        "quantity",
        "price",
        "itemSubtotal",
        "itemDiscount",
        "finalAmount",
        "orderTotal",
        "orderRefunded",
        "metadata",
        "currency",
        "eventId",
    ])?;
    let mut rows = query.query([event])?;
    while let Some(row) = rows.next()? {
        let id = |prefix: &str, column: usize| id(row, prefix, column);
        let text = |column: usize| text(row, column);
        writer.write_field(id("order", 0)?)?;
        writer.write_field(text(1)?)?;
        writer.write_field(text(2)?)?;
        for column in 3..6 {
            instant(row, column, writer)?;
        }
        // All orders are free.
        writer.write_field("FREE")?;
        writer.write_field(text(6)?)?;
        writer.write_field(id("customer", 7)?)?;
        writer.write_field(text(8)?)?;
        writer.write_field(text(9)?)?;
        let details: Details = serde_json::from_str(text(10)?)?;
        writer.write_field(details.company_name.unwrap_or_default())?;
        let address = details.shipping_address;
        let part = |part: fn(&Address) -> &str| address.as_ref().map_or("", part);
        for part in [part(|a| &a.street), part(|a| &a.zip), part(|a| &a.city), part(|a| &a.country)] {
            writer.write_field(part)?;
        }
        writer.write_field(details.language.unwrap_or_default())?;
        writer.write_field(text(11)?)?;
        writer.write_field(text(12)?)?;
        writer.write_field(id("type", 13)?)?;
        writer.write_field(text(14)?)?;
        let [quantity, price, discount] = [15, 16, 17].map(|column| row.get::<_, i64>(column));
        let (quantity, price, discount) = (quantity?, price?, discount?);
        writer.write_field(quantity.to_string())?;
        let subtotal = price * quantity;
        for cents in [price, subtotal, discount, subtotal - discount, row.get(18)?, row.get(19)?] {
            writer.write_field(Amount::cents(cents).to_string())?;
        }
        writer.write_field(text(20)?)?;
        writer.write_field(text(21)?)?;
        writer.write_field(id("event", 22)?)?;
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// An id as the crate writes it.
fn id(row: &Row<'_>, prefix: &str, column: usize) -> rusqlite::Result<String> {
    row.get(column).map(|id| format!("{prefix}_{}", id_digits(id)))
}

/// Writes an instant, and the same in the time zone of the event, which is UTC.
fn instant(row: &Row<'_>, column: usize, writer: &mut CsvWriter) -> Written {
    let at: Option<i64> = row.get(column)?;
    let at = at.map(Timestamp::from_millis).transpose()?.map(|at| at.to_string()).unwrap_or_default();
    writer.write_field(&at)?;
    writer.write_field(at.get(..19).unwrap_or_default().replace('T', " "))?;
    Ok(())
}

/// A text, empty if there is none.
fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, Box<dyn std::error::Error>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.unwrap_or_default())
}
