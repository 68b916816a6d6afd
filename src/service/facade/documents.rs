//! Ticket documents.

#[cfg(feature = "webhooks")]
use std::sync::Arc;

use crate::documents::{DocumentToPrint, Fetch, Rendered, Renderer, TicketDocument, TicketDocuments};
use crate::enums::scope::Scope;
use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::allocation::GetAllocationDocument;
use crate::model::sale::ticket::IssuedTicket;
#[cfg(feature = "mail")]
use crate::model::sale::ticket::TicketStatus;
use crate::model::tenants::caller::Caller;
use crate::model::tickets::linked::DocumentVersion;
#[cfg(feature = "mail")]
use crate::model::tickets::linked::LinkedTicket;
use crate::model::values::id::{AllocationId, OrderId, OrganizationId, TicketId};
use crate::rules::checked_request;
use crate::sales::orders::linked_documents;
use crate::service::TicketingService;
use crate::service::opening::builder::Builder;
use crate::store::Transaction;
use crate::store::tickets::link_versions;

/// # Ticket documents
impl Builder {
    /// Switches ticket documents on: [`get_ticket_document`](TicketingService::get_ticket_document) and
    /// [`get_order_document`](TicketingService::get_order_document), and the
    /// [links](crate::documents#links) of tickets and orders.
    ///
    /// Links begin with the [public URL](Self::public_url). Without one they begin with `http://127.0.0.1:8080`, which
    /// nobody else can open, and opening the service logs a warning.
    ///
    /// ```
    /// use ticketing::documents::{Paper, TicketDocuments};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ticketing.db");
    /// let documents = TicketDocuments::default().paper(Paper::Letter);
    /// let builder = ticketing::TicketingService::builder(path).public_url("https://tickets.example.com");
    /// let service = builder.ticket_documents(documents).open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ticket_documents(mut self, documents: TicketDocuments) -> Self {
        self.documents = Some(documents);
        self
    }

    /// Fetches the logos of tickets and the [covers](crate::documents#covers) of events over `transport`. Default: a
    /// transport with default settings, which allows loopback addresses if those of
    /// [webhooks](Self::allow_local_webhooks) may be such. If it cannot be created, because there is no [implementation of
    /// cryptography](crate::webhook#sending), pictures at URLs are left out, which is logged as a warning.
    ///
    /// ```
    /// use std::net::IpAddr;
    ///
    /// use ticketing::documents::TicketDocuments;
    /// use ticketing::webhook::{HttpsTransport, Resolver};
    ///
    /// /// Looks no names up, so that no logo is fetched.
    /// #[derive(Debug)]
    /// struct NoNames;
    ///
    /// impl Resolver for NoNames {
    ///     fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
    ///         Err(std::io::ErrorKind::NotFound.into())
    ///     }
    /// }
    ///
    /// # let _ = rustls::crypto::ring::default_provider().install_default();
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ticketing.db");
    /// let transport = HttpsTransport::builder().resolver(NoNames).build()?;
    /// let builder = ticketing::TicketingService::builder(path).ticket_documents(TicketDocuments::default());
    /// let service = builder.logo_transport(transport).open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "webhooks")]
    pub fn logo_transport(mut self, transport: crate::webhook::HttpsTransport) -> Self {
        self.logo_transport = Some(Arc::new(transport));
        self
    }

    pub(in crate::service) fn renderer(&self) -> Result<Option<Renderer>> {
        let renderer = |settings| Renderer::new(settings, self.used_clock(), self.fetch_pictures());
        self.documents.as_ref().map(renderer).transpose()
    }

    #[cfg(feature = "webhooks")]
    fn fetch_pictures(&self) -> Option<Fetch> {
        use crate::webhook::HttpsTransport;

        let transport = match &self.logo_transport {
            Some(transport) => Ok(Arc::clone(transport)),
            None => HttpsTransport::builder().allow_local(self.allow_local_webhooks).build().map(Arc::new),
        };
        let transport = transport.inspect_err(|error| {
            tracing::warn!(target: "ticketing::documents", %error, "logos and covers at URLs are left out");
        });
        let transport = transport.ok()?;
        Some(Arc::new(move |organization, url, most_bytes, timeout| {
            let headers = [("Accept", "image/png, image/jpeg"), ("User-Agent", "Service-Documents/1.0")];
            let file = transport.download(organization, url, &headers, most_bytes, timeout);
            file.map_err(|failure| failure.message)
        }))
    }

    #[cfg(not(feature = "webhooks"))]
    #[expect(clippy::unused_self, reason = "with the feature `webhooks` it has a transport")]
    fn fetch_pictures(&self) -> Option<Fetch> {
        None
    }
}

