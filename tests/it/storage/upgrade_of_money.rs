//! The migration to the ledger: payments, refunds and movements from what earlier versions had stored about orders.
//!
//! The rows are written with the schema before that, in every state that an earlier version could leave. Every order is
//! for one seat of 50.00.

use std::path::Path;

use ticketing::event::ListEvents;
use ticketing::id::OrderId;
use ticketing::order::ListOrders;
use ticketing::payment::{
    DisputeStatus, GatewayDispute, GatewayEvent, ListRefunds, MarkRefunded, PaymentMode, Refund, RefundMethod,
    RefundStatus,
};

use crate::common::*;

/// The number of migrations before gateways of checkouts were recorded, of database files and of PostgreSQL.
const OLD_SCHEMAS: (usize, usize) = (33, 2);

/// 2026-06-01T12:00:00Z, when orders were created, and an hour later, when they were paid, cancelled and refunded.
const CREATED: i64 = 1_780_315_200_000;
const LATER: i64 = CREATED + 3_600_000;
/// When the gateway was to be asked about the first refund of an order. It was asked twice, and about the second one
/// once.
const NEXT_CHECK: i64 = LATER + 86_400_000;

/// How the order was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paid {
    Not,
    ByHand,
    ByGateway,
}

use Paid::{ByGateway, ByHand, Not};

/// A row of `refunds` before the migration.
struct OldRefund {
    source: &'static str,
    status: &'static str,
    amount: i64,
    currency: &'static str,
    settled_by: Option<&'static str>,
    /// The gateway's id of another payment.
    payment: Option<&'static str>,
}

const fn old(source: &'static str, status: &'static str, amount: i64) -> OldRefund {
    OldRefund { source, status, amount, currency: "EUR", settled_by: None, payment: None }
}

const fn settled(source: &'static str, by: &'static str) -> OldRefund {
    OldRefund { settled_by: Some(by), ..old(source, "REFUSED", 5000) }
}

const fn of_other(source: &'static str, status: &'static str, amount: i64, payment: &'static str) -> OldRefund {
    OldRefund { payment: Some(payment), ..old(source, status, amount) }
}

/// An order before the migration, and what must be stored after it.
struct Case {
    name: &'static str,
    paid: Paid,
    cancelled: bool,
    /// What was decided to go back of the order, and what of it was to be given back by hand.
    refunded: i64,
    manual_due: i64,
    /// The status of the payment through the gateway.
    payment: &'static str,
    reference: &'static str,
    refunds: &'static [OldRefund],
    /// The status and the amount of a dispute.
    dispute: Option<(&'static str, i64)>,
    /// Purpose, received, returned, taken, promised, disputed and owed of each payment.
    payments: &'static [(&'static str, i64, i64, i64, i64, i64, i64)],
    /// Source, status, amount, promised, returned, to ask for, and owed of each refund that was stored before, and then
    /// of the new ones.
    after: &'static [(&'static str, &'static str, i64, i64, i64, i64, i64)],
    /// What is left of all movements.
    kept: i64,
    payment_after: &'static str,
}

const BASE: Case = Case {
    name: "",
    paid: ByGateway,
    cancelled: false,
    refunded: 0,
    manual_due: 0,
    payment: "COMPLETED",
    reference: "cs_live_",
    refunds: &[],
    dispute: None,
    payments: &[("ORDER", 5000, 0, 0, 0, 0, 0)],
    after: &[],
    kept: 5000,
    payment_after: "COMPLETED",
};

/// A cancelled order that was paid through the gateway.
const CANCELLED: Case = Case { cancelled: true, refunded: 5000, ..BASE };

/// An order that was cancelled before it was paid.
const LATE: Case = Case { paid: Not, cancelled: true, kept: 0, ..BASE };

