//! Reconciliation: what Stripe lists is compared with what is recorded, and what was lost is recorded.
//!
//! The fake charges 1.4 % and 0.25 for a payment, nothing for a refund, and 20.00 for a dispute: of a payment over
//! 25.00, it takes 0.35 + 0.25 = 0.60.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::json;
use ticketing::environment::{ManualClock, SeededEntropy};
use ticketing::error::StoreErrorKind;
use ticketing::id::{OrderId, OrganizationId};
use ticketing::order::OrderStatus;
use ticketing::payment::{
    Discrepancies, DisputeStatus, LedgerKind, ListPayments, ListRefunds, PaymentMode, Reconcile, ReconcileProgress,
    ReconciledTotal, Reconciliation, RefundSource, RefundStatus,
};
use ticketing::stripe::ConnectedAccount;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Amount, Caller, Error, TicketingService, Timestamp};

use crate::common::fake_stripe::{FakeStripe, Fault};
use crate::common::{Fixture, NOW, at, database, eur, new_event, new_order, skipped};
use crate::stripe::Shop;
use crate::stripe::gateway::{gateway, settings};

const REFUNDS: &str = "/v1/refunds";
const DAY: Duration = Duration::from_hours(24);

/// The month in which the tests begin.
fn june() -> Reconcile {
    Reconcile::new(at("2026-06-01T00:00:00Z"), at("2026-07-01T00:00:00Z"))
}

fn reconcile(service: &TicketingService, request: &Reconcile) -> Reconciliation {
    service.reconcile(request, |_| ControlFlow::Continue(())).unwrap()
}

fn total(kind: LedgerKind, count: u64, gross: i64, fee: i64, net: i64) -> (LedgerKind, u64, Amount, Amount, Amount) {
    (kind, count, eur(gross), eur(fee), eur(net))
}

fn sums(totals: &[ReconciledTotal]) -> Vec<(LedgerKind, u64, Amount, Amount, Amount)> {
    let sums = totals.iter().map(|total| {
        assert_eq!((&*total.currency, total.mode, total.without_fee), ("EUR", PaymentMode::Test, 0));
        (total.kind, total.count, total.gross, total.fee, total.net)
    });
    sums.collect()
}

/// The kinds, amounts and references of a list, and whether each was resolved.
fn listed(list: &Discrepancies) -> Vec<(LedgerKind, Amount, &str, bool)> {
    assert_eq!(list.count, u64::try_from(list.listed.len()).unwrap());
    let items = list.listed.iter();
    items.map(|item| (item.kind, item.amount, item.reference.as_deref().unwrap_or(""), item.is_resolved)).collect()
}

fn assert_agrees(result: &Reconciliation) {
    assert!(result.is_explained(), "{result:#?}");
    for list in [&result.missing_here, &result.missing_there, &result.different, &result.refunded] {
        assert_eq!(list.count, 0, "{result:#?}");
    }
}

impl Shop {
    fn reconcile(&self, request: &Reconcile) -> Reconciliation {
        reconcile(self.service(), request)
    }

    /// Applies what is missing, and asserts that a second run finds nothing to do.
    fn apply(&self) -> Reconciliation {
        let request = june().apply(true);
        let result = self.reconcile(&request);
        assert!(result.is_explained(), "{result:#?}");
        assert_agrees(&self.reconcile(&request));
        result
    }

    /// What Stripe keeps of a payment, in cents: its amount less its refunds.
    fn left(&self, intent: &str) -> i64 {
        let refunds = self.fake.all("refund");
        let back = refunds.iter().filter(|refund| refund["payment_intent"] == intent && refund["status"] != "failed");
        let back: i64 = back.map(|refund| refund["amount"].as_i64().unwrap()).sum();
        self.fake.get(intent)["amount_received"].as_i64().unwrap() - back
    }

    fn posts(&self) -> usize {
        let mut requests = self.fake.requests();
        requests.retain(|recorded| recorded.request.method != "GET");
        requests.len()
    }
}

