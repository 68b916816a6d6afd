//! Services that are opened, used and dropped in asynchronous code, which blocks its thread but works, as with a file.

use tokio::runtime::Builder;

use crate::common::cluster::Cluster;
use crate::postgres::sale::{Sale, open};

#[test]
fn a_service_works_in_asynchronous_code_of_every_kind_of_runtime() {
    let Some(cluster) = Cluster::start("") else { return };
    for (name, mut builder) in [("many", Builder::new_multi_thread()), ("one", Builder::new_current_thread())] {
        let url = cluster.create(name);
        let runtime = builder.enable_all().build().unwrap();
        runtime.block_on(async {
            let service = open(&url);
            let sale = Sale::new(&service, "event", 10);
            sale.order(&service, "block-on@example.com").unwrap();
            let task = service.clone();
            tokio::spawn(async move { sale.order(&task, "task@example.com").unwrap() }).await.unwrap();
            let blocking = service.clone();
            tokio::task::spawn_blocking(move || sale.order(&blocking, "blocking@example.com").unwrap()).await.unwrap();
            drop(service);
        });
        let orders: i64 = cluster.client(name).query_one("SELECT COUNT(*) FROM orders", &[]).unwrap().get(0);
        assert_eq!(orders, 3, "{name}");
    }
}
