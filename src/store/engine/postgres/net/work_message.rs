//! The messages with which processes tell each other that they have committed work for background threads.

use crate::model::values::id::WebhookId;
use crate::store::commits::commit_notifier::CommittedWork;

/// The channel of `LISTEN` and `NOTIFY`.
pub(in crate::store::engine::postgres) const CHANNEL: &str = "ticketing";

/// How many endpoints a message names at most. PostgreSQL's messages have less than 8,000 bytes, and an id has up to 20
/// digits.
const MAX_ENDPOINTS: usize = 300;

/// Writes messages of the process `sender`: its number, `n` if there are notifications to expand, `h` if there is something for
/// handlers, and endpoints. They have no character that SQL's literals would have to escape.
pub(in crate::store::engine::postgres) fn write(sender: u64, work: &CommittedWork) -> Vec<String> {
    let mut messages: Vec<String> = work
        .endpoints
        .chunks(MAX_ENDPOINTS)
        .map(|chunk| chunk.iter().fold(format!("{sender}"), |text, endpoint| format!("{text} {}", endpoint.raw())))
        .collect();
    if work.stored || work.queued {
        if messages.is_empty() {
            messages.push(sender.to_string());
        }
        if let Some(first) = messages.first_mut() {
            first.push_str(if work.stored { " n" } else { "" });
            first.push_str(if work.queued { " h" } else { "" });
        }
    }
    messages
}

/// Reads a message. `None` if this process has sent it. What cannot be read is skipped: the poller finds the work.
pub(in crate::store::engine::postgres) fn read(message: &str, receiver: u64) -> Option<CommittedWork> {
    let mut words = message.split(' ');
    if words.next().and_then(|sender| sender.parse().ok()) == Some(receiver) {
        return None;
    }
    let mut work = CommittedWork::default();
    for word in words {
        match word {
            "n" => work.stored = true,
            "h" => work.queued = true,
            id => work.endpoints.extend(id.parse().ok().map(WebhookId::from_raw)),
        }
    }
    Some(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(endpoints: std::ops::Range<i64>, stored: bool, queued: bool) -> CommittedWork {
        CommittedWork { endpoints: endpoints.map(WebhookId::from_raw).collect(), stored, queued }
    }

    #[test]
    fn another_process_reads_what_was_written_and_the_same_one_does_not() {
        for work in [work(1..3, false, false), work(0..0, true, false), work(7..8, true, true), work(0..0, false, true)]
        {
            let [message] = &write(5, &work)[..] else { panic!("one message") };
            assert_eq!(read(message, 6), Some(work));
            assert_eq!(read(message, 5), None);
        }
        assert!(write(5, &CommittedWork::default()).is_empty());
        assert_eq!(read("what is this", 6), Some(CommittedWork::default()));
    }

    #[test]
    fn many_endpoints_are_several_messages_of_less_than_8000_bytes() {
        let all = work(i64::MAX - 1000..i64::MAX, false, false);
        let messages = write(u64::MAX, &all);
        assert!(messages.iter().all(|message| message.len() < 8000), "{}", messages[0].len());
        let read = messages.iter().filter_map(|message| read(message, 0)).flat_map(|work| work.endpoints);
        assert_eq!(read.collect::<Vec<_>>(), all.endpoints);
    }
}
