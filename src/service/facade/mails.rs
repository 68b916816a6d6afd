//! Mails to customers and organizers.

use crate::enums::scope::Scope;
use crate::error::{Error, Reason, Result};
use crate::form::request::Request;
use crate::mail::{self, MailOptions};
use crate::model::sale::mail::{
    ListMails, Mail, MailKind, MailPreview, MailSettings, PreviewMail, ResendTickets, UpdateMailSettings,
};
use crate::model::tenants::caller::{Caller, ConditionalCaller, IdempotentCall};
use crate::model::values::id::{MailId, OrderId, TicketId};
use crate::model::values::page::Page;
use crate::rules::checked_request;
use crate::sales::catalog::mail_settings_changes;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::orders::mail_resends;
use crate::service::TicketingService;
use crate::service::opening::builder::Builder;
use crate::store::order::mails;
use crate::store::tenants::mail_settings;

/// # Mails
impl Builder {
    /// Sends mails: the tickets to customers, and what happens to their orders. They are sent by threads of the service,
    /// which start when it is opened. The guide [`mail`](crate::guide::mail) says more.
    ///
    /// Needs the [public URL](Self::public_url), because mails have links, and [ticket
    /// documents](Self::ticket_documents).
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    /// use ticketing::mail::{FolderTransport, MailOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ticketing.db");
    /// let mails = FolderTransport::new(folder.path().join("mails"));
    /// let builder = ticketing::TicketingService::builder(path).public_url("https://tickets.example.com");
    /// let builder = builder.ticket_documents(TicketDocuments::default());
    /// let service = builder.mail(MailOptions::new(mails, "tickets@example.com")).open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mail(mut self, options: MailOptions) -> Self {
        self.mail = Some(options);
        self
    }
}

