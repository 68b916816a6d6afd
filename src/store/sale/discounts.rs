//! Discounts.

use std::sync::LazyLock;

use crate::error::{Error, Reason, ResourceKind, Result};
use crate::model::sale::discount::{Discount, DiscountFields, ListDiscounts};
use crate::model::sale::discount_value::{DiscountType, DiscountValue};
use crate::model::values::amount::Amount;
use crate::model::values::currency::Decimals;
use crate::model::values::id::{DiscountId, EventId, OrganizationId};
use crate::model::values::page::Page;
use crate::model::values::percentage::Percentage;
use crate::rules::Checked;
use crate::rules::discount::DiscountTerms;
use crate::rules::text::fold;
use crate::store::columns::columns;
use crate::store::lists::list_query::{ListQuery, cursor_bound, has_at_least};
use crate::store::lists::page_ids::{PageIds, ranges};
use crate::store::lists::pages::read_page_of;
use crate::store::{Bind, Constraint, LockedEvent, Row, Transaction, on_violation};

columns! {
    write WRITTEN, selected_columns!("d."), values(fields: &DiscountFields) {
        code,
        description,
        auto_apply,
        usage_limit,
        valid_from,
        valid_to,
        is_active,
        applicable_ticket_types,
    } and {
        code_key: fold(&fields.code).into(),
        type: fields.discount_type.as_str().into(),
        value: fields.number.minor_units().into(),
        value_decimals: i64::from(fields.number.decimals()).into(),
        minimum_purchase: fields.minimum_purchase.map(Amount::minor_units).into(),
    }

    read decode_amounts(row: &Row<'_>, decimals: Decimals) -> Discount {} and {
        id: row.get("id")?,
        event_id: row.get("event_id")?,
        value: read_value(row)?,
        minimum_purchase: row.get::<Option<i64>>("minimum_purchase")?.map(|minor| Amount::in_currency(minor, decimals)),
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        revision: row.get("revision")?,
        used_count: row.get("used_count")?,
    }
}

fn decode(row: &Row<'_>) -> Result<Discount> {
    decode_amounts(row, row.get("currency")?)
}

fn decode_terms(row: &Row<'_>) -> Result<DiscountTerms> {
    // Amounts of an unknown currency mean nothing.
    row.get::<Decimals>("currency")?;
    Ok(DiscountTerms {
        currency: row.get("currency")?,
        id: row.get("id")?,
        code: row.get("code")?,
        value: read_value(row)?,
        is_active: row.get("is_active")?,
        valid_from: row.get("valid_from")?,
        valid_to: row.get("valid_to")?,
        usage_limit: row.get("usage_limit")?,
        used_count: row.get("used_count")?,
        minimum_purchase: row.get("minimum_purchase")?,
        applicable_ticket_types: row.get("applicable_ticket_types")?,
    })
}

/// Reads the reduction: its type, a number, and the decimals of the number.
fn read_value(row: &Row<'_>) -> Result<DiscountValue> {
    let units = row.get("value")?;
    let decimals: i64 = row.get("value_decimals")?;
    let decimals = u8::try_from(decimals).map_err(|_| row.corrupt("value_decimals", "is not a number of decimals"))?;
    match row.get("type")? {
        DiscountType::Percentage => Percentage::new(units, decimals)
            .map(DiscountValue::Percentage)
            .map_err(|_| row.corrupt("value", "is not a percentage")),
        DiscountType::FixedAmount => Amount::new(units, decimals)
            .map(DiscountValue::FixedAmount)
            .map_err(|_| row.corrupt("value_decimals", "is not a number of decimals")),
    }
}

/// Selects discounts with the number of their uses: the stored one if it is named, or else that at the time `?1`. Then
/// the orders whose hold has expired are subtracted, if they are still stored as PENDING: they may be many, so only
/// reads use this.
macro_rules! select {
    ($rest:literal) => {
        select!(
            "d.used_count - (SELECT COUNT(*) FROM orders o
                WHERE o.status = 'PENDING' AND o.discount_id = d.id AND o.hold_until <= ?1) AS used_count",
            $rest
        )
    };
    ($used_count:literal, $rest:literal) => {
        concat!(
            "SELECT e.currency, d.id, d.event_id, d.value, d.value_decimals, d.type, d.minimum_purchase, d.created_at,
                d.updated_at, d.revision, ",
            $used_count,
            selected_columns!(),
            " FROM discounts d JOIN events e ON e.id = d.event_id WHERE ",
            $rest
        )
    };
}

