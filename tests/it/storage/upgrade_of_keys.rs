//! The migration that computes the keys again by which texts are compared: searched titles, e-mail addresses, and codes
//! of discounts. An earlier version compared their letters in lower case.

use std::path::Path;

use ticketing::event::ListEvents;
use ticketing::order::ListOrders;

use crate::common::*;
use crate::storage::upgrade::create_old_schema;

/// The versions of the schema before, of database files and of PostgreSQL.
const OLD_SCHEMAS: (i64, i64) = (40, 9);

/// 2026-06-01T12:00:00Z.
const CREATED: i64 = 1_780_315_200_000;

/// The numbers of customers, their organizations, addresses and keys.
const CUSTOMERS: [(i64, i64, &str, &str); 6] = [
    (10, 1, "Ada@example.com", "ada@example.com"),
    (11, 1, "ada@München.example", "ada@münchen.example"),
    (12, 1, "ada@xn--mnchen-3ya.example", "ada@xn--mnchen-3ya.example"),
    (13, 1, "bob@MÜNCHEN.example", "bob@münchen.example"),
    (14, 1, "bob@ｍünchen.example", "bob@ｍünchen.example"),
    (15, 2, "ada@münchen.example", "ada@münchen.example"),
];

/// The numbers of discounts, their events, codes and keys.
const DISCOUNTS: [(i64, i64, &str, &str); 9] = [
    (20, 5, "CAFE\u{301}", "cafe\u{301}"),
    (21, 5, "CAFÉ", "café"),
    (22, 5, "ＣＡＦＥ\u{301}", "ｃａｆｅ\u{301}"),
    (23, 5, "Straße", "straße"),
    (24, 5, " SAVE10", " save10"),
    (25, 5, "ΣΟΦΟΣ", "σοφοσ"),
    (26, 5, "café-2", "café-2"),
    (27, 6, "CAFE\u{301}", "cafe\u{301}"),
    (28, 5, "Early", "early"),
];

fn write_old_database(path: &Path) {
    let database = create_old_schema(path, OLD_SCHEMAS);
    for organization in [1, 2] {
        database.run(&format!(
            "INSERT INTO organizations (id, name, currency, timezone, created_at)
                VALUES ({organization}, 'Old', 'EUR', 'UTC', {CREATED})"
        ));
    }
    for (event, title, text) in [(5, "Cafe\u{301} Größe", "cafe\u{301} größe\nnight-5"), (6, "Night", "night\nnight-6")]
    {
        database.run(&format!(
            "INSERT INTO events (id, organization_id, title, currency, timezone, start_at, over_at, slug, is_public,
                    status, delivery_method, shipping_countries, accepts_company, search_text, created_at, updated_at)
                VALUES ({event}, 1, '{title}', 'EUR', 'UTC', 4102444800000, 4102531200000, 'night-{event}', 1, 'PUBLISHED',
                    'DIGITAL', '[]', 0, '{text}', {CREATED}, {CREATED})"
        ));
    }
    for (id, organization, email, key) in CUSTOMERS {
        database.run(&format!(
            "INSERT INTO customers (id, organization_id, email, email_key, created_at)
                VALUES ({id}, {organization}, '{email}', '{key}', {CREATED})"
        ));
    }
    for (id, event, code, key) in DISCOUNTS {
        database.run(&format!(
            "INSERT INTO discounts (id, organization_id, event_id, code, code_key, type, value, value_decimals, auto_apply,
                    valid_from, valid_to, is_active, applicable_ticket_types, created_at, updated_at)
                VALUES ({id}, 1, {event}, '{code}', '{key}', 'PERCENTAGE', 10, 0, 0, 0, 4102444800000, 1, '[]', {CREATED},
                    {CREATED})"
        ));
    }
    // An order and an issued ticket of each customer of the first organization.
    for customer in 10..15 {
        database.run(&format!(
            "INSERT INTO ticket_types (id, organization_id, event_id, name, price, quantity, used, status,
                    display_remaining, allowed_dates, access_areas, max_per_order, sort_order, created_at, updated_at, sold, expired_orders)
                VALUES ({customer}, 1, 5, 'Seat', 5000, 100, 1, 'ON_SALE', 1, '[]', '[]', 10, 0, {CREATED}, {CREATED}, 1, 1);
            INSERT INTO orders (id, organization_id, event_id, customer_id, customer_name, status, hold_until, currency,
                    total, created_at, updated_at)
                VALUES ({CREATED} * 1048576 + {customer}, 1, 5, {customer}, 'Ada', 'EXPIRED', {CREATED}, 'EUR', 5000, {CREATED},
                    {CREATED});
            INSERT INTO order_items (id, order_id, ticket_type_id, quantity, price, discount)
                VALUES ({customer}, {CREATED} * 1048576 + {customer}, {customer}, 1, 5000, 0);
            INSERT INTO tickets (id, organization_id, event_id, ticket_type_id, customer_id, customer_name, code, status,
                    created_at, updated_at)
                VALUES ({customer}, 1, 5, {customer}, {customer}, 'Ada', '{customer:020}', 'NOT_CHECKED_IN', {CREATED},
                    {CREATED})"
        ));
    }
}

