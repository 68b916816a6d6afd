//! The background threads of a service that its builder starts, and which live as long as the service.

use std::sync::{Arc, Mutex};

use super::handler_thread::{CallNext, RegisteredHandler, Registration};
use super::maintenance_guard::MaintenanceGuard;
use crate::environment::Locked;
use crate::webhook::WebhookSenderGuard;

/// The guards of the threads. The threads have no strong reference to the service, so they do not keep it open.
#[derive(Default)]
pub(in crate::service) struct Background {
    guards: Mutex<Guards>,
}

#[derive(Default)]
struct Guards {
    maintenance: Option<MaintenanceGuard>,
    webhook_sender: Option<WebhookSenderGuard>,
    handlers: Vec<RegisteredHandler>,
}

impl Background {
    pub(in crate::service) fn keep_maintenance(&self, guard: MaintenanceGuard) {
        self.guards.locked().maintenance = Some(guard);
    }

    pub(in crate::service) fn keep_webhook_sender(&self, guard: WebhookSenderGuard) {
        self.guards.locked().webhook_sender = Some(guard);
    }

    pub(in crate::service) fn keep_handler(&self, handler: RegisteredHandler) {
        self.guards.locked().handlers.push(handler);
    }

    /// What the database knows about the handlers.
    pub(in crate::service) fn registrations(&self) -> Vec<Registration> {
        self.guards.locked().handlers.iter().map(|handler| handler.registration.clone()).collect()
    }

    /// A function for each handler that calls it with the next notification.
    pub(in crate::service) fn handler_calls(&self) -> Vec<Arc<CallNext>> {
        self.guards.locked().handlers.iter().map(|handler| Arc::clone(&handler.call_next)).collect()
    }

    /// Stops the threads.
    pub(in crate::service) fn stop(&self) {
        let guards = std::mem::take(&mut *self.guards.locked());
        if let Some(maintenance) = guards.maintenance {
            // A run in progress may wait for the payment gateway. It holds a handle of the service while it runs.
            maintenance.stop_without_waiting();
        }
        for thread in guards.handlers.iter().filter_map(|handler| handler.thread.as_ref()) {
            thread.signal_stop();
        }
        drop(guards.webhook_sender);
        drop(guards.handlers);
    }
}
