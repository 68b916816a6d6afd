//! Limits on pages.

use crate::error::FieldErrors;
use crate::model::id::Kind;
use crate::model::page::PageRequest;

pub(crate) fn check<K: Kind>(errors: &mut FieldErrors, page: &PageRequest<K>) {
    errors.check((1..=100).contains(&page.limit), "limit", "must be from 1 to 100");
}
