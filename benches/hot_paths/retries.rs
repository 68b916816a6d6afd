//! An order that is asked for again under its idempotency key.

use crate::large_store::LargeStore;
use crate::orders::request;
use crate::ratio::Bench;

pub fn bench(bench: &mut Bench) {
    let name = "create_order asked for again";
    if !bench.wants(name) {
        return;
    }
    let shop = LargeStore::open();
    let caller = shop.fixture.caller.with_idempotency_key("basket-1".parse().expect("a key"));
    let request = request(&shop);
    let placed = shop.fixture.service.create_order(&caller, request.clone()).expect("placed");
    let again = || {
        assert_eq!(shop.fixture.service.create_order(&caller, request.clone()).expect("kept").order.id, placed.order.id)
    };
    let read = || {
        assert_eq!(
            shop.fixture.service.get_order(&shop.fixture.caller, placed.order.id).expect("there").id,
            placed.order.id
        )
    };
    bench.compare_as(
        name,
        ("again", "get_order"),
        10_000,
        |count| (0..count).for_each(|_| again()),
        |count| (0..count).for_each(|_| read()),
    );
}
