//! Answers of receivers, changed at random. The transport returns a response or a failure in time, and keeps no more of
//! the body than it may.
//!
//! `TICKETING_FUZZ_INPUTS` is the number of answers. What was found to fail is in `regressions`.

use std::time::Duration;

use crate::common::fuzz::{corpus, fuzz};
use crate::common::receiver::{MockResponse, WebhookReceiver};
use ticketing::webhook::{BODY_KEPT, HttpsTransport, Transport, WebhookRequest};

/// The timeout of an attempt. Most answers end earlier, with their connection.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What is wrong with a response to this answer.
fn judge(answer: &[u8], status: u16, body: &[u8]) -> Result<(), String> {
    let digits = status.to_string();
    if !(100..1000).contains(&status) || !answer.windows(3).any(|window| window == digits.as_bytes()) {
        return Err(format!("the status {status} is not in the answer"));
    }
    if body.len() > BODY_KEPT {
        return Err(format!("{} bytes of the body are kept", body.len()));
    }
    Ok(())
}

#[test]
fn changed_answers_are_read_or_fail_in_time() {
    let receiver = WebhookReceiver::start();
    let transport = HttpsTransport::builder().allow_local(true).build().unwrap();
    let request = WebhookRequest::new(receiver.url("/hook"), [("Content-Type", "application/json".to_owned())], "{}");
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/webhooks/regressions/answers.txt");
    let mut responses = 0;
    fuzz(&corpus(include_str!("corpus/answers.txt")), regressions, 1000, |answer| {
        receiver.enqueue(MockResponse::Last(answer.to_vec()));
        let result = transport.send(&request, TIMEOUT);
        // The next attempt needs a new connection.
        receiver.close_connections();
        match result {
            Ok(response) => {
                responses += 1;
                judge(answer, response.status, &response.body)
            }
            Err(_) => Ok(()),
        }
    });
    assert!(responses > 0);
}

#[test]
fn control_an_invented_status_and_a_body_that_is_too_long_are_noticed() {
    let answer = b"HTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(judge(answer, 200, b"ok"), Ok(()));
    judge(answer, 204, b"").unwrap_err();
    judge(answer, 200, &vec![b'x'; BODY_KEPT + 1]).unwrap_err();
}
