//! The order that a checkout is for, with everything that the request for it contains. What changes later, such as the
//! title of the event, is stored with the checkout, so that the request can be repeated unchanged.

use super::gateway_identity;
use crate::error::{Error, ResourceKind, Result};
use crate::model::payments::gateway_account::GatewayIdentity;
use crate::model::sale::new_order::{CheckoutRedirectUrls, CreateOrder};
use crate::model::sale::order::Order;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::metadata::Metadata;
use crate::model::values::timestamp::Timestamp;
use crate::store::columns::json;
use crate::store::sale::{order_details, orders};
use crate::store::{LockedEvent, Row, Transaction};

const INSERT: &str = "INSERT INTO checkouts (order_id, status, expires_at, next_attempt_at, parameters, lease_ends_at,
        gateway, account, mode)
    VALUES (?1, 'OPEN', ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (order_id) DO UPDATE SET lease_ends_at = excluded.lease_ends_at";
const RENEW: &str = "UPDATE checkouts SET status = 'OPEN', renewals = ?2, expires_at = ?3, next_attempt_at = ?4,
        attempts = 0, parameters = ?5, last_error = NULL, lease_ends_at = ?6, gateway = ?7, account = ?8, mode = ?9
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
    /// `None` for the first checkout of an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renewed_at: Option<Timestamp>,
    /// The token of the return page. `None` if an earlier version has stored the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_token: Option<String>,
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
    pub(crate) event_title: String,
    pub(crate) public_url: Option<String>,
    /// The token of the return page.
    pub(crate) return_token: Option<String>,
    /// Whether the gateway was never asked for this checkout before.
    pub(crate) is_first_start: bool,
    /// How often the checkout was renewed.
    pub(crate) renewals: i64,
    /// When it was renewed. `None` for the first checkout.
    pub(crate) renewed_at: Option<Timestamp>,
    /// The gateway that is asked for the checkout. `None` if an earlier version asked for it.
    pub(crate) gateway: Option<GatewayIdentity>,
}

impl OrderToPay {
    /// An order that was just created.
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
            order,
            currency,
            hold_until,
            locale: request.customer.locale.clone().or_else(|| request.language.clone()),
            redirect_urls: request.checkout_redirect_urls.clone(),
            event_title,
            public_url,
            return_token: Some(return_token),
            is_first_start: true,
            renewals: 0,
            renewed_at: None,
            gateway: None,
        }
    }

    fn parameters(&self) -> CheckoutParameters {
        CheckoutParameters {
            event_title: self.event_title.clone(),
            item_names: self.order.items.iter().map(|item| item.ticket_type_name.clone()).collect(),
            customer_metadata: self.order.customer.metadata.clone(),
            public_url: self.public_url.clone(),
            renewed_at: self.renewed_at,
            return_token: self.return_token.clone(),
        }
    }
}

/// Stores the checkout that the gateway is to be asked for. It ends by itself at `expires_at`, and is looked up at
/// `first_look_up`. If it is stored already, only `lease_ends_at` changes, until when other processes do not ask for
/// it.
pub(crate) fn insert(
    tx: &LockedEvent<'_>,
    order: &OrderToPay,
    expires_at: Timestamp,
    first_look_up: Option<Timestamp>,
    lease_ends_at: Timestamp,
) -> Result<()> {
    let [gateway, account, mode] = gateway_identity::binds(order.gateway.as_ref());
    let binds = [
        order.order.id.into(),
        expires_at.into(),
        first_look_up.into(),
        json(&order.parameters())?.into(),
        lease_ends_at.into(),
        gateway,
        account,
        mode,
    ];
    tx.execute(INSERT, &binds)
}

/// Replaces the stored checkout of an order by a new one, for which the gateway is to be asked. Other processes do not
/// ask for it until `lease_ends_at`.
pub(crate) fn renew(
    tx: &LockedEvent<'_>,
    order: &OrderToPay,
    expires_at: Timestamp,
    first_look_up: Option<Timestamp>,
    lease_ends_at: Timestamp,
) -> Result<()> {
    let [gateway, account, mode] = gateway_identity::binds(order.gateway.as_ref());
    let binds = [
        order.order.id.into(),
        order.renewals.into(),
        expires_at.into(),
        first_look_up.into(),
        json(&order.parameters())?.into(),
        lease_ends_at.into(),
        gateway,
        account,
        mode,
    ];
    tx.execute(RENEW, &binds)
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
        let parameters = if row.is_null("parameters")? { None } else { Some(row.json("parameters")?) };
        let hold_until: Option<Timestamp> = row.get("hold_until")?;
        let renewals: Option<i64> = row.get("renewals")?;
        let gateway = gateway_identity::read(row)?;
        Ok((row.get("currency")?, hold_until, row.get("title")?, parameters, renewals.unwrap_or(0), gateway))
    })?;
    let (currency, hold_until, title, parameters, renewals, gateway) =
        found.ok_or(Error::NotFound(ResourceKind::Order))?;
    let mut event_title: String = title;
    let mut stored_url = public_url;
    let mut renewed_at = None;
    let mut return_token = None;
    if let Some(CheckoutParameters {
        event_title: stored_title,
        item_names,
        customer_metadata,
        public_url,
        renewed_at: at,
        return_token: stored_token,
    }) = parameters
    {
        event_title = stored_title;
        stored_url = public_url;
        renewed_at = at;
        return_token = stored_token;
        for (item, name) in order.items.iter_mut().zip(item_names) {
            item.ticket_type_name = name;
        }
        order.customer.metadata = customer_metadata;
    }
    Ok(OrderToPay {
        hold_until: hold_until.unwrap_or(order.created_at),
        order,
        currency,
        locale: details.locale.or(details.language),
        redirect_urls: details.checkout_redirect_urls,
        event_title,
        public_url: stored_url,
        return_token,
        is_first_start: false,
        renewals,
        renewed_at,
        gateway,
    })
}

/// Returns the token of the return page of an order, if its checkout has one.
pub(crate) fn return_token(tx: &Transaction<'_>, order: OrderId) -> Result<Option<String>> {
    let found = tx.query_opt(ORDER, &[order.into()], |row| {
        Ok(if row.is_null("parameters")? { None } else { Some(row.json::<CheckoutParameters>("parameters")?) })
    })?;
    Ok(found.flatten().and_then(|parameters| parameters.return_token))
}

/// Whether a stored column `parameters` can be read.
pub(in crate::store) fn is_readable(row: &Row<'_>, column: &'static str) -> Result<bool> {
    row.json::<CheckoutParameters>(column).map(|_| true)
}
