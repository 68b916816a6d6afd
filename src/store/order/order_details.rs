//! The details of an order that the order itself does not contain. Those of its request, such as the shipping address,
//! are stored in one column, as JSON.

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::new_order::{CheckoutRedirectUrls, CreateOrder, ShippingAddress};
use crate::model::sale::order::OrderDetails;
use crate::model::values::amount::Amount;
use crate::model::values::id::{OrderId, OrganizationId};
use crate::model::values::timestamp::Timestamp;
use crate::rules::order::payment_method;
use crate::store::columns::json;
use crate::store::link_urls;
use crate::store::{Row, Transaction};

/// What was decided to be refunded of the order `o`.
macro_rules! refunded {
    () => {
        "(SELECT CAST(COALESCE(SUM(p.promised), 0) AS BIGINT) FROM payments p
            WHERE p.order_id = o.id AND p.purpose = 'ORDER')"
    };
}
#[cfg(feature = "exports")]
pub(crate) use refunded;

const DETAILS: &str = concat!(
    "SELECT ",
    refunded!(),
    " AS refunded, id, details, currency, total, hold_until, completed_at, cancelled_at, paid_by_gateway,
        (SELECT CAST(COALESCE(SUM(p.owed), 0) AS BIGINT) FROM payments p
            WHERE p.order_id = o.id AND p.purpose = 'ORDER') AS manual_refund_due
    FROM orders o WHERE id = ?1 AND organization_id = ?2"
);

/// The fields of an order's request that are stored as JSON and not in columns.
#[derive(Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct StoredDetails {
    pub(crate) company_name: Option<String>,
    locale: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) shipping_address: Option<ShippingAddress>,
    checkout_redirect_urls: Option<CheckoutRedirectUrls>,
    /// Whether its checkout leads back to the page of the order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    returns_to_its_page: bool,
}

/// Returns the column `details` of a new order; NULL if the request has none of these fields.
pub(in crate::store) fn column(request: &CreateOrder, returns_to_its_page: bool) -> Result<Option<String>> {
    let details = StoredDetails {
        company_name: request.customer.company_name.clone(),
        locale: request.customer.locale.clone(),
        language: request.language.clone(),
        shipping_address: request.shipping_address.clone(),
        checkout_redirect_urls: request.checkout_redirect_urls.clone(),
        returns_to_its_page,
    };
    (details != StoredDetails::default()).then(|| json(&details)).transpose()
}

/// Returns the details of an order that the order itself does not contain.
pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, order_id: OrderId) -> Result<OrderDetails> {
    let found = tx.query_opt(DETAILS, &[order_id.into(), organization.into()], |row| decode(tx, row))?;
    found.ok_or(Error::NotFound(ResourceKind::Order))
}

/// Reads the language tag of an order's buyer from the column `details`: the language of the order, else the locale of
/// the customer.
#[cfg(feature = "documents")]
pub(in crate::store) fn language(row: &Row<'_>) -> Result<Option<String>> {
    let details = stored(row)?;
    Ok(details.language.or(details.locale))
}

pub(crate) fn stored(row: &Row<'_>) -> Result<StoredDetails> {
    if row.is_null("details")? { Ok(StoredDetails::default()) } else { row.json("details") }
}

fn decode(tx: &Transaction<'_>, row: &Row<'_>) -> Result<OrderDetails> {
    let stored = stored(row)?;
    let decimals = row.get("currency")?;
    let completed_at: Option<Timestamp> = row.get("completed_at")?;
    let total: i64 = row.get("total")?;
    let by_gateway: bool = row.get("paid_by_gateway")?;
    let order_id = row.get("id")?;
    Ok(OrderDetails {
        order_id,
        company_name: stored.company_name,
        locale: stored.locale,
        language: stored.language,
        shipping_address: stored.shipping_address,
        checkout_redirect_urls: match stored.returns_to_its_page {
            true => to_its_page(tx, order_id),
            false => stored.checkout_redirect_urls,
        },
        hold_until: row.get("hold_until")?,
        completed_at,
        cancelled_at: row.get("cancelled_at")?,
        payment_method: completed_at.map(|_| payment_method(total == 0, by_gateway)),
        refunded: Amount::in_currency(row.get("refunded")?, decimals),
        manual_refund_due: Amount::in_currency(row.get("manual_refund_due")?, decimals),
        documents_url: link_urls::of_order(tx, order_id).filter(|_| completed_at.is_some()),
        order_url: link_urls::of_order(tx, order_id),
    })
}

/// The URLs of a checkout that leads back to the page of its order.
pub(crate) fn to_its_page(tx: &Transaction<'_>, order: OrderId) -> Option<CheckoutRedirectUrls> {
    link_urls::of_order(tx, order).map(|url| CheckoutRedirectUrls::new(url.clone(), url.clone(), url))
}
