//! The command that makes a link for the staff of an entrance.

use fast_qr::QRBuilder;
use ticketing::Timestamp;
use ticketing::door::CreateDoorLink;
use ticketing::id::EventId;

use super::admin::{organization_of_event, parse_id};
use super::arguments::DoorLinkSettings;
use super::database_option::Database;
use super::failure::Failure;
use super::output::print;

/// Creates a link, and prints it and its QR code.
pub(crate) fn door_link(database: &Database, settings: DoorLinkSettings) -> Result<(), Failure> {
    let service = database.builder_of_command(false)?.public_url(settings.public_url).open()?;
    let event: EventId = parse_id(&settings.event, "event")?;
    let mut request = CreateDoorLink::new(settings.name);
    request.until = settings.until;
    let organization = service.act_for(organization_of_event(&service, event)?)?;
    let created = service.create_door_link(&organization, event, request)?;
    let url = created.url.expose();
    let code = QRBuilder::new(url).build().map_err(|error| Failure::Run(format!("cannot draw the link: {error}")))?;
    let timezone = service.get_event(&organization, event)?.timezone;
    let until = created.link.expires_at.map(|until| format!(" until {}", local_minute(until, &timezone)));
    let until = until.unwrap_or_default();
    let key = created.link.id;
    print(&format!(
        "{}\n\n{url}\n\nIt works{until}. Whoever has it can check tickets in: `revoke-key {key}` ends that.\n",
        code.to_str()
    ))
}

/// A time for people: `2026-06-01 20:00 (Europe/Berlin)`.
pub(crate) fn local_minute(at: Timestamp, timezone: &str) -> String {
    let (local, timezone) = match at.to_local(timezone) {
        Ok(local) => (local, timezone),
        // After an update of the program, it may not know the zone of an old event.
        Err(_) => (at.to_string(), "UTC"),
    };
    format!("{} ({timezone})", local[..16].replace('T', " "))
}
