//! A client whose calls block, and that sends several requests in one round trip.
//!
//! The client of the crate `postgres` waits for the answer to each request. This one uses the same connections, those
//! of `tokio-postgres`, on which requests may be sent before earlier ones are answered. The server runs them in the
//! order in which they are sent.

use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, Socket};

use super::hosts::{FirstHost, Host};
use crate::error::{Error, Result, StoreError, StoreErrorKind, Unavailable};
use crate::store::engine::deadline::Deadline;

/// How long a client waits for the answers to its last requests when it is dropped.
const MAX_CLOSING_TIME: Duration = Duration::from_secs(1);

/// How often a client that waits for a scan looks whether the scan has to stop.
const BUDGET_CHECK: Duration = Duration::from_millis(20);

/// How long the server may take to accept that a statement is cancelled.
const MAX_CANCELLING_TIME: Duration = Duration::from_secs(1);

/// A request. It is sent when the future is first polled. The result is how many rows a statement changed.
pub(in crate::store::engine::postgres) type Request =
    Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send>>;

/// What is sent and received. Ends when the connection does.
type Exchange = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>;

/// The answers to requests that were sent together: those to the first requests, and that to the last one.
pub(in crate::store::engine::postgres) type Answers<T> =
    (Vec<Result<u64, tokio_postgres::Error>>, Result<T, tokio_postgres::Error>);

/// Cancels the statement that runs, over a connection of its own.
type Cancel = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

pub(in crate::store::engine::postgres) struct PipeliningClient {
    /// `None` only when it is dropped.
    client: Option<Arc<Client>>,
    cancel: Cancel,
    /// `None` when the connection has ended.
    exchange: Option<Exchange>,
    host: Host,
    /// Whether the connection was given up, because the server did not answer.
    is_silent: bool,
    /// `None` only when it is dropped.
    runtime: Option<Runtime>,
}

impl PipeliningClient {
    /// Connects to one of the hosts, within `max_time`.
    pub(in crate::store::engine::postgres) fn connect<T>(
        config: &Config,
        first_host: &FirstHost,
        max_time: Duration,
        tls: T,
    ) -> Result<Self>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::TlsConnect: Send,
        T::Stream: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::new(StoreErrorKind::CannotOpen(error.to_string()), error))?;
        let (client, connection, host) = block_on(&runtime, first_host.connect(config, max_time, tls.clone()))??;
        let statement = client.cancel_token();
        let cancel: Cancel = Box::new(move || {
            let (statement, tls) = (statement.clone(), tls.clone());
            Box::pin(async move {
                // If it fails, the server ends the statement when its time is over.
                let cancelling = tokio::time::timeout(MAX_CANCELLING_TIME, statement.cancel_query(tls));
                drop(cancelling.await);
            })
        });
        Ok(Self {
            client: Some(Arc::new(client)),
            cancel,
            exchange: Some(Box::pin(connection)),
            host,
            is_silent: false,
            runtime: Some(runtime),
        })
    }

    /// The client that makes requests, which this one sends. `None` only when it is dropped.
    pub(in crate::store::engine::postgres) fn requests(&self) -> Option<Arc<Client>> {
        self.client.clone()
    }

    pub(in crate::store::engine::postgres) fn is_closed(&self) -> bool {
        self.exchange.is_none() || self.client.as_ref().is_none_or(|client| client.is_closed())
    }

    /// Whether the connection was given up, because the server did not answer.
    pub(in crate::store::engine::postgres) fn is_silent(&self) -> bool {
        self.is_silent
    }

    pub(in crate::store::engine::postgres) fn has_other_hosts(&self) -> bool {
        self.host.has_others()
    }

    /// Asks the server to end what it does for this connection, also if the connection has ended.
    pub(in crate::store::engine::postgres) fn cancel(&self) {
        if let Some(runtime) = &self.runtime
            && let Err(error) = block_on(runtime, (self.cancel)())
        {
            tracing::debug!(target: "ticketing::store", %error, "a statement could not be cancelled");
        }
    }

    /// Sends the requests together, in this order, and waits for all answers. When the deadline has passed, cancels
    /// what runs. The inner result is an error if the connection is lost. After `max_time` without all answers, gives
    /// the connection up.
    pub(in crate::store::engine::postgres) fn run<T: Send>(
        &mut self,
        mut first: Vec<Request>,
        last: impl Future<Output = Result<T, tokio_postgres::Error>> + Send,
        deadline: Option<&Deadline>,
        max_time: Duration,
    ) -> Result<Result<Answers<T>, tokio_postgres::Error>> {
        let mut last = pin!(last);
        let mut first_answers: Vec<Option<Result<u64, tokio_postgres::Error>>> = first.iter().map(|_| None).collect();
        let mut last_answer = None;
        let exchange = &mut self.exchange;
        let answers = poll_fn(|context| {
            poll_exchange(exchange, context)?;
            for (request, answer) in first.iter_mut().zip(&mut first_answers) {
                poll_once(answer, request.as_mut(), context);
            }
            poll_once(&mut last_answer, last.as_mut(), context);
            if first_answers.iter().any(Option::is_none) {
                return Poll::Pending;
            }
            match last_answer.take() {
                Some(last) => Poll::Ready(Ok((first_answers.drain(..).flatten().collect(), last))),
                None => Poll::Pending,
            }
        });
        let Some(runtime) = &self.runtime else {
            return Err(Error::Internal("a closed connection is used".to_owned()));
        };
        let cancel = &self.cancel;
        let limited = async {
            match deadline {
                None => tokio::time::timeout(max_time, answers).await,
                Some(deadline) => tokio::time::timeout(max_time, within(deadline, cancel, answers)).await,
            }
        };
        block_on(runtime, limited)?.map_err(|_| {
            self.exchange = None;
            self.is_silent = true;
            self.host.leave();
            Error::Unavailable(Unavailable::NoAnswer)
        })
    }

    /// Sends the requests, and does not wait for the answers.
    pub(in crate::store::engine::postgres) fn send(&mut self, mut requests: Vec<Request>) {
        let exchange = &mut self.exchange;
        let sending = poll_fn(|context| {
            for request in &mut requests {
                let _: Poll<_> = request.as_mut().poll(context);
            }
            Poll::Ready(poll_exchange(exchange, context))
        });
        let sent = self.runtime.as_ref().map(|runtime| block_on(runtime, sending));
        if let Some(Ok(Err(error))) = sent {
            tracing::debug!(target: "ticketing::store", %error, "a connection to the database was lost");
        }
    }
}

