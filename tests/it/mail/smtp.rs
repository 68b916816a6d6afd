//! Mails over SMTP: encryption, credentials, refusals, and relays that hang or end in the middle.

#![expect(clippy::disallowed_methods, reason = "the tests measure the timeouts of real sockets")]

use std::time::{Duration, Instant};

use ticketing::id::{MailId, OrganizationId};
use ticketing::mail::{MailError, MailReceipt, MailState, MailTransport, OutgoingMail, SmtpTransport};

use super::relay::{Fault, Relay, Settings, tls};
use super::tools::*;
use crate::common::issuer::Issuer;
use crate::common::*;

fn outgoing(to: &str) -> OutgoingMail {
    let organization: OrganizationId = "org_0000000000001".parse().expect("an id");
    let id: MailId = "mail_0000000000001".parse().expect("an id");
    let message = b"Subject: Hello\r\n\r\n.A line that begins with a dot\r\n".to_vec();
    OutgoingMail::new(organization, id, FROM, to, message)
}

fn transport(url: String) -> SmtpTransport {
    SmtpTransport::builder(url).timeout(Duration::from_secs(2)).build().expect("a URL")
}

fn send(transport: &SmtpTransport) -> Result<MailReceipt, MailError> {
    transport.send(&outgoing("ada@example.com"))
}

