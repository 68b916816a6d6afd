//! The background threads of a service that its builder starts, and which live as long as the service.

use std::sync::Mutex;

use super::maintenance_guard::MaintenanceGuard;
use super::notification_handlers::NotificationHandler;
use crate::environment::Locked;
use crate::webhook::WebhookSenderGuard;

/// The guards of the threads. The threads have no strong reference to the service, so they do not keep it open.
#[derive(Default)]
pub(in crate::service) struct Background {
    guards: Mutex<Guards>,
}

#[derive(Default)]
struct Guards {
    maintenance: MaintenanceGuard,
    webhook_sender: Option<WebhookSenderGuard>,
    handlers: Vec<NotificationHandler>,
    handler_threads: MaintenanceGuard,
}

impl Background {
    pub(in crate::service) fn keep_maintenance(&self, guard: MaintenanceGuard) {
        self.guards.locked().maintenance = guard;
    }

    pub(in crate::service) fn keep_webhook_sender(&self, guard: WebhookSenderGuard) {
        self.guards.locked().webhook_sender = Some(guard);
    }

    pub(in crate::service) fn keep_handlers(&self, handlers: Vec<NotificationHandler>, threads: MaintenanceGuard) {
        let mut guards = self.guards.locked();
        guards.handlers = handlers;
        guards.handler_threads = threads;
    }

    pub(in crate::service) fn handlers(&self) -> Vec<NotificationHandler> {
        self.guards.locked().handlers.clone()
    }

    /// Stops the threads.
    pub(in crate::service) fn stop(&self) {
        let mut guards = std::mem::take(&mut *self.guards.locked());
        // A run in progress may wait for the payment gateway. It holds a handle of the service while it runs.
        guards.maintenance.stop_without_waiting();
        guards.handler_threads.signal_stop();
        drop(guards.webhook_sender);
        drop(guards.handler_threads);
    }
}
