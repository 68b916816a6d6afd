//! Asks the payment gateway for the checkout link of a new order. The transactions before and after the call are in
//! `sales::checkouts::checkout_links`.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::form::accepted::preferred_language;
use crate::model::sale::gateway_account::GatewayAccount;
use crate::model::sale::order::{CreateOrderResponse, Order};
use crate::model::tenants::idempotency::Replayable;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::payment::{CheckoutItem, CheckoutRequest, GatewayCalls, GatewayError, GatewayFailure};
use crate::payments::Payments;
use crate::sales::checkouts::checkout_links::{self, GatewayTerms, LeasedStart};
use crate::sales::checkouts::hosted_checkout::return_reference;
use crate::sales::idempotent_operation::IdempotentOperation;
use crate::store::LockedEvent;
use crate::store::money::checkout_parameters::{CheckoutParameters, OrderToPay};
use crate::store::money::checkouts::{CheckoutOrder, NewCheckout};

/// The random bytes in the address of the page to which a customer comes back. Nobody can guess it.
const RETURN_TOKEN_LENGTH: usize = 24;

/// The request for the checkout of an order. It is the same each time.
pub(crate) fn checkout_request(order: OrderToPay) -> CheckoutRequest {
    let OrderToPay {
        order,
        currency,
        hold_until,
        locale,
        redirect_urls,
        parameters: CheckoutParameters { event_title, public_url, renewed_at, return_token, .. },
        renewals,
        gateway,
        ..
    } = order;
    let items = order.items.into_iter();
    let items = items.map(|item| CheckoutItem::new(item.ticket_type_name, item.quantity, item.final_amount));
    let mut request = CheckoutRequest::new(order.id, order.total, currency)
        .organization(order.organizer_id)
        .event(order.event_id)
        .customer(order.customer)
        .metadata(order.metadata)
        .created_at(order.created_at)
        .hold_until(hold_until)
        .event_title(event_title)
        .items(items);
    if renewals > 0 {
        request.idempotency_key = format!("{}-{}", request.idempotency_key, renewals + 1);
        request.renewed_at = renewed_at;
    }
    request.redirect_urls = redirect_urls;
    request.order_reference = order.reference;
    request.locale = preferred_language(locale);
    request.account = GatewayAccount::of(gateway.as_ref());
    if let Some(url) = public_url {
        request.public_url = url;
    }
    let path = return_token.map(|token| return_reference(request.order_id, &token));
    request.return_url = path.map(|path| format!("{}/checkout/return/{path}", request.public_url));
    request
}

impl Payments {
    /// The terms of the payment gateway for an organization. `None` if there is no gateway.
    pub(crate) fn gateway_terms(&self, organization: OrganizationId) -> Result<Option<Arc<GatewayTerms>>> {
        let Some(gateway) = self.gateway.clone() else { return Ok(None) };
        let panicked = || Error::Internal("the payment gateway panicked".to_owned());
        Ok(Some(Arc::new(GatewayTerms {
            identity: gateway.identity(organization).ok_or_else(panicked)?,
            shortest_checkout: gateway.shortest_checkout(),
            public_url: self.public_url.clone(),
            return_token: hex::encode(self.environment.random::<RETURN_TOKEN_LENGTH>()),
            step: Box::new(self.price_step()),
            check: Box::new(move |terms| match gateway.check_terms(terms) {
                Some(Ok(())) => Ok(()),
                Some(Err(problem)) => Err(Error::field("items", problem)),
                None => Err(panicked()),
            }),
        })))
    }

    /// Returns the function from a currency to the least amount in its minor units that the gateway can take; 1 without
    /// a gateway.
    pub(crate) fn price_step(&self) -> impl Fn(&str) -> i64 + Send + Sync + 'static {
        let gateway = self.gateway.clone();
        move |currency| gateway.as_ref().map_or(1, |gateway| gateway.smallest_refund(currency))
    }

    /// Returns the function from a currency to the least amount of an order in its minor units that the gateway takes;
    /// 1 without a gateway.
    pub(crate) fn smallest_payment(&self) -> impl Fn(&str) -> i64 + Send + Sync + 'static {
        let gateway = self.gateway.clone();
        move |currency| gateway.as_ref().map_or(1, |gateway| gateway.smallest_payment(currency))
    }

    /// Asks the gateway for the checkout link of a pending order, and records it. If the gateway fails, the order is
    /// cancelled.
    ///
    /// Nothing is read before the call: an order that reserves seats must not fail because all readers are busy.
    pub(crate) fn open_checkout(
        &self,
        start: LeasedStart,
        operation: &IdempotentOperation,
    ) -> Result<Replayable<CreateOrderResponse>> {
        let Some(gateway) = &self.gateway else { return Ok(Replayable::executed(start.order.order.into())) };
        let Order { organizer_id: organization, id, .. } = start.order.order;
        let is_first_start = start.order.is_first_start;
        let new = is_first_start.then(|| start.order.order.clone());
        let recorded = operation.clone();
        let response = self.ask_for_link(gateway, start, move |tx, checkout| {
            checkout_links::record(tx, &recorded, CheckoutOrder { organization, id }, new.clone(), checkout)
        });
        let no_link = || Error::gateway(GatewayError::Unavailable("it returned no link to another process".to_owned()));
        match response.and_then(|response| response.ok_or_else(no_link)) {
            Err(Error::PaymentGatewayFailed(GatewayFailure { cause, .. })) => {
                let was_created = match &cause {
                    GatewayError::Refused(_) | GatewayError::NothingLeft(_) | GatewayError::LessLeft(_) => false,
                    // An earlier request may have been executed.
                    GatewayError::NotExecuted(_) => !is_first_start,
                    GatewayError::Unavailable(_) => true,
                };
                self.cancel_without_link(organization, id, cause, was_created, operation)
            }
            result => result,
        }
    }

    /// Asks the gateway for a checkout, the first one of an order or a renewed one, and records it. Fails with
    /// [`Error::PaymentGatewayFailed`] if the gateway has failed.
    pub(super) fn ask_for_link<T: Send + 'static>(
        &self,
        gateway: &GatewayCalls,
        LeasedStart { order, lease_ends_at }: LeasedStart,
        record: impl Fn(&LockedEvent<'_>, &NewCheckout<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Order { organizer_id: organization, id, event_id: event, .. } = order.order;
        let gateway = self.renewing_claim(gateway, id, lease_ends_at);
        let request = checkout_request(order);
        let checkout = gateway.call(organization, move |gateway| gateway.start(&request)).map_err(Error::gateway)?;
        self.writes.store_in_operation().write_event(organization, event.into(), move |tx| {
            record(tx, &NewCheckout { link: &checkout.link, reference: &checkout.reference })
        })
    }

    /// Cancels an order for which the gateway returned no link, unless it was paid or cancelled meanwhile.
    /// `was_created` tells whether the gateway may have created a checkout.
    fn cancel_without_link(
        &self,
        organization: OrganizationId,
        id: OrderId,
        failure: GatewayError,
        was_created: bool,
        operation: &IdempotentOperation,
    ) -> Result<Replayable<CreateOrderResponse>> {
        tracing::warn!(
            target: "ticketing::payment",
            order = %id,
            %failure,
            "the payment gateway returned no checkout link"
        );
        let operation = operation.clone();
        let response = self.writes.store_in_operation().write_event(organization, id.into(), move |tx| {
            checkout_links::cancel_without_link(tx, &operation, organization, id, was_created)
        })?;
        response.ok_or_else(|| {
            Error::PaymentGatewayFailed(GatewayFailure { cancelled_order: Some(id.to_string()), cause: failure })
        })
    }
}
