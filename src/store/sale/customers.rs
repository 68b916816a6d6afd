//! Customers: one for each organization and e-mail address.

use crate::error::{Error, Result, Unavailable};
use crate::model::sale::customer::{Customer, NewCustomer, is_new_walk_in, walk_in_address};
use crate::model::values::id::{CustomerId, OrganizationId};
use crate::model::values::metadata::Metadata;
use crate::rules::text::email_key;
use crate::store::columns::{Column, row_struct};
use crate::store::{Query, RowLock, Transaction};

pub(in crate::store) const BY_EMAIL: &str =
    "SELECT id, email, metadata FROM customers WHERE organization_id = ?1 AND email_key = ?2";
const INSERT: &str = "INSERT INTO customers (id, organization_id, email, email_key, metadata, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";

/// How often a customer is looked for and inserted.
const MAX_ATTEMPTS: usize = 16;

const LOCK: Query<'_> =
    Query::locking(RowLock::ChangeUnlocked, "SELECT id FROM customers WHERE id = ?1 AND organization_id = ?2");
const UPDATE_METADATA: &str = "UPDATE customers SET metadata = ?3 WHERE id = ?1 AND organization_id = ?2";

row_struct! {
    /// A customer that is stored.
    pub(crate) struct StoredCustomer(row) {
        pub(crate) id: CustomerId,
        email: String,
        metadata: Metadata,
    }
}

/// Returns the customer with this e-mail address. If the customer does not exist, only this transaction may insert it
/// until it ends. A new walk-in does not exist.
pub(crate) fn find_or_lock(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    email: &str,
) -> Result<Option<StoredCustomer>> {
    if is_new_walk_in(email) {
        return Ok(None);
    }
    let key = email_key(email);
    // No idempotency key has a line break.
    let lock = format!("customer\n{key}");
    tx.query_opt_or_lock(BY_EMAIL, &[organization.into(), (&key).into()], (organization, &lock), StoredCustomer::read)
}

/// Changes the customer that [`find_or_lock`] has found, or inserts one if it has found none. If the request has
/// metadata, it replaces the stored metadata, unless another transaction replaces it at the same time. The name is not
/// stored with the customer: the result has the name of the request.
pub(crate) fn update_or_insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    mut found: Option<StoredCustomer>,
    new: &NewCustomer,
) -> Result<Customer> {
    // Another transaction may insert the customer in the meantime, or have taken the id.
    for _ in 0..MAX_ATTEMPTS {
        if let Some(stored) = found {
            return update(tx, organization, stored, new);
        }
        if let Some(customer) = insert(tx, organization, new)? {
            return Ok(customer);
        }
        found = find_or_lock(tx, organization, &new.email)?;
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

fn update(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    StoredCustomer { id, email, metadata }: StoredCustomer,
    new: &NewCustomer,
) -> Result<Customer> {
    let mut customer = Customer { id, name: new.name.clone(), email, metadata };
    if let Some(metadata) = new.metadata.as_ref().filter(|metadata| **metadata != customer.metadata) {
        // If another transaction stores metadata of the customer now, its request counts as the later one: waiting for
        // it could be a deadlock, because both transactions have orders of several customers.
        if tx.exists(LOCK, &[customer.id.into(), organization.into()])? {
            tx.execute(UPDATE_METADATA, &[customer.id.into(), organization.into(), metadata.bind()?])?;
        }
        customer.metadata.clone_from(metadata);
    }
    Ok(customer)
}

/// Inserts a customer. Returns `None` if there is one with this e-mail address or id.
fn insert(tx: &Transaction<'_>, organization: OrganizationId, new: &NewCustomer) -> Result<Option<Customer>> {
    let id = tx.new_id();
    let metadata = new.metadata.clone().unwrap_or_default();
    let email = if is_new_walk_in(&new.email) { walk_in_address(id) } else { new.email.clone() };
    let key = email_key(&email);
    let values = [id.into(), organization.into(), (&email).into(), (&key).into(), metadata.bind()?, tx.now().into()];
    let inserted = tx.insert_row(INSERT, &values)?;
    Ok(inserted.then(|| Customer { id, name: new.name.clone(), email, metadata }))
}

/// Returns the id of the customer with this e-mail address. Upper and lower case are equivalent, and so are both
/// spellings of a domain.
pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, email: &str) -> Result<Option<CustomerId>> {
    tx.query_opt(BY_EMAIL, &[organization.into(), email_key(email).into()], |row| row.get("id"))
}
