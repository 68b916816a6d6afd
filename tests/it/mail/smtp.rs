//! Mails over SMTP.
