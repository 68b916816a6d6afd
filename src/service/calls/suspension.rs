//! The suspension of organizations.

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
    /// What was sold is kept, and what was begun is finished:
    ///
    /// - [`authenticate`](Self::authenticate) and all operations that take a caller fail with
    ///   [`Error::OrganizationSuspended`](crate::Error::OrganizationSuspended), also check-in. A change of theirs that has
    ///   not been committed when this method returns is not committed any more, in no process.
    /// - Payments arrive: [`payment_completed`](Self::payment_completed) and [`payment_failed`](Self::payment_failed)
    ///   accept a caller of [`act_for`](Self::act_for), and the sandbox's checkout page works. So an order whose
    ///   customer is paying is completed, and its tickets are issued. An order that is not paid in time expires.
    /// - Refunds that are due are made, and notifications are sent to webhooks.
    /// - Functions of [`Builder::on_notification`](crate::Builder::on_notification) are called, and can read and change
    ///   everything: a customer who has paid gets the e-mail with the tickets. See
    ///   [`even_if_suspended`](Self::even_if_suspended).
    /// - Tickets stay valid and are admitted again once the organization is resumed.
    ///
    /// Other processes that have opened the file may still let callers read until their next
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

    /// Returns a handle for the program's own work, which goes on while an organization is
    /// [suspended](Self::suspend_organization): to send the e-mail of an order that was paid, or to export the data of a
    /// former customer. Its operations do not fail with
    /// [`Error::OrganizationSuspended`](crate::Error::OrganizationSuspended) for a caller that it
    /// [has returned](Self::act_for).
    ///
    /// Functions of [`Builder::on_notification`](crate::Builder::on_notification) get such a handle. A program that
    /// does their work later, on a thread of its own, needs this method. [Authentication](Self::authenticate) is refused
    /// on this handle too. Never use its callers for requests of the organization's users.
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

    /// Makes this handle one of [`even_if_suspended`](Self::even_if_suspended).
    pub(in crate::service) fn ignoring_suspension(mut self) -> Self {
        self.ignores_suspension = true;
        self
    }

    /// Reads which organizations are suspended: another process may have suspended or resumed one.
    pub(in crate::service) fn read_suspended_organizations(&self) -> Result<()> {
        let suspended = self.store()?.read_one(organizations::all_suspended)?;
        self.inner.suspended.replace(suspended.into_iter().collect());
        Ok(())
    }
}
