//! A retry of `create_order` with the same idempotency key.

use crate::large_store::LargeStore;
use crate::orders::request;
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    let name = "create_order asked for again";
    if !bench.includes(name) {
        return;
    }
    let store = LargeStore::open();
    let caller = store.fixture.caller.with_idempotency_key("basket-1");
    let request = request(&store);
    let created = store.fixture.service.create_order(&caller, request.clone()).expect("created").value;
    let retry = || {
        assert_eq!(
            store.fixture.service.create_order(&caller, request.clone()).expect("the stored response").value.order.id,
            created.order.id
        )
    };
    let read = || {
        assert_eq!(
            store.fixture.service.get_order(&store.fixture.caller, created.order.id).expect("the order").id,
            created.order.id
        )
    };
    bench.compare_as(
        name,
        ("again", "get_order"),
        10_000,
        |count| (0..count).for_each(|_| retry()),
        |count| (0..count).for_each(|_| read()),
    );
}
