//! Discounts.

use super::TicketingService;
use crate::error::Result;
use crate::form::change::Change;
use crate::form::request::Request;
use crate::model::caller::Caller;
use crate::model::discount::{
    CreateDiscount, Discount, DiscountValidationResponse, ListDiscounts, UpdateDiscount, ValidateDiscount,
};
use crate::model::id::{DiscountId, TicketTypeId, kind};
use crate::model::page::Page;
use crate::model::scope::Scope;
use crate::rules::discount::{self as rules, DiscountFields};
use crate::sales::idempotency::OperationTarget;
use crate::store::discounts;

impl TicketingService {
    /// Lists discounts, newest first. Scope `discounts:read`.
    ///
    /// # Errors
    /// A validation error names `limit`, `cursor` or `code`.
    ///
    /// ```
    /// use ticketing::ListDiscounts;
    #[doc = include_str!("../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// let filter = ListDiscounts { event_id: Some(event.id), code: Some("early".to_owned()), ..Default::default() };
    /// assert_eq!(service.list_discounts(&caller, filter)?.data, [discount]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_discounts(
        &self,
        caller: &Caller,
        request: impl Into<Request<ListDiscounts>>,
    ) -> Result<Page<Discount, kind::Discount>> {
        caller.require(Scope::DiscountsRead)?;
        let Request { body, errors } = request.into();
        let request = rules::check_list(body, errors)?;
        self.store().read(|tx| discounts::list(tx, caller.organization, &request))
    }

    /// Creates a discount of an event. Scope `discounts:write`.
    ///
    /// # Errors
    /// A validation error names every field that breaks its limit (see [`CreateDiscount`]) or refers to something that is
    /// not there; the conflict `code-taken`.
    ///
    /// ```
    /// use ticketing::{Amount, CreateDiscount, CreateOrder, Timestamp};
    #[doc = include_str!("../doc_fixture.md")]
    /// let (begin, end) = ("2020-01-01T00:00:00Z".parse()?, Timestamp::MAX);
    /// let mut early = CreateDiscount::percentage(event.id, "EARLY", Amount::new(10, 0), begin, end);
    /// early.usage_limit = Some(100);
    /// service.create_discount(&caller, early)?;
    ///
    /// let mut order = CreateOrder::new(event.id, ada, ticket_type.id, 2);
    /// order.discount_code = Some("early".to_owned());
    /// let order = service.create_order(&caller, order)?.order;
    /// assert_eq!(order.total.to_string(), "22.50");
    /// assert_eq!(order.discount_code.as_deref(), Some("EARLY"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_discount(&self, caller: &Caller, request: impl Into<Request<CreateDiscount>>) -> Result<Discount> {
        caller.require(Scope::DiscountsWrite)?;
        let organization = caller.organization;
        self.write_idempotent(caller, OperationTarget::new("create_discount"), request, move |tx, request| {
            let Request { body, mut errors } = request.clone();
            let event = body.event_id;
            let types = listed(body.applicable_ticket_types.as_deref().unwrap_or_default());
            let decimals = discounts::check_references(tx, organization, event, types, &mut errors)?;
            let fields = rules::check(DiscountFields::create(body), decimals, errors)?;
            discounts::insert(tx, organization, event, &fields)
        })
    }

    /// Asks whether a code applies to a basket, and what it takes off. Nothing is used up by it. Scope `discounts:read`.
    ///
    /// # Errors
    /// A validation error names every field that breaks its limit (see [`ValidateDiscount`]) or refers to something that is
    /// not there. A code that does not apply is none: the answer says why.
    ///
    /// ```
    /// use ticketing::{Amount, BasketItem, CreateDiscount, DiscountRefusal, Timestamp, ValidateDiscount};
    #[doc = include_str!("../doc_fixture.md")]
    /// let (begin, end) = ("2020-01-01T00:00:00Z".parse()?, Timestamp::MAX);
    /// let five_off = CreateDiscount::fixed_amount(event.id, "FIVE", Amount::new(5, 0), begin, end);
    /// service.create_discount(&caller, five_off)?;
    ///
    /// let item = BasketItem { ticket_type_id: ticket_type.id, quantity: 2, price: ticket_type.price };
    /// let mut request = ValidateDiscount {
    ///     event_id: event.id,
    ///     code: "five".to_owned(),
    ///     order_amount: Amount::new(25, 0),
    ///     ticket_items: vec![item],
    /// };
    /// let valid = service.validate_discount(&caller, request.clone())?.discount.ok_or("it applies")?;
    /// assert_eq!(valid.discounted_amount, Amount::new(5, 0));
    ///
    /// request.code = "SIX".to_owned();
    /// assert_eq!(service.validate_discount(&caller, request)?.error, Some(DiscountRefusal::NotFound));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate_discount(
        &self,
        caller: &Caller,
        request: impl Into<Request<ValidateDiscount>>,
    ) -> Result<DiscountValidationResponse> {
        caller.require(Scope::DiscountsRead)?;
        let organization = caller.organization;
        self.read_idempotent(caller, OperationTarget::new("validate_discount"), request, move |tx, request| {
            let Request { body, mut errors } = request.clone();
            let items = body.ticket_items.iter().enumerate();
            let types = items.map(|(index, item)| (format!("ticketItems[{index}].ticketId"), item.ticket_type_id));
            let decimals = discounts::check_references(tx, organization, body.event_id, types, &mut errors)?;
            let basket = rules::check_basket(body, decimals, errors)?;
            let discount = discounts::by_code(tx, organization, basket.event, &basket.code)?;
            Ok(rules::validate(discount, &basket, tx.now()))
        })
    }

    /// Reads one discount. Scope `discounts:read`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// assert_eq!(service.get_discount(&caller, discount.id)?.used_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_discount(&self, caller: &Caller, id: DiscountId) -> Result<Discount> {
        caller.require(Scope::DiscountsRead)?;
        self.store().read_one(|tx| discounts::get(tx, caller.organization, id))
    }

    /// Changes a discount; orders keep what it took off. Scope `discounts:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::RevisionMismatch`](crate::Error::RevisionMismatch); a validation
    /// error as for creation; the conflict `code-taken`.
    ///
    /// ```
    /// use ticketing::{Change, UpdateDiscount};
    #[doc = include_str!("../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// let changes = UpdateDiscount { is_active: Change::Set(false), ..Default::default() };
    /// assert!(!service.update_discount(&caller, discount.id, changes)?.is_active);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_discount(
        &self,
        caller: &Caller,
        id: DiscountId,
        request: impl Into<Request<UpdateDiscount>>,
    ) -> Result<Discount> {
        caller.require(Scope::DiscountsWrite)?;
        let Request { body, mut errors } = request.into();
        let (organization, caller) = (caller.organization, caller.clone());
        self.store().write(move |tx| {
            let current = discounts::get(tx, organization, id)?;
            caller.check_revision(current.revision)?;
            // Those that stay as they are may have been deleted meanwhile.
            let types = match &body.applicable_ticket_types {
                Change::Set(types) => listed(types),
                Change::Keep => listed(&[]),
            };
            let decimals = discounts::check_references(tx, organization, current.event_id, types, &mut errors)?;
            let fields = rules::check(DiscountFields::update(&current, body), decimals, errors)?;
            discounts::update(tx, organization, id, &fields)?;
            discounts::get(tx, organization, id)
        })
    }

    /// Deletes a discount. Scope `discounts:write`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::RevisionMismatch`](crate::Error::RevisionMismatch); the conflict
    /// `in-use` once an order used it.
    ///
    /// ```
    #[doc = include_str!("../doc_fixture.md")]
    /// let discount = service.create_discount(&caller, early_bird)?;
    /// service.delete_discount(&caller, discount.id)?;
    /// assert!(service.get_discount(&caller, discount.id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_discount(&self, caller: &Caller, id: DiscountId) -> Result<()> {
        caller.require(Scope::DiscountsWrite)?;
        let (organization, caller) = (caller.organization, caller.clone());
        self.store().write(move |tx| {
            caller.check_revision(discounts::get(tx, organization, id)?.revision)?;
            discounts::delete(tx, organization, id)
        })
    }
}

/// The ticket types that a discount lists, each with its path in the request.
fn listed(types: &[TicketTypeId]) -> Vec<(String, TicketTypeId)> {
    types.iter().enumerate().map(|(index, id)| (format!("applicableTicketTypes[{index}]"), *id)).collect()
}
