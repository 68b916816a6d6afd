//! Values that all resources share: ids, amounts, timestamps, pages of lists.

pub(crate) mod amount;
pub(super) mod amount_arithmetic;
pub(crate) mod amounts;
pub(crate) mod cancellation;
pub(crate) mod currency;
pub(crate) mod id;
pub(crate) mod metadata;
pub(crate) mod page;
pub(crate) mod percentage;
#[cfg(feature = "server")]
pub(super) mod response_schema;
pub(super) mod responses;
pub(crate) mod secret;
pub(crate) mod timestamp;
pub(super) mod timestamp_arithmetic;
