//! The words of pages and documents in six languages, and dates and amounts as each language writes them.
//!
//! To add a language, copy the file of another one, translate it, and add it to [`ALL`].

mod dates;
mod dutch;
mod english;
mod french;
mod german;
mod italian;
mod money;
mod spanish;

use std::hash::{Hash, Hasher};

#[cfg(feature = "documents")]
pub(crate) use dates::validity;
pub(crate) use dates::{moment, period, zone_at};
pub(crate) use money::money;

/// The words of one language.
#[derive(Debug)]
pub(crate) struct Words {
    /// The language tag: an ISO 639-1 code, and a region if its dates differ.
    pub(crate) language: &'static str,
    pub(crate) dates: Dates,
    /// The marks before the decimals and between the thousands.
    pub(crate) decimal_mark: char,
    pub(crate) thousands_mark: char,
    #[cfg(feature = "documents")]
    pub(crate) ticket: Ticket,
    #[cfg(all(feature = "documents", feature = "http"))]
    pub(crate) tickets: TicketPages,
    #[cfg(feature = "http")]
    pub(crate) checkout: Checkout,
    #[cfg(feature = "http")]
    pub(crate) payment: Payment,
    #[cfg(feature = "http")]
    pub(crate) problems: Problems,
}

/// The words in dates, times and validity.
#[derive(Debug)]
pub(crate) struct Dates {
    weekdays: [&'static str; 7],
    months: [&'static str; 12],
    /// A day, month and year. They stay on one line: their spaces are U+00A0.
    day: fn(u8, &str, i32) -> String,
    /// A weekday and the day after it.
    date: fn(&str, &str) -> String,
    /// An hour from 0 to 23, and a minute.
    time: fn(u8, u8) -> String,
    /// What follows the last time of day.
    after_time: &'static str,
    /// What stands between a date and a time within a sentence.
    #[cfg(feature = "documents")]
    at: &'static str,
    #[cfg(feature = "documents")]
    from: &'static str,
    #[cfg(feature = "documents")]
    until: &'static str,
    #[cfg(feature = "documents")]
    only_on: &'static str,
    /// Valid for some calendar days from the first scan on.
    #[cfg(feature = "documents")]
    days: fn(i64) -> String,
    /// Valid for some hours from the first scan on.
    #[cfg(feature = "documents")]
    hours: fn(i64) -> String,
}

/// The words on a ticket.
#[cfg(feature = "documents")]
#[derive(Debug)]
pub(crate) struct Ticket {
    /// The label of the holder's name.
    pub(crate) name: &'static str,
    pub(crate) access_areas: &'static str,
    pub(crate) valid: &'static str,
    pub(crate) price: &'static str,
    /// The label of the order's number.
    pub(crate) order: &'static str,
    pub(crate) ticket: &'static str,
    /// Ticket 3 of 30.
    pub(crate) ticket_of: fn(usize, usize) -> String,
    /// What a screen reader says of the QR code.
    pub(crate) qr_code: &'static str,
    pub(crate) logo: &'static str,
    /// Page 1 of 2.
    pub(crate) page: fn(usize, usize) -> String,
}

/// The words on the pages of tickets and orders.
#[cfg(all(feature = "documents", feature = "http"))]
#[derive(Debug)]
pub(crate) struct TicketPages {
    pub(crate) your_tickets: &'static str,
    pub(crate) show_at_entrance: &'static str,
    pub(crate) ticket_cancelled: &'static str,
    pub(crate) event_cancelled: &'static str,
    pub(crate) order_cancelled: &'static str,
    /// Of what is cancelled.
    pub(crate) no_entry: &'static str,
    /// Of a cancelled event.
    pub(crate) ask_about_money: &'static str,
    pub(crate) checked_in: &'static str,
    pub(crate) event_over: &'static str,
    pub(crate) download_ticket: &'static str,
    pub(crate) download_tickets: &'static str,
    pub(crate) add_to_calendar: &'static str,
    /// Names the links to the other parts of a long page.
    pub(crate) parts: &'static str,
}

/// The words on the pages on which customers pay, and to which they come back.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Checkout {
    pub(crate) checkout: &'static str,
    pub(crate) your_order: &'static str,
    pub(crate) order: &'static str,
    pub(crate) tickets: &'static str,
    pub(crate) amount: &'static str,
    pub(crate) discount: &'static str,
    pub(crate) total: &'static str,
    /// For how many more minutes the tickets are reserved.
    pub(crate) reserved: fn(u64) -> String,
    /// The button with the amount.
    pub(crate) pay: fn(&str) -> String,
    pub(crate) let_payment_fail: &'static str,
    pub(crate) cancel_order: &'static str,
    pub(crate) test_mode: &'static str,
    pub(crate) no_money_is_charged: &'static str,
    pub(crate) show_tickets: &'static str,
    pub(crate) back_to_payment: &'static str,
}

/// A title, and a sentence that explains it.
#[cfg(feature = "http")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// What became of a payment or of its order.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Payment {
    pub(crate) paid: Message,
    pub(crate) failed: Message,
    pub(crate) refunded: Message,
    /// The order is closed, and its payment will be refunded.
    pub(crate) refund_due: Message,
    pub(crate) cancelled: Message,
    pub(crate) event_cancelled: Message,
    pub(crate) expired: Message,
    pub(crate) too_late: Message,
    pub(crate) too_late_and_refunded: Message,
    pub(crate) not_yet: Message,
    pub(crate) in_progress: Message,
    pub(crate) unknown: Message,
    /// Nothing was paid, and nothing can be paid any more.
    pub(crate) closed: Message,
    /// The payment does not fit the order.
    pub(crate) mismatch: Message,
    /// The order was cancelled; it may have been paid.
    pub(crate) cancelled_maybe_paid: Message,
    /// The order has expired; it may have been paid since.
    pub(crate) expired_maybe_paid: Message,
    /// The link of a checkout that was renewed.
    pub(crate) replaced: Message,
}

