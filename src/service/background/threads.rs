//! What a service runs in the background as long as it lives.

use super::maintenance_guard::MaintenanceGuard;
use super::notification_handlers::NotificationHandler;
use crate::webhook::WebhookSenderGuard;

/// The threads that the builder of a service starts. They have no strong reference to the service, so they do not keep
/// it open.
#[derive(Default)]
pub(in crate::service) struct Background {
    pub(in crate::service) maintenance: MaintenanceGuard,
    pub(in crate::service) webhook_sender: Option<WebhookSenderGuard>,
    pub(in crate::service) handlers: Vec<NotificationHandler>,
    pub(in crate::service) handler_threads: MaintenanceGuard,
}

impl Background {
    /// Stops the threads.
    pub(in crate::service) fn stop(mut self) {
        // A run in progress may wait for the payment gateway. It holds a handle of the service while it runs.
        self.maintenance.stop_without_waiting();
        self.handler_threads.signal_stop();
        drop(self.webhook_sender);
        drop(self.handler_threads);
    }
}
