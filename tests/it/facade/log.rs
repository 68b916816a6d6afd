//! What the service itself logs, without a server.

use std::time::Duration;

use crate::common::log;
use crate::common::processes::alone;
use crate::common::*;
use ticketing::payment::PaymentMode;
use ticketing::{Builder, TicketingService};

/// The lines of one target, from `from` on.
fn lines_of(target: &str, from: usize) -> Vec<String> {
    let start = format!("{target} ");
    log::capture().lines().into_iter().skip(from).filter(|line| line.starts_with(&start)).collect()
}

#[track_caller]
fn assert_one(lines: &[String], parts: &[&str]) {
    let found = lines.iter().filter(|line| parts.iter().all(|part| line.contains(part))).count();
    assert_eq!(found, 1, "{parts:?} in {lines:#?}");
}

#[test]
fn what_an_operator_has_to_know_is_logged_under_stable_targets() {
    if !database::is_file() {
        return skipped("it is about a database file");
    }
    alone(concat!(module_path!(), "::what_an_operator_has_to_know_is_logged_under_stable_targets"), || {
        let log = log::capture();
        let new = tempfile::tempdir().unwrap();
        let path = new.path().join("ticketing.db");
        drop(TicketingService::open(&path).unwrap());
        let lines = lines_of("ticketing::store", 0);
        assert_one(&lines, &["database opened", &path.display().to_string(), "schema_version=", "migrated_from=0"]);

        let fixture = Fixture::new();
        let from = log.lines().len();
        let second = fixture.second_service();
        let lines = lines_of("ticketing::store", from);
        assert_one(&lines, &["database opened"]);
        assert!(!lines[0].contains("migrated_from"), "{lines:#?}");
        drop(second);

        let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
        let unanswered = fixture.paid_order(&ticket_type, 1);
        let refused = fixture.paid_order(&ticket_type, 1);
        fixture.gateway.on_refund(GatewayBehavior::Unavailable);
        fixture.service.cancel_order(&fixture.caller, unanswered.id).unwrap();
        fixture.gateway.on_refund(GatewayBehavior::Refuse);
        fixture.service.cancel_order(&fixture.caller, refused.id).unwrap();
        let lines = lines_of("ticketing::payment", 0);
        assert_one(
            &lines,
            &["did not make a refund; it stays due", &unanswered.id.to_string(), "attempt=1", "closed for lunch"],
        );
        assert_one(&lines, &["refund was refused", &refused.id.to_string(), "the card is blocked"]);

        // A payment that comes too late, with a gateway that cannot refund.
        fixture.gateway.disable_refunds();
        let late = fixture.order(&ticket_type, 1);
        fixture.service.cancel_order(&fixture.caller, late.id).unwrap();
        fixture.service.payment_completed(&fixture.caller, late.id).unwrap();
        let lines = lines_of("ticketing::payment", 0);
        assert_one(&lines, &["refund was refused", &late.id.to_string(), "no payment gateway that can refund"]);

        fixture.service.run_maintenance().unwrap();
        assert_eq!(lines_of("ticketing::maintenance", 0), [""; 0], "it did nothing");
        fixture.order(&ticket_type, 1);
        fixture.clock.advance(Duration::from_hours(1));
        fixture.service.run_maintenance().unwrap();
        assert_one(
            &lines_of("ticketing::maintenance", 0),
            &["maintenance done", "expired_orders=1", "expired_events=0"],
        );

        let from = log.lines().len();
        let folder = fixture.close();
        assert_one(&lines_of("ticketing::store", from), &["database closed"]);
        log.assert_clean(&["ada@example.com", "Ada"]);
        let from = log.lines().len();
        TicketingService::open(folder.path().join("ticketing.db")).unwrap();
        let mut lines = lines_of("ticketing::payment", from);
        lines.retain(|line| line.contains("waiting=\"refunds\""));
        assert_one(
            &lines,
            &["does not have the payment gateway for which these wait", "number=1", "gateway=\"gateway\""],
        );
        checkouts_that_wait_for_a_missing_gateway_are_logged_when_the_service_is_opened();
    });
}

fn checkouts_that_wait_for_a_missing_gateway_are_logged_when_the_service_is_opened() {
    let fixture = Fixture::new();
    let ticket_type = fixture.ticket_type(&fixture.event(), 1250, 10);
    let second = FakeGateway::new().named("second", PaymentMode::Live);
    let at_second = fixture.second_service_with(|builder| builder.payment_gateway(second));
    at_second.create_order(&fixture.caller, new_order(ticket_type.event_id, ticket_type.id, 1)).unwrap();
    let cancelled = fixture.order(&ticket_type, 1);
    fixture.service.cancel_order(&fixture.caller, cancelled.id).unwrap();
    fixture.order(&ticket_type, 1);
    fixture.paid_order(&ticket_type, 1);

    let logged = |configure: fn(Builder) -> Builder| {
        let from = log::capture().lines().len();
        drop(fixture.second_service_with(configure));
        lines_of("ticketing::payment", from)
    };
    let assert_logged = |configure: fn(Builder) -> Builder, expected: &[(u64, &str)]| {
        let lines = logged(configure);
        assert_eq!(lines.len(), expected.len(), "{lines:#?}");
        for (line, (number, gateway)) in lines.iter().zip(expected) {
            assert!(line.contains(&format!("waiting=\"checkouts\" number={number} {gateway}")), "{line}");
        }
    };
    let errors = || {
        let levels = log::capture().levels_of("ticketing::payment");
        levels.into_iter().filter(|level| *level == tracing::Level::ERROR).count()
    };
    let before = errors();
    let own = (2, "gateway=\"gateway\" account=\"the gateway's own\" mode=\"LIVE\"");
    let of_second = (1, "gateway=\"second\" account=\"the gateway's own\" mode=\"LIVE\"");
    assert_logged(Builder::sandbox_gateway, &[own, of_second]);
    assert_logged(|builder| builder, &[own, of_second]);
    assert_logged(|builder| builder.payment_gateway(FakeGateway::new()), &[of_second]);
    let with_test_key =
        |builder: Builder| builder.payment_gateway(FakeGateway::new().named("gateway", PaymentMode::Test));
    assert_logged(with_test_key, &[own, of_second]);
    assert_eq!(errors() - before, 7, "each is an error");
    // As an earlier version has recorded them.
    fixture.database().run("UPDATE checkouts SET gateway = NULL, account = NULL, mode = NULL");
    let unknown = (3, "gateway=\"not recorded\" account=\"not recorded\" mode=\"not recorded\"");
    assert_logged(Builder::sandbox_gateway, &[unknown]);
    fixture.clock.advance(Duration::from_hours(1));
    fixture.service.run_maintenance().unwrap();
    at_second.run_maintenance().unwrap();
    assert_eq!(logged(Builder::sandbox_gateway), [""; 0]);
}
