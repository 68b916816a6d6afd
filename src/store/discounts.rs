//! Discounts.

use super::events::json;
use super::lists::{below, one_more};
use super::{Bind, Constraint, Row, Transaction, on_violation};
use crate::error::{Error, Reason, Result};
use crate::model::amount::Amount;
use crate::model::discount::DiscountFields;
use crate::model::discount::{Discount, ListDiscounts};
use crate::model::id::{DiscountId, EventId, OrganizationId, TicketTypeId, kind};
use crate::model::page::Page;
use crate::model::text_enum::TextEnum;
use crate::rules::Checked;
use crate::rules::money;
use crate::rules::text::fold;

/// Reads discounts as they are at the instant `?1`: a pending order whose hold has run out uses none any more, whether
/// or not it was written EXPIRED. The unary plus keeps the planner with the few that are pending.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT d.id, d.event_id, d.code, d.type, d.value, d.value_decimals, d.description, d.auto_apply, d.usage_limit,
                d.used_count - (SELECT COUNT(*) FROM orders o WHERE o.status = 'PENDING' AND o.hold_until <= ?1
                    AND +o.event_id = d.event_id AND o.discount_id = d.id) AS used_count,
                d.valid_from, d.valid_to, d.is_active, d.minimum_purchase, e.currency, d.applicable_ticket_types, d.created_at,
                d.updated_at, d.revision
            FROM discounts d JOIN events e ON e.id = d.event_id WHERE ",
            $rest
        )
    };
}

const INSERT: &str = "INSERT INTO discounts (id, organization_id, event_id, code, code_key, type, value, value_decimals,
        description, auto_apply, usage_limit, valid_from, valid_to, is_active, minimum_purchase, applicable_ticket_types,
        created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17)
    ON CONFLICT (id) DO NOTHING";
const UPDATE: &str = "UPDATE discounts SET code = ?3, code_key = ?4, type = ?5, value = ?6, value_decimals = ?7,
        description = ?8, auto_apply = ?9, usage_limit = ?10, valid_from = ?11, valid_to = ?12, is_active = ?13,
        minimum_purchase = ?14, applicable_ticket_types = ?15, updated_at = ?16, revision = revision + 1
    WHERE id = ?1 AND organization_id = ?2";
const BY_ID: &str = select!("d.id = ?2 AND d.organization_id = ?3");
pub(super) const BY_CODE: &str = select!("d.event_id = ?2 AND d.code_key = ?3 AND +d.organization_id = ?4");
pub(super) const AUTOMATIC: &str = select!("d.event_id = ?2 AND d.auto_apply = 1 ORDER BY d.id");
const EXISTS: &str = "SELECT 1 FROM discounts WHERE id = ?1 AND organization_id = ?2";
pub(super) const LIST: &str = select!(
    "d.organization_id = ?2 AND d.id < ?3 AND (CAST(?5 AS TEXT) IS NULL OR d.code_key = ?5)
        AND (CAST(?6 AS BIGINT) IS NULL OR d.is_active = ?6)
    ORDER BY d.id DESC LIMIT ?4"
);
pub(super) const LIST_OF_EVENT: &str = select!(
    "d.event_id = ?7 AND +d.organization_id = ?2 AND d.id < ?3 AND (CAST(?5 AS TEXT) IS NULL OR d.code_key = ?5)
        AND (CAST(?6 AS BIGINT) IS NULL OR d.is_active = ?6)
    ORDER BY d.id DESC LIMIT ?4"
);
const DELETE: &str = "DELETE FROM discounts WHERE id = ?1 AND organization_id = ?2 AND used = 0";

fn decode(row: &Row<'_>) -> Result<Discount> {
    let currency: String = row.get("currency")?;
    let decimals = money::decimals(&currency).ok_or_else(|| row.corrupt("currency", "is no known currency"))?;
    let value_decimals = u8::try_from(row.get::<i64>("value_decimals")?)
        .map_err(|_| row.corrupt("value_decimals", "is no number of decimals"))?;
    let types: Vec<i64> = row.json("applicable_ticket_types")?;
    Ok(Discount {
        id: row.get("id")?,
        event_id: row.get("event_id")?,
        code: row.get("code")?,
        discount_type: row.text_enum("type")?,
        value: Amount::new(row.get("value")?, value_decimals),
        description: row.get("description")?,
        auto_apply: row.get("auto_apply")?,
        usage_limit: row.get("usage_limit")?,
        used_count: row.get("used_count")?,
        valid_from: row.get("valid_from")?,
        valid_to: row.get("valid_to")?,
        is_active: row.get("is_active")?,
        minimum_purchase: row.get::<Option<i64>>("minimum_purchase")?.map(|minor| Amount::new(minor, decimals)),
        applicable_ticket_types: types.into_iter().map(TicketTypeId::from_raw).collect(),
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        revision: row.get("revision")?,
    })
}

