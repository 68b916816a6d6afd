//! Limits on pages.

use crate::error::FieldErrors;
use crate::model::id::{Id, Kind};
use crate::model::page::PageRequest;

/// What is wrong with a cursor that no page gave.
pub(crate) const NO_CURSOR: &str = "is no cursor of this list";

pub(crate) fn check<K: Kind>(errors: &mut FieldErrors, page: &PageRequest<K>) {
    errors.check((1..=100).contains(&page.limit), "limit", "must be from 1 to 100");
    errors.check(page.cursor != Some(Id::NOTHING), "cursor", NO_CURSOR);
}
