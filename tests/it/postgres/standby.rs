//! A standby serves the reads that may look at many rows.

use ticketing::id::OrderId;
use ticketing::order::{ListOrders, OrderStatus};
use ticketing::{Error, PostgresDatabase, TicketingService};

use crate::common::cluster::{Cluster, PASSWORD};
use crate::common::shop::Shop;
use crate::common::statement_proxy::{Edit, behind_proxy};
use crate::common::webhooks::wait_until;

struct Pair {
    primary: Cluster,
    standby: Cluster,
    service: TicketingService,
    shop: Shop,
}

impl Pair {
    fn start() -> Option<Self> {
        Self::start_behind_proxy(&[])
    }

    /// The same with a proxy between the service and the standby, which changes statements.
    fn start_behind_proxy(edits: &'static [Edit]) -> Option<Self> {
        let primary = Cluster::start("")?;
        primary.create("hall");
        let standby = primary.standby();
        let database = PostgresDatabase::new(&primary.url_without_password("hall")).unwrap();
        let standby_url = behind_proxy(&standby.url_without_password("hall"), edits);
        let database = database.password(PASSWORD).read_from(&standby_url).unwrap();
        let service = TicketingService::postgres(database).open().unwrap();
        let shop = Shop::create(&service);
        let pair = Self { primary, standby, service, shop };
        pair.wait_for_standby();
        Some(pair)
    }

    /// Waits until the standby has everything.
    fn wait_for_standby(&self) {
        let position: String = one(&self.primary, "SELECT pg_current_wal_lsn()::TEXT");
        wait_until("the standby has everything", || {
            one(&self.standby, &format!("SELECT pg_last_wal_replay_lsn() >= '{position}'::PG_LSN"))
        });
    }

    /// Stops the standby from following the primary.
    fn pause(&self) {
        self.standby.client("hall").batch_execute("SELECT pg_wal_replay_pause()").unwrap();
        wait_until("the standby stands still", || {
            one::<String>(&self.standby, "SELECT pg_get_wal_replay_pause_state()") == "paused"
        });
    }

    fn resume(&self) {
        self.standby.client("hall").batch_execute("SELECT pg_wal_replay_resume()").unwrap();
    }

    fn ids(&self, request: ListOrders) -> Vec<OrderId> {
        let orders = self.service.list_orders(&self.shop.caller, request).unwrap().data;
        orders.iter().map(|order| order.id).collect()
    }

    /// The orders of a list with a filter.
    fn filtered(&self) -> Vec<OrderId> {
        self.ids(ListOrders::default().status(OrderStatus::Completed))
    }
}

fn one<T: for<'r> postgres::types::FromSql<'r>>(cluster: &Cluster, sql: &str) -> T {
    cluster.client("hall").query_one(sql, &[]).unwrap().get(0)
}

#[test]
fn filtered_lists_and_snapshots_are_read_from_the_standby_and_everything_else_from_the_primary() {
    let Some(pair) = Pair::start() else { return };
    let old = pair.shop.order(&pair.service, 1);
    pair.wait_for_standby();
    assert_eq!(pair.filtered(), [old]);
    pair.pause();
    let new = pair.shop.order(&pair.service, 1);

    assert_eq!(pair.service.get_order(&pair.shop.caller, new).unwrap().id, new);
    assert_eq!(pair.ids(ListOrders::default()), [new, old]);
    assert_eq!(pair.filtered(), [old]);
    let in_snapshot = pair.service.on_one_snapshot(|| pair.service.get_order(&pair.shop.caller, new)).unwrap();
    assert!(matches!(in_snapshot, Err(Error::NotFound { .. })), "{in_snapshot:?}");
    assert!(pair.service.check().unwrap().is_clean());

    pair.resume();
    wait_until("the standby has the order", || pair.filtered() == [new, old]);
}

#[test]
fn the_primary_serves_all_reads_while_the_standby_is_away() {
    let Some(pair) = Pair::start() else { return };
    let order = pair.shop.order(&pair.service, 1);
    wait_until("the standby has the order", || pair.filtered() == [order]);
    pair.standby.stop();
    let new = pair.shop.order(&pair.service, 1);
    assert_eq!(pair.filtered(), [new, order]);
    assert!(pair.service.check().unwrap().is_clean());
    pair.standby.run();
    // It serves reads again: a list misses what it does not have.
    pair.wait_for_standby();
    pair.pause();
    let newest = pair.shop.order(&pair.service, 1);
    wait_until("the standby serves reads again", || pair.filtered() == [new, order]);
    pair.resume();
    wait_until("the standby has the order", || pair.filtered() == [newest, new, order]);
}

