//! Exports, and the settlement of an event. Each kind of export is an operation, with the scopes and the columns of its
//! own.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use axum::response::Response;
use serde_json::Value;

use super::operation::{Operation, RequestSchema, Route, operation};
use crate::enums::scope::Scope;
use crate::enums::text_enum::TextEnum;
use crate::exports::{Export, ExportFormat, ExportKind, columns};
use crate::form::declare::schema::NamedSchemas;
use crate::form::object;
use crate::form::request::Request;
use crate::server::http::call::Call;
use crate::server::http::export_body;
use crate::server::responses::problem::Problem;

pub(super) fn operations() -> Vec<Operation> {
    let settlement = operation!(get, get_settlement(caller, id), "/events/{eventId}/settlement", Scope::OrdersRead);
    let settlement = settlement.searches().docs(
        "Get the settlement of an event",
        "What was sold of each ticket type, what was paid and given back, what is disputed and owed, and the \
         balance. All figures are of the same instant.",
    );
    let mut operations = vec![settlement];
    operations.extend(ExportKind::ALL.iter().map(|kind| export(*kind)));
    operations
}

fn export(kind: ExportKind) -> Operation {
    let (name, path, query, summary): (_, _, RequestSchema, _) = match kind {
        ExportKind::Ledger => ("export_ledger", "/exports/ledger", of_dates, "Export the ledger"),
        ExportKind::Orders => ("export_orders", "/exports/orders", of_dates, "Export orders"),
        ExportKind::Attendees => ("export_attendees", "/exports/attendees", with_codes, "Export attendees"),
        ExportKind::CheckIns => {
            ("export_check_ins", "/exports/check-ins", of_event, "Export the check-ins of an event")
        }
        ExportKind::Settlement => {
            ("export_settlement", "/exports/settlement", of_event, "Export the settlement of an event")
        }
    };
    let (scope, further) = match kind.scopes() {
        [scope, further, ..] => (*scope, Some(*further)),
        [scope] => (*scope, None),
        [] => (Scope::OrdersRead, None),
    };
    let operation = Operation::export(Route::new(name, path, scope), query, move |call| run(call, kind));
    let operation = operation.docs(summary, description(kind));
    match further {
        Some(further) => operation.also_requires(further),
        None => operation,
    }
}

fn run(call: &Call<'_>, kind: ExportKind) -> Result<Response, Problem> {
    let request: Request<Export> = call.query_and(Some(("kind".to_owned(), kind.as_str().to_owned())));
    let format = request.body.format.unwrap_or(ExportFormat::Csv);
    let export = call.service.export_file(call.caller, request, &mut |_| ControlFlow::Continue(()))?;
    Ok(export_body::send(format, export))
}

/// What the rows of a kind are, and its columns.
fn description(kind: ExportKind) -> String {
    let rows = match kind {
        ExportKind::Ledger => {
            "Every movement of money, a row for each, in the order in which they were recorded: of an event, or of \
             at most 366 days."
        }
        ExportKind::Orders => {
            "Orders of any status, a row for each item, in the order in which they were created: of an event, or \
             of at most 366 days."
        }
        ExportKind::Attendees => "Issued tickets, a row for each: of an event, or of at most 366 days.",
        ExportKind::CheckIns => "The tickets that are checked in, a row for each.",
        ExportKind::Settlement => {
            "A row for each line. Refunds and what banks have taken are less than 0; with the payments they add up \
             to the balance."
        }
    };
    let mut text = format!(
        "{rows} All rows are of the same instant. If other exports run, the request waits up to five seconds, but with at \
         most 1,000 rows not for larger ones.\n\n| \
         Column | Contents | Description |\n|---|---|---|\n"
    );
    for column in columns(kind) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| `{}` | {} | {} |", column.name, column.contents, column.description);
    }
    text
}

fn of_dates(named: &mut NamedSchemas) -> Value {
    query(named, &["kind", "codes"])
}

fn with_codes(named: &mut NamedSchemas) -> Value {
    query(named, &["kind"])
}

fn of_event(named: &mut NamedSchemas) -> Value {
    let mut schema = query(named, &["kind", "codes", "from", "before"]);
    schema["required"] = serde_json::json!(["eventId"]);
    schema
}

/// The parameters of the request without these.
fn query(named: &mut NamedSchemas, without: &[&str]) -> Value {
    let mut components = NamedSchemas::default();
    let mut schema = object::schema::<Export>(&mut components);
    for (name, component) in components.into_map() {
        // The kind is in the path.
        if name != ExportKind::NAME {
            named.refer_to(&name, component);
        }
    }
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| !without.contains(&name.as_str()));
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| !without.contains(&name.as_str().unwrap_or_default()));
    }
    schema
}