/// Waits for the future, also if the caller is asynchronous code of another runtime.
fn block_on<T: Send>(runtime: &Runtime, future: impl Future<Output = T> + Send) -> Result<T> {
    let wait = || runtime.block_on(future);
    match Handle::try_current().map(|callers| callers.runtime_flavor()) {
        Err(_) => Ok(wait()),
        Ok(RuntimeFlavor::MultiThread) => Ok(tokio::task::block_in_place(wait)),
        // The only thread of that runtime may be this one, on which no other runtime can run.
        Ok(_) => std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("ticketing-database".to_owned()).spawn_scoped(scope, wait);
            let ended = thread.map_err(StoreError::no_thread)?.join();
            Ok(ended.unwrap_or_else(|panic| resume_unwind(panic)))
        }),
    }
}

/// Waits for the answers, and cancels the statement when its deadline has passed.
async fn within<T>(deadline: &Deadline, cancel: &Cancel, answers: impl Future<Output = T> + Send) -> T {
    let mut answers = pin!(answers);
    while !deadline.is_over() {
        if let Ok(answers) = tokio::time::timeout(BUDGET_CHECK, answers.as_mut()).await {
            return answers;
        }
    }
    // The connection is used again when the cancellation can no longer be meant for a later statement.
    cancel().await;
    answers.await
}

/// Sends and receives what can be sent and received at once.
fn poll_exchange(exchange: &mut Option<Exchange>, context: &mut Context<'_>) -> Result<(), tokio_postgres::Error> {
    match exchange.as_mut().map(|exchange| exchange.as_mut().poll(context)) {
        Some(Poll::Ready(ended)) => {
            *exchange = None;
            ended
        }
        Some(Poll::Pending) | None => Ok(()),
    }
}

/// Polls a future that has not ended yet.
fn poll_once<T>(
    answer: &mut Option<T>,
    future: Pin<&mut (impl Future<Output = T> + ?Sized)>,
    context: &mut Context<'_>,
) {
    if answer.is_none()
        && let Poll::Ready(value) = future.poll(context)
    {
        *answer = Some(value);
    }
}

impl Drop for PipeliningClient {
    /// Tells the server that the connection ends.
    fn drop(&mut self) {
        self.client = None;
        let Some(runtime) = self.runtime.take() else { return };
        if let Some(exchange) = self.exchange.take() {
            let closing = async { tokio::time::timeout(MAX_CLOSING_TIME, exchange).await };
            drop(block_on(&runtime, closing));
        }
        // Nothing runs on it any more. To wait for that is not allowed in asynchronous code.
        runtime.shutdown_background();
    }
}
