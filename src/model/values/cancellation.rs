//! Cancellation of reads whose result nobody waits for any more.
//!
//! The token is in a thread-local variable, because only the caller of a service has it and only the database needs it.
//! To pass it on, each call would need a handle of the service of its own.

use std::cell::RefCell;
#[cfg(any(test, feature = "tokio"))]
use std::sync::Arc;
use std::sync::Weak;

thread_local! {
    static CURRENT: RefCell<Option<CancellationToken>> = const { RefCell::new(None) };
}

/// Tells the work that runs with it that its result is no longer needed: what waited for the result is dropped.
///
/// Reads that may take long stop when their token is cancelled. Writes do not.
#[derive(Debug, Clone)]
pub(crate) struct CancellationToken(Weak<()>);

impl CancellationToken {
    /// Returns a token, and what cancels it when it is dropped.
    #[cfg(any(test, feature = "tokio"))]
    pub(crate) fn new() -> (Self, Arc<()>) {
        let waiting = Arc::new(());
        (Self(Arc::downgrade(&waiting)), waiting)
    }

    /// The token that the work of this thread runs with.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.strong_count() == 0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sees_the_token_that_it_runs_with() {
        let (token, waiting) = CancellationToken::new();
        let (inner, inner_waiting) = CancellationToken::new();
        token.run(|| {
            inner.run(|| drop(inner_waiting));
            assert!(!CancellationToken::current().unwrap().is_cancelled());
            drop(waiting);
            assert!(CancellationToken::current().unwrap().is_cancelled());
        });
        assert!(CancellationToken::current().is_none());
    }
}
