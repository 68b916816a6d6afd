{
    // What the doc examples about sales begin with: the shop, and an event on sale with a ticket type at 12.50 EUR.
    use ticketing::{Amount, CreateEvent, CreateTicketType, EventStatus, Timestamp};
    let (folder, service, caller) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/example_shop.rs"));
    let mut event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX);
    event.status = Some(EventStatus::Published);
    let event = service.create_event(&caller, event)?;
    let seat = service.create_ticket_type(&caller, event.id, CreateTicketType::new("Seat", Amount::new(1250, 2), 100))?;
    (folder, service, caller, event, seat)
}