#[test]
fn what_both_sides_have_is_added_up_with_the_fees() {
    let shop = Shop::open();
    let sales = [(); 4].map(|()| shop.sale());
    shop.fake.refund_outside(&sales[0].1, Some(500));
    shop.cancel(sales[1].0);
    shop.fake.dispute(&sales[2].1);
    shop.deliver_all();
    let mut last = ReconcileProgress::default();
    let result = shop.service().reconcile(&june(), |progress| {
        last = progress;
        ControlFlow::Continue(())
    });
    let result = result.unwrap();
    assert_agrees(&result);
    let expected = [
        // 4 × 25.00, 4 × 0.60.
        total(LedgerKind::Payment, 4, 10000, 240, 9760),
        // 5.00 and 25.00.
        total(LedgerKind::Refund, 2, -3000, 0, -3000),
        // 25.00 and 20.00.
        total(LedgerKind::Dispute, 1, -2500, 2000, -4500),
    ];
    assert_eq!(sums(&result.matched), expected);
    assert_eq!((last.accounts, last.total_accounts, last.lines, last.entries), (1, 1, 7, 7));
    assert_eq!((result.returned.len(), result.foreign_lines), (0, 0));
    // The day before, and the day after.
    for (from, to) in
        [("2026-05-31T00:00:00Z", "2026-06-01T12:00:00Z"), ("2026-06-01T12:00:01Z", "2026-06-02T00:00:00Z")]
    {
        let result = shop.reconcile(&Reconcile::new(at(from), at(to)));
        assert_agrees(&result);
        assert_eq!(result.matched, []);
    }
}

#[test]
fn fees_in_another_currency_are_not_added() {
    let shop = Shop::open();
    shop.sale();
    shop.fake.keep_balances_in("usd");
    shop.sale();
    let result = shop.reconcile(&june());
    assert_agrees(&result);
    let [payments] = &result.matched[..] else { panic!("{result:#?}") };
    assert_eq!((payments.count, payments.gross, payments.without_fee), (2, eur(5000), 1));
    assert_eq!((payments.fee, payments.net), (eur(60), eur(2440)));
}

#[test]
fn a_sale_whose_notice_was_lost_is_listed_and_completed_if_that_is_wanted() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.take_notices();
    let (rows, posts) = (shop.fixture.all_rows(), shop.posts());
    let result = shop.reconcile(&june());
    assert!(!result.is_explained());
    assert_eq!(listed(&result.missing_here), [(LedgerKind::Payment, eur(2500), intent.as_str(), false)]);
    let item = &result.missing_here.listed[0];
    assert_eq!((item.order_id, item.organization_id), (Some(order), Some(shop.fixture.caller.organization())));
    assert_eq!((item.happened_at, item.problem.as_str()), (at(NOW), "the payment is not recorded"));
    assert_eq!((result.missing_here.sums["EUR"], &result.matched[..]), (eur(2500), &[][..]));
    assert_eq!((shop.fixture.all_rows(), shop.posts()), (rows, posts), "nothing is written and nothing is made");
    let applied = shop.apply();
    assert_eq!(listed(&applied.missing_here), [(LedgerKind::Payment, eur(2500), intent.as_str(), true)]);
    assert_eq!(sums(&applied.matched), [total(LedgerKind::Payment, 1, 2500, 60, 2440)]);
    assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Completed, 2));
    assert_eq!(shop.service().list_payments(&shop.fixture.caller, ListPayments::new()).unwrap().data.len(), 1);
}

#[test]
fn a_sale_that_was_refunded_before_it_is_found_completes_nothing() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.fake.refund_outside(&intent, None);
    shop.fake.take_notices();
    let applied = shop.apply();
    assert_eq!(listed(&applied.missing_here), [(LedgerKind::Payment, eur(2500), intent.as_str(), true)]);
    let expected = [total(LedgerKind::Payment, 1, 2500, 60, 2440), total(LedgerKind::Refund, 1, -2500, 0, -2500)];
    assert_eq!(sums(&applied.matched), expected);
    assert_eq!((shop.status(order), shop.sold()), (OrderStatus::Cancelled, 0));
    assert_eq!((shop.left(&intent), shop.fake.requests_to("POST", REFUNDS).len()), (0, 0));
}