/// The name of an error, and its text.
fn kind(sent: &Result<MailReceipt, MailError>) -> (&'static str, String) {
    match sent {
        Ok(receipt) => ("Sent", receipt.answer.clone()),
        Err(MailError::Unavailable(text)) => ("Unavailable", text.clone()),
        Err(MailError::Refused(text)) => ("Refused", text.clone()),
        Err(MailError::RecipientRefused(text)) => ("RecipientRefused", text.clone()),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_mail_is_encrypted_from_the_beginning_or_with_starttls_and_arrives_byte_for_byte() {
    let issuer = Issuer::new("The relay's");
    for (scheme, is_implicit) in [("smtps://localhost", true), ("smtp://localhost", false)] {
        let settings = Settings { tls: Some(tls(&issuer, "localhost")), is_implicit, ..Settings::default() };
        let relay = Relay::start(settings);
        let transport =
            SmtpTransport::builder(relay.url(scheme)).root_certificates(issuer.pem()).build().expect("built");
        assert_eq!(kind(&send(&transport)), ("Sent", "250 queued as 4711".to_owned()));
        let received = relay.received();
        assert_eq!((received[0].from.as_str(), received[0].to.as_str()), (FROM, "ada@example.com"));
        assert!(received[0].is_encrypted, "{scheme}");
        assert_eq!(received[0].message.as_bytes(), &*outgoing("").message);
    }
}

#[test]
fn a_certificate_of_another_name_or_issuer_is_refused_and_nothing_is_sent() {
    let (issuer, other) = (Issuer::new("The relay's"), Issuer::new("Another"));
    for (name, trusted) in [("localhost", &other), ("relay.example.com", &issuer)] {
        for (scheme, is_implicit) in [("smtps://localhost", true), ("smtp://localhost", false)] {
            let settings = Settings { tls: Some(tls(&issuer, name)), is_implicit, ..Settings::default() };
            let relay = Relay::start(settings);
            let builder = SmtpTransport::builder(relay.url(scheme)).root_certificates(trusted.pem());
            let sent = send(&builder.build().expect("built"));
            assert_eq!(kind(&sent).0, "Unavailable", "{sent:?}");
            assert_eq!(relay.received().len(), 0);
        }
    }
}

#[test]
fn the_wrong_scheme_for_a_port_is_named() {
    let relay = Relay::start(Settings::default());
    let (name, text) = kind(&send(&transport(relay.url("smtps://localhost"))));
    assert!(name == "Unavailable" && text.contains("needs smtp://"), "{text}");
    let tls = Some(tls(&Issuer::new("The relay's"), "localhost"));
    let relay = Relay::start(Settings { tls, is_implicit: true, ..Settings::default() });
    let (name, text) = kind(&send(&transport(relay.url("smtp://localhost"))));
    assert_eq!((name, text.split(';').next()), ("Unavailable", Some("the relay has not answered in time")));
    assert!(text.contains("needs smtps://"), "{text}");
}

#[test]
fn a_relay_without_starttls_gets_nothing_unless_it_is_on_this_machine() {
    let relay = Relay::start(Settings::default());
    // Not one of the spellings of this machine, although the system's resolver finds it there.
    let sent = send(&transport(relay.url("smtp://127.1")));
    assert_eq!(kind(&sent).0, "Unavailable");
    assert!(kind(&sent).1.contains("STARTTLS"), "{}", kind(&sent).1);
    assert_eq!(relay.received().len(), 0);
    assert_eq!(kind(&send(&transport(relay.url("smtp://127.0.0.1")))).0, "Sent");
    assert!(!relay.received()[0].is_encrypted);
    // With one of its own, any certificate will do.
    let settings = Settings { tls: Some(tls(&Issuer::new("Nobody's"), "elsewhere")), ..Settings::default() };
    let relay = Relay::start(settings);
    assert_eq!(kind(&send(&transport(relay.url("smtp://localhost")))).0, "Sent");
    assert!(relay.received()[0].is_encrypted);
}

#[test]
fn credentials_are_sent_and_wrong_ones_concern_all_mails() {
    let credentials = Some(("ticketing@example.com", "secret"));
    let relay = Relay::start(Settings { credentials, ..Settings::default() });
    let url = relay.url("smtp://ticketing%40example.com@localhost");
    let with = |password: &str| SmtpTransport::builder(url.clone()).password(password).build().expect("built");
    assert_eq!(kind(&send(&with("secret"))).0, "Sent");
    assert_eq!(relay.received()[0].user.as_deref(), Some("ticketing@example.com"));
    assert_eq!(kind(&send(&with("wrong"))), ("Unavailable", "535 wrong credentials".to_owned()));
    let relay = Relay::start(Settings::default());
    let builder = SmtpTransport::builder(relay.url("smtp://ticketing@localhost")).password("secret");
    let (name, text) = kind(&send(&builder.build().expect("built")));
    assert!(name == "Unavailable" && text.starts_with("No compatible authentication mechanism"), "{text}");
}

#[test]
fn only_answers_about_the_mail_itself_are_final() {
    for (command, answer, expected) in [
        ("GREETING", "554 go away", "Unavailable"),
        ("GREETING", "421 too busy", "Unavailable"),
        ("EHLO", "550 who are you", "Unavailable"),
        ("MAIL", "451 later", "Unavailable"),
        ("MAIL", "530 Authentication required", "Unavailable"),
        ("MAIL", "550 not from there", "Refused"),
        ("MAIL", "552 too large", "Refused"),
        ("RCPT", "450 greylisted", "Unavailable"),
        ("RCPT", "452 mailbox full", "Unavailable"),
        ("RCPT", "550 no such user", "RecipientRefused"),
        ("DATA", "451 later", "Unavailable"),
        ("DATA", "554 no", "Refused"),
        ("BODY", "451 later", "Unavailable"),
        ("BODY", "554 spam", "Refused"),
        ("BODY", "nonsense", "Unavailable"),
    ] {
        let relay = Relay::start(Settings::default());
        relay.fail([Some(Fault::Answer(command, answer))]);
        let transport = transport(relay.url("smtp://localhost"));
        let sent = kind(&send(&transport));
        assert_eq!(sent.0, expected, "{command} {answer}");
        assert!(answer == "nonsense" || sent.1 == answer, "{} {answer}", sent.1);
        assert_eq!(relay.received().len(), 0, "{command} {answer}");
        // The next mail is not disturbed. After a refusal it uses the same connection.
        if !matches!(command, "GREETING" | "EHLO") && expected == "Unavailable" {
            assert_eq!(kind(&send(&transport)).0, "Sent", "{command} {answer}");
        }
    }
}

#[test]
fn a_relay_that_hangs_or_ends_in_the_middle_is_let_go_after_the_time_for_the_whole() {
    for command in ["GREETING", "EHLO", "MAIL", "RCPT", "DATA", "BODY"] {
        let relay = Relay::start(Settings::default());
        relay.fail([Some(Fault::Hang(command)), Some(Fault::Drip(command)), Some(Fault::Cut(command)), None]);
        let transport = SmtpTransport::builder(relay.url("smtp://localhost")).timeout(Duration::from_secs(1));
        let transport = transport.build().expect("built");
        for _ in 0..3 {
            let start = Instant::now();
            let sent = kind(&send(&transport));
            assert_eq!(sent.0, "Unavailable", "{command}");
            assert!(start.elapsed() < Duration::from_secs(2), "{command}");
        }
        assert_eq!(kind(&send(&transport)).0, "Sent", "{command}");
    }
}

#[test]
fn a_mail_that_nobody_waits_for_any_more_is_not_passed_on_because_it_is_sent_again() {
    for command in ["GREETING", "RCPT", "DATA"] {
        let relay = Relay::start(Settings::default());
        relay.fail([Some(Fault::Late(command))]);
        let transport = SmtpTransport::builder(relay.url("smtp://localhost")).timeout(Duration::from_millis(500));
        let transport = transport.build().expect("built");
        assert_eq!(kind(&send(&transport)).0, "Unavailable", "{command}");
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(relay.received().len(), 0, "{command}");
        assert_eq!(kind(&send(&transport)).0, "Sent", "{command}");
    }
}

#[test]
fn a_connection_is_used_for_several_mails_and_replaced_if_the_relay_has_closed_it() {
    let relay = Relay::start(Settings::default());
    let transport = transport(relay.url("smtp://localhost"));
    for _ in 0..3 {
        assert_eq!(kind(&send(&transport)).0, "Sent");
    }
    assert_eq!(relay.connections(), 1);
    let relay = Relay::start(Settings::default());
    relay.fail([Some(Fault::Cut("RSET"))]);
    let transport = self::transport(relay.url("smtp://localhost"));
    for _ in 0..2 {
        assert_eq!(kind(&send(&transport)).0, "Sent");
    }
    assert_eq!(relay.connections(), 2);
}

#[test]
fn addresses_with_other_letters_need_smtputf8_and_domains_are_sent_in_ascii() {
    let relay = Relay::start(Settings::default());
    let transport = transport(relay.url("smtp://localhost"));
    let refused = kind(&transport.send(&outgoing("jörg@example.com")));
    assert_eq!(refused.0, "RecipientRefused");
    assert!(refused.1.contains("SMTPUTF8"), "{}", refused.1);
    let relay = Relay::start(Settings { has_smtputf8: true, ..Settings::default() });
    let transport = self::transport(relay.url("smtp://localhost"));
    assert_eq!(kind(&transport.send(&outgoing("jörg@example.com"))).0, "Sent");
}

#[test]
fn a_url_is_one_of_a_relay_without_a_password() {
    for url in [
        "",
        "localhost",
        "http://localhost",
        "smtp://",
        "smtp://user:secret@localhost",
        "smtp://localhost:70000",
        "smtp://localhost/x",
        "smtp://localhost?tls=none",
    ] {
        let refused = SmtpTransport::builder(url).password("x").build().unwrap_err();
        assert_eq!(refused.fields()[0].path, "smtp_url", "{url}");
    }
    assert_eq!(SmtpTransport::builder("smtp://user@localhost").build().unwrap_err().fields()[0].path, "smtp_password");
    let secret = SmtpTransport::builder("smtps://user@relay.example.com").password("hunter2");
    assert!(!format!("{secret:?}").contains("hunter2"));
    let built = secret.build().expect("built");
    assert!(!format!("{built:?}").contains("hunter2") && !format!("{built:?}").contains("user"));
}

#[test]
fn a_mail_whose_acceptance_was_not_heard_is_repeated_with_the_same_message_id() {
    let relay = Relay::start(Settings::default());
    relay.fail([Some(Fault::LostAnswer)]);
    let smtp = transport(relay.url("smtp://localhost"));
    let fixture = Fixture::with_gateway(|builder| {
        builder
            .public_url("https://tickets.example.com")
            .ticket_documents(ticketing::documents::TicketDocuments::default())
            .mail(options(smtp))
    });
    fixture.paid_order(&fixture.ticket_type(&fixture.event(), 1250, 10), 1);
    fixture.service.deliver_due_mails().expect("the database");
    fixture.clock.advance(Duration::from_mins(1));
    fixture.service.deliver_due_mails().expect("the database");
    let ids: Vec<_> = relay
        .received()
        .iter()
        .map(|mail| mail.message.lines().find(|line| line.starts_with("Message-ID")).map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), 2);
    assert!(ids[0].is_some() && ids[0] == ids[1]);
    let list = ticketing::mail::ListMails::new();
    let mails = fixture.service.list_mails(&fixture.caller, list).expect("the mails").data;
    assert_eq!(mails.iter().map(|mail| mail.state).collect::<Vec<_>>(), [MailState::Sent]);
}
