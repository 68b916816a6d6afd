//! How often and when a notification is sent, and how a receiver's response is converted for the history.

use std::time::Duration;

pub(crate) const MAX_ATTEMPTS: i64 = 8;

/// An attempt is interrupted if its process ends. After this many interruptions, it counts as failed.
pub(crate) const MAX_INTERRUPTIONS: i64 = 3;

/// The delay after the failed attempt with this number, counted from 1; `None` after the last attempt.
pub(crate) fn delay_after(attempt: i64) -> Option<Duration> {
    const MINUTES: [u64; 7] = [1, 2, 5, 10, 20, 40, 80];
    let index = usize::try_from(attempt - 1).ok()?;
    MINUTES.get(index).map(|minutes| Duration::from_mins(*minutes))
}

/// The longest time between a failed attempt and the next one, and a minute in which clocks may differ. No attempt is
/// due later: a due time beyond it comes from a clock that was wrong, and counts as due now.
pub(crate) const LATEST_DUE: Duration = Duration::from_mins(80 + 1);

/// Converts the body of a response into text that every database can store: invalid UTF-8 and U+0000 become U+FFFD. An
/// incomplete character at the end is removed.
pub(crate) fn response_text(bytes: &[u8]) -> String {
    let cut = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    String::from_utf8_lossy(cut).replace('\0', "\u{fffd}")
}