#[test]
fn a_refund_of_the_dashboard_whose_notice_was_lost_is_recorded() {
    let shop = Shop::open();
    let (order, intent) = shop.sale();
    let refund = shop.fake.refund_outside(&intent, Some(500))["id"].as_str().unwrap().to_owned();
    shop.fake.take_notices();
    let result = shop.reconcile(&june());
    assert_eq!(listed(&result.missing_here), [(LedgerKind::Refund, eur(-500), refund.as_str(), false)]);
    assert_eq!(result.missing_here.listed[0].payment_reference.as_deref(), Some(intent.as_str()));
    shop.apply();
    let [outside] = &shop.refunds()[..] else { panic!("{:?}", shop.refunds()) };
    assert_eq!((outside.source, outside.amount, outside.order_id), (RefundSource::Outside, eur(500), order));
}

/// The notices of the payment and of its refund were lost, and the payment is older than the period.
#[test]
fn a_refund_of_a_payment_that_is_not_recorded_records_the_payment_too() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.skip(3 * DAY);
    shop.fake.refund_outside(&intent, Some(500));
    shop.fake.take_notices();
    let request = Reconcile::new(at("2026-06-04T00:00:00Z"), at("2026-06-05T00:00:00Z")).apply(true);
    let result = shop.reconcile(&request);
    assert!(result.is_explained(), "{result:#?}");
    assert_eq!(shop.status(order), OrderStatus::Completed);
    assert_eq!(shop.refunds().len(), 1);
    // The payment was made before the period, and recorded within it.
    assert_agrees(&shop.reconcile(&request));
    assert_agrees(&shop.reconcile(&june()));
}

#[test]
fn a_refund_that_failed_later_is_different_until_it_is_recorded() {
    let shop = Shop::open();
    shop.fake.delay_refunds();
    let (order, _) = shop.sale();
    shop.cancel(order);
    shop.deliver_all();
    let refund = shop.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
    assert_agrees(&shop.reconcile(&june()));
    shop.fake.fail_refund(&refund);
    shop.fake.take_notices();
    let result = shop.reconcile(&june());
    assert_eq!(listed(&result.different), [(LedgerKind::Refund, Amount::ZERO, refund.as_str(), false)]);
    assert_eq!(result.different.listed[0].recorded, Some(eur(-2500)));
    let applied = shop.apply();
    assert_eq!(applied.different.listed.len(), 1);
    assert_eq!(shop.refunds()[0].status, RefundStatus::Refused);
}

#[test]
fn disputes_whose_notices_were_lost_are_recorded() {
    let shop = Shop::open();
    let (_, intent) = shop.sale();
    let dispute = shop.fake.dispute(&intent);
    shop.fake.take_notices();
    let result = shop.reconcile(&june());
    assert_eq!(listed(&result.missing_here), [(LedgerKind::Dispute, eur(-2500), dispute.as_str(), false)]);
    shop.apply();
    let disputes = || shop.disputes();
    assert_eq!((disputes().len(), disputes()[0].status), (1, DisputeStatus::Open));
    shop.fake.close_dispute(&dispute, true);
    shop.fake.take_notices();
    let result = shop.reconcile(&june());
    assert_eq!(listed(&result.different), [(LedgerKind::Dispute, Amount::ZERO, dispute.as_str(), false)]);
    assert_eq!(result.different.listed[0].recorded, Some(eur(-2500)));
    shop.apply();
    assert_eq!(disputes()[0].status, DisputeStatus::Won);
}

#[test]
fn a_refund_that_was_made_and_is_not_at_stripe_is_listed_and_stays_as_it_is() {
    let shop = Shop::open();
    let (order, _) = shop.sale();
    shop.cancel(order);
    shop.deliver_all();
    let refund = shop.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
    shop.fake.forget(&refund);
    for request in [june(), june().apply(true)] {
        let result = shop.reconcile(&request);
        assert!(!result.is_explained());
        assert_eq!(listed(&result.missing_there), [(LedgerKind::Refund, eur(-2500), refund.as_str(), false)]);
        let item = &result.missing_there.listed[0];
        assert_eq!((item.order_id, item.problem.as_str()), (Some(order), "the gateway does not list it"));
        assert_eq!(shop.refunds()[0].status, RefundStatus::Done);
    }
    // The check of the next day finds it too, and books that nothing went back.
    shop.fake.permit_refunds(false);
    shop.skip(DAY + Duration::from_mins(5));
    shop.maintain();
    assert_agrees(&shop.reconcile(&june()));
}