#[test]
fn the_keys_of_earlier_versions_are_computed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    write_old_database(&folder.path().join(database::FILE));
    // When the fixture is dropped, it checks all keys.
    let mut fixture = Fixture::in_folder(folder, |builder| builder);
    fixture.caller = fixture.service.act_for("org_0000000000001".parse().expect("an id")).expect("the organization");
    let database = fixture.database();

    let customers = database.rows("SELECT id, email, email_key FROM customers WHERE id < 100 ORDER BY id", |row| {
        (row.get::<i64>("id"), row.get::<String>("email"), row.get::<String>("email_key"))
    });
    // `xn--mnchen-3ya` is what Python's codec `idna` makes of `münchen`. The customer with the key stays, else the oldest.
    let expected = [
        (10, "Ada@example.com", "ada@example.com"),
        (12, "ada@xn--mnchen-3ya.example", "ada@xn--mnchen-3ya.example"),
        (13, "bob@MÜNCHEN.example", "bob@xn--mnchen-3ya.example"),
        (15, "ada@münchen.example", "ada@xn--mnchen-3ya.example"),
    ];
    assert_eq!(customers, expected.map(|(id, email, key)| (id, email.to_owned(), key.to_owned())));
    for table in ["orders", "tickets"] {
        let sql = format!("SELECT customer_id FROM {table} ORDER BY id");
        assert_eq!(database.column::<i64>(&sql), [10, 12, 12, 13, 13], "{table}");
    }
    let orders = |email: &str| {
        let filter = ListOrders::default().customer_email(email);
        fixture.service.list_orders(&fixture.caller, filter).expect("orders").data.len()
    };
    assert_eq!((orders("ADA@MÜNCHEN.EXAMPLE"), orders("ada@XN--MNCHEN-3YA.example")), (2, 2));

    let discounts = database.rows("SELECT id, code, code_key, revision FROM discounts ORDER BY id", |row| {
        let text = |column| row.get::<String>(column);
        (row.get::<i64>("id"), text("code"), text("code_key"), row.get::<i64>("revision"))
    });
    // The one that is written in the normal form keeps its code, and the others get the next number that is free.
    let expected = [
        (20, "CAFE\u{301}-3", "café-3", 2),
        (21, "CAFÉ", "café", 1),
        (22, "ＣＡＦＥ\u{301}-4", "café-4", 2),
        (23, "Straße", "strasse", 1),
        (24, " SAVE10", "save10", 1),
        (25, "ΣΟΦΟΣ", "σοφοσ", 1),
        (26, "café-2", "café-2", 1),
        (27, "CAFE\u{301}", "café", 1),
        (28, "Early", "early", 1),
    ];
    assert_eq!(discounts, expected.map(|(id, code, key, changed)| (id, code.to_owned(), key.to_owned(), changed)));

    for q in ["CAFÉ GRÖSSE", "cafe\u{301}", "ｇröße"] {
        let found = fixture.service.list_events(&fixture.caller, ListEvents::default().q(q)).expect("events").data;
        assert_eq!(found.len(), 1, "{q}");
    }
}
