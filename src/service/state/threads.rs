//! What a service runs in the background as long as it lives.

use crate::webhook::WebhookSenderGuard;
use crate::work::background_threads::MaintenanceGuard;

/// The threads that the builder of a service starts. They have no strong reference to the service, so they do not keep
/// it open.
#[derive(Default)]
pub(in crate::service) struct Background {
    pub(in crate::service) maintenance: MaintenanceGuard,
    pub(in crate::service) webhook_sender: Option<WebhookSenderGuard>,
    pub(in crate::service) workers: MaintenanceGuard,
    #[cfg(feature = "mail")]
    pub(in crate::service) mails: MaintenanceGuard,
}

impl Background {
    /// Stops the threads.
    pub(in crate::service) fn stop(mut self) {
        // A run in progress may wait for the payment gateway. It holds a handle of the service while it runs.
        self.maintenance.stop_without_waiting();
        self.workers.signal_stop();
        // A mail in progress may wait for the relay, as long as it likes.
        #[cfg(feature = "mail")]
        self.mails.stop_without_waiting();
        drop(self.webhook_sender);
        drop(self.workers);
    }
}
