//! The page for a request that failed.

use askama::Template;

use super::document::render;
use crate::error::Result;
use crate::words::{self, Message, Words};

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    words: &'static Words,
    message: Message,
}

impl ProblemPage {
    fn title(&self) -> &str {
        self.message.title
    }
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    #[cfg(feature = "documents")]
    Ticket,
    Checkout,
    /// Any other path.
    Other,
}

/// The page for a request that failed with this status. `accepted` are the languages of the browser.
pub(crate) fn problem_page(kind: ProblemKind, status: u16, accepted: &[String]) -> Result<String> {
    let words = words::for_reader(None, accepted);
    render(&ProblemPage { words, message: message(kind, status, words) })
}

fn message(kind: ProblemKind, status: u16, words: &Words) -> Message {
    let problems = &words.problems;
    match (kind, status) {
        #[cfg(feature = "documents")]
        (ProblemKind::Ticket, 404) => problems.no_such_ticket,
        #[cfg(feature = "documents")]
        (ProblemKind::Ticket, 409) => problems.not_paid,
        #[cfg(feature = "documents")]
        (ProblemKind::Ticket, 410) => problems.nothing_to_download,
        (ProblemKind::Checkout, 404) => problems.no_such_checkout,
        (ProblemKind::Checkout, 410) => words.payment.replaced,
        (_, 404) => problems.no_such_page,
        (_, 429) => problems.too_many_requests,
        (_, 503) => problems.busy,
        (_, 400..=499) => problems.invalid_request,
        _ => problems.internal,
    }
}
