//! Mails: the options, and the command `mail-test`.

use ticketing::Builder;
#[cfg(feature = "smtp")]
use ticketing::mail::MailOptions;
#[cfg(feature = "smtp")]
pub(crate) use with_smtp::test;

use super::arguments::MailSettings;
use super::failure::{Failure, usage};

/// The mails of the server.
pub(crate) struct Mails {
    /// `None` if it sends none.
    #[cfg(feature = "smtp")]
    options: Option<MailOptions>,
}

#[cfg(feature = "smtp")]
impl Mails {
    pub(crate) fn read(settings: &MailSettings) -> Result<Self, Failure> {
        Ok(Self { options: with_smtp::options(settings)? })
    }

    pub(crate) fn set(self, builder: Builder) -> Builder {
        match self.options {
            Some(options) => builder.mail(options),
            None => builder,
        }
    }
}

#[cfg(not(feature = "smtp"))]
impl Mails {
    pub(crate) fn read(settings: &MailSettings) -> Result<Self, Failure> {
        let texts = [&settings.smtp_url, &settings.mail_from];
        let paths = [&settings.smtp_password_file, &settings.mail_folder];
        let is_set = texts.iter().any(|text| text.is_some()) || paths.iter().any(|path| path.is_some());
        if is_set { Err(not_compiled()) } else { Ok(Self {}) }
    }

    #[expect(clippy::unused_self, reason = "with mails, it has their options")]
    pub(crate) fn set(self, builder: Builder) -> Builder {
        builder
    }
}

#[cfg(not(feature = "smtp"))]
pub(crate) fn test(_: &str, _: &MailSettings) -> Result<(), Failure> {
    Err(not_compiled())
}

#[cfg(not(feature = "smtp"))]
fn not_compiled() -> Failure {
    usage("mails need a program that is compiled with the feature smtp")
}

#[cfg(feature = "smtp")]
mod with_smtp {
    use std::path::Path;

    use ticketing::mail::{FolderTransport, MailOptions, MailTransport, SmtpTransport, test_mail};

    use super::super::output::print_line;
    use super::{Failure, MailSettings, usage};

    /// The address of the sender of mails in a folder.
    const LOCAL_SENDER: &str = "ticketing@localhost";

    /// A transport, and the address of the sender.
    struct Sender {
        transport: Box<dyn MailTransport>,
        from: String,
    }

    /// How mails are sent. `None` if they are not.
    fn sender(settings: &MailSettings) -> Result<Option<Sender>, Failure> {
        let from = settings.mail_from.clone();
        match (&settings.smtp_url, &settings.mail_folder) {
            (Some(_), Some(_)) => Err(usage("--smtp-url and --mail-folder exclude each other")),
            (Some(url), None) => {
                let from = from.ok_or_else(|| usage("--smtp-url needs --mail-from"))?;
                Ok(Some(Sender { transport: Box::new(smtp(url, settings.smtp_password_file.as_deref())?), from }))
            }
            (None, Some(folder)) => {
                let from = from.unwrap_or_else(|| LOCAL_SENDER.to_owned());
                Ok(Some(Sender { transport: Box::new(FolderTransport::new(folder)), from }))
            }
            (None, None) if from.is_some() => Err(usage("--mail-from needs --smtp-url or --mail-folder")),
            (None, None) => Ok(None),
        }
    }

    fn smtp(url: &str, password_file: Option<&Path>) -> Result<SmtpTransport, Failure> {
        let mut builder = SmtpTransport::builder(url);
        if let Some(path) = password_file {
            let cannot_read = |error| Failure::Run(format!("cannot read {}: {error}", path.display()));
            let password = std::fs::read_to_string(path).map_err(cannot_read)?;
            builder = builder.password(password.trim_end_matches(['\r', '\n']));
        }
        builder.build().map_err(|error| match error.fields() {
            [field, ..] if field.path == "smtp_password" => usage("--smtp-url with a user needs --smtp-password-file"),
            [field, ..] => usage(format!("--smtp-url {}", field.message)),
            [] => error.into(),
        })
    }

    /// The options of the server's mails. `None` if it sends none.
    pub(super) fn options(settings: &MailSettings) -> Result<Option<MailOptions>, Failure> {
        let options =
            |Sender { transport, from }| MailOptions::new(transport, from).per_second(settings.mail_per_second);
        Ok(sender(settings)?.map(options))
    }

    /// Sends a mail without tickets, and prints what the relay answers.
    pub(crate) fn test(address: &str, settings: &MailSettings) -> Result<(), Failure> {
        let needs = || usage("mail-test needs --smtp-url or --mail-folder");
        let Sender { transport, from } = sender(settings)?.ok_or_else(needs)?;
        let mail = test_mail(&from, address).map_err(|error| match error.fields() {
            [field, ..] if field.path == "to" => usage(format!("ADDRESS {}", field.message)),
            [field, ..] => usage(format!("--mail-from {}", field.message)),
            [] => error.into(),
        })?;
        match transport.send(&mail) {
            Ok(receipt) => print_line(&serde_json::json!({"accepted": true, "answer": receipt.answer}).to_string()),
            Err(problem) => Err(Failure::Run(format!("the mail was not accepted: {problem}"))),
        }
    }
}
