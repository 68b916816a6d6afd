//! Customers: one for each organization and e-mail address.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::error::{Error, Result, Unavailable};
use crate::model::sale::customer::{Customer, NewCustomer, is_new_walk_in, walk_in_address};
use crate::model::values::id::{CustomerId, OrganizationId};
use crate::model::values::metadata::Metadata;
use crate::rules::text::email_key;
use crate::store::columns::{Column, parameters, row_struct, values_of_rows};
use crate::store::{Bind, Query, RowLock, Transaction};

pub(in crate::store) const BY_EMAIL: &str =
    "SELECT id, email, metadata FROM customers WHERE organization_id = ?1 AND email_key = ?2";
const INSERT: &str = "INSERT INTO customers (id, organization_id, email, email_key, metadata, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";

/// How many customers one statement finds or inserts.
const FOUND_AT_ONCE: usize = 100;
const INSERTED_AT_ONCE: usize = 50;
pub(in crate::store) static BY_EMAILS: LazyLock<String> = LazyLock::new(|| {
    let keys = parameters(2, FOUND_AT_ONCE);
    format!("SELECT id, email_key FROM customers WHERE organization_id = ?1 AND email_key IN ({keys})")
});
static INSERT_ALL: LazyLock<[String; INSERTED_AT_ONCE]> =
    LazyLock::new(|| std::array::from_fn(|index| insert_all_sql(index + 1)));

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

/// Returns the ids of many customers, each with the name under which it was asked for. Those that do not exist are inserted,
/// in the order of these names, without metadata. Each new walk-in is a customer of its own.
pub(crate) fn find_or_insert_all(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    emails: &BTreeMap<String, &str>,
) -> Result<BTreeMap<String, CustomerId>> {
    let mut ids = BTreeMap::new();
    // Another transaction may insert some in the meantime, or have taken an id.
    for _ in 0..MAX_ATTEMPTS {
        find_all(tx, organization, emails, &mut ids)?;
        insert_all(tx, organization, emails, &mut ids)?;
        if ids.len() == emails.len() {
            return Ok(ids);
        }
    }
    Err(Error::Unavailable(Unavailable::NoFreeId))
}

fn find_all(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    emails: &BTreeMap<String, &str>,
    ids: &mut BTreeMap<String, CustomerId>,
) -> Result<()> {
    let missing = emails.iter().filter(|(name, email)| !ids.contains_key(*name) && !is_new_walk_in(email));
    let missing: BTreeMap<String, &String> = missing.map(|(name, email)| (email_key(email), name)).collect();
    let keys: Vec<_> = missing.keys().collect();
    for keys in keys.chunks(FOUND_AT_ONCE) {
        let mut binds: Vec<Bind<'_>> = vec![organization.into()];
        // The statement is prepared for one length of its list.
        binds.extend(
            keys.iter().chain(std::iter::repeat_n(&keys[0], FOUND_AT_ONCE - keys.len())).map(|key| (*key).into()),
        );
        tx.query_each(BY_EMAILS.as_str(), &binds, |row| {
            if let Some(name) = missing.get(&row.get::<String>("email_key")?) {
                ids.insert((*name).clone(), row.get("id")?);
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn insert_all(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    emails: &BTreeMap<String, &str>,
    ids: &mut BTreeMap<String, CustomerId>,
) -> Result<()> {
    let missing: Vec<_> = emails.iter().filter(|(name, _)| !ids.contains_key(*name)).collect();
    for missing in missing.chunks(INSERTED_AT_ONCE) {
        let mut new: Vec<(CustomerId, &String, String, String)> = Vec::with_capacity(missing.len());
        for (name, email) in missing {
            let id = tx.new_id();
            let email = if is_new_walk_in(email) { walk_in_address(id) } else { (**email).to_owned() };
            let key = email_key(&email);
            new.push((id, *name, email, key));
        }
        let mut binds: Vec<Bind<'_>> = Vec::with_capacity(3 * new.len() + 2);
        for (id, _, email, key) in &new {
            binds.extend([(*id).into(), email.into(), key.into()]);
        }
        binds.extend([organization.into(), tx.now().into()]);
        let inserted: Vec<CustomerId> =
            tx.query_all(Query::changing(&INSERT_ALL[new.len() - 1]), &binds, |row| row.get("id"))?;
        for (id, name, ..) in new.iter().filter(|(id, ..)| inserted.contains(id)) {
            ids.insert((*name).clone(), *id);
        }
    }
    Ok(())
}

fn insert_all_sql(rows: usize) -> String {
    let values = values_of_rows(rows, 3, &format!(", ?{}, ?{}", 3 * rows + 1, 3 * rows + 2));
    format!(
        "INSERT INTO customers (id, email, email_key, organization_id, created_at) VALUES {values}
        ON CONFLICT DO NOTHING RETURNING id"
    )
}

/// Returns the id of the customer with this e-mail address. Upper and lower case are equivalent, and so are both
/// spellings of a domain.
pub(crate) fn find(tx: &Transaction<'_>, organization: OrganizationId, email: &str) -> Result<Option<CustomerId>> {
    tx.query_opt(BY_EMAIL, &[organization.into(), email_key(email).into()], |row| row.get("id"))
}