/// Selects the [`DiscountTerms`] of discounts, with the stored number of their uses.
macro_rules! select_terms {
    ($rest:literal) => {
        concat!(
            "SELECT e.currency, d.id, d.code, d.value, d.value_decimals, d.type, d.is_active, d.valid_from, d.valid_to,
                d.usage_limit, d.used_count, d.minimum_purchase, d.applicable_ticket_types
            FROM discounts d JOIN events e ON e.id = d.event_id WHERE ",
            $rest
        )
    };
}

static INSERT: LazyLock<String> = LazyLock::new(|| WRITTEN.insert("discounts", &["organization_id", "event_id"]));
static UPDATE: LazyLock<String> = LazyLock::new(|| {
    WRITTEN.update("discounts", 4, "updated_at = ?3, revision = revision + 1 WHERE id = ?1 AND organization_id = ?2")
});
pub(in crate::store) const BY_ID: &str = select!("d.id = ?2 AND d.organization_id = ?3");
const STORED: &str = select!("d.used_count", "d.id = ?1 AND d.organization_id = ?2");
pub(in crate::store) const BY_CODE: &str =
    select_terms!("d.event_id = ?1 AND d.code_key = ?2 AND +d.organization_id = ?3");
pub(in crate::store) const AUTOMATIC: &str = select_terms!("d.event_id = ?1 AND d.auto_apply = 1 ORDER BY d.id");
// The unary plus keeps the planner on the index of automatic discounts.
pub(in crate::store) const NTH_AUTOMATIC: &str =
    "SELECT 1 FROM discounts WHERE event_id = ?1 AND auto_apply = 1 AND +is_active = 1 LIMIT 1 OFFSET ?2";
const EXISTS: &str = "SELECT 1 FROM discounts WHERE id = ?1 AND organization_id = ?2";
/// The items of a page. `?1` is the time.
pub(in crate::store) static PAGE: LazyLock<ListQuery> =
    LazyLock::new(|| ListQuery::with_parameters(1, select!("d.id"), "ORDER BY d.id DESC"));

ranges! {
    from "discounts" as "d" where
        "d.organization_id = ?4
            AND (CAST(?5 AS BIGINT) IS NULL OR d.event_id = ?5)
            AND (CAST(?6 AS TEXT) IS NULL OR d.code_key = ?6)
            AND (CAST(?7 AS BIGINT) IS NULL OR d.is_active = ?7)";
    WITH_CODE = "k.organization_id = ?4 AND k.code_key = ?6";
    WITH_CODE_OF_EVENT = "k.event_id = ?5 AND k.code_key = ?6";
    OF_ACTIVITY = "k.organization_id = ?4 AND k.is_active = ?8";
    OF_EVENT = "k.event_id = ?5 AND k.is_active = ?8";
}

/// How many discounts of a deleted event one transaction deletes. Other writers wait for as long as this takes.
const BATCH: usize = 1000;

pub(in crate::store) const DELETE_OF_EVENT: &str =
    "DELETE FROM discounts WHERE id IN (SELECT id FROM discounts WHERE event_id = ?1 LIMIT ?2)";
const DELETE: &str = "DELETE FROM discounts WHERE id = ?1 AND organization_id = ?2 AND used = 0";
// Every change of the number of uses is one conditional UPDATE, so that the usage limit holds under any concurrency.
const CLAIM_USE: &str = "UPDATE discounts SET used_count = used_count + 1, used = 1
    WHERE id = ?1 AND event_id = ?2 AND (usage_limit IS NULL OR used_count < usage_limit)";
const MISSING_USES: &str = "SELECT id, used_count - COALESCE(usage_limit, used_count + 1) + 1 AS missing FROM discounts
    WHERE id = ?1 AND event_id = ?2";
const RELEASE_USE: &str =
    "UPDATE discounts SET used_count = used_count - 1 WHERE id = ?1 AND event_id = ?2 AND used_count > 0";

fn code_taken(fields: &DiscountFields) -> Error {
    Error::conflict(Reason::CodeTaken, format!("another discount of the event has the code {}", fields.code))
}

pub(crate) fn insert(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    event: EventId,
    fields: &Checked<DiscountFields>,
) -> Result<Discount> {
    let mut binds: Vec<Bind<'_>> = vec![organization.into(), event.into(), tx.now().into()];
    binds.extend(values(fields)?);
    let id = on_violation(tx.try_insert(&INSERT, &binds), Constraint::DiscountCode, || code_taken(fields))?;
    get(tx, organization, id)
}

