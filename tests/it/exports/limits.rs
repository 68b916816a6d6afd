//! What is refused: scopes, other organizations, requests without a limit, too many at once, and what takes too long.

use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::time::Duration;

use ticketing::error::{StoreErrorKind, Unavailable};
use ticketing::exports::{CsvDialect, Export, ExportFormat, ExportKind};
use ticketing::id::EventId;
use ticketing::organization::Scope;
use ticketing::ticket::IssueTickets;
use ticketing::ticket_type::CreateTicketType;
use ticketing::{Caller, Error, Result};

use super::readers::try_export;
use crate::common::*;

fn unknown_event() -> EventId {
    "event_0000000000000".parse().expect("an id")
}

fn export_as(fixture: &Fixture, caller: &Caller, request: Export) -> Result<(u64, Vec<u8>)> {
    let mut file = Vec::new();
    let report = fixture.service.export(caller, request, &mut file, |_| ControlFlow::Continue(()))?;
    Ok((report.rows, file))
}

#[test]
fn every_kind_needs_its_scopes_and_they_are_judged_before_the_request() {
    let fixture = Fixture::new();
    let event = fixture.event();
    for kind in ExportKind::ALL {
        let needed = kind.scopes();
        for scope in Scope::ALL {
            let caller = fixture.caller.with_scopes(Scope::ALL.iter().copied().filter(|other| other != scope));
            let expected = if needed.contains(scope) { Err(Error::Forbidden(*scope)) } else { Ok(()) };
            let exported = export_as(&fixture, &caller, Export::new(*kind).event(event.id)).map(drop);
            assert_eq!(exported, expected, "{kind} without {scope}");
            if needed.contains(scope) {
                let invalid = Export::new(*kind).event(unknown_event()).dialect(CsvDialect::Excel).codes(true);
                assert_eq!(export_as(&fixture, &caller, invalid).map(drop), expected, "{kind}: the request is invalid");
            }
        }
    }
    let settlement = |caller: &Caller| fixture.service.get_settlement(caller, event.id).map(drop);
    let others = Scope::ALL.iter().copied().filter(|scope| *scope != Scope::OrdersRead);
    assert_eq!(settlement(&fixture.caller.with_scopes(others)), Err(Error::Forbidden(Scope::OrdersRead)));
    assert_eq!(settlement(&fixture.caller.with_scopes([Scope::OrdersRead])), Ok(()));
}

#[test]
fn an_export_has_no_row_of_another_organization_by_any_parameter() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 1250, 10);
    fixture.paid_order(&ticket_type, 2);
    let other = fixture.other_organization();
    for kind in ExportKind::ALL {
        let of_event = Export::new(*kind).event(event.id);
        let refused = export_as(&fixture, &other, of_event).expect_err("another's event");
        assert_eq!(refused.fields().len(), 1, "{kind}");
        let error = &refused.fields()[0];
        assert_eq!((&*error.path, &*error.message), ("eventId", "must be an event of this organization"));
        let unknown = export_as(&fixture, &other, Export::new(*kind).event(unknown_event())).expect_err("unknown");
        assert_eq!(unknown, refused, "{kind}: like an unknown one");
        if !matches!(kind, ExportKind::CheckIns | ExportKind::Settlement) {
            let dates = Export::new(*kind).from(at("2026-01-01T00:00:00Z")).before(at("2027-01-01T00:00:00Z"));
            let (rows, file) = export_as(&fixture, &other, dates.clone()).expect("an export");
            assert_eq!((rows, file.iter().filter(|byte| **byte == b'\n').count()), (0, 1), "{kind}");
            assert!(export_as(&fixture, &fixture.caller, dates).expect("an export").0 > 0, "the control: {kind}");
        }
    }
    assert_not_found(fixture.service.get_settlement(&other, event.id));
}