/// # Ticket documents
impl TicketingService {
    /// Returns the document of a ticket: a PDF with its QR code. The module [`documents`](crate::documents) describes
    /// it.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the ticket does not exist, or if documents are not
    ///   [switched on](Builder::ticket_documents).
    /// - [`Error::Gone`] if the ticket or its event is cancelled.
    /// - [`Error::Conflict`] with the reason `ticket-imported` if another seller has sold the ticket.
    /// - [`Error::Unavailable`] if two other documents are being rendered, and neither ends within two seconds.
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    /// use ticketing::ticket::IssueTickets;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).ticket_documents(TicketDocuments::default()).open()?;
    /// # let caller = service.act_for(event.organizer_id)?;
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// let document = service.get_ticket_document(&caller, issued.id)?;
    /// assert_eq!(document.file_name, "summer-night-ticket.pdf");
    /// assert!(document.bytes.starts_with(b"%PDF-"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket_document(&self, caller: &Caller, id: TicketId) -> Result<TicketDocument> {
        caller.require(Scope::TicketsRead)?;
        self.document_of_ticket(caller.organization, id)
    }

    /// Returns one document with all valid tickets of an order, each on pages of its own.
    ///
    /// Requires the scopes `orders:read` and `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the order does not exist, or if documents are not
    ///   [switched on](Builder::ticket_documents).
    /// - [`Error::Conflict`] with the reason `order-not-completed` if the order is not paid.
    /// - [`Error::Gone`] if the order, all its tickets or the event are cancelled, or if the order has expired.
    /// - [`Error::Unavailable`] if two other documents are being rendered, and neither ends within two seconds.
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    /// use ticketing::error::Reason;
    /// use ticketing::order::CreateOrder;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// # let builder = TicketingService::builder(path).sandbox_gateway();
    /// let service = builder.ticket_documents(TicketDocuments::default()).open()?;
    /// # let caller = service.act_for(event.organizer_id)?;
    /// let order = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?.order;
    /// let unpaid = service.get_order_document(&caller, order.id).unwrap_err();
    /// assert_eq!(unpaid.reason(), Some(Reason::OrderNotCompleted));
    /// service.mark_order_paid(&caller, order.id, ticketing::payment::ManualMethod::Cash)?;
    /// let document = service.get_order_document(&caller, order.id)?;
    /// assert!(document.missing_glyphs.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order_document(&self, caller: &Caller, id: OrderId) -> Result<TicketDocument> {
        caller.require(Scope::OrdersRead)?;
        caller.require(Scope::TicketsRead)?;
        self.document_of_order(caller.organization, id)
    }

    /// Returns one document with up to 500 tickets of an allocation, each on pages of its own, without those that are
    /// cancelled. It is in English, and has no prices.
    ///
    /// Requires the scope `tickets:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the allocation does not exist, or if documents are not
    ///   [switched on](Builder::ticket_documents).
    /// - [`Error::Validation`] if the allocation has no ticket with the number `from`.
    /// - [`Error::Conflict`] with the reason `ticket-imported` if another seller has sold the tickets, or
    ///   `allocation-not-complete` while they are being issued.
    /// - [`Error::Gone`] if all of them, or the event, are cancelled.
    /// - [`Error::Unavailable`] if two other documents are being rendered, and neither ends within two seconds.
    ///
    /// ```
    /// use ticketing::allocation::{CreateAllocation, GetAllocationDocument};
    /// use ticketing::documents::TicketDocuments;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).ticket_documents(TicketDocuments::default()).open()?;
    /// # let caller = service.act_for(event.organizer_id)?;
    /// let guests = service.create_allocation(&caller, ticket_type.id, CreateAllocation::new("Guest list", 3))?;
    /// service.run_maintenance()?;
    /// let document = service.get_allocation_document(&caller, guests.id, GetAllocationDocument::new().from(2))?;
    /// assert!(document.bytes.starts_with(b"%PDF-"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_allocation_document(
        &self,
        caller: &Caller,
        id: AllocationId,
        request: GetAllocationDocument,
    ) -> Result<TicketDocument> {
        caller.require(Scope::TicketsRead)?;
        let from = checked_request(request)?.from.unwrap_or(1);
        let organization = caller.organization;
        let read = |tx: &Transaction<'_>| {
            let linked = linked_documents::printed_allocation(tx, organization, id, from)?;
            let first = linked.tickets.first().ok_or(Error::Gone(ResourceKind::Allocation))?.id;
            Ok((link_versions::of_ticket_document(tx, organization, first)?, linked))
        };
        let (version, linked) = self.store()?.read(read)?;
        let missing = || Error::NotFound(ResourceKind::TicketDocument);
        let renderer: &Renderer = self.inner.documents.as_ref().ok_or_else(missing)?;
        // The version is that of the first ticket only.
        let printed = |ticket: &IssuedTicket| format!("{} {:?}", ticket.id, ticket.customer_id);
        let key: Vec<_> = linked.tickets.iter().map(printed).collect();
        let mut logos = renderer.logos(organization);
        let to_print = DocumentToPrint::of_allocation(&linked);
        Ok(renderer.render(&key.join(" "), &version.ok_or_else(missing)?, &mut logos, to_print)?.document)
    }

    pub(in crate::service) fn document_of_ticket(
        &self,
        organization: OrganizationId,
        id: TicketId,
    ) -> Result<TicketDocument> {
        self.document(
            organization,
            &id.to_string(),
            |tx| link_versions::of_ticket_document(tx, organization, id),
            |tx| linked_documents::printed_ticket(tx, organization, id),
            |linked| DocumentToPrint::of_ticket(linked),
        )
    }

    pub(in crate::service) fn document_of_order(
        &self,
        organization: OrganizationId,
        id: OrderId,
    ) -> Result<TicketDocument> {
        self.document(
            organization,
            &id.to_string(),
            |tx| link_versions::of_order_document(tx, organization, id),
            |tx| linked_documents::printed_order(tx, organization, id),
            |linked| DocumentToPrint::of_order(linked),
        )
    }

    /// The document of tickets that were issued together. It is rendered anew each time: nothing else asks for it.
    #[cfg(feature = "mail")]
    pub(in crate::service) fn document_of_tickets(&self, tickets: &[LinkedTicket]) -> Result<TicketDocument> {
        let missing = || Error::NotFound(ResourceKind::TicketDocument);
        let (Some(renderer), Some(first)) = (self.inner.documents.as_ref(), tickets.first()) else {
            return Err(missing());
        };
        let organization = first.event.organizer_id;
        let is_valid = |linked: &&LinkedTicket| linked.ticket.status != TicketStatus::Cancelled;
        let valid: Vec<_> = tickets.iter().filter(is_valid).map(|linked| linked.ticket.id).collect();
        let first = *valid.first().ok_or_else(missing)?;
        if valid.len() == 1 {
            return self.document_of_ticket(organization, first);
        }
        let (version, linked) = self.store()?.read(|tx| {
            let linked = valid.iter().map(|ticket| linked_documents::printed_ticket(tx, organization, *ticket));
            Ok((link_versions::of_ticket_document(tx, organization, first)?, linked.collect::<Result<Vec<_>>>()?))
        })?;
        // The states of the other tickets are not part of the version of the first one.
        let id: Vec<_> = valid.iter().map(ToString::to_string).collect();
        let mut logos = renderer.logos(organization);
        let to_print = DocumentToPrint::of_tickets(&linked);
        Ok(renderer.render(&id.join(" "), &version.ok_or_else(missing)?, &mut logos, to_print)?.document)
    }

    /// Returns the document that is kept with the current version, or else reads its tickets with `read` and renders
    /// it.
    fn document<T>(
        &self,
        organization: OrganizationId,
        id: &str,
        version: impl Fn(&Transaction<'_>) -> Result<Option<DocumentVersion>>,
        read: impl Fn(&Transaction<'_>) -> Result<T>,
        to_print: impl Fn(&T) -> DocumentToPrint<'_>,
    ) -> Result<TicketDocument> {
        let renderer: Option<&Renderer> = self.inner.documents.as_ref();
        let mut logos = renderer.map(|renderer| renderer.logos(organization));
        if let (Some(renderer), Some(logos)) = (renderer, &mut logos)
            && let Some(version) = self.store()?.read(&version)?
            && let Some(kept) = renderer.kept(id, &version, logos)
        {
            return Ok(kept);
        }
        let (version, linked) = self.store()?.read(|tx| Ok((version(tx)?, read(tx)?)))?;
        let (Some(renderer), Some(mut logos), Some(version)) = (renderer, logos, version) else {
            return Err(Error::NotFound(ResourceKind::TicketDocument));
        };
        let Rendered { document, has_new_gaps, has_lost_title } =
            renderer.render(id, &version, &mut logos, to_print(&linked))?;
        if has_new_gaps {
            self.store_in_operation().counters().update(|counts| counts.documents.with_missing_glyphs += 1);
            let characters = document.missing_glyphs.len();
            if has_lost_title {
                let problem = "no font has the title of a document: add one with --fonts or TicketDocuments::font";
                tracing::warn!(target: "ticketing::documents", document = id, characters, "{problem}");
            } else {
                let problem = "no font has some characters of a document";
                tracing::info!(target: "ticketing::documents", document = id, characters, "{problem}");
            }
        }
        Ok(document)
    }
}
