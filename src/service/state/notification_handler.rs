//! A notification handler of the program.

use std::fmt;

use crate::error::FieldErrors;
use crate::model::notifications::notification::Notification;
use crate::model::notifications::notification_types::NotificationTopic;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Call<S> = dyn Fn(&S, &Notification) -> Result<(), BoxError> + Send + Sync;

/// A notification handler, as the builder was given it. Its name and topics are registered in the database. `S` is the
/// service that it is called with.
pub(in crate::service) struct NotificationHandler<S> {
    pub(in crate::service) name: String,
    pub(in crate::service) topics: Vec<NotificationTopic>,
    pub(in crate::service) call: Box<Call<S>>,
}

impl<S> fmt::Debug for NotificationHandler<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationHandler").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Checks that the names are usable and different, and that each handler has a topic.
pub(in crate::service) fn check<S>(handlers: &[NotificationHandler<S>], errors: &mut FieldErrors) {
    for (index, handler) in handlers.iter().enumerate() {
        let length = handler.name.chars().count();
        let known = handlers[..index].iter().any(|other| other.name == handler.name);
        let field = |name| format!("on_notification[{index}].{name}");
        errors.check((1..=100).contains(&length), field("name"), "must have 1 to 100 characters");
        errors.check(!handler.name.contains('\0'), field("name"), "must not contain U+0000");
        errors.check(!known, field("name"), "must not be the name of another handler");
        errors.check(!handler.topics.is_empty(), field("topics"), "must not be empty");
    }
}