#[test]
fn what_a_request_must_say_is_a_field_error() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let errors = |request: Export| match try_export(&fixture, request) {
        Ok(_) => Vec::new(),
        Err(error) => error.fields().iter().map(|error| format!("{}: {}", error.path, error.message)).collect(),
    };
    let (new_year, next) = (at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z"));
    let dates = "from: must be given, with a before at most 366 days later, unless eventId is given";
    for kind in [ExportKind::Ledger, ExportKind::Orders, ExportKind::Attendees] {
        assert_eq!(errors(Export::new(kind)), [dates], "{kind}");
        assert_eq!(errors(Export::new(kind).from(new_year)), [dates]);
        assert_eq!(errors(Export::new(kind).before(next)), [dates]);
        let days = |days: u64| {
            Export::new(kind).from(new_year).before(new_year.saturating_add(Duration::from_hours(24 * days)))
        };
        assert_eq!(errors(days(366)), [""; 0]);
        assert_eq!(errors(days(367)), [dates]);
        assert_eq!(errors(Export::new(kind).event(event.id).from(new_year)), [""; 0]);
        assert_eq!(errors(Export::new(kind).from(next).before(new_year)), ["before: must be after from"]);
    }
    for kind in [ExportKind::CheckIns, ExportKind::Settlement] {
        assert_eq!(errors(Export::new(kind)), ["eventId: is required"]);
        let absent =
            ["from", "before"].map(|field| format!("{field}: must be absent: this export is of the whole event"));
        assert_eq!(errors(Export::new(kind).event(event.id).from(new_year).before(next)), absent);
    }
    for kind in ExportKind::ALL {
        let request = Export::new(*kind).event(event.id);
        let refused = errors(request.clone().codes(true));
        match kind {
            ExportKind::Attendees => assert_eq!(refused, [""; 0]),
            _ => assert_eq!(refused, ["codes: must be absent: only attendees have codes"]),
        }
        let xlsx = request.clone().format(ExportFormat::Xlsx);
        let refused = errors(xlsx.clone());
        match cfg!(feature = "xlsx") {
            true => assert_eq!(refused, [""; 0]),
            false => assert_eq!(refused, ["format: must be csv: this program is compiled without the feature xlsx"]),
        }
        let dialect = "dialect: must be absent: only CSV files have a dialect";
        assert!(errors(xlsx.dialect(CsvDialect::Excel)).contains(&dialect.to_owned()));
    }
}

#[test]
fn an_organization_has_one_export_at_a_time_and_two_organizations_have_two() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let others = [(); 2].map(|()| fixture.other_organization());
    let request = Export::new(ExportKind::Orders).event(event.id);
    let dates = || Export::new(ExportKind::Orders).from(at("2026-01-01T00:00:00Z")).before(at("2026-02-01T00:00:00Z"));
    let (begun, has_begun) = channel();
    let (release, released) = channel::<()>();
    std::thread::scope(|scope| {
        let fixture = &fixture;
        let request = &request;
        let held = scope.spawn(move || {
            let wait = |_| {
                begun.send(()).expect("the test waits");
                let _ = released.recv();
                ControlFlow::Continue(())
            };
            fixture.service.export(&fixture.caller, request.clone(), &mut Vec::new(), wait).map(drop)
        });
        has_begun.recv().expect("it has begun");
        // It waits for five seconds.
        let own = try_export(fixture, request.clone()).map(drop);
        assert_eq!(own, Err(Error::Unavailable(Unavailable::TooManyExports)));
        assert!(own.expect_err("refused").is_retryable());
        for other in &others {
            assert!(export_as(fixture, other, dates()).is_ok(), "the second permit is for others");
        }
        drop(release);
        assert_eq!(held.join().expect("ended"), Ok(()));
        assert!(try_export(fixture, request.clone()).is_ok());
    });
}

/// Two organizations export 1,001 tickets and do not end.
#[test]
fn exports_of_at_most_1000_rows_do_not_wait_for_larger_ones() {
    let fixture = Fixture::without_gateway();
    let others = [(); 2].map(|()| fixture.other_organization());
    let event_of = |caller: &Caller, tickets: u64| {
        let event = fixture.service.create_event(caller, new_event(|_| {})).expect("an event");
        let seats = CreateTicketType::new("Seat", eur(0), 10_000);
        let seats = fixture.service.create_ticket_type(caller, event.id, seats).expect("a type").id;
        let requests = (0..tickets).step_by(10).map(|issued| (tickets - issued).min(10));
        for quantity in requests {
            let request = IssueTickets::new(seats, new_customer(), i64::try_from(quantity).expect("small"));
            fixture.service.issue_tickets(caller, request).expect("tickets");
        }
        Export::new(ExportKind::Attendees).event(event.id)
    };
    let large = others.each_ref().map(|other| event_of(other, 1001));
    let (small, too_large) = (event_of(&fixture.caller, 1000), event_of(&fixture.caller, 1001));
    let settlement = Export::new(ExportKind::Settlement).event(small.event_id.expect("an event"));
    let (begun, has_begun) = channel();
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    std::thread::scope(|scope| {
        let (fixture, released) = (&fixture, &released);
        let held = others.iter().zip(large).map(|(other, request)| {
            let begun = begun.clone();
            scope.spawn(move || {
                let wait = |_| {
                    begun.send(()).expect("the test waits");
                    let _ = released.lock().expect("no panic").recv();
                    ControlFlow::Continue(())
                };
                fixture.service.export(other, request, &mut Vec::new(), wait).map(|report| report.rows)
            })
        });
        let held: Vec<_> = held.collect();
        for _ in &held {
            has_begun.recv().expect("it has begun");
        }
        for request in [small, settlement] {
            assert!(export_as(fixture, &fixture.caller, request).is_ok());
        }
        let control = export_as(fixture, &fixture.caller, too_large.clone()).map(drop);
        assert_eq!(control, Err(Error::Unavailable(Unavailable::TooManyExports)), "one more row waits five seconds");
        drop(release);
        for export in held {
            assert_eq!(export.join().expect("ended"), Ok(1001));
        }
        assert_eq!(export_as(fixture, &fixture.caller, too_large).expect("an export").0, 1001);
    });
}

