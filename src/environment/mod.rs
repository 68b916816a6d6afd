//! The clock and the source of randomness, which are passed in: the system's in production, controllable ones in tests.
//! Nothing else in the crate reads the system time or draws random bytes. Ids are made of both here.

mod ids;
mod locks;
mod manual;
mod system;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ids::IdSource;
pub(crate) use ids::{first_of, time_of};
pub(crate) use locks::Locked;
pub use manual::{ManualClock, SeededEntropy};
pub use system::{SystemClock, SystemEntropy};

#[cfg(feature = "documents")]
use crate::model::tickets::document_link::DocumentLinks;
use crate::model::values::timestamp::Timestamp;

/// A source of the current time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall-clock time in UTC. It may jump, also backwards.
    fn now(&self) -> Timestamp;

    /// The time since an arbitrary fixed instant. It never goes backwards.
    fn monotonic(&self) -> Duration;

    /// Whether the wall clock is known to be right, also after it jumped. Default: `false`.
    ///
    /// If it is `true`, [maintenance](crate::TicketingService::run_maintenance) acts on the time at once. Otherwise, it
    /// waits an hour after the clock jumped forwards. A clock that asks the system whether it is synchronized can
    /// return `true` as long as it is.
    fn is_trusted(&self) -> bool {
        false
    }
}

/// A source of random bytes, for ids, ticket codes and keys.
pub trait Entropy: Send + Sync + fmt::Debug {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// Implements the traits for pointers, so that a program can keep the clock that it gives to the service.
macro_rules! for_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: Clock + ?Sized> Clock for $pointer<T> {
            fn now(&self) -> Timestamp {
                (**self).now()
            }

            fn monotonic(&self) -> Duration {
                (**self).monotonic()
            }

            fn is_trusted(&self) -> bool {
                (**self).is_trusted()
            }
        }

        impl<T: Entropy + ?Sized> Entropy for $pointer<T> {
            fn fill(&self, bytes: &mut [u8]) {
                (**self).fill(bytes);
            }
        }
    )+};
}

for_pointers!(Arc, Box);

/// The clock and the source of randomness, as the layers below the facade receive them. Clones generate ids together.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) ids: Arc<IdSource>,
    /// Whether the service sends mails.
    pub(crate) sends_mails: bool,
    /// Where the pages of tickets and orders are, if documents are switched on.
    #[cfg(feature = "documents")]
    pub(crate) pages_url: Option<String>,
    /// Whether events have pages, on which customers buy.
    #[cfg(feature = "event-pages")]
    pub(crate) has_event_pages: bool,
    /// The links to these pages, in the transactions of an open store.
    #[cfg(feature = "documents")]
    pub(crate) links: Option<Arc<DocumentLinks>>,
}

impl Environment {
    pub(crate) fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            clock,
            entropy,
            ids: Arc::default(),
            sends_mails: false,
            #[cfg(feature = "documents")]
            pages_url: None,
            #[cfg(feature = "event-pages")]
            has_event_pages: false,
            #[cfg(feature = "documents")]
            links: None,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Generates an id that is greater than those before it. Another process may generate the same one.
    pub(crate) fn next_id(&self, now: Timestamp) -> i64 {
        self.ids.next(u16::from_le_bytes(self.random()), now)
    }

    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes);
        bytes
    }

    /// Returns `length` random characters of `alphabet`, all equally likely.
    pub(crate) fn random_text(&self, alphabet: &[u8], length: usize) -> String {
        let fair = 256 - 256 % alphabet.len();
        let mut text = String::with_capacity(length);
        while text.len() < length {
            let bytes: [u8; 32] = self.random();
            let wanted = length - text.len();
            let letters = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair);
            text.extend(letters.take(wanted).map(|byte| char::from(alphabet[byte % alphabet.len()])));
        }
        text
    }
}
