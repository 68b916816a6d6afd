//! A standby serves the reads that may look at many rows.

use ticketing::id::OrderId;
use ticketing::order::{ListOrders, OrderStatus};
use ticketing::{Error, TicketingService};

use crate::common::cluster::{Cluster, PASSWORD};
use crate::common::shop::Shop;
use crate::common::webhooks::wait_until;

struct Pair {
    primary: Cluster,
    standby: Cluster,
    service: TicketingService,
    shop: Shop,
}

impl Pair {
    fn start() -> Option<Self> {
        let primary = Cluster::start("")?;
        primary.create("hall");
        let standby = primary.standby();
        let builder = TicketingService::postgres(&primary.url_without_password("hall")).unwrap();
        let standby_url = standby.url_without_password("hall");
        let service = builder.database_password(PASSWORD).read_from(&standby_url).open().unwrap();
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
fn a_wrong_url_of_a_standby_is_named() {
    let builder = TicketingService::postgres("postgres://ada@host/db").unwrap().read_from("http://host");
    let error = builder.open().unwrap_err();
    assert_eq!(error.fields()[0].path, "read_from");
    let error = TicketingService::temporary().read_from("postgres://ada@host/db").open().unwrap_err();
    assert_eq!(error.fields()[0].message, "is a setting of PostgreSQL databases");
}