/// The columns that creating and updating write, `code` being the first of them.
fn values(fields: &DiscountFields) -> Result<[Bind<'_>; 13]> {
    let types: Vec<i64> = fields.applicable_ticket_types.iter().map(|id| id.raw()).collect();
    Ok([
        (&fields.code).into(),
        fold(&fields.code).into(),
        fields.discount_type.as_str().into(),
        fields.value.minor().into(),
        i64::from(fields.value.decimals()).into(),
        fields.description.as_ref().into(),
        fields.auto_apply.into(),
        fields.usage_limit.into(),
        fields.valid_from.into(),
        fields.valid_to.into(),
        fields.is_active.into(),
        fields.minimum_purchase.map(Amount::minor).into(),
        json(&types)?.into(),
    ])
}

fn code_taken(fields: &DiscountFields) -> Error {
    Error::conflict(Reason::CodeTaken, format!("another discount of the event has the code {}", fields.code))
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    fields: &Checked<DiscountFields>,
) -> Result<Discount> {
    tx.debug_assert_event_locked();
    let mut binds: Vec<Bind<'_>> = vec![organization.into(), event.into()];
    binds.extend(values(fields)?);
    binds.push(tx.now().into());
    let id = on_violation(tx.try_insert(INSERT, &binds), Constraint::DiscountCode, || code_taken(fields))?;
    get(tx, organization, id)
}

/// Writes the whole discount. Its uses stay what they are.
pub(crate) fn update(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    id: DiscountId,
    fields: &Checked<DiscountFields>,
) -> Result<()> {
    tx.debug_assert_event_locked();
    let mut binds: Vec<Bind<'_>> = vec![id.into(), organization.into()];
    binds.extend(values(fields)?);
    binds.push(tx.now().into());
    on_violation(tx.try_execute(UPDATE, &binds), Constraint::DiscountCode, || code_taken(fields)).map(drop)
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId, id: DiscountId) -> Result<Discount> {
    let binds = [tx.now().into(), id.into(), organization.into()];
    tx.query_opt(BY_ID, &binds, decode)?.ok_or(Error::NotFound("discount"))
}

/// The discount of an event that has this code.
pub(crate) fn by_code(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    event: EventId,
    code: &str,
) -> Result<Option<Discount>> {
    tx.query_opt(BY_CODE, &[tx.now().into(), event.into(), fold(code).into(), organization.into()], decode)
}

/// The discounts of an event that apply by themselves, the oldest first.
pub(crate) fn automatic(tx: &Transaction<'_>, event: EventId) -> Result<Vec<Discount>> {
    tx.query_all(AUTOMATIC, &[tx.now().into(), event.into()], decode)
}

pub(crate) fn list(
    tx: &Transaction<'_>,
    organization: OrganizationId,
    request: &Checked<ListDiscounts>,
) -> Result<Page<Discount, kind::Discount>> {
    let mut binds = vec![
        tx.now().into(),
        organization.into(),
        below(tx, &request.page, EXISTS, organization.into())?,
        one_more(&request.page),
        request.code.as_deref().map(fold).into(),
        request.is_active.into(),
    ];
    let sql = match request.event_id {
        None => LIST,
        Some(event) => {
            binds.push(event.into());
            LIST_OF_EVENT
        }
    };
    let found = tx.query_all(sql, &binds, decode)?;
    Ok(Page::cut(found, request.page.limit, |discount| discount.id))
}

/// Deletes a discount that no order ever used.
pub(crate) fn delete(tx: &Transaction<'_>, organization: OrganizationId, id: DiscountId) -> Result<()> {
    tx.debug_assert_event_locked();
    if tx.execute(DELETE, &[id.into(), organization.into()])? == 1 {
        return Ok(());
    }
    let current = get(tx, organization, id)?;
    Err(Error::conflict(Reason::InUse, format!("an order used {}", current.code)))
}
