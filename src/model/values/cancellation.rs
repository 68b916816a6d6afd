//! Cancellation of reads whose result nobody waits for any more.
//!
//! The token is in a thread-local variable, because only the caller of a service has it and only the database needs it.
//! To pass it on, each call would need a handle of the service of its own.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<CancellationToken>> = const { RefCell::new(None) };
}

/// Tells the work that runs with it that its result is no longer needed. Clones share one state.
///
/// Reads that may take long stop when their token is cancelled. Writes do not.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancellationToken(Arc<AtomicBool>);

impl CancellationToken {
    /// The token that the work of this thread runs with.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Runs `work` with this token.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Puts back the token of before, also after a panic.
        struct Restore(Option<CancellationToken>);

        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }

        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        work()
    }
}

/// Cancels its token when it is dropped.
#[cfg(feature = "tokio")]
#[derive(Debug)]
pub(crate) struct CancelOnDrop(pub(crate) CancellationToken);

#[cfg(feature = "tokio")]
impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sees_the_token_that_it_runs_with() {
        let token = CancellationToken::default();
        let inner = CancellationToken::default();
        token.run(|| {
            inner.run(|| inner.cancel());
            assert!(!CancellationToken::current().unwrap().is_cancelled());
            token.cancel();
            assert!(CancellationToken::current().unwrap().is_cancelled());
        });
        assert!(CancellationToken::current().is_none());
    }
}