/// # Mails
///
/// These methods fail with [`Error::Conflict`] and the reason `mail-disabled` if the service sends no
/// [mails](Builder::mail).
impl TicketingService {
    /// Lists the mails of the organization, newest first, with their recipients and what became of them.
    ///
    /// Requires the scope `mail:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`] for an invalid `limit` or `cursor`.
    /// - [`Error::Unavailable`] if a search by kind or state takes longer than a search may.
    ///
    /// ```
    /// use ticketing::mail::{ListMails, MailKind};
    #[doc = include_str!("../../mail_fixture.md")]
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?.order;
    /// service.mark_order_paid(&caller, order.id, ticketing::payment::ManualMethod::Cash)?;
    /// let mail = service.list_mails(&caller, ListMails::new().order(order.id))?.data.remove(0);
    /// assert_eq!((mail.kind, mail.recipient.as_str()), (MailKind::Tickets, "ada@example.com"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_mails(&self, caller: &Caller, request: ListMails) -> Result<Page<Mail, MailId>> {
        caller.require(Scope::MailRead)?;
        self.require_mails()?;
        self.list(caller, Scope::MailRead, request, mails::list)
    }

    /// Returns what the organization has set about its mails.
    ///
    /// Requires the scope `mail:read`.
    ///
    /// ```
    #[doc = include_str!("../../mail_fixture.md")]
    /// assert!(service.get_mail_settings(&caller)?.mail_enabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the organization was deleted.
    pub fn get_mail_settings(&self, caller: &Caller) -> Result<MailSettings> {
        caller.require(Scope::MailRead)?;
        self.require_mails()?;
        self.store()?.read_one(|tx| mail_settings::get(tx, caller.organization))
    }

    /// Updates the mail settings that the request sets. With mail switched off, the mails that wait are dropped, and
    /// nothing that happens causes one. Switched on again, nothing old is sent.
    ///
    /// Requires the scope `mail:write`.
    ///
    /// # Errors
    /// - [`Error::RevisionMismatch`] if the caller [expects another revision](Caller::if_revision).
    /// - [`Error::Validation`] lists every field outside its limits (see [`UpdateMailSettings`]).
    ///
    /// ```
    /// use ticketing::mail::UpdateMailSettings;
    #[doc = include_str!("../../mail_fixture.md")]
    /// let changes = UpdateMailSettings::default().sender_name("Jazz Cellar").notify_address("office@example.com");
    /// let settings = service.update_mail_settings(&caller, changes)?;
    /// assert_eq!(settings.sender_name.as_deref(), Some("Jazz Cellar"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_mail_settings(
        &self,
        caller: impl Into<ConditionalCaller>,
        request: impl Into<Request<UpdateMailSettings>>,
    ) -> Result<MailSettings> {
        let call = caller.into();
        self.writes().require(&call.caller, Scope::MailWrite)?;
        self.require_mails()?;
        let request = request.into();
        self.writes().run(call.caller.identity(), move |tx| mail_settings_changes::update(tx, &call, &request))
    }

    /// Sends the tickets of a completed order again, in one mail: to the customer, or to another address, which is used
    /// for this mail only.
    ///
    /// Requires the scopes `mail:write`, `orders:read` and `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist.
    /// - [`Error::Validation`] for `to`. It is required if the customer has no e-mail address.
    /// - [`Error::Conflict`] with the reason `mail-disabled` if mail is switched off for the organization,
    ///   `order-not-completed`, `event-cancelled`, or `limit-reached` if the tickets of the order were sent again five
    ///   times within 24 hours.
    ///
    /// ```
    /// use ticketing::mail::ResendTickets;
    #[doc = include_str!("../../mail_fixture.md")]
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?.order;
    /// service.mark_order_paid(&caller, order.id, ticketing::payment::ManualMethod::Cash)?;
    /// let mail = service.resend_tickets(&caller, order.id, ResendTickets::default().to("ada@example.org"))?;
    /// assert_eq!(mail.recipient, "ada@example.org");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resend_tickets<C: IdempotentCall>(
        &self,
        caller: &C,
        id: OrderId,
        request: impl Into<Request<ResendTickets>>,
    ) -> Result<C::Output<Mail>> {
        self.require_to_resend(caller.as_caller())?;
        self.write(caller, OperationTarget::on("resend_tickets", id), request)
            .run_on(id, move |tx, caller, request, _| mail_resends::of_order(tx, caller.organization, id, request))
    }

    /// Sends one ticket again: to its holder, or to another address, which is used for this mail only.
    ///
    /// Requires the scopes `mail:write`, `orders:read` and `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the ticket does not exist.
    /// - [`Error::Validation`] for `to`. It is required if the holder has no e-mail address.
    /// - [`Error::Conflict`] with the reason `mail-disabled` if mail is switched off for the organization,
    ///   `ticket-imported`, `ticket-cancelled`, or `limit-reached` if the ticket was sent again five times within 24 hours.
    ///
    /// ```
    /// use ticketing::mail::ResendTickets;
    /// use ticketing::ticket::IssueTickets;
    #[doc = include_str!("../../mail_fixture.md")]
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// let mail = service.resend_ticket(&caller, issued.id, ResendTickets::default())?;
    /// assert_eq!(mail.ticket_ids, [issued.id]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resend_ticket<C: IdempotentCall>(
        &self,
        caller: &C,
        id: TicketId,
        request: impl Into<Request<ResendTickets>>,
    ) -> Result<C::Output<Mail>> {
        self.require_to_resend(caller.as_caller())?;
        self.write(caller, OperationTarget::on("resend_ticket", id), request)
            .run_on(id, move |tx, caller, request, _| mail_resends::of_ticket(tx, caller.organization, id, request))
    }

    /// Returns a mail about an order as it would be sent now. Nothing is sent.
    ///
    /// Requires the scopes `mail:read`, `orders:read` and `tickets:read`: the mail shows the codes of the tickets.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist.
    /// - [`Error::Conflict`] with the reason `order-not-completed` or `order-not-pending` if there is no such mail about an
    ///   order in this state.
    /// - [`Error::Unavailable`] if the ticket document cannot be rendered now.
    ///
    /// ```
    /// use ticketing::mail::PreviewMail;
    #[doc = include_str!("../../mail_fixture.md")]
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?.order;
    /// service.mark_order_paid(&caller, order.id, ticketing::payment::ManualMethod::Cash)?;
    /// let preview = service.preview_mail(&caller, order.id, PreviewMail::default())?;
    /// assert!(preview.subject.starts_with("Your tickets: Summer Night ("));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preview_mail(&self, caller: &Caller, id: OrderId, request: PreviewMail) -> Result<MailPreview> {
        for scope in [Scope::MailRead, Scope::OrdersRead, Scope::TicketsRead] {
            caller.require(scope)?;
        }
        self.require_mails()?;
        let kind = checked_request(request)?.kind.unwrap_or(MailKind::Tickets);
        let facts = self.store()?.read(|tx| mail_resends::preview(tx, caller.organization, id, kind))?;
        mail::preview(&facts, self.document_of_mail(&facts)?.as_ref())
    }

    fn require_to_resend(&self, caller: &Caller) -> Result<()> {
        self.writes().require(caller, Scope::MailWrite)?;
        caller.require(Scope::OrdersRead)?;
        caller.require(Scope::TicketsRead)?;
        self.require_mails()
    }

    /// Fails if the service sends no mails.
    fn require_mails(&self) -> Result<()> {
        match self.inner.mail {
            Some(_) => Ok(()),
            None => Err(Error::conflict(Reason::MailDisabled, "this service sends no mails")),
        }
    }
}
