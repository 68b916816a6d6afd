//! The names of files that people download. They say what is in the file, and need not be unique.

/// The most letters of a slug in a name. File systems allow 255 bytes for the whole name.
const MAX_SLUG: usize = 100;

/// Returns the name of a file about an event, such as `summer-night-tickets.pdf`: the slug of the event and `contents`.
/// A slug that has none of the letters of slugs, which only a damaged database has, is left out.
pub(crate) fn of_event(slug: &str, contents: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let plain: String = slug.chars().filter(is_plain).take(MAX_SLUG).collect();
    match plain.trim_matches('-') {
        "" => contents.to_owned(),
        slug => format!("{slug}-{contents}"),
    }
}

/// Returns the name of a file about one of the tickets of an order, such as `summer-night-ticket-2-of-3.pdf`.
#[cfg(feature = "documents")]
pub(crate) fn of_ticket(slug: &str, number: usize, tickets_of_order: usize, ending: &str) -> String {
    match tickets_of_order {
        0 | 1 => of_event(slug, &format!("ticket.{ending}")),
        _ => of_event(slug, &format!("ticket-{number}-of-{tickets_of_order}.{ending}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_slug_of_the_event_as_far_as_file_systems_allow() {
        assert_eq!(of_event("summer-night", "tickets.pdf"), "summer-night-tickets.pdf");
        let long = of_event(&"ab-".repeat(85), "ticket-10000-of-10000.xlsx");
        assert_eq!(long, format!("{}ab-a-ticket-10000-of-10000.xlsx", "ab-".repeat(32)));
        for damaged in ["", "-", "../", "\r\n\"; ", "日本"] {
            assert_eq!(of_event(damaged, "orders.csv"), "orders.csv", "{damaged:?}");
        }
        assert_eq!(of_event("../Jazz", "orders.csv"), "Jazz-orders.csv");
    }

    #[cfg(feature = "documents")]
    #[test]
    fn a_ticket_has_its_number_if_the_order_has_several() {
        assert_eq!(of_ticket("jazz", 2, 3, "pdf"), "jazz-ticket-2-of-3.pdf");
        assert_eq!(of_ticket("jazz", 1, 1, "ics"), "jazz-ticket.ics");
    }
}