#[test]
fn an_export_that_takes_longer_than_two_minutes_fails_and_says_what_helps() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    let ticket_type = fixture.ticket_type(&event, 0, 100_000);
    for _ in 0..210 {
        fixture.issue(&ticket_type, 10);
    }
    let request = Export::new(ExportKind::Attendees).event(event.id);
    let after = |time: Duration| {
        let advance = |_| {
            fixture.clock.advance(time);
            ControlFlow::Continue(())
        };
        fixture.service.export(&fixture.caller, request.clone(), &mut Vec::new(), advance).map(|report| report.rows)
    };
    // Reported after 1,000, 2,000 and 2,100 rows.
    assert_eq!(after(Duration::from_secs(39)), Ok(2100));
    let too_long = after(Duration::from_secs(121)).expect_err("too long");
    assert_eq!(too_long, Error::Unavailable(Unavailable::ExportTooLong));
    assert_eq!(too_long.to_string(), "the export takes too long; ask for fewer dates, or for one event");
    // Searches go on.
    assert!(fixture.service.get_settlement(&fixture.caller, event.id).is_ok());
}

#[test]
#[cfg_attr(not(feature = "xlsx"), ignore = "there are no workbooks")]
fn a_workbook_with_more_rows_than_a_sheet_has_is_refused_before_a_row_is_read() {
    let fixture = Fixture::without_gateway();
    let event = fixture.event();
    fixture.issue(&fixture.ticket_type(&event, 0, 10), 1);
    fixture.skip_final_check();
    let database = fixture.database();
    database.run("ALTER TABLE tickets RENAME TO stored_tickets");
    let rows_of = |rows: u64| {
        database.run(&format!(
            "DROP VIEW IF EXISTS tickets;
            CREATE VIEW tickets AS WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows})
                SELECT stored_tickets.* FROM stored_tickets CROSS JOIN numbers"
        ));
    };
    // Stops after the first thousand rows.
    let export = |format| {
        let request = Export::new(ExportKind::Attendees).event(event.id).format(format);
        fixture.service.export(&fixture.caller, request, &mut Vec::new(), |done| {
            assert_eq!(done.rows, 1000);
            ControlFlow::Break(())
        })
    };
    let is_begun = |exported: &Result<_>| matches!(exported, Err(Error::Store(error)) if *error.kind() == StoreErrorKind::ExportStopped);
    rows_of(1_048_575);
    let begun = export(ExportFormat::Xlsx);
    assert!(is_begun(&begun), "{begun:?}");
    rows_of(1_048_576);
    let refused = export(ExportFormat::Xlsx).expect_err("too many rows");
    let expected = "must be csv, because there are 1048576 rows: xlsx has at most 1048575";
    let fields: Vec<_> = refused.fields().iter().map(|error| (&*error.path, &*error.message)).collect();
    assert_eq!(fields, [("format", expected)]);
    let begun = export(ExportFormat::Csv);
    assert!(is_begun(&begun), "{begun:?}");
}

#[test]
fn an_export_that_is_stopped_writes_nothing_and_leaves_no_file() {
    let fixture = Fixture::new();
    let event = fixture.event();
    let files = || std::fs::read_dir(fixture.folder().path()).expect("a folder").count();
    let before = files();
    let mut file = Vec::new();
    let request = Export::new(ExportKind::Orders).event(event.id);
    let mut during = 0;
    let stopped = fixture.service.export(&fixture.caller, request, &mut file, |_| {
        during = files();
        ControlFlow::Break(())
    });
    let Err(Error::Store(error)) = stopped else { panic!("{stopped:?}") };
    assert_eq!((error.kind(), file.len()), (&StoreErrorKind::ExportStopped, 0));
    // The temporary file has no name.
    assert_eq!((during, files()), (before, before));
}

#[test]
fn a_folder_that_cannot_be_written_to_is_an_error_of_the_store() {
    let fixture = Fixture::with(|builder| builder.export_folder("/proc/no-such-folder"));
    let event = fixture.event();
    let refused = try_export(&fixture, Export::new(ExportKind::Orders).event(event.id)).map(drop);
    assert!(
        matches!(&refused, Err(Error::Store(error)) if matches!(error.kind(), StoreErrorKind::Io(_))),
        "{refused:?}"
    );
}