const CASES: &[Case] = &[
    Case { name: "kept", ..BASE },
    Case {
        name: "due",
        refunds: &[old("ORDER", "DUE", 5000)],
        payments: &[("ORDER", 5000, 0, 0, 5000, 0, 0)],
        after: &[("ORDER", "DUE", 5000, 5000, 0, 5000, 0)],
        ..CANCELLED
    },
    Case {
        name: "done",
        payment: "REFUNDED",
        refunds: &[old("ORDER", "DONE", 5000)],
        payments: &[("ORDER", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("ORDER", "DONE", 5000, 5000, 5000, 0, 0)],
        kept: 0,
        payment_after: "REFUNDED",
        ..CANCELLED
    },
    Case {
        name: "refused",
        manual_due: 5000,
        refunds: &[old("ORDER", "REFUSED", 5000)],
        payments: &[("ORDER", 5000, 0, 0, 5000, 0, 5000)],
        after: &[("ORDER", "REFUSED", 5000, 5000, 0, 0, 5000)],
        ..CANCELLED
    },
    Case {
        name: "refused, and given back by hand",
        refunds: &[settled("ORDER", "HAND")],
        payments: &[("ORDER", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("ORDER", "REFUSED", 5000, 0, 0, 0, 0), ("ORDER", "DONE", 5000, 5000, 5000, 0, 0)],
        kept: 0,
        payment_after: "REFUNDED",
        ..CANCELLED
    },
    Case {
        name: "refused, and refunded at the gateway",
        payment: "REFUNDED",
        refunds: &[settled("ORDER", "GATEWAY"), old("OUTSIDE", "DONE", 5000)],
        payments: &[("ORDER", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("ORDER", "REFUSED", 5000, 0, 0, 0, 0), ("OUTSIDE", "DONE", 5000, 5000, 5000, 0, 0)],
        kept: 0,
        payment_after: "REFUNDED",
        ..CANCELLED
    },
    Case {
        name: "two parts",
        refunded: 2500,
        refunds: &[old("ORDER", "DONE", 1000), old("ORDER", "DONE", 1500)],
        payments: &[("ORDER", 5000, 2500, 0, 2500, 0, 0)],
        after: &[("ORDER", "DONE", 1000, 1000, 1000, 0, 0), ("ORDER", "DONE", 1500, 1500, 1500, 0, 0)],
        kept: 2500,
        ..BASE
    },
    Case { name: "cash", paid: ByHand, payment: "WAITING", payment_after: "WAITING", ..BASE },
    Case {
        name: "cash, to be given back",
        paid: ByHand,
        manual_due: 5000,
        payment: "WAITING",
        payments: &[("ORDER", 5000, 0, 0, 5000, 0, 5000)],
        after: &[("ORDER", "DUE", 5000, 5000, 0, 0, 5000)],
        payment_after: "WAITING",
        ..CANCELLED
    },
    Case {
        name: "cash, 37.50 given back",
        paid: ByHand,
        manual_due: 1250,
        payment: "WAITING",
        payments: &[("ORDER", 5000, 3750, 0, 5000, 0, 1250)],
        after: &[("ORDER", "DONE", 3750, 3750, 3750, 0, 0), ("ORDER", "DUE", 1250, 1250, 0, 0, 1250)],
        kept: 1250,
        payment_after: "WAITING",
        ..CANCELLED
    },
    Case {
        name: "late, gone back",
        payment: "REFUNDED",
        refunds: &[old("LATE_PAYMENT", "DONE", 5000)],
        payments: &[("LATE", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("LATE_PAYMENT", "DONE", 5000, 5000, 5000, 0, 0)],
        payment_after: "REFUNDED",
        ..LATE
    },
    Case {
        name: "late, due",
        refunds: &[old("LATE_PAYMENT", "DUE", 5000)],
        payments: &[("LATE", 5000, 0, 0, 5000, 0, 0)],
        after: &[("LATE_PAYMENT", "DUE", 5000, 5000, 0, 5000, 0)],
        kept: 5000,
        ..LATE
    },
    Case {
        name: "late, refused",
        refunds: &[old("LATE_PAYMENT", "REFUSED", 5000)],
        payments: &[("LATE", 5000, 0, 0, 5000, 0, 5000)],
        after: &[("LATE_PAYMENT", "REFUSED", 5000, 5000, 0, 0, 5000)],
        kept: 5000,
        ..LATE
    },
    Case {
        name: "late, given back by hand",
        refunds: &[settled("LATE_PAYMENT", "HAND")],
        payments: &[("LATE", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("LATE_PAYMENT", "REFUSED", 5000, 5000, 5000, 0, 0)],
        payment_after: "REFUNDED",
        ..LATE
    },
    Case {
        name: "late, and gone back before that was known",
        refunds: &[
            of_other("OUTSIDE", "DONE", 5000, "pi_late, and gone back before that was known"),
            settled("LATE_PAYMENT", "GATEWAY"),
        ],
        payments: &[("LATE", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("OUTSIDE", "DONE", 5000, 5000, 5000, 0, 0), ("LATE_PAYMENT", "REFUSED", 5000, 0, 0, 0, 0)],
        payment_after: "REFUNDED",
        ..LATE
    },
    Case {
        name: "paid twice",
        refunds: &[of_other("OTHER_PAYMENT", "DONE", 5000, "pi_again")],
        payments: &[("ORDER", 5000, 0, 0, 0, 0, 0), ("OTHER", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("OTHER_PAYMENT", "DONE", 5000, 5000, 5000, 0, 0)],
        ..BASE
    },
    Case {
        name: "paid twice, and a part of the second refunded at the gateway",
        refunds: &[
            of_other("OTHER_PAYMENT", "REFUSED", 5000, "pi_second"),
            of_other("OUTSIDE", "DONE", 2000, "pi_second"),
        ],
        payments: &[("ORDER", 5000, 0, 0, 0, 0, 0), ("OTHER", 5000, 2000, 0, 5000, 0, 3000)],
        after: &[("OTHER_PAYMENT", "REFUSED", 5000, 3000, 0, 0, 3000), ("OUTSIDE", "DONE", 2000, 2000, 2000, 0, 0)],
        kept: 8000,
        ..BASE
    },
    Case {
        name: "refunded at the gateway in another currency",
        refunds: &[OldRefund {
            currency: "USD",
            ..of_other("OUTSIDE", "DONE", 700, "pi_refunded at the gateway in another currency")
        }],
        payments: &[("ORDER", 5000, 0, 0, 0, 0, 0), ("OTHER", 700, 700, 0, 700, 0, 0)],
        after: &[("OUTSIDE", "DONE", 700, 700, 700, 0, 0)],
        ..BASE
    },
    Case { name: "disputed", dispute: Some(("OPEN", 5000)), payments: &[("ORDER", 5000, 0, 0, 0, 5000, 0)], ..BASE },
    Case {
        name: "lost to the bank",
        dispute: Some(("LOST", 5000)),
        payments: &[("ORDER", 5000, 0, 5000, 0, 0, 0)],
        kept: 0,
        ..BASE
    },
    Case { name: "won from the bank", dispute: Some(("WON", 5000)), ..BASE },
    Case {
        name: "not refunded, because a bank has taken it",
        refunds: &[settled("ORDER", "GATEWAY")],
        dispute: Some(("LOST", 5000)),
        payments: &[("ORDER", 5000, 0, 5000, 5000, 0, 0)],
        after: &[("ORDER", "REFUSED", 5000, 5000, 0, 0, 0)],
        kept: 0,
        ..CANCELLED
    },
    Case {
        name: "not refunded, because a bank may take it",
        refunds: &[settled("ORDER", "GATEWAY")],
        dispute: Some(("OPEN", 5000)),
        payments: &[("ORDER", 5000, 0, 0, 5000, 5000, 0)],
        after: &[("ORDER", "REFUSED", 5000, 5000, 0, 0, 0)],
        ..CANCELLED
    },
    Case {
        name: "due while a bank may take a part",
        refunds: &[old("ORDER", "DUE", 5000)],
        dispute: Some(("OPEN", 2000)),
        payments: &[("ORDER", 5000, 0, 0, 5000, 2000, 0)],
        after: &[("ORDER", "DUE", 5000, 5000, 0, 3000, 0)],
        ..CANCELLED
    },
    // 20.00 of the 50.00 went to the customer through the bank.
    Case {
        name: "refused, and a part lost to the bank",
        manual_due: 5000,
        refunds: &[old("ORDER", "REFUSED", 5000)],
        dispute: Some(("LOST", 2000)),
        payments: &[("ORDER", 5000, 0, 2000, 5000, 0, 3000)],
        after: &[("ORDER", "REFUSED", 5000, 5000, 0, 0, 3000)],
        kept: 3000,
        ..CANCELLED
    },
    Case {
        name: "due, and a part refunded at the gateway",
        refunds: &[old("ORDER", "DUE", 5000), old("OUTSIDE", "DONE", 2000)],
        payments: &[("ORDER", 5000, 2000, 0, 5000, 0, 0)],
        after: &[("ORDER", "DUE", 5000, 3000, 0, 3000, 0), ("OUTSIDE", "DONE", 2000, 2000, 2000, 0, 0)],
        kept: 3000,
        ..CANCELLED
    },
    Case {
        name: "due, and refunded at the gateway",
        payment: "REFUNDED",
        refunds: &[old("ORDER", "DUE", 5000), old("OUTSIDE", "DONE", 5000)],
        payments: &[("ORDER", 5000, 5000, 0, 10_000, 0, 0)],
        after: &[("ORDER", "REFUSED", 5000, 5000, 0, 0, 0), ("OUTSIDE", "DONE", 5000, 5000, 5000, 0, 0)],
        kept: 0,
        payment_after: "REFUNDED",
        ..CANCELLED
    },
    Case {
        name: "of the sandbox",
        payment: "REFUNDED",
        reference: "sandbox_",
        refunds: &[old("ORDER", "DONE", 5000)],
        payments: &[("ORDER", 5000, 5000, 0, 5000, 0, 0)],
        after: &[("ORDER", "DONE", 5000, 5000, 5000, 0, 0)],
        kept: 0,
        payment_after: "REFUNDED",
        ..CANCELLED
    },
    Case { name: "of Stripe's test mode", reference: "cs_test_", ..BASE },
    Case {
        name: "never paid",
        paid: Not,
        payment: "FAILED",
        payments: &[],
        kept: 0,
        payment_after: "FAILED",
        cancelled: true,
        ..BASE
    },
];

/// The id of the order of a case, and of its item, ticket and checkout.
fn order_id(index: usize) -> i64 {
    (CREATED << 20) + 1000 + i64::try_from(index).expect("few")
}

/// Creates a database with the schema of an earlier version: the first migrations of files, or of PostgreSQL.
pub fn create_old_schema(path: &Path, (of_files, of_postgres): (usize, usize)) -> Database {
    database::create_empty(path);
    let database = Database::open(path);
    let (engine, schema) = if database.is_file() { ("sqlite", of_files) } else { ("postgres", of_postgres) };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/migrations").join(engine);
    let mut migrations: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    migrations.sort();
    for migration in &migrations[..schema] {
        database.run(&std::fs::read_to_string(migration).expect("SQL"));
    }
    database.run(&if database.is_file() {
        format!("PRAGMA user_version = {schema}; PRAGMA application_id = {}", 0x5443_4b54)
    } else {
        format!(
            "CREATE TABLE schema_version (id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
            INSERT INTO schema_version (id, version) VALUES (1, {schema})"
        )
    });
    database
}

/// Writes a database with the schema of an earlier version, and the orders of all cases.
fn write_old_database(path: &Path) {
    let database = create_old_schema(path, OLD_SCHEMAS);
    database.run(&format!(
        "INSERT INTO organizations (id, name, currency, timezone, created_at) VALUES (1, 'Old', 'EUR', 'UTC', {CREATED});
        INSERT INTO events (id, organization_id, title, currency, timezone, start_at, over_at, slug, is_public, status,
                delivery_method, shipping_countries, accepts_company, search_text, created_at, updated_at)
            VALUES (2, 1, 'Night', 'EUR', 'UTC', 4102444800000, 4102531200000, 'night', 1, 'PUBLISHED', 'DIGITAL', '[]', 0,
                'night\nnight', {CREATED}, {CREATED});
        INSERT INTO ticket_types (id, organization_id, event_id, name, price, quantity, used, status, display_remaining,
                allowed_dates, access_areas, max_per_order, sort_order, created_at, updated_at)
            VALUES (3, 1, 2, 'Seat', 5000, 100, 1, 'ON_SALE', 1, '[]', '[]', 10, 0, {CREATED}, {CREATED});
        INSERT INTO customers (id, organization_id, email, email_key, created_at)
            VALUES (4, 1, 'ada@example.com', 'ada@example.com', {CREATED})"
    ));
    let mut refunds = 0;
    for (index, case) in CASES.iter().enumerate() {
        write_old_order(&database, order_id(index), case, &mut refunds);
    }
    // As an earlier version had counted them: what the gateway had refunded of payments that completed orders is 50.00
    // four times, 25.00 and 20.00, and 50.00, 50.00, 12.50 and 50.00 were to be given back by hand.
    let number = |of: &dyn Fn(&Case) -> bool| CASES.iter().filter(|case| of(case)).count();
    let completed = number(&|case| case.paid != Not);
    let sold = number(&|case| case.paid != Not && !case.cancelled);
    database.run(&format!(
        "UPDATE ticket_types SET sold = {sold}, completed_orders = {sold}, cancelled_orders = {},
            cancelled_tickets = {}, revenue = {}, manual_payment_total = 3 * 5000,
            refunded_total = 4 * 5000 + 2500 + 2000, manual_refund_total = 3 * 5000 + 1250",
        number(&|case| case.cancelled),
        completed - sold,
        5000 * completed
    ));
}

fn write_old_order(database: &Database, id: i64, case: &Case, refunds: &mut i64) {
    let (name, status) = (case.name, if case.cancelled { "CANCELLED" } else { "COMPLETED" });
    let reference = format!("{}{name}", case.reference);
    let completed_at = (case.paid != Not).then_some(LATER);
    database.execute(
        "INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency, total,
            payment_link, payment_status, payment_reference, completed_at, paid_by_gateway, created_at, updated_at, refunded,
            manual_refund_due, cancelled_at)
        VALUES (?1, 1, 2, 4, ?2, ?3, ?4, 'EUR', 5000, 'https://pay.example', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        database::params![
            id,
            name,
            status,
            CREATED + 1_800_000,
            case.payment,
            reference,
            completed_at,
            case.paid == ByGateway,
            CREATED,
            LATER,
            case.refunded,
            case.manual_due,
            case.cancelled.then_some(LATER),
        ],
    );
    database.execute(
        "INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount) VALUES (?1, ?1, 3, 1, 5000, 0)",
        [id],
    );
    if case.paid != Not {
        database.execute(
            "INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, order_id, order_item_id, customer_id,
                customer_name, code, status, created_at, updated_at)
            VALUES (?1, 1, 2, 3, ?1, ?1, 4, ?2, ?5, ?3, ?4, ?4)",
            database::params![
                id,
                name,
                if case.cancelled { "CANCELLED" } else { "NOT_CHECKED_IN" },
                LATER,
                format!("{id:020}"),
            ],
        );
    }
    let is_paid = matches!(case.payment, "COMPLETED" | "REFUNDED");
    database.execute(
        "INSERT INTO checkouts (order_id, status, expires_at, payment_reference) VALUES (?1, 'CLOSED', ?2, ?3)",
        database::params![id, CREATED + 1_800_000, is_paid.then(|| format!("pi_{name}"))],
    );
    for (number, refund) in (0_i64..).zip(case.refunds) {
        // The ids are those that the first refunds of the same millisecond get.
        *refunds += 1;
        database.execute(
            "INSERT INTO refunds (id, organization_id, order_id, event_id, source, amount, currency, payment_reference,
                status, next_attempt_at, created_at, updated_at, settled_by, reference, check_at, checks)
            VALUES (?1, 1, ?2, 2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?8, ?9, ?10, ?11, ?12)",
            database::params![
                (LATER << 20) + *refunds,
                id,
                refund.source,
                refund.amount,
                refund.currency,
                refund.payment,
                refund.status,
                LATER,
                refund.settled_by,
                (refund.status == "DONE").then(|| format!("re_{refunds}")),
                (refund.status == "DONE").then_some(NEXT_CHECK + number),
                2 - number.min(2),
            ],
        );
    }
    if let Some((status, amount)) = case.dispute {
        database.execute(
            "INSERT INTO disputes (id, organization_id, order_id, event_id, reference, amount, currency, reason, status,
                created_at, updated_at)
            VALUES (?1, 1, ?1, 2, ?2, ?3, 'EUR', 'fraudulent', ?4, ?5, ?5)",
            database::params![id, format!("dp_{name}"), amount, status, LATER],
        );
    }
}

/// A service on the database of the earlier version.
fn upgraded() -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    write_old_database(&folder.path().join(database::FILE));
    let gateway = FakeGateway::new();
    let mut fixture = Fixture::in_folder(folder, |builder| builder.payment_gateway(gateway.clone()));
    fixture.gateway = gateway;
    fixture.set_clock("2026-06-01T14:00:00Z");
    fixture
}

/// The order of a case.
fn order_of(fixture: &Fixture, name: &str) -> OrderId {
    let id = order_id(CASES.iter().position(|case| case.name == name).expect(name));
    let orders = fixture.service.list_orders(&fixture.caller, ListOrders::default().limit(100)).expect("a page").data;
    orders.into_iter().map(|order| order.id).find(|order| database::stored_id(order) == id).expect("the order")
}

fn refunds_of(fixture: &Fixture, order: OrderId) -> Vec<Refund> {
    let request = ListRefunds::default().order(order);
    fixture.service.list_refunds(&fixture.caller, request).expect("a page").data
}

#[test]
fn money_of_earlier_versions_becomes_payments_refunds_and_movements() {
    let fixture = upgraded();
    let database = fixture.database();
    for (index, case) in CASES.iter().enumerate() {
        let (name, id) = (case.name, order_id(index));
        let payments = database.rows(
            &format!(
                "SELECT purpose, amount, returned, taken, promised, disputed, owed FROM payments WHERE order_id = {id} ORDER BY id"
            ),
            |row| {
                let sum = |column: &str| row.get::<i64>(column);
                let sums = ["amount", "returned", "taken", "promised", "disputed", "owed"].map(sum);
                (row.get::<String>("purpose"), sums)
            },
        );
        let expected: Vec<_> = case
            .payments
            .iter()
            .map(|(purpose, a, b, c, d, e, f)| ((*purpose).to_owned(), [*a, *b, *c, *d, *e, *f]))
            .collect();
        assert_eq!(payments, expected, "{name}: payments");
        let refunds = database.rows(
            &format!(
                "SELECT source, status, amount, promised, returned, to_ask, owed FROM refunds WHERE order_id = {id} ORDER BY id"
            ),
            |row| {
                let sums = ["amount", "promised", "returned", "to_ask", "owed"].map(|column| row.get::<i64>(column));
                (row.get::<String>("source"), row.get::<String>("status"), sums)
            },
        );
        let expected: Vec<_> = case
            .after
            .iter()
            .map(|(source, status, a, b, c, d, e)| ((*source).to_owned(), (*status).to_owned(), [*a, *b, *c, *d, *e]))
            .collect();
        assert_eq!(refunds, expected, "{name}: refunds");
        let sql = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM ledger WHERE order_id = ?1";
        assert_eq!(database.value_with::<i64>(sql, [id]), case.kept, "{name}: the ledger");
        let sql = "SELECT payment_status FROM orders WHERE id = ?1";
        assert_eq!(database.value_with::<String>(sql, [id]), case.payment_after, "{name}: the payment");
    }
    let not_backfilled = "SELECT (SELECT COUNT(*) FROM payments WHERE backfilled = 0)
        + (SELECT COUNT(*) FROM ledger_entries WHERE backfilled = 0)";
    assert_eq!(fixture.stored(not_backfilled), 0);
    let report = fixture.service.check().expect("a check");
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[test]
fn a_gateway_is_asked_about_a_payment_when_it_was_to_be_asked_about_a_refund_or_a_dispute() {
    let fixture = upgraded();
    let check = |name: &str| {
        let order = order_of(&fixture, name);
        let sql = "SELECT check_at, checks FROM payments WHERE order_id = ?1";
        fixture.database().rows(&sql.replace("?1", &database::stored_id(order).to_string()), |row| {
            (row.get::<Option<i64>>("check_at"), row.get::<i64>("checks"))
        })
    };
    assert_eq!(check("two parts"), [(Some(NEXT_CHECK), 1)]);
    assert_eq!(check("disputed"), [(Some(LATER), 0)]);
    assert_eq!(check("kept"), [(None, 0)]);
}

#[test]
fn the_summary_is_that_of_earlier_versions_less_what_banks_have_taken() {
    let fixture = upgraded();
    let event = fixture.service.list_events(&fixture.caller, ListEvents::default()).expect("a page").data[0].id;
    let summary = fixture.service.get_event_summary(&fixture.caller, event).expect("a summary");
    assert_eq!(summary.mode, Some(PaymentMode::Live));
    // 22 orders that were completed with real money, three of them with cash.
    assert_eq!((summary.gross_revenue, summary.manual_payment_total), (eur(22 * 5000), eur(3 * 5000)));
    // All of three, 25.00 and 20.00. Another one is of the sandbox.
    assert_eq!(summary.refunded_total, eur(3 * 5000 + 2500 + 2000));
    assert_eq!(summary.manually_refunded_total, eur(5000 + 3750));
    // Refused, in cash, the rest in cash, and what is left of one of which a bank has taken 20.00.
    assert_eq!(summary.manual_refund_total, eur(5000 + 5000 + 1250 + 3000));
    // Also a late payment, and the rest of a second one.
    assert_eq!(summary.owed_total, eur(14_250 + 5000 + 3000));
    assert_eq!(summary.disputed_total, eur(5000 + 5000 + 2000));
}

#[test]
fn payments_of_the_sandbox_and_of_test_mode_are_no_real_money() {
    let fixture = upgraded();
    let of = "SELECT COALESCE(gateway, 'unknown') || ',' || COALESCE(account, 'unknown') || ',' || mode FROM payments
        WHERE order_id = ?1";
    let recorded = |name: &str| -> String {
        let order = database::stored_id(order_of(&fixture, name));
        fixture.database().value_with(of, [order])
    };
    assert_eq!(recorded("of the sandbox"), "sandbox,,TEST");
    assert_eq!(recorded("of Stripe's test mode"), "unknown,unknown,TEST");
    assert_eq!(recorded("kept"), "unknown,unknown,LIVE");
    assert_eq!(recorded("cash"), "unknown,unknown,LIVE");
    let entries = "SELECT COUNT(*) FROM ledger_entries e JOIN payments p ON p.id = e.payment_id WHERE e.mode <> p.mode";
    assert_eq!(fixture.stored(entries), 0);
}

#[test]
fn what_earlier_versions_left_to_be_given_back_is_given_back_once() {
    let fixture = upgraded();
    let service = &fixture.service;
    service.run_maintenance().expect("a run");
    let asked = |name: &str| {
        let order = order_of(&fixture, name);
        let asked = fixture.gateway.refunds();
        asked.iter().filter(|request| request.order_id == order).map(|request| request.amount).collect::<Vec<_>>()
    };
    for (name, amounts) in [
        ("due", vec![eur(5000)]),
        ("late, due", vec![eur(5000)]),
        ("due while a bank may take a part", vec![eur(3000)]),
        ("due, and a part refunded at the gateway", vec![eur(3000)]),
        ("due, and refunded at the gateway", vec![]),
        ("not refunded, because a bank may take it", vec![]),
    ] {
        assert_eq!(asked(name), amounts, "{name}");
        assert!(refunds_of(&fixture, order_of(&fixture, name)).iter().all(|refund| refund.owed == eur(0)), "{name}");
    }
    let part = refunds_of(&fixture, order_of(&fixture, "due, and a part refunded at the gateway"));
    assert!(part.iter().all(|refund| refund.status == RefundStatus::Done), "{part:?}");

    // The rest of the cash, of which 37.50 was given back.
    let cash = order_of(&fixture, "cash, 37.50 given back");
    let given =
        service.mark_order_refunded(&fixture.caller, cash, MarkRefunded::all(RefundMethod::Cash)).expect("owed");
    assert_eq!(given.settled.iter().map(|settled| settled.amount).collect::<Vec<_>>(), [eur(1250)]);

    // The bank decides for the organizer: the customer gets the money that the gateway could not refund.
    let name = "not refunded, because a bank may take it";
    let order = fixture.read_order(order_of(&fixture, name));
    let won = GatewayDispute::new(format!("dp_{name}"), eur(5000), "EUR").status(DisputeStatus::Won).taken(eur(0));
    let mut notice = Notice::about(&order, GatewayEvent::Dispute(won));
    notice.notice.checkout_reference = Some(format!("cs_live_{name}"));
    fixture.gateway.know(&notice);
    notice.send(service).expect("received");
    service.run_maintenance().expect("a run");
    assert_eq!(asked(name), [eur(5000)]);
    assert_eq!(refunds_of(&fixture, order.id)[0].status, RefundStatus::Done);
}
