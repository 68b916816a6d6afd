//! Validation of organizations.

use super::money::amount_limits;
use super::{Checked, calendar};
use crate::error::{FieldErrors, Result};
use crate::form::request::Request;
use crate::model::tenants::organization::{CreateOrganization, OrganizationFields, UpdateOrganization};

pub(crate) fn check_new(request: CreateOrganization) -> Result<Checked<OrganizationFields>> {
    // The limits of each field are those of an update.
    let Request { body, errors } = Request::from(UpdateOrganization::from(request));
    check(body.into(), errors)
}

/// Checks an organization. `errors` are those of the fields that a request sets.
pub(crate) fn check(fields: OrganizationFields, mut errors: FieldErrors) -> Result<Checked<OrganizationFields>> {
    amount_limits::check_currency(&mut errors, "currency", &fields.currency);
    calendar::check_zone(&mut errors, "timezone", &fields.timezone);
    errors.into_result().map(|()| Checked(fields))
}