#[test]
fn a_refund_of_another_amount_is_listed_as_different() {
    let shop = Shop::open();
    let (order, _) = shop.sale();
    shop.cancel(order);
    shop.deliver_all();
    let refund = shop.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();
    shop.fake.change(&refund, &json!({ "amount": 1000 }));
    let result = shop.reconcile(&june());
    assert_eq!(listed(&result.missing_here), []);
    assert_eq!(listed(&result.different), [(LedgerKind::Refund, eur(-1000), refund.as_str(), false)]);
    let item = &result.different.listed[0];
    assert_eq!((item.order_id, item.recorded), (Some(order), Some(eur(-2500))));
    assert_eq!(item.problem, "25.00 EUR is recorded");
}

#[test]
fn a_payment_that_is_not_at_stripe_is_listed() {
    let shop = Shop::open();
    let (_, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.fake.forget(&session);
    let result = shop.reconcile(&june().apply(true));
    assert_eq!(listed(&result.missing_there), [(LedgerKind::Payment, eur(2500), intent.as_str(), false)]);
    assert_eq!(result.missing_there.sums["EUR"], eur(2500));
}

#[test]
fn a_payment_of_another_amount_is_listed_and_stays_as_it_is() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    let intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.fake.change(&session, &json!({ "amount_total": 3000 }));
    for request in [june(), june().apply(true)] {
        let result = shop.reconcile(&request);
        assert!(!result.is_explained());
        assert_eq!(listed(&result.different), [(LedgerKind::Payment, eur(3000), intent.as_str(), false)]);
        let item = &result.different.listed[0];
        assert_eq!((item.order_id, item.recorded), (Some(order), Some(eur(2500))));
        assert!(item.problem.starts_with("25.00 EUR is recorded"), "{}", item.problem);
    }
    assert_eq!(shop.status(order), OrderStatus::Completed);
}

#[test]
fn a_payment_that_was_recorded_long_after_it_was_made_is_not_missing() {
    let shop = Shop::open();
    let (order, session) = shop.order();
    shop.fake.pay(&session).unwrap();
    shop.skip(3 * DAY);
    shop.deliver_all();
    assert_eq!(shop.status(order), OrderStatus::Completed);
    let result = shop.reconcile(&Reconcile::new(at("2026-06-04T00:00:00Z"), at("2026-06-05T00:00:00Z")));
    assert_agrees(&result);
    assert_eq!(result.matched, []);
    assert_agrees(&shop.reconcile(&june()));
}

/// A database that was restored from a backup, beside the one from which it was made.
struct Restored {
    service: TicketingService,
    caller: Caller,
    path: PathBuf,
}

impl Restored {
    fn open(shop: &Shop, name: &str) -> Self {
        let path = shop.fixture.folder().path().join(name);
        let builder = TicketingService::builder(&path).clock(shop.fixture.clock.clone());
        let service = builder.entropy(SeededEntropy::new(77)).payment_gateway(gateway(&shop.fake)).open().unwrap();
        let caller = service.act_for(shop.fixture.caller.organization()).unwrap();
        Self { service, caller, path }
    }

    fn status(&self, order: OrderId) -> OrderStatus {
        self.service.get_order(&self.caller, order).unwrap().status
    }
}

fn back_up(shop: &Shop, name: &str) {
    let path = shop.fixture.folder().path().join(name);
    shop.service().backup(path, |_| ControlFlow::Continue(())).unwrap();
}

