//! Suspending and resuming organizations.

use crate::error::Result;
use crate::model::tenants::organization::Organization;
use crate::model::values::id::OrganizationId;
use crate::sales::catalog::organization_changes;
use crate::service::TicketingService;
use crate::store::tenants::organizations;

/// # Suspending organizations
impl TicketingService {
    /// Suspends an organization: its API keys and its callers are refused until it is
    /// [resumed](Self::resume_organization). Suspending it again changes nothing.
    ///
    /// Sold tickets are kept, and payments, refunds and notifications in progress are finished:
    ///
    /// - [`authenticate`](Self::authenticate) and all operations that take a caller fail with
    ///   [`Error::OrganizationSuspended`](crate::Error::OrganizationSuspended), including check-in. After this method
    ///   has returned, no process commits a change by such an operation, even if the operation began earlier.
    /// - Payments are still recorded: [`payment_completed`](Self::payment_completed) and
    ///   [`payment_failed`](Self::payment_failed) accept a caller of [`act_for`](Self::act_for), and the sandbox's
    ///   checkout page works. So if a customer is paying, the order is completed and its tickets are issued. An order
    ///   that is not paid in time expires.
    /// - The service makes the refunds that are due, and sends notifications to webhook endpoints.
    /// - Notification handlers ([`Builder::on_notification`](crate::Builder::on_notification)) are called, and can
    ///   read and change everything: a customer who has paid gets the e-mail with the tickets. See
    ///   [`even_if_suspended`](Self::even_if_suspended).
    /// - Tickets stay valid, and can be checked in again when the organization is resumed.
    ///
    /// Other processes that use the same database may still let callers read until their next
    /// [maintenance](Self::run_maintenance).
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.suspend_organization(caller.organization())?;
    /// assert_eq!(service.get_order(&caller, created.order.id), Err(Error::OrganizationSuspended));
    /// // The customer was about to pay.
    /// assert_eq!(service.payment_completed(&caller, created.order.id)?.status, OrderStatus::Completed);
    ///
    /// service.resume_organization(caller.organization())?;
    /// assert_eq!(service.get_order(&caller, created.order.id)?.status, OrderStatus::Completed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn suspend_organization(&self, id: OrganizationId) -> Result<Organization> {
        let organization = self.store()?.write(id, move |tx| organization_changes::suspend(tx, id))?;
        self.inner.suspended.set(id, true);
        Ok(organization)
    }

    /// Ends the [suspension](Self::suspend_organization) of an organization. Nothing changes if it is not suspended.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the organization does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.suspend_organization(caller.organization())?;
    /// let organization = service.resume_organization(caller.organization())?;
    /// assert_eq!(organization.suspended_at, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume_organization(&self, id: OrganizationId) -> Result<Organization> {
        let organization = self.store()?.write(id, move |tx| organization_changes::resume(tx, id))?;
        self.inner.suspended.set(id, false);
        Ok(organization)
    }

    /// Returns a handle that also works for [suspended](Self::suspend_organization) organizations. It is for the
    /// program's own work, such as sending the e-mail for a paid order or exporting the data of a former customer.
    /// Operations with a caller that [`act_for`](Self::act_for) has returned on this handle do not fail with
    /// [`Error::OrganizationSuspended`](crate::Error::OrganizationSuspended).
    ///
    /// Notification handlers ([`Builder::on_notification`](crate::Builder::on_notification)) get such a handle. Call
    /// this method if a handler leaves its work to another thread. [`authenticate`](Self::authenticate) still refuses
    /// the API keys of a suspended organization. Never use the callers of this handle for requests of the
    /// organization's users.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.suspend_organization(caller.organization())?;
    /// assert_eq!(service.get_order(&caller, order.order.id), Err(Error::OrganizationSuspended));
    ///
    /// let own_work = service.even_if_suspended();
    /// let caller = own_work.act_for(caller.organization())?;
    /// assert_eq!(own_work.get_order(&caller, order.order.id)?.customer.name, "Ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn even_if_suspended(&self) -> Self {
        self.clone().ignoring_suspension()
    }

    /// Like [`even_if_suspended`](Self::even_if_suspended), without a clone.
    pub(in crate::service) fn ignoring_suspension(mut self) -> Self {
        self.ignores_suspension = true;
        self
    }

    /// Reloads the set of suspended organizations: another process may have suspended or resumed one.
    pub(in crate::service) fn read_suspended_organizations(&self) -> Result<()> {
        let suspended = self.store()?.read_one(organizations::all_suspended)?;
        self.inner.suspended.replace(suspended.into_iter().collect());
        Ok(())
    }
}
