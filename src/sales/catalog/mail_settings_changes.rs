//! Changes of the mail settings of organizations.

use crate::error::Result;
use crate::form::request::Request;
use crate::model::sale::mail::{MailSettings, MailSettingsFields, UpdateMailSettings};
use crate::model::tenants::caller::ConditionalCaller;
use crate::store::tenants::mail_settings;
use crate::store::{Lock, Transaction};

pub(crate) fn update(
    tx: &Transaction<'_>,
    call: &ConditionalCaller,
    request: &Request<UpdateMailSettings>,
) -> Result<MailSettings> {
    let organization = call.caller.organization;
    tx.lock(Lock::Organization(organization))?;
    let current = mail_settings::get(tx, organization)?;
    call.check_revision(current.revision)?;
    let (fields, errors) = MailSettingsFields::update(&current, request);
    errors.into_result()?;
    mail_settings::update(tx, organization, &fields)?;
    mail_settings::get(tx, organization)
}