#[test]
fn after_an_old_backup_was_restored_sales_and_refunds_are_recorded_and_lost_orders_are_refunded() {
    if !database::is_file() {
        return skipped("PostgreSQL has its own backups");
    }
    let shop = Shop::open();
    let (cancelled, cancelled_intent) = shop.sale();
    let (sold, session) = shop.order();
    back_up(&shop, "backup.db");
    let sold_intent = shop.fake.pay(&session).unwrap();
    shop.deliver_all();
    shop.cancel(cancelled);
    let (_, lost_intent) = shop.sale();
    let (_, part_intent) = shop.sale();
    shop.fake.refund_outside(&part_intent, Some(1000));
    shop.deliver_all();
    assert_agrees(&shop.reconcile(&june()));
    let refund = shop.fake.all("refund")[0]["id"].as_str().unwrap().to_owned();

    let restored = Restored::open(&shop, "backup.db");
    assert_eq!((restored.status(cancelled), restored.status(sold)), (OrderStatus::Completed, OrderStatus::Pending));
    let posts = shop.posts();
    let before = reconcile(&restored.service, &june());
    assert!(!before.is_explained());
    assert_eq!(before.missing_here.unresolved, 5, "{before:#?}");
    assert_eq!((shop.posts(), before.refunded.count), (posts, 0));
    assert_eq!(sums(&before.matched), [total(LedgerKind::Payment, 1, 2500, 60, 2440)]);

    let applied = reconcile(&restored.service, &june().apply(true));
    assert!(applied.is_explained(), "{applied:#?}");
    let mut missing = listed(&applied.missing_here);
    missing.sort_by_key(|(_, amount, reference, _)| (*amount, reference.to_string()));
    let part_refund = shop.fake.all("refund")[1]["id"].as_str().unwrap().to_owned();
    let mut expected = [
        (LedgerKind::Refund, eur(-2500), refund.as_str(), true),
        (LedgerKind::Refund, eur(-1000), part_refund.as_str(), true),
        (LedgerKind::Payment, eur(2500), sold_intent.as_str(), true),
        (LedgerKind::Payment, eur(2500), lost_intent.as_str(), true),
        (LedgerKind::Payment, eur(2500), part_intent.as_str(), true),
    ];
    expected.sort_by_key(|(_, amount, reference, _)| (*amount, reference.to_string()));
    assert_eq!(missing, expected);
    let mut refunded: Vec<_> = applied.refunded.listed.iter().map(|item| item.amount).collect();
    refunded.sort();
    assert_eq!(refunded, [eur(-2500), eur(-1500)]);
    assert_eq!(shop.posts(), posts + 2);
    assert_eq!([&lost_intent, &part_intent, &cancelled_intent].map(|intent| shop.left(intent)), [0, 0, 0]);
    assert_eq!((restored.status(cancelled), restored.status(sold)), (OrderStatus::Cancelled, OrderStatus::Completed));
    let refunds = restored.service.list_refunds(&restored.caller, ListRefunds::default()).unwrap().data;
    assert_eq!((refunds.len(), refunds[0].status), (1, RefundStatus::Done));
    let matched = [total(LedgerKind::Payment, 2, 5000, 120, 4880), total(LedgerKind::Refund, 1, -2500, 0, -2500)];
    assert_eq!(sums(&applied.matched), matched);

    let second = reconcile(&restored.service, &june().apply(true));
    assert_agrees(&second);
    assert_eq!((shop.posts(), sums(&second.matched)), (posts + 2, matched.to_vec()));
    // The two lost payments, and their refunds of 25.00, 10.00 and 15.00. Stripe keeps its fees.
    let returned = [total(LedgerKind::Payment, 2, 5000, 120, 4880), total(LedgerKind::Refund, 3, -5000, 0, -5000)];
    assert_eq!(sums(&second.returned), returned);
    shop.skip(Duration::from_secs(1));
    restored.service.run_maintenance().unwrap();
    assert!(restored.service.check().unwrap().is_clean());
    assert!(restored.path.exists());
}

/// A payment of an order that does not exist, of an organization that does.
fn lost_sale(fake: &FakeStripe, account: Option<&str>, number: u32, organization: OrganizationId) -> String {
    let order = format!("order_1NR6E9XB{number:05}");
    fake.sell(account, 2500, "eur", &[("order", &order), ("organization", &organization.to_string())]).1
}

#[test]
fn a_payment_without_an_order_is_refunded_once_although_the_answer_is_lost() {
    for fault in [Fault::CloseAfter, Fault::ServerErrorAfterEffect] {
        let shop = Shop::open();
        let intent = lost_sale(&shop.fake, None, 1, shop.fixture.caller.organization());
        shop.fake.fail("POST", REFUNDS, fault.clone(), 20);
        let first = shop.reconcile(&june().apply(true));
        shop.fake.repair();
        let second = shop.reconcile(&june().apply(true));
        assert!(second.is_explained(), "{fault:?}: {first:#?} {second:#?}");
        assert_agrees(&shop.reconcile(&june().apply(true)));
        assert_eq!((shop.left(&intent), shop.fake.all("refund").len()), (0, 1), "{fault:?}");
    }
}

