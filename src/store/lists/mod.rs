//! Lists: cursors, filters, pages.

pub(crate) mod event_lists;
pub(super) mod list_query;
pub(super) mod lists_of_money;
pub(super) mod lists_of_orders;
pub(crate) mod order_lists;
pub(super) mod page_ids;
pub(super) mod pages;
pub(crate) mod ticket_lists;
