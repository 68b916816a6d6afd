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
}

impl Background {
    /// Stops the threads.
    pub(in crate::service) fn stop(mut self) {
        // A run in progress may wait for the payment gateway. It holds a handle of the service while it runs.
        self.maintenance.stop_without_waiting();
        self.workers.signal_stop();
        drop(self.webhook_sender);
        drop(self.workers);
    }
}