#[test]
fn a_standby_that_receives_nothing_any_more_serves_no_reads() {
    let Some(pair) = Pair::start() else { return };
    let old = pair.shop.order(&pair.service, 1);
    pair.wait_for_standby();
    assert_eq!(pair.filtered(), [old]);
    // It does not know how old its state is: it has replayed no transaction since it was started.
    pair.primary.client("hall").batch_execute("CHECKPOINT").unwrap();
    pair.wait_for_standby();
    let mut standby = pair.standby.client("hall");
    standby.batch_execute("CHECKPOINT").unwrap();
    standby.batch_execute("ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=1'").unwrap();
    drop(standby);
    pair.standby.stop();
    pair.standby.run();
    let new = pair.shop.order(&pair.service, 1);
    let newest = pair.shop.order(&pair.service, 1);
    wait_until("the primary serves the search", || pair.filtered() == [newest, new, old]);
    assert!(one::<i64>(&pair.standby, "SELECT COUNT(*) FROM orders") == 1, "the standby has the first order only");
}

#[test]
fn a_standby_of_a_primary_that_writes_nothing_serves_reads() {
    let Some(pair) = Pair::start() else { return };
    let order = pair.shop.order(&pair.service, 1);
    pair.primary.client("hall").batch_execute("CHECKPOINT").unwrap();
    pair.wait_for_standby();
    pair.standby.client("hall").batch_execute("CHECKPOINT").unwrap();
    pair.standby.stop();
    pair.standby.run();
    wait_until("the standby receives", || {
        one::<i64>(&pair.standby, "SELECT COUNT(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'") == 1
    });
    // Not only the question how old its state is, but the end of a search.
    let serves = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'ticketing' AND query = 'ROLLBACK'";
    wait_until("the standby serves the search", || {
        pair.filtered() == [order] && one::<i64>(&pair.standby, serves) == 1
    });
}

#[test]
fn searches_and_counts_that_the_standby_cancels_are_answered_by_the_primary() {
    const CANCELLED: &[Edit] = &[("k.id FROM orders ", "k.id FROM orderz "), ("FROM customers", "FROM customerz")];
    let Some(pair) = Pair::start_behind_proxy(CANCELLED) else { return };
    let order = pair.shop.order(&pair.service, 1);
    pair.primary
        .client("hall")
        .batch_execute(
            "CREATE FUNCTION cancelled(BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$ BEGIN
                RAISE 'canceling statement due to conflict with recovery' USING ERRCODE = '40001'; END $$;
            CREATE VIEW orderz AS SELECT * FROM orders WHERE cancelled(id);
            CREATE VIEW customerz AS SELECT * FROM customers WHERE cancelled(id)",
        )
        .unwrap();
    pair.wait_for_standby();
    let cancelled = || pair.standby.log().matches("conflict with recovery").count();
    assert!(pair.service.check().unwrap().is_clean());
    let of_check = cancelled();
    assert!(of_check > 0, "the standby has cancelled steps of the check");
    let usage = pair.service.get_organization_usage(pair.shop.caller.organization()).unwrap();
    assert_eq!((usage.customers, usage.orders), (1, 1));
    let of_usage = cancelled();
    assert!(of_usage > of_check, "the standby has cancelled the count of the customers");
    // Last: after it, the standby is not asked for some time.
    assert_eq!(pair.filtered(), [order]);
    assert!(cancelled() > of_usage, "the standby has cancelled the search");
}

/// Exports more than a thousand tickets. After the first thousand, `interrupt` stops the standby from reading on.
#[cfg(feature = "exports")]
fn assert_primary_exports_when(interrupt: impl Fn(&Pair)) {
    use std::ops::ControlFlow;
    use ticketing::exports::{Export, ExportKind};

    let Some(pair) = Pair::start() else { return };
    for _ in 0..150 {
        pair.shop.order(&pair.service, 10);
    }
    pair.wait_for_standby();
    let mut progress = Vec::new();
    let mut file = Vec::new();
    let request = Export::new(ExportKind::Attendees).event(pair.shop.event);
    let report = pair.service.export(&pair.shop.caller, request, &mut file, |done| {
        progress.push(done.rows);
        if progress.len() == 1 {
            interrupt(&pair);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(report.unwrap().rows, 1500);
    assert_eq!(String::from_utf8(file).unwrap().lines().count(), 1 + 1500);
    assert_eq!(progress, [1000, 1000, 1500], "it has begun again");
}

#[test]
#[cfg(feature = "exports")]
fn an_export_that_the_standby_cancels_begins_again_on_the_primary() {
    assert_primary_exports_when(|pair| {
        for setting in ["ALTER SYSTEM SET max_standby_streaming_delay = 0", "SELECT pg_reload_conf()"] {
            pair.standby.client("hall").batch_execute(setting).unwrap();
        }
        // The standby removes rows that the snapshot of the export sees, and ends the connection of the export.
        for change in ["UPDATE events SET updated_at = updated_at + 1", "VACUUM events"] {
            pair.primary.client("hall").batch_execute(change).unwrap();
        }
        wait_until("the standby has cancelled the export", || pair.standby.log().contains("conflict with recovery"));
    });
}

#[test]
#[cfg(feature = "exports")]
fn an_export_whose_standby_stops_begins_again_on_the_primary() {
    assert_primary_exports_when(|pair| pair.standby.stop());
}

#[test]
fn a_wrong_url_of_a_standby_is_named() {
    let error = PostgresDatabase::new("postgres://ada@host/db").unwrap().read_from("http://host").unwrap_err();
    assert_eq!(error.fields()[0].path, "read_from");
}
