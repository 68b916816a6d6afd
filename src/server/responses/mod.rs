//! What all responses have: problems, ids of requests, pages, and what a client accepts.

pub(in crate::server) mod accepted;
pub(in crate::server) mod page_responses;
pub(in crate::server) mod problem;
pub(in crate::server) mod request_id;