/// Requests that fail, for people.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Problems {
    pub(crate) no_such_page: Message,
    #[cfg(feature = "documents")]
    pub(crate) no_such_ticket: Message,
    pub(crate) no_such_checkout: Message,
    #[cfg(feature = "documents")]
    pub(crate) not_paid: Message,
    #[cfg(feature = "documents")]
    pub(crate) nothing_to_download: Message,
    pub(crate) invalid_request: Message,
    pub(crate) too_many_requests: Message,
    pub(crate) busy: Message,
    pub(crate) internal: Message,
}

impl Hash for Words {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.language.hash(state);
    }
}

const ALL: [&Words; 7] = [
    &english::ENGLISH,
    &english::AMERICAN,
    &german::GERMAN,
    &french::FRENCH,
    &spanish::SPANISH,
    &italian::ITALIAN,
    &dutch::DUTCH,
];

/// Where English dates are written as in the United States.
const AMERICAN_REGIONS: [&str; 3] = ["US", "CA", "PH"];

/// Returns the words of the first language tag that is known, such as `de-AT`, and English if there is none.
pub(crate) fn of<'a>(tags: impl IntoIterator<Item = &'a str>) -> &'static Words {
    tags.into_iter().find_map(find).unwrap_or(&english::ENGLISH)
}

/// The words of a language tag (RFC 5646). Its primary subtag decides, and for dates in English also its region.
fn find(tag: &str) -> Option<&'static Words> {
    let mut subtags = tag.trim().split(['-', '_', '.']);
    let primary = subtags.next().unwrap_or_default();
    let words = ALL.iter().copied().find(|words| words.language.eq_ignore_ascii_case(primary))?;
    let is_american = |subtag: &str| AMERICAN_REGIONS.iter().any(|region| region.eq_ignore_ascii_case(subtag));
    let is_english = std::ptr::eq(words, &raw const english::ENGLISH);
    Some(if is_english && subtags.any(is_american) { &english::AMERICAN } else { words })
}

/// The language tags of an `Accept-Language` header (RFC 9110, section 12.5.4), the most wanted first.
#[cfg(feature = "http")]
pub(crate) fn accepted(header: &str) -> Vec<&str> {
    /// More are not read.
    const MAX_TAGS: usize = 16;

    let weighted = header.split(',').take(MAX_TAGS).filter_map(|range| {
        let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
        let weight = parameters.trim().strip_prefix("q=").map_or(Some(1.0), |weight| weight.parse::<f32>().ok())?;
        (weight > 0.0).then_some((tag.trim(), weight))
    });
    let mut weighted: Vec<_> = weighted.collect();
    weighted.sort_by(|(_, first), (_, second)| second.total_cmp(first));
    weighted.into_iter().map(|(tag, _)| tag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primary_subtag_decides_and_else_it_is_english() {
        for (tag, language) in [
            ("de-AT", "de"),
            ("FR_ca", "fr"),
            ("nl_NL.UTF-8", "nl"),
            ("it", "it"),
            ("es-419", "es"),
            ("en-GB", "en"),
            ("en-us", "en-US"),
            ("en_CA", "en-US"),
            ("pl-PL", "en"),
            ("german", "en"),
            ("", "en"),
        ] {
            assert_eq!(of([tag]).language, language, "{tag:?}");
        }
        assert_eq!(of(["pl", "nl", "de"]).language, "nl");
        assert_eq!(of([]).language, "en");
    }

    #[cfg(feature = "http")]
    #[test]
    fn the_languages_of_a_browser_are_in_the_order_of_their_weights() {
        for (header, expected) in [
            ("de-AT,de;q=0.9,en;q=0.8", vec!["de-AT", "de", "en"]),
            ("en;q=0.1, fr ; q=0.7, it", vec!["it", "fr", "en"]),
            ("de;q=0, nl;q=x, es", vec!["es"]),
            ("", vec![""]),
        ] {
            assert_eq!(accepted(header), expected, "{header}");
        }
    }
}
