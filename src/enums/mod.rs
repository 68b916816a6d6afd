//! Enums that are stored and sent as texts.

pub(crate) mod scope;
pub mod text_enum;