#[test]
fn a_refund_of_a_payment_without_an_order_that_fails_is_made_again() {
    let shop = Shop::open();
    shop.fake.delay_refunds();
    let intent = lost_sale(&shop.fake, None, 1, shop.fixture.caller.organization());
    for number in 1..=3 {
        let result = shop.reconcile(&june().apply(true));
        assert!(result.is_explained(), "{result:#?}");
        let refunds = shop.fake.all("refund");
        assert_eq!(refunds.len(), number);
        let newest = refunds.last().unwrap()["id"].as_str().unwrap().to_owned();
        assert_eq!(shop.left(&intent), 0);
        shop.fake.fail_refund(&newest);
        assert_eq!(shop.left(&intent), 2500);
    }
}

#[test]
fn a_payment_without_an_order_that_is_disputed_is_not_refunded() {
    let shop = Shop::open();
    let intent = lost_sale(&shop.fake, None, 1, shop.fixture.caller.organization());
    shop.fake.dispute_part(&intent, 1000);
    let result = shop.reconcile(&june().apply(true));
    assert_eq!((result.missing_here.unresolved, result.refunded.count), (2, 0));
    assert!(result.missing_here.listed[0].problem.contains("a bank decides"), "{result:#?}");
    assert_eq!(shop.fake.all("refund").len(), 0);
}

#[test]
fn a_refund_of_a_payment_without_an_order_is_explained_although_the_payment_is_older_than_the_period() {
    let shop = Shop::open();
    let intent = lost_sale(&shop.fake, None, 1, shop.fixture.caller.organization());
    shop.skip(5 * DAY);
    let request = Reconcile::new(at("2026-06-06T00:00:00Z"), at("2026-06-07T00:00:00Z"));
    shop.fake.refund_outside(&intent, Some(500));
    let result = shop.reconcile(&request);
    assert_eq!(result.missing_here.unresolved, 1);
    assert!(result.missing_here.listed[0].problem.contains("20.00 EUR of its payment is left"), "{result:#?}");
    shop.fake.refund_outside(&intent, None);
    let result = shop.reconcile(&request);
    assert_agrees(&result);
    assert_eq!(sums(&result.returned), [total(LedgerKind::Refund, 2, -2500, 0, -2500)]);
}

#[test]
fn other_organizations_and_other_programs_are_left_alone() {
    let shop = Shop::open();
    let own = shop.fixture.caller.organization();
    let other = shop.fixture.other_organization().organization();
    let unknown: OrganizationId = "org_1NR6E9XB00001".parse().unwrap();
    let intents = [own, other, unknown].map(|organization| lost_sale(&shop.fake, None, 1, organization));
    let (_, others_session) = shop.order();
    shop.fake.pay(&others_session).unwrap();
    shop.fake.take_notices();
    let result = shop.reconcile(&june().organization(other).apply(true));
    assert!(result.is_explained());
    assert_eq!((result.missing_here.count, result.refunded.count, result.foreign_lines), (1, 1, 1), "{result:#?}");
    assert_eq!(intents.each_ref().map(|intent| shop.left(intent)), [2500, 0, 2500]);
    let result = shop.reconcile(&june());
    assert_eq!((result.missing_here.count, result.foreign_lines), (2, 1));
    let missing = shop.service().reconcile(&june().organization(unknown), |_| ControlFlow::Continue(()));
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
}

