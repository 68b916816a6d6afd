//! The fields of an order's request that the order itself does not contain, such as the shipping address. They are
//! stored in one column, as JSON.

use super::columns::json;
use super::{Row, Transaction};
use crate::error::{Error, ResourceKind, Result};
use crate::model::id::{OrderId, OrganizationId};
use crate::model::order::{CheckoutRedirectUrls, CreateOrder, OrderDetails, ShippingAddress};

const DETAILS: &str = "SELECT id, details FROM orders WHERE id = ?1 AND organization_id = ?2";

/// The fields of an order's request that are stored as JSON and not in columns.
#[derive(serde::Serialize, serde::Deserialize)]
struct StoredDetails {
    company_name: Option<String>,
    locale: Option<String>,
    language: Option<String>,
    shipping_address: Option<ShippingAddress>,
    checkout_redirect_urls: Option<CheckoutRedirectUrls>,
}

/// Returns the column `details` of a new order; NULL if the request has none of these fields.
pub(super) fn column(request: &CreateOrder) -> Result<Option<String>> {
    let details = StoredDetails {
        company_name: request.customer.company_name.clone(),
        locale: request.customer.locale.clone(),
        language: request.language.clone(),
        shipping_address: request.shipping_address.clone(),
        checkout_redirect_urls: request.checkout_redirect_urls.clone(),
    };
    let has_any = details.company_name.is_some()
        || details.locale.is_some()
        || details.language.is_some()
        || details.shipping_address.is_some()
        || details.checkout_redirect_urls.is_some();
    has_any.then(|| json(&details)).transpose()
}

/// Whether a stored column `details` can be read.
pub(super) fn is_readable(row: &Row<'_>, column: &'static str) -> Result<bool> {
    row.json::<StoredDetails>(column).map(|_| true)
}

/// Returns the fields of an order's request that the order itself does not contain.
pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, order_id: OrderId) -> Result<OrderDetails> {
    let found = tx.query_opt(DETAILS, &[order_id.into(), organization.into()], |row| {
        if row.is_null("details")? { Ok(None) } else { row.json::<StoredDetails>("details").map(Some) }
    })?;
    let mut response = OrderDetails {
        order_id,
        company_name: None,
        locale: None,
        language: None,
        shipping_address: None,
        checkout_redirect_urls: None,
    };
    if let Some(stored) = found.ok_or(Error::NotFound(ResourceKind::Order))? {
        response.company_name = stored.company_name;
        response.locale = stored.locale;
        response.language = stored.language;
        response.shipping_address = stored.shipping_address;
        response.checkout_redirect_urls = stored.checkout_redirect_urls;
    }
    Ok(response)
}
