//! Validation of organizations.

use super::{Checked, calendar, money, text};
use crate::error::{FieldErrors, Result};
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::path::Path;
use crate::form::value::FormValue;
use crate::model::organization::OrganizationFields;

pub(crate) fn check(fields: OrganizationFields, mut errors: FieldErrors) -> Result<Checked<OrganizationFields>> {
    text::check_name(&mut errors, &fields.name);
    money::check_currency(&mut errors, "currency", &fields.currency);
    calendar::check_zone(&mut errors, "timezone", &fields.timezone);
    if let Some(reference) = &fields.reference {
        reference.check(&[MinLength(1), MaxLength(255)], Path::Root.field("reference"), &mut errors);
    }
    errors.into_result().map(|()| Checked(fields))
}
