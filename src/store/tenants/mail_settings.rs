//! What organizations have set about their mails.

use crate::error::{Error, ResourceKind, Result};
use crate::model::sale::mail::{MailSettings, MailSettingsFields};
use crate::model::values::id::OrganizationId;
use crate::store::{Row, Transaction};

const GET: &str = "SELECT id, mail_enabled, sender_name, reply_to, notify_address, mail_intro, mail_footer,
    payment_reminder_minutes, mail_revision FROM organizations WHERE id = ?1";
const UPDATE: &str = "UPDATE organizations SET mail_enabled = ?2, sender_name = ?3, reply_to = ?4, notify_address = ?5,
    mail_intro = ?6, mail_footer = ?7, payment_reminder_minutes = ?8, mail_revision = mail_revision + 1 WHERE id = ?1";

fn decode(row: &Row<'_>) -> Result<MailSettings> {
    Ok(MailSettings {
        mail_enabled: row.get("mail_enabled")?,
        sender_name: row.get("sender_name")?,
        reply_to: row.get("reply_to")?,
        notify_address: row.get("notify_address")?,
        mail_intro: row.get("mail_intro")?,
        mail_footer: row.get("mail_footer")?,
        payment_reminder_minutes: row.get("payment_reminder_minutes")?,
        revision: row.get("mail_revision")?,
    })
}

pub(crate) fn get(tx: &Transaction<'_>, organization: OrganizationId) -> Result<MailSettings> {
    tx.query_opt(GET, &[organization.into()], decode)?.ok_or(Error::NotFound(ResourceKind::Organization))
}

pub(crate) fn update(tx: &Transaction<'_>, organization: OrganizationId, fields: &MailSettingsFields) -> Result<()> {
    let MailSettingsFields {
        mail_enabled,
        sender_name,
        reply_to,
        notify_address,
        mail_intro,
        mail_footer,
        payment_reminder_minutes,
    } = fields;
    let binds = [
        organization.into(),
        (*mail_enabled).into(),
        sender_name.as_ref().into(),
        reply_to.as_ref().into(),
        notify_address.as_ref().into(),
        mail_intro.as_ref().into(),
        mail_footer.as_ref().into(),
        (*payment_reminder_minutes).into(),
    ];
    tx.execute(UPDATE, &binds)?;
    tx.clear_cache();
    Ok(())
}
