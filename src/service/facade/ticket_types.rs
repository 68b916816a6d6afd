//! Operations on ticket types.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::request::Request;
use crate::model::sale::ticket_type::{CreateTicketType, ListTicketTypes, TicketType, UpdateTicketType};
use crate::model::tenants::caller::{Caller, ConditionalCaller, IdempotentCall};
use crate::model::values::id::{EventId, TicketTypeId};
use crate::model::values::page::Page;
use crate::rules::checked;
use crate::sales::catalog::ticket_type_changes;
use crate::sales::idempotent_operation::OperationTarget;
use crate::service::TicketingService;
use crate::store::sale::{events, ticket_types};

/// # Ticket types
impl TicketingService {
    /// Lists the ticket types of an event by sort order; types with the same sort order by creation, oldest first.
    ///
    /// Requires the scope `ticket-types:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit` or `cursor`.
    ///
    /// ```
    /// use ticketing::ticket_type::ListTicketTypes;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let page = service.list_ticket_types(&caller, event.id, ListTicketTypes::default())?;
    /// assert_eq!(page.data, [ticket_type]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_ticket_types(
        &self,
        caller: &Caller,
        event: EventId,
        request: ListTicketTypes,
    ) -> Result<Page<TicketType, TicketTypeId>> {
        caller.require(Scope::TicketTypesRead)?;
        let Request { body, errors } = Request::from(request);
        self.store()?.read(|tx| {
            let event = events::get(tx, caller.organization, event)?;
            let request = checked(body, errors)?;
            ticket_types::list(tx, caller.organization, event.id, &request)
        })
    }

    /// Creates a ticket type of an event. A `SOLD_OUT` event without unsold seats becomes `PUBLISHED` again. If it has
    /// unsold seats, it stays `SOLD_OUT`: the organizer has chosen that status.
    ///
    /// Requires the scope `ticket-types:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see
    ///   [`CreateTicketType`]).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `limit-reached` if the event has 500 ticket types.
    ///
    /// ```
    /// use ticketing::ticket_type::CreateTicketType;
    /// use ticketing::Amount;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let balcony = CreateTicketType::new("Balcony", Amount::whole(25), 20);
    /// let balcony = service.create_ticket_type(&caller, event.id, balcony)?;
    /// assert_eq!(balcony.price.to_string(), "25.00");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_ticket_type<C: IdempotentCall>(
        &self,
        caller: &C,
        event: EventId,
        request: impl Into<Request<CreateTicketType>>,
    ) -> Result<C::Output<TicketType>> {
        self.writes().require(caller.as_caller(), Scope::TicketTypesWrite)?;
        let target = OperationTarget::on("create_ticket_type", event);
        self.write(caller, target, request).run_on(event, move |tx, caller, request, _| {
            ticket_type_changes::create(tx, caller.organization, event, request)
        })
    }

    /// Returns a ticket type.
    ///
    /// Requires the scope `ticket-types:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the ticket type does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// assert_eq!(service.get_ticket_type(&caller, ticket_type.id)?.max_per_order, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_ticket_type(&self, caller: &Caller, id: TicketTypeId) -> Result<TicketType> {
        caller.require(Scope::TicketTypesRead)?;
        self.store()?.read_one(|tx| ticket_types::get(tx, caller.organization, id))
    }

    /// Updates the fields of a ticket type that the request sets. Existing orders keep their price. A higher quantity
    /// puts a `SOLD_OUT` event without unsold seats on sale again.
    ///
    /// Requires the scope `ticket-types:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the ticket type does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see
    ///   [`CreateTicketType`]).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `quantity-below-sold` if the quantity is less than
    ///   the number of sold and reserved seats.
    ///
    /// ```
    /// use ticketing::ticket_type::UpdateTicketType;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let changes = UpdateTicketType::default().quantity(150);
    /// let ticket_type = service.update_ticket_type(&caller, ticket_type.id, changes)?;
    /// assert_eq!(ticket_type.quantity, 150);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_ticket_type(
        &self,
        caller: impl Into<ConditionalCaller>,
        id: TicketTypeId,
        request: impl Into<Request<UpdateTicketType>>,
    ) -> Result<TicketType> {
        let call = caller.into();
        self.writes().require(&call.caller, Scope::TicketTypesWrite)?;
        let request = request.into();
        self.writes().run_on(call.caller.identity(), id, move |tx, release_limit| {
            ticket_type_changes::update(tx, &call, id, &request, release_limit)
        })
    }

    /// Deletes a ticket type.
    ///
    /// Requires the scope `ticket-types:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the ticket type does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `in-use` if the ticket type was ever ordered or
    ///   issued.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// service.delete_ticket_type(&caller, ticket_type.id)?;
    /// assert!(service.get_ticket_type(&caller, ticket_type.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_ticket_type(&self, caller: impl Into<ConditionalCaller>, id: TicketTypeId) -> Result<()> {
        let call = caller.into();
        call.caller.require(Scope::TicketTypesWrite)?;
        self.writes().run_on(call.caller.identity(), id, move |tx, _| ticket_type_changes::delete(tx, &call, id))
    }
}
