//! Asks the payment gateway for the checkout link of a new order. The transactions before and after the call are in
//! `sales::checkout_links`.

use super::TicketingService;
use crate::error::{Error, Result};
use crate::model::id::{OrderId, OrganizationId};
use crate::model::idempotency::Replayable;
use crate::model::order::{CheckoutRedirectUrls, CreateOrderResponse, Order};
use crate::payment::{CheckoutRequest, GatewayCalls, GatewayError};
use crate::sales::checkout_links;
use crate::sales::idempotent_operation::IdempotentOperation;
use crate::sales::order_creation::CreatedOrder;
use crate::store::checkouts::NewCheckout;

/// Why an order got no checkout link.
enum LinkFailure {
    /// The gateway failed, and the order must be cancelled.
    Gateway(GatewayError),
    /// The link could not be stored.
    Store(Error),
}

impl From<GatewayError> for LinkFailure {
    fn from(failure: GatewayError) -> Self {
        Self::Gateway(failure)
    }
}

impl TicketingService {
    /// Asks the gateway for the checkout link of a pending order, and records it. If the gateway fails, the order is
    /// cancelled.
    ///
    /// Nothing is read before the call: an order that reserves seats must not fail because all readers are busy.
    pub(super) fn open_checkout(
        &self,
        created: CreatedOrder,
        redirect_urls: Option<CheckoutRedirectUrls>,
        operation: &IdempotentOperation,
    ) -> Result<Replayable<CreateOrderResponse>> {
        let Some(gateway) = &self.inner.gateway else { return Ok(Replayable::executed(created.order.into())) };
        let organization = created.order.organizer_id;
        let id = created.order.id;
        match self.request_link(gateway, created, redirect_urls, operation) {
            Ok(response) => Ok(response),
            Err(LinkFailure::Gateway(failure)) => self.cancel_without_link(organization, id, failure, operation),
            Err(LinkFailure::Store(error)) => Err(error),
        }
    }

    fn request_link(
        &self,
        gateway: &GatewayCalls,
        created: CreatedOrder,
        redirect_urls: Option<CheckoutRedirectUrls>,
        operation: &IdempotentOperation,
    ) -> Result<Replayable<CreateOrderResponse>, LinkFailure> {
        let CreatedOrder { order, currency } = created;
        let organization = order.organizer_id;
        let id = order.id;
        let request = self.checkout_request(order, currency, redirect_urls);
        let checkout = gateway.call(move |gateway| gateway.start_checkout(&request))?;

        let operation = operation.clone();
        let recorded = self.store_in_operation().write_for(organization, move |tx| {
            let checkout = NewCheckout { link: &checkout.link, reference: &checkout.reference };
            checkout_links::record(tx, &operation, organization, id, &checkout)
        });
        match recorded {
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(GatewayError::Unavailable("it returned no link to another process".to_owned()).into()),
            Err(Error::PaymentGatewayFailed(failure)) => Err(failure.into()),
            Err(error) => Err(LinkFailure::Store(error)),
        }
    }

    fn checkout_request(
        &self,
        order: Order,
        currency: String,
        redirect_urls: Option<CheckoutRedirectUrls>,
    ) -> CheckoutRequest {
        let mut request = CheckoutRequest::new(order.id, order.total, currency)
            .organization(order.organizer_id)
            .event(order.event_id)
            .customer(order.customer)
            .metadata(order.metadata);
        request.redirect_urls = redirect_urls;
        request.order_reference = order.reference;
        if let Some(url) = &self.inner.public_url {
            request.public_url.clone_from(url);
        }
        request
    }

    /// Cancels an order for which the gateway returned no link, unless it was paid or cancelled meanwhile.
    fn cancel_without_link(
        &self,
        organization: OrganizationId,
        id: OrderId,
        failure: GatewayError,
        operation: &IdempotentOperation,
    ) -> Result<Replayable<CreateOrderResponse>> {
        tracing::warn!(
            target: "ticketing::payment",
            order = %id,
            %failure,
            "the payment gateway returned no checkout link"
        );
        let operation = operation.clone();
        let response = self
            .store_in_operation()
            .write_for(organization, move |tx| checkout_links::cancel_without_link(tx, &operation, organization, id))?;
        response.ok_or(Error::PaymentGatewayFailed(failure))
    }
}
