//! Operations on the links of tickets and orders, which work without an API key.

use crate::documents::TicketDocument;
use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::request::Nothing;
use crate::model::sale::ticket::IssuedTicket;
use crate::model::tenants::caller::IdempotentCall;
#[cfg(feature = "server")]
use crate::model::tickets::linked::{LinkVersion, OrderPart};
use crate::model::tickets::linked::{LinkedOrder, LinkedTicket};
#[cfg(feature = "server")]
use crate::model::values::id::OrganizationId;
use crate::model::values::id::TicketId;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::orders::linked_documents;
use crate::service::TicketingService;
use crate::store::sale::ticket_types;
#[cfg(feature = "server")]
use crate::store::tickets::link_versions;

/// # Links of tickets and orders
///
/// With [ticket documents](crate::Builder::ticket_documents), a ticket has the link of its document in
/// `download_ticket_url`, and an order the link of the buyer's page in the `documents_url` of its
/// [details](Self::get_order_details). A link is the [public URL](crate::Builder::public_url), the kind of the resource
/// and a token, such as `https://tickets.example.com/tickets/{token}/ticket.pdf`. The token authorizes to see this one
/// ticket or order, so the methods that take a token take no [`Caller`](crate::Caller).
impl TicketingService {
    /// Returns the ticket of a link, with its type and its event. The token is the path segment after `tickets/`.
    ///
    /// The ticket may have any status: see [`LinkedTicket::is_cancelled`]. It may belong to any organization, even to
    /// one that is suspended.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the token is not that of a ticket, if the link was
    ///   [renewed](Self::renew_ticket_link) since, or if documents are not switched on.
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).ticket_documents(TicketDocuments::default()).open()?;
    /// let caller = service.act_for(organization.id)?;
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    ///
    /// let ticket = service.get_ticket(&caller, issued.id)?;
    /// let link = ticket.download_ticket_url.as_deref().expect("documents are switched on");
    /// let token = link.split('/').nth_back(1).expect("the link ends with the token and ticket.pdf");
    /// assert_eq!(service.get_ticket_by_link(token)?.event.title, "Summer Night");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket_by_link(&self, token: &str) -> Result<LinkedTicket> {
        self.store()?.read(|tx| linked_documents::ticket(tx, token, ticket_types::get))
    }

    /// Like [`get_ticket_by_link`](Self::get_ticket_by_link), for the page of the ticket: with the logo if it is small.
    #[cfg(feature = "server")]
    pub(crate) fn ticket_for_page(&self, token: &str) -> Result<LinkedTicket> {
        self.store()?.read(|tx| linked_documents::ticket(tx, token, ticket_types::get_with_small_logo))
    }

    /// Like [`get_ticket_by_link`](Self::get_ticket_by_link), for calendar entries: without the logo.
    #[cfg(feature = "server")]
    pub(crate) fn ticket_without_logo(&self, token: &str) -> Result<LinkedTicket> {
        self.store()?.read(|tx| linked_documents::ticket(tx, token, ticket_types::get_without_logo))
    }

    /// A part of the order of a link, for pages: `size` of its tickets, without the logos. `part` is a number from 1.
    #[cfg(feature = "server")]
    pub(crate) fn part_of_order(&self, token: &str, part: usize, size: usize) -> Result<OrderPart> {
        self.store()?.read(|tx| linked_documents::order_part(tx, token, part, size))
    }

    #[cfg(feature = "server")]
    pub(crate) fn version_of_ticket_link(&self, token: &str) -> Result<Option<LinkVersion>> {
        self.store()?.read(|tx| {
            let (organization, id) = linked_documents::find_ticket(tx, token)?;
            link_versions::of_ticket(tx, organization, id)
        })
    }

    /// The version of the page of an order, for its `ETag`. `None` if the order was never completed.
    #[cfg(feature = "server")]
    pub(crate) fn version_of_order_link(&self, token: &str) -> Result<Option<LinkVersion>> {
        self.store()?.read(|tx| {
            let (organization, id) = linked_documents::find_order(tx, token)?;
            link_versions::of_order(tx, organization, id)
        })
    }

    #[cfg(feature = "server")]
    pub(crate) fn organization_of_ticket_link(&self, token: &str) -> Result<OrganizationId> {
        self.store()?.read_one(|tx| linked_documents::find_ticket(tx, token)).map(|(organization, _)| organization)
    }

    #[cfg(feature = "server")]
    pub(crate) fn organization_of_order_link(&self, token: &str) -> Result<OrganizationId> {
        self.store()?.read_one(|tx| linked_documents::find_order(tx, token)).map(|(organization, _)| organization)
    }

    /// Returns the order of a link, with all its tickets, their types and the event. The token is the last part of the
    /// order's `documents_url`.
    ///
    /// The order may belong to any organization, even to one that is suspended.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the token is not that of an order, or if documents are not
    ///   switched on.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `order-not-completed` if the order was never
    ///   completed.
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).ticket_documents(TicketDocuments::default()).open()?;
    /// let caller = service.act_for(organization.id)?;
    /// let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// service.mark_order_paid(&caller, created.order.id, ticketing::payment::ManualMethod::Cash)?;
    ///
    /// let details = service.get_order_details(&caller, created.order.id)?;
    /// let link = details.documents_url.as_deref().expect("the order is completed");
    /// let (_, token) = link.rsplit_once('/').expect("the link ends with the token");
    /// assert_eq!(service.get_order_by_link(token)?.tickets.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order_by_link(&self, token: &str) -> Result<LinkedOrder> {
        self.store()?.read(|tx| linked_documents::order(tx, token, ticket_types::get))
    }

    /// Replaces the link of a ticket, for example after it has leaked, and returns the ticket. The previous link stops
    /// working. The code that is scanned at check-in and the link of the order stay the same.
    ///
    /// Requires the scope `tickets:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the ticket does not exist.
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).ticket_documents(TicketDocuments::default()).open()?;
    /// let caller = service.act_for(organization.id)?;
    /// let request = IssueTickets::new(ticket_type.id, ada, 1);
    /// let issued = service.issue_tickets(&caller, request)?.issued_tickets.remove(0);
    /// let ticket = service.get_ticket(&caller, issued.id)?;
    ///
    /// let renewed = service.renew_ticket_link(&caller, issued.id)?;
    /// assert_ne!(renewed.download_ticket_url, ticket.download_ticket_url);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn renew_ticket_link<C: IdempotentCall>(&self, caller: &C, id: TicketId) -> Result<C::Output<IssuedTicket>> {
        self.writes().require(caller.as_caller(), Scope::TicketsWrite)?;
        let target = OperationTarget::on("renew_ticket_link", id);
        self.write(caller, target, Nothing)
            .run(move |tx, caller, _| linked_documents::renew(tx, caller.organization, id))
    }

    /// Returns the document of the ticket of a link, as [`get_ticket_document`](Self::get_ticket_document) does.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) as for [`get_ticket_by_link`](Self::get_ticket_by_link).
    /// - [`Error::Gone`](crate::Error::Gone) if the ticket or its event is cancelled.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if two other documents are being rendered, and neither ends
    ///   within two seconds.
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).ticket_documents(TicketDocuments::default()).open()?;
    /// # let caller = service.act_for(organization.id)?;
    /// # let issued = service.issue_tickets(&caller, IssueTickets::new(ticket_type.id, ada, 1))?.issued_tickets.remove(0);
    /// let ticket = service.get_ticket(&caller, issued.id)?;
    /// let link = ticket.download_ticket_url.as_deref().expect("documents are switched on");
    /// let token = link.split('/').nth_back(1).expect("the link ends with the token and ticket.pdf");
    /// assert_eq!(service.get_ticket_document_by_link(token)?, service.get_ticket_document(&caller, ticket.id)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket_document_by_link(&self, token: &str) -> Result<TicketDocument> {
        let (organization, id) = self.store()?.read_one(|tx| linked_documents::find_ticket(tx, token))?;
        self.document_of_ticket(organization, id)
    }

    /// Returns one document with all valid tickets of the order of a link, as
    /// [`get_order_document`](Self::get_order_document) does.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) as for [`get_order_by_link`](Self::get_order_by_link).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `order-not-completed` if the order is not paid.
    /// - [`Error::Gone`](crate::Error::Gone) if the order, all its tickets or the event are cancelled, or if the order
    ///   has expired.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if two other documents are being rendered, and neither ends
    ///   within two seconds.
    ///
    /// ```
    /// use ticketing::documents::TicketDocuments;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).ticket_documents(TicketDocuments::default()).open()?;
    /// # let caller = service.act_for(organization.id)?;
    /// # let created = service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// # service.mark_order_paid(&caller, created.order.id, ticketing::payment::ManualMethod::Cash)?;
    /// let details = service.get_order_details(&caller, created.order.id)?;
    /// let link = details.documents_url.as_deref().expect("the order is completed");
    /// let (_, token) = link.rsplit_once('/').expect("the link ends with the token");
    /// assert!(service.get_order_document_by_link(token)?.bytes.starts_with(b"%PDF-"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_order_document_by_link(&self, token: &str) -> Result<TicketDocument> {
        let (organization, id) = self.store()?.read_one(|tx| linked_documents::find_order(tx, token))?;
        self.document_of_order(organization, id)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::documents::TicketDocuments;
    use crate::model::sale::customer::NewCustomer;
    use crate::model::sale::event::{CreateEvent, EventStatus};
    use crate::model::sale::ticket::IssueTickets;
    use crate::model::sale::ticket_type::CreateTicketType;
    use crate::model::tenants::organization::CreateOrganization;
    use crate::model::values::amount::Amount;
    use crate::store::Transaction;

    /// The statements and the changed rows of each transaction of `work`, which the store logs.
    fn costs<T>(work: impl FnOnce() -> T) -> (T, Vec<(u64, u64)>) {
        let log = tempfile::NamedTempFile::new().unwrap();
        let subscriber = tracing_subscriber::fmt().json().with_max_level(tracing::Level::TRACE);
        let subscriber = subscriber.with_writer(Mutex::new(log.reopen().unwrap())).finish();
        let result = tracing::subscriber::with_default(subscriber, work);
        let lines = std::fs::read_to_string(log.path()).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let cost = |line: serde_json::Value| line["fields"]["statements"].as_u64().zip(line["fields"]["rows"].as_u64());
        (result, lines.filter_map(cost).collect())
    }

    #[test]
    fn a_wrong_code_an_unknown_id_and_a_dead_link_cost_one_statement_each() {
        let service = TicketingService::temporary().ticket_documents(TicketDocuments::default()).open().unwrap();
        let organization = service.create_organization(CreateOrganization::default()).unwrap();
        let caller = service.act_for(organization.id).unwrap();
        let event = CreateEvent::new("Summer Night", "summer-night", "2100-06-12T17:30:00Z".parse().unwrap());
        let event = service.create_event(&caller, event.status(EventStatus::Published)).unwrap();
        let ticket_type = CreateTicketType::new("Seat", Amount::cents(0), 10);
        let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type).unwrap();
        let request = IssueTickets::new(ticket_type.id, NewCustomer::new("Ada", "ada@example.com"), 1);
        let ticket = service.issue_tickets(&caller, request).unwrap().issued_tickets.remove(0).id;
        let token = |url: Option<String>| url.unwrap().split('/').nth_back(1).unwrap().to_owned();
        let dead = token(service.get_ticket(&caller, ticket).unwrap().download_ticket_url);
        let right = token(service.renew_ticket_link(&caller, ticket).unwrap().download_ticket_url);
        let wrong = format!("{}{}{}", &right[..20], if &right[20..21] == "0" { "1" } else { "0" }, &right[21..]);
        let unknown = format!("0000000000001{}", &right[13..]);

        // Inside a write, because the store logs what these cost.
        let cost_of = |read: fn(&Transaction<'_>, &str) -> bool, token: &str| {
            let token = token.to_owned();
            costs(|| service.store().unwrap().write(None, move |tx| Ok(read(tx, &token))).unwrap())
        };
        let cost =
            |token: &str| cost_of(|tx, token| linked_documents::ticket(tx, token, ticket_types::get).is_ok(), token);
        for token in [&wrong, &unknown, &dead] {
            assert_eq!(cost(token), (false, vec![(1, 0)]), "{token}");
        }
        // The control: what a link leads to is read after it was found.
        let (is_found, costs) = cost(&right);
        assert!(is_found && costs[0].0 > 1, "{costs:?}");
        // What cannot be a token is not looked up. The token of an order says all that its code depends on.
        assert_eq!(cost(&right.to_lowercase()).1, [(0, 0)]);
        let cost_as_order =
            |token: &str| cost_of(|tx, token| linked_documents::order(tx, token, ticket_types::get).is_ok(), token);
        for token in [&wrong, &unknown, &right] {
            assert_eq!(cost_as_order(token), (false, vec![(0, 0)]), "{token}");
        }
    }
}
