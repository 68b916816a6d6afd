//! Serves a router with limits on connections and on the time that clients may take.

use std::io;

use axum::Router;

use super::client_connection::Timeouts;
use super::connections::Connections;
use crate::server::options::ServerOptions;

/// Serves a router on `listener`, as `axum::serve` does, until `shutdown` completes. Then it accepts no more
/// connections, waits up to [`ServerOptions::shutdown_timeout`] for requests in progress, and returns.
///
/// The router may be [`router`](crate::server::router), or one of your own in which the
/// [`Routes`](crate::server::Routes) are mounted among others. All of its routes are protected: connections are limited
/// in number, slow and idle clients are disconnected, and requests that are invalid or ambiguous HTTP are refused with
/// 400: several lengths of the body (request smuggling), no `Host` or several, a path and query of more than 8 KiB. The
/// router gets the client's address as axum's `ConnectInfo<SocketAddr>`.
///
/// A `GET` request is given up if its client resets the connection, or a second after it has closed its side: a search
/// that nobody waits for ends. Other requests are carried out.
///
/// # Errors
/// If the listener cannot be used. A failure of one connection does not affect others and is not returned.
pub async fn serve(
    listener: std::net::TcpListener,
    router: Router,
    options: ServerOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let timeouts =
        Timeouts { head: options.head_timeout, request: options.request_timeout, idle: options.idle_timeout };
    let mut connections = Connections::new(router, options.open_connections, timeouts, options.connections);
    connections.accept(&listener, shutdown).await;
    drop(listener);
    connections.close(options.shutdown_timeout).await;
    Ok(())
}
