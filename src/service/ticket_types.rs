//! Ticket types.

use super::TicketingService;
use crate::error::Result;
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::id::{EventId, TicketTypeId, kind};
use crate::model::page::Page;
use crate::model::scope::Scope;
use crate::model::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, UpdateTicketType};
use crate::rules::ticket_type as rules;
use crate::sales::idempotency::OperationTarget;
use crate::sales::ticket_type_changes;
use crate::store::{events, ticket_types};

impl TicketingService {
    /// Lists the ticket types of an event, by their sort order and then by creation. Scope `ticket-types:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such event; a validation error names `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::ListTicketTypes;
    #[doc = include_str!("../doc_fixture.md")]
    /// assert_eq!(service.list_ticket_types(&caller, event.id, ListTicketTypes::default())?.data, [ticket_type]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_ticket_types(
        &self,
        caller: &Caller,
        event: EventId,
        request: impl Into<Request<ListTicketTypes>>,
    ) -> Result<Page<TicketType, kind::TicketType>> {
        caller.require(Scope::TicketTypesRead)?;
        let Request { body, errors } = request.into();
        self.store().read(|tx| {
            let event = events::get(tx, caller.organization, event)?;
            ticket_types::list(tx, caller.organization, event.id, &rules::check_list(body, errors)?)
        })
    }

    /// Adds a ticket type to an event. A sold-out event whose only unsold places these are goes on sale again. Scope
    /// `ticket-types:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such event; a validation error names every field that breaks its limit (see
    /// [`CreateTicketType`]).
    ///
    /// ```
    /// use ticketing::{Amount, CreateTicketType};
    #[doc = include_str!("../doc_fixture.md")]
    /// let balcony = CreateTicketType::new("Balcony", Amount::new(25, 0), 20);
    /// let balcony = service.create_ticket_type(&caller, event.id, balcony)?;
    /// assert_eq!(balcony.price.to_string(), "25.00");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_ticket_type(
        &self,
        caller: &Caller,
        event: EventId,
        request: impl Into<Request<CreateTicketType>>,
    ) -> Result<TicketType> {
        caller.require(Scope::TicketTypesWrite)?;
        let organization = caller.organization;
        let target = OperationTarget::on("create_ticket_type", event);
        self.write_idempotent(caller, target, request, move |tx, request| {
            ticket_type_changes::create(tx, organization, event, request)
        })
    }

    /// Reads one ticket type. Scope `ticket-types:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// assert_eq!(service.get_ticket_type(&caller, ticket_type.id)?.max_per_order, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket_type(&self, caller: &Caller, id: TicketTypeId) -> Result<TicketType> {
        caller.require(Scope::TicketTypesRead)?;
        self.store().read_one(|tx| ticket_types::get(tx, caller.organization, id))
    }

    /// Changes a ticket type; orders keep the price they were made at. Scope `ticket-types:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::RevisionMismatch`]; a validation error as for creation; the conflict `quantity-below-sold` where the quantity
    /// would not cover what is sold and held.
    ///
    /// ```
    /// use ticketing::{Change, UpdateTicketType};
    #[doc = include_str!("../doc_fixture.md")]
    /// let changes = UpdateTicketType { quantity: Change::Set(150), ..Default::default() };
    /// assert_eq!(service.update_ticket_type(&caller, ticket_type.id, changes)?.quantity, 150);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_ticket_type(
        &self,
        caller: &Caller,
        id: TicketTypeId,
        request: impl Into<Request<UpdateTicketType>>,
    ) -> Result<TicketType> {
        caller.require(Scope::TicketTypesWrite)?;
        let Request { body, errors } = request.into();
        let caller = caller.clone();
        self.store().write(move |tx| ticket_type_changes::update(tx, &caller, id, body, errors))
    }

    /// Deletes a ticket type. Scope `ticket-types:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::RevisionMismatch`]; the conflict `in-use` once it was ordered or issued.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// service.delete_ticket_type(&caller, ticket_type.id)?;
    /// assert!(service.get_ticket_type(&caller, ticket_type.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_ticket_type(&self, caller: &Caller, id: TicketTypeId) -> Result<()> {
        caller.require(Scope::TicketTypesWrite)?;
        let (organization, caller) = (caller.organization, caller.clone());
        self.store().write(move |tx| {
            caller.check_revision(ticket_types::get(tx, organization, id)?.revision)?;
            ticket_types::delete(tx, organization, id)
        })
    }
}
