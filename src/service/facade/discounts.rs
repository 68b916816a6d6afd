//! Operations on discounts.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::request::Request;
use crate::model::sale::discount::{
    CreateDiscount, Discount, DiscountValidationResponse, ListDiscounts, UpdateDiscount, ValidateDiscount,
};
use crate::model::tenants::caller::{Caller, ConditionalCaller, IdempotentCall};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::DiscountId;
use crate::model::values::page::Page;
use crate::sales::catalog::discount_changes;
use crate::sales::catalog::hold_releases::ReleaseLimit;
use crate::sales::idempotent_operation::OperationTarget;
use crate::service::TicketingService;
use crate::store::sale::discounts;

/// # Discounts
impl TicketingService {
    /// Lists discounts, newest first. Filters select by event, code and whether the discount is active.
    ///
    /// Requires the scope `discounts:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) for an invalid `limit`, `cursor` or `code`.
    ///
    /// ```
    /// use ticketing::discount::ListDiscounts;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// let filter = ListDiscounts::default().event(event.id).code("early");
    /// let page = service.list_discounts(&caller, filter)?;
    /// assert_eq!(page.data, [discount]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_discounts(&self, caller: &Caller, request: ListDiscounts) -> Result<Page<Discount, DiscountId>> {
        self.list(caller, Scope::DiscountsRead, request, discounts::list)
    }

    /// Creates a discount of an event. Customers enter its code with an order, in upper or lower case; an order without
    /// a code gets the best discount that applies automatically.
    ///
    /// Requires the scope `discounts:write`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`CreateDiscount`]),
    ///   and every reference to an event or ticket type that does not exist.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `code-taken` if another discount of the event has
    ///   the code, and `limit-reached` if 20 other automatic discounts of the event are enabled.
    ///
    /// ```
    /// use ticketing::discount::CreateDiscount;
    /// use ticketing::order::CreateOrder;
    #[doc = include_str!("../../doc_fixture.md")]
    /// // 10 % off with the code EARLY, for the first 100 orders.
    /// let early = CreateDiscount::percentage("EARLY", 10).event(event.id).usage_limit(100);
    /// service.create_discount(&caller, early)?;
    ///
    /// let order = CreateOrder::new(event.id, ada, ticket_type.id, 2).discount_code("early");
    /// let order = service.create_order(&caller, order)?.order;
    /// assert_eq!(order.total.to_string(), "22.50");
    /// assert_eq!(order.discount_code.as_deref(), Some("EARLY"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_discount<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<CreateDiscount>>,
    ) -> Result<C::Output<Discount>> {
        self.writes().require(caller.as_caller(), Scope::DiscountsWrite)?;
        let (target, request) = (OperationTarget::new("create_discount"), request.into());
        let event = request.body.event_id;
        self.write(caller, target, request)
            .run_on(event, |tx, caller, request, _| discount_changes::create(tx, caller.organization, request))
    }

    /// Checks whether a discount code applies to a basket, and how much it deducts. Does not count as a use.
    ///
    /// A code that does not apply is not an error: the response has the reason. If the payment gateway has a
    /// [smallest refund](crate::payment::Limits::smallest_refund), the discount is rounded up so that the price is a
    /// multiple of it, as for an order that is paid through the gateway. If the basket then costs something, and less
    /// than the [smallest payment](crate::payment::Limits::smallest_payment), the response has that amount.
    ///
    /// Requires the scope `discounts:read`.
    ///
    /// # Errors
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see
    ///   [`ValidateDiscount`]), and every reference to an event or ticket type that does not exist.
    ///
    /// ```
    /// use ticketing::discount::{BasketItem, CreateDiscount, DiscountRefusal, ValidateDiscount};
    /// use ticketing::Amount;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let five_off = CreateDiscount::fixed_amount("FIVE", Amount::whole(5)).event(event.id);
    /// service.create_discount(&caller, five_off)?;
    ///
    /// let item = BasketItem::new(ticket_type.id, 2, ticket_type.price);
    /// let request = ValidateDiscount::new(event.id, "five", [item]);
    /// let valid = service.validate_discount(&caller, request.clone())?.discount.ok_or("it applies")?;
    /// assert_eq!(valid.discounted_amount, Amount::whole(5));
    ///
    /// let invalid = service.validate_discount(&caller, request.code("SIX"))?;
    /// assert_eq!(invalid.error, Some(DiscountRefusal::NotFound));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_discount<C: IdempotentCall>(
        &self,
        caller: &C,
        request: impl Into<Request<ValidateDiscount>>,
    ) -> Result<C::Output<DiscountValidationResponse>> {
        caller.as_caller().require(Scope::DiscountsRead)?;
        let request = request.into();
        let (step, least) = (self.payments().price_step(), self.payments().smallest_payment());
        if !caller.has_key() {
            let organization = caller.as_caller().organization;
            let validated = self.store()?.read(|tx| {
                let release_limit = ReleaseLimit::of_reader();
                discount_changes::validate(tx, organization, &request, &step, &least, &release_limit)
            })?;
            return Ok(C::output(Replayable::executed(validated)));
        }
        // A write, because the result is stored with the key.
        let (target, event) = (OperationTarget::new("validate_discount"), request.body.event_id);
        self.write(caller, target, request).run_on(event, move |tx, caller, request, release_limit| {
            discount_changes::validate(tx, caller.organization, request, &step, &least, release_limit)
        })
    }

    /// Returns a discount.
    ///
    /// Requires the scope `discounts:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the discount does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// assert_eq!(service.get_discount(&caller, discount.id)?.used_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_discount(&self, caller: &Caller, id: DiscountId) -> Result<Discount> {
        caller.require(Scope::DiscountsRead)?;
        self.store()?.read_one(|tx| discounts::get(tx, caller.organization, id))
    }

    /// Updates the fields of a discount that the request sets. Existing orders keep their discounted amount.
    ///
    /// Requires the scope `discounts:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the discount does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Validation`](crate::Error::Validation) lists every field outside its limits (see [`CreateDiscount`]),
    ///   and every reference to a ticket type that does not exist.
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `code-taken` if another discount of the event has
    ///   the code, and `limit-reached` if 20 other automatic discounts of the event are enabled.
    ///
    /// ```
    /// use ticketing::discount::UpdateDiscount;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// let changes = UpdateDiscount::default().is_active(false);
    /// let discount = service.update_discount(&caller, discount.id, changes)?;
    /// assert!(!discount.is_active);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_discount(
        &self,
        caller: impl Into<ConditionalCaller>,
        id: DiscountId,
        request: impl Into<Request<UpdateDiscount>>,
    ) -> Result<Discount> {
        let call = caller.into();
        self.writes().require(&call.caller, Scope::DiscountsWrite)?;
        let request = request.into();
        self.writes().run_on(call.caller.identity(), id, move |tx, release_limit| {
            discount_changes::update(tx, &call, id, &request, release_limit)
        })
    }

    /// Deletes a discount.
    ///
    /// Requires the scope `discounts:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the discount does not exist.
    /// - [`Error::RevisionMismatch`](crate::Error::RevisionMismatch) if the caller
    ///   [expects another revision](Caller::if_revision).
    /// - [`Error::Conflict`](crate::Error::Conflict) with the reason `in-use` if an order ever used the discount.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// service.delete_discount(&caller, discount.id)?;
    /// assert!(service.get_discount(&caller, discount.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_discount(&self, caller: impl Into<ConditionalCaller>, id: DiscountId) -> Result<()> {
        let call = caller.into();
        call.caller.require(Scope::DiscountsWrite)?;
        self.writes().run_on(call.caller.identity(), id, move |tx, _| discount_changes::delete(tx, &call, id))
    }
}
