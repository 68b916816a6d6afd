//! Customers: one for each organization and e-mail address.

use super::Transaction;
use crate::error::Result;
use crate::model::customer::{Customer, NewCustomer};
use crate::model::id::{CustomerId, OrganizationId};
use crate::rules::text::fold;

pub(super) const BY_EMAIL: &str = "SELECT id, email FROM customers WHERE organization_id = ?1 AND email_key = ?2";
const INSERT: &str = "INSERT INTO customers (id, organization_id, email, email_key, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING";

/// Returns the customer with this e-mail address. Inserts the customer if there is none. The name is not stored with
/// the customer: the result has the name of the request.
pub(crate) fn find_or_insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    new: &NewCustomer,
) -> Result<Customer> {
    let key = fold(&new.email);
    let found = tx.query_opt(BY_EMAIL, &[organization.into(), (&key).into()], |row| {
        Ok(Customer { id: row.get("id")?, name: new.name.clone(), email: row.get("email")? })
    })?;
    if let Some(customer) = found {
        return Ok(customer);
    }
    let values = [organization.into(), (&new.email).into(), (&key).into(), tx.now().into()];
    let id = tx.insert(INSERT, &values)?;
    Ok(Customer { id, name: new.name.clone(), email: new.email.clone() })
}

/// Returns the id of the customer with this e-mail address. Upper and lower case are equivalent.
pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, email: &str) -> Result<Option<CustomerId>> {
    tx.query_opt(BY_EMAIL, &[organization.into(), fold(email).into()], |row| row.get("id"))
}