#[test]
fn a_connected_account_cannot_forge_payments_of_other_organizations() {
    let fake = FakeStripe::start(ManualClock::new(at(NOW)));
    let owner: Arc<OnceLock<OrganizationId>> = Arc::default();
    let of = Arc::clone(&owner);
    let account = move |organization| (Some(&organization) == of.get()).then(|| ConnectedAccount::new("acct_1"));
    let gateway = settings(&fake).account_for(account).build().unwrap();
    let fixture = Fixture::with(|builder| builder.payment_gateway(gateway));
    let service = &fixture.service;
    owner.set(fixture.caller.organization()).unwrap();
    let sale = |caller: &Caller| {
        let event = service.create_event(caller, new_event(|_| {})).unwrap();
        let ticket_type =
            service.create_ticket_type(caller, event.id, CreateTicketType::new("Seat", eur(1250), 9)).unwrap();
        service.create_order(caller, new_order(event.id, ticket_type.id, 2)).unwrap().order
    };
    let victim = fixture.other_organization();
    let victims_order = sale(&victim);
    let metadata = [("order", victims_order.id.to_string()), ("organization", victim.organization().to_string())];
    let metadata = metadata.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (_, forged) = fake.sell(Some("acct_1"), 2500, "eur", &metadata);
    fake.refund_outside(&forged, Some(100));
    lost_sale(&fake, Some("acct_1"), 1, victim.organization());
    let own_order = sale(&fixture.caller);
    let sessions = fake.all("checkout.session");
    let session = sessions.iter().find(|session| session["client_reference_id"] == own_order.id.to_string()).unwrap();
    let genuine = fake.pay(session["id"].as_str().unwrap()).unwrap();
    let own_lost = lost_sale(&fake, Some("acct_1"), 2, fixture.caller.organization());
    let result = reconcile(service, &june().apply(true));
    assert!(result.is_explained(), "{result:#?}");
    assert_eq!((result.foreign_lines, result.missing_here.count, result.refunded.count), (3, 2, 1), "{result:#?}");
    assert_eq!(service.get_order(&victim, victims_order.id).unwrap().status, OrderStatus::Pending);
    assert_eq!(fixture.order_status(own_order.id), OrderStatus::Completed);
    let payments = service.list_payments(&fixture.caller, ListPayments::new()).unwrap().data;
    assert_eq!((payments.len(), payments[0].reference.as_ref()), (1, Some(&genuine)));
    assert_eq!(payments[0].account.as_deref(), Some("acct_1"));
    let refunds = fake.all("refund");
    assert_eq!((refunds.len(), refunds[1]["payment_intent"].as_str()), (2, Some(own_lost.as_str())));
    assert_agrees(&reconcile(service, &june().apply(true)));
    assert_eq!(result.missing_here.listed[0].account.as_deref(), Some("acct_1"));
    // An account that was disconnected hides nothing of the others.
    fake.disconnect("acct_1");
    let result = reconcile(service, &june());
    assert!(!result.is_explained());
    let [unread] = &result.unread_accounts[..] else { panic!("{result:#?}") };
    assert_eq!(unread.account.as_deref(), Some("acct_1"));
    assert_eq!(result.missing_there.count, 0);
}

#[test]
fn a_statement_that_ends_too_early_is_no_proof() {
    let shop = Shop::open();
    for _ in 0..3 {
        shop.sale();
    }
    shop.fake.fail("GET", REFUNDS, Fault::ServerError, usize::MAX);
    let result = shop.reconcile(&june());
    assert!(!result.is_explained());
    let [unread] = &result.unread_accounts[..] else { panic!("{result:#?}") };
    assert!(unread.account.is_none() && unread.problem.contains("unavailable"), "{unread:?}");
    assert_eq!(sums(&result.matched), [total(LedgerKind::Payment, 3, 7500, 180, 7320)]);
    assert_eq!(result.missing_there.count, 0);
}

#[test]
fn long_periods_are_read_in_parts_that_count_each_line_once() {
    let shop = Shop::open();
    for _ in 0..12 {
        let (_, intent) = shop.sale();
        shop.fake.refund_outside(&intent, Some(500));
        shop.deliver_all();
        shop.skip(9 * DAY);
    }
    for end in ["2026-12-01T00:00:00Z", "9999-01-01T00:00:00Z"] {
        let result = shop.reconcile(&Reconcile::new(Timestamp::UNIX_EPOCH.max(at("2026-01-01T00:00:00Z")), at(end)));
        assert_agrees(&result);
        let expected =
            [total(LedgerKind::Payment, 12, 30000, 720, 29280), total(LedgerKind::Refund, 12, -6000, 0, -6000)];
        assert_eq!(sums(&result.matched), expected);
    }
}

#[test]
fn a_reconciliation_can_be_stopped_and_needs_a_period() {
    let shop = Shop::open();
    shop.sale();
    let stopped = shop.service().reconcile(&june(), |_| ControlFlow::Break(()));
    let Err(Error::Store(error)) = stopped else { panic!("{stopped:?}") };
    assert_eq!(*error.kind(), StoreErrorKind::ReconciliationStopped);
    let empty = Reconcile::new(at(NOW), at(NOW));
    let refused = shop.service().reconcile(&empty, |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(refused.fields()[0].path, "to");
    for fixture in [Fixture::new(), Fixture::without_gateway()] {
        let result = reconcile(&fixture.service, &june());
        assert!(!result.is_explained());
        assert_eq!(result.unread_accounts.len(), 1);
    }
}