/// Writes all fields of a discount except its number of uses.
pub(crate) fn update(
    tx: &LockedEvent<'_>,
    organization: OrganizationId,
    id: DiscountId,
    fields: &Checked<DiscountFields>,
) -> Result<()> {
    let mut binds: Vec<Bind<'_>> = vec![id.into(), organization.into(), tx.now().into()];
    binds.extend(values(fields)?);
    on_violation(tx.try_execute(&UPDATE, &binds), Constraint::DiscountCode, || code_taken(fields))?;
    Ok(())
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: DiscountId) -> Result<Discount> {
    let binds = [tx.now().into(), id.into(), organization.into()];
    tx.query_opt(BY_ID, &binds, decode)?.ok_or(Error::NotFound(ResourceKind::Discount))
}

/// Like [`get`], with the stored number of uses: it includes the orders whose hold has expired.
pub(crate) fn stored(tx: &Transaction<'_>, organization: OrganizationId, id: DiscountId) -> Result<Discount> {
    let found = tx.query_opt(STORED, &[id.into(), organization.into()], decode)?;
    found.ok_or(Error::NotFound(ResourceKind::Discount))
}

/// Returns the discount of an event with this code, compared by [`fold`]. The number of uses is the stored one.
pub(crate) fn by_code(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    code: &str,
) -> Result<Option<DiscountTerms>> {
    tx.query_opt(BY_CODE, &[event.into(), fold(code).into(), organization.into()], decode_terms)
}

/// Returns the automatic discounts of an event, oldest first. Their number of uses is the stored one.
pub(crate) fn automatic(tx: &Transaction<'_>, event: EventId) -> Result<Vec<DiscountTerms>> {
    tx.query_all(AUTOMATIC, &[event.into()], decode_terms)
}

/// Whether an event has at least this number of automatic discounts that are enabled.
pub(crate) fn has_at_least_automatic(tx: &Transaction<'_>, event: EventId, number: usize) -> Result<bool> {
    has_at_least(tx, NTH_AUTOMATIC, event.into(), number)
}

/// Lists the discounts of an organization or of one event, newest first.
pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListDiscounts>,
) -> Result<Page<Discount, DiscountId>> {
    cursor_bound(tx, &request.page, EXISTS, organization.into())?;
    let filters = vec![
        organization.into(),
        request.event_id.into(),
        request.code.as_deref().map(fold).into(),
        request.is_active.into(),
    ];
    let mut ids = PageIds::new(&request.page, filters);
    match (&request.code, request.event_id) {
        (Some(_), Some(_)) => ids.add(tx, WITH_CODE_OF_EVENT, &[])?,
        (Some(_), None) => ids.add(tx, WITH_CODE, &[])?,
        (None, event) => {
            let sql = if event.is_some() { OF_EVENT } else { OF_ACTIVITY };
            for is_active in [true, false] {
                if request.is_active.is_none_or(|requested| requested == is_active) {
                    ids.add(tx, sql, &[is_active.into()])?;
                }
            }
        }
    }
    read_page_of(tx, &PAGE, &[tx.now().into()], ids, decode, |discount| discount.id)
}

/// Deletes a discount. Fails with the conflict `in-use` if an order has ever used it.
pub(crate) fn delete(tx: &LockedEvent<'_>, organization: OrganizationId, id: DiscountId) -> Result<()> {
    if tx.execute_counted(DELETE, &[id.into(), organization.into()])? == 1 {
        return Ok(());
    }
    let current = stored(tx, organization, id)?;
    Err(Error::conflict(Reason::InUse, format!("an order used the discount {}", current.code)))
}

/// Deletes a batch of the discounts of an event without orders. Returns whether these were all.
pub(crate) fn delete_batch_of_event(tx: &LockedEvent<'_>, event: EventId) -> Result<bool> {
    Ok(tx.execute_counted(DELETE_OF_EVENT, &[event.into(), BATCH.into()])? < BATCH)
}

/// Adds one use. Returns whether the usage limit allowed it.
pub(crate) fn claim_use(tx: &LockedEvent<'_>, event: EventId, discount: DiscountId) -> Result<bool> {
    tx.execute_counted(CLAIM_USE, &[discount.into(), event.into()]).map(|rows| rows == 1)
}

/// How many uses must be released before another one can be claimed.
pub(crate) fn missing_uses(tx: &Transaction<'_>, event: EventId, discount: DiscountId) -> Result<i64> {
    let found = tx.query_opt(MISSING_USES, &[discount.into(), event.into()], |row| row.get("missing"))?;
    found.ok_or(Error::NotFound(ResourceKind::Discount))
}

/// Subtracts one use.
pub(crate) fn release_use(tx: &LockedEvent<'_>, event: EventId, discount: DiscountId) -> Result<()> {
    match tx.execute_counted(RELEASE_USE, &[discount.into(), event.into()])? {
        0 => Err(Error::Internal(format!("the use count of {discount} is lower than its orders require"))),
        _ => Ok(()),
    }
}
