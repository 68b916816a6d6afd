//! Connections: sockets, limits, and the framing of requests.

pub(super) mod byte_stream;
pub(super) mod client_connection;
pub(super) mod client_network;
pub(super) mod connections;
pub(super) mod framing;
pub(super) mod invalid_http;
pub(super) mod open_connections;
pub(super) mod shared_stream;
