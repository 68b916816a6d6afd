//! Validation of organizations.

use super::{Checked, calendar, money, text};
use crate::error::{FieldErrors, Result};
use crate::model::organization::CreateOrganization;

pub(crate) fn check(request: CreateOrganization, mut errors: FieldErrors) -> Result<Checked<CreateOrganization>> {
    text::check_name(&mut errors, &request.name);
    money::check_currency(&mut errors, "currency", &request.currency);
    calendar::check_zone(&mut errors, "timezone", &request.timezone);
    errors.into_result().map(|()| Checked(request))
}
