//! The link to the report of an event.

use std::time::Duration;

use crate::model::values::responses::responses;
use crate::model::values::secret::Secret;
use crate::model::values::timestamp::Timestamp;

/// How long a link works after the end of its event.
const AFTER_END: Duration = Duration::from_hours(30 * 24);

responses! {
    /// The link to the report of an event. Whoever has it sees the figures of the event, and nothing else.
    pub struct ReportLink {
        /// The link: the public URL of the service, `/reports/` and a token.
        pub url: Secret,
        /// From this time on the link does not work: 30 days after the end of the event.
        pub expires_at: Timestamp,
        /// Whether the link is new. If not, it was created before and was not revoked.
        pub created: bool,
    }
}

/// When the links of an event end that is over at this time.
pub(crate) fn expires_at(over_at: Timestamp) -> Timestamp {
    over_at.saturating_add(AFTER_END)
}
