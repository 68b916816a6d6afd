//! The order that a checkout is for, with everything that the request for it contains. What changes later, such as the
//! title of the event, is stored with the checkout, so that the request can be repeated unchanged.

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::gateway_account::GatewayIdentity;
use crate::model::sale::new_order::{CheckoutRedirectUrls, CreateOrder};
use crate::model::sale::order::Order;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::metadata::Metadata;
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::json;
use crate::store::money::checkout_attempts;
use crate::store::order::{order_details, orders};
use crate::store::sale::gateway_identity;
use crate::store::{LockedEvent, Row, Transaction};

const INSERT: &str =
    "INSERT INTO checkouts (order_id, status, renewals, expires_at, parameters, lease_ends_at, gateway,
        account, mode)
    VALUES (?1, 'OPEN', ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const RESTART: &str = "UPDATE checkouts SET lease_ends_at = ?2 WHERE order_id = ?1";
const RENEW: &str = "UPDATE checkouts SET status = 'OPEN', renewals = ?2, expires_at = ?3, parameters = ?4,
        last_error = NULL, lease_ends_at = ?5, gateway = ?6, account = ?7, mode = ?8
    WHERE order_id = ?1";
const ORDER: &str =
    "SELECT o.id, o.currency, o.hold_until, e.title, c.parameters, c.renewals, c.gateway, c.account, c.mode
    FROM orders o JOIN events e ON e.id = o.event_id LEFT JOIN checkouts c ON c.order_id = o.id WHERE o.id = ?1";

/// The parameters of a checkout that change later.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct CheckoutParameters {
    pub(crate) event_title: String,
    /// The names of the ticket types of the items, in the order of the items.
    item_names: Vec<String>,
    customer_metadata: Metadata,
    /// `None` if the service has none.
    pub(crate) public_url: Option<String>,
    /// When the checkout was renewed. `None` for the first checkout of an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renewed_at: Option<Timestamp>,
    /// The token of the return page. `None` if an earlier version has stored the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) return_token: Option<String>,
}

impl CheckoutParameters {
    /// The present parameters of the first checkout of an order.
    fn new(order: &Order, event_title: String, public_url: Option<String>, return_token: Option<String>) -> Self {
        Self {
            event_title,
            item_names: order.items.iter().map(|item| item.ticket_type_name.clone()).collect(),
            customer_metadata: order.customer.metadata.clone(),
            public_url,
            renewed_at: None,
            return_token,
        }
    }
}

/// A pending order for which the gateway is asked for a checkout.
#[derive(Debug, Clone)]
pub(crate) struct OrderToPay {
    /// As it was when the checkout was first asked for.
    pub(crate) order: Order,
    pub(crate) currency: String,
    pub(crate) hold_until: Timestamp,
    /// The locale of the customer, else the language of the order.
    pub(crate) locale: Option<String>,
    pub(crate) redirect_urls: Option<CheckoutRedirectUrls>,
    pub(crate) parameters: CheckoutParameters,
    /// Whether the gateway was never asked for this checkout before.
    pub(crate) is_first_start: bool,
    /// How often the checkout was renewed.
    pub(crate) renewals: i64,
    /// The gateway that is asked for the checkout. `None` if an earlier version asked for it.
    pub(crate) gateway: Option<GatewayIdentity>,
}

impl OrderToPay {
    pub(crate) fn new(
        request: &CreateOrder,
        order: Order,
        currency: String,
        hold_until: Timestamp,
        event_title: String,
        public_url: Option<String>,
        return_token: String,
    ) -> Self {
        Self {
            parameters: CheckoutParameters::new(&order, event_title, public_url, Some(return_token)),
            order,
            currency,
            hold_until,
            locale: request.customer.locale.clone().or_else(|| request.language.clone()),
            redirect_urls: request.checkout_redirect_urls.clone(),
            is_first_start: true,
            renewals: 0,
            gateway: None,
        }
    }
}

/// When something happens with a checkout.
pub(crate) struct CheckoutTimes {
    /// When it ends by itself.
    pub(crate) expires_at: Timestamp,
    pub(crate) first_look_up: Option<Timestamp>,
    /// Until when other processes do not ask for it.
    pub(crate) lease_ends_at: Timestamp,
}

/// Stores the checkout that the gateway is to be asked for, in the place of an earlier one. If it is stored already, only
/// the end of the lease changes.
pub(crate) fn start(tx: &LockedEvent<'_>, order: &OrderToPay, times: &CheckoutTimes) -> Result<()> {
    let sql = match order.renewals {
        _ if !order.is_first_start => {
            return tx.execute(RESTART, &[order.order.id.into(), times.lease_ends_at.into()]);
        }
        0 => INSERT,
        _ => {
            checkout_attempts::forget(tx, order.order.id)?;
            RENEW
        }
    };
    let [gateway, account, mode] = gateway_identity::binds(order.gateway.as_ref());
    let binds = [
        order.order.id.into(),
        order.renewals.into(),
        times.expires_at.into(),
        json(&order.parameters)?.into(),
        times.lease_ends_at.into(),
        gateway,
        account,
        mode,
    ];
    tx.execute(sql, &binds)?;
    let place = (order.order.organizer_id, order.order.event_id, order.order.id);
    checkout_attempts::look_up_later(tx, place, order.gateway.as_ref(), times.first_look_up)
}

/// Loads an order with the parameters of its checkout. Without stored parameters, it has the current values, and
/// `public_url`.
pub(crate) fn load(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: OrderId,
    public_url: Option<String>,
) -> Result<OrderToPay> {
    let mut order = orders::get(tx, organization, id)?;
    let details = order_details::get(tx, organization, id)?;
    let found = tx.query_opt(ORDER, &[id.into()], |row| {
        let renewals: Option<i64> = row.get("renewals")?;
        let hold_until = row.get::<Option<_>>("hold_until")?.unwrap_or(order.created_at);
        let state = (row.get("currency")?, hold_until, renewals.unwrap_or(0), gateway_identity::read(row)?);
        Ok((state, stored(row)?, row.get("title")?))
    })?;
    let ((currency, hold_until, renewals, gateway), parameters, title) =
        found.ok_or(Error::NotFound(ResourceKind::Order))?;
    let parameters = parameters.unwrap_or_else(|| CheckoutParameters::new(&order, title, public_url, None));
    for (item, name) in order.items.iter_mut().zip(&parameters.item_names) {
        item.ticket_type_name.clone_from(name);
    }
    order.customer.metadata.clone_from(&parameters.customer_metadata);
    Ok(OrderToPay {
        order,
        currency,
        hold_until,
        locale: details.locale.or(details.language),
        redirect_urls: details.checkout_redirect_urls,
        parameters,
        is_first_start: false,
        renewals,
        gateway,
    })
}

fn stored(row: &Row<'_>) -> Result<Option<CheckoutParameters>> {
    if row.is_null("parameters")? { Ok(None) } else { row.json("parameters").map(Some) }
}

/// Returns the token of the return page of an order, if its checkout has one.
pub(crate) fn return_token(tx: &Transaction<'_>, order: OrderId) -> Result<Option<String>> {
    let found = tx.query_opt(ORDER, &[order.into()], stored)?;
    Ok(found.flatten().and_then(|parameters| parameters.return_token))
}

/// Whether a stored column `parameters` can be read. If not, the error says why.
pub(in crate::store) fn is_readable(row: &Row<'_>) -> Result<bool> {
    stored(row).map(|_| true)
}
