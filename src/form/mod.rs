//! Forms: what requests look like in JSON and in query strings. A form reads a request and collects every error with
//! the path of its field, checks the limits of single fields, writes the request, and describes it for the OpenAPI
//! document.
//!
//! All of these, and the setters, come from one list of fields: the macro [`form!`](declare::form) declares the struct
//! of a request together with its form. [`writable_fields!`](writable_fields::writable_fields) declares the requests
//! that create and update a resource from one list.
//!
//! # To add a field
//!
//! - To a request: one line in the `form!` of its struct, in `model/`.
//! - To a resource that can be created and updated: the field in the struct of the resource and one line in the
//!   `writable_fields!` below it, both in `model/`; its column in the `columns!` of the resource in `store/`; and a
//!   migration that adds the column.
//!
//! Limits that concern one field, such as a length or a range, belong in these lists. What depends on several fields
//! or on stored data is checked in `rules/`.

#![cfg_attr(not(feature = "server"), allow(dead_code, reason = "only the server describes requests"))]

pub(crate) mod accepted;
pub(crate) mod change;
pub(crate) mod decimal;
pub(crate) mod declare;
pub(crate) mod field;
pub(crate) mod free_json;
pub(crate) mod json;
pub(crate) mod limits;
mod metadata;
pub(crate) mod object;
pub(crate) mod path;
pub(crate) mod picture;
pub(crate) mod request;
pub(crate) mod text;
pub(crate) mod text_kind;
pub(crate) mod value;
