//! Lists: cursors, filters, pages.

pub(super) mod list_query;
pub(super) mod page_ids;
pub(super) mod pages;
