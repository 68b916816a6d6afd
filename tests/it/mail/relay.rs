//! A relay over the standard library, which makes the mistakes that a test wants.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::common::issuer::Issuer;
use crate::common::webhooks::wait_until;

/// What goes wrong on one connection.
#[derive(Clone)]
pub enum Fault {
    /// The answer to this command. `GREETING` and `BODY` are the moments without a command.
    Answer(&'static str, &'static str),
    /// Nothing is answered to this command.
    Hang(&'static str),
    /// The answer to this command comes a second late.
    Late(&'static str),
    /// The answer comes byte by byte, and never ends.
    Drip(&'static str),
    /// The connection is closed instead of an answer.
    Cut(&'static str),
    /// The mail is accepted, and the connection is closed before that is answered.
    LostAnswer,
}

/// A mail that was accepted.
#[derive(Debug, Clone)]
pub struct Received {
    pub from: String,
    pub to: String,
    pub message: String,
    pub is_encrypted: bool,
    pub user: Option<String>,
}

#[derive(Default)]
pub struct Settings {
    pub tls: Option<Arc<ServerConfig>>,
    pub is_implicit: bool,
    pub has_smtputf8: bool,
    /// The user and the password.
    pub credentials: Option<(&'static str, &'static str)>,
}

pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    faults: Mutex<VecDeque<Option<Fault>>>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    /// The connections that are open.
    open: AtomicUsize,
}

/// The configuration of a server with a certificate for this name.
pub fn tls(issuer: &Issuer, name: &str) -> Arc<ServerConfig> {
    let (certificate, key) = issuer.certificate(name);
    let certificate = rustls::pki_types::CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).expect("a certificate"))
}

impl Relay {
    pub fn start(settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            settings,
            faults: Mutex::default(),
            received: Mutex::default(),
            connections: AtomicUsize::default(),
            open: AtomicUsize::default(),
        });
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&of_thread);
                shared.open.fetch_add(1, Ordering::AcqRel);
                std::thread::spawn(move || {
                    drop(shared.serve(stream));
                    shared.open.fetch_sub(1, Ordering::AcqRel);
                });
            }
        });
        Self { address, shared }
    }

    /// The URL with this scheme and host.
    pub fn url(&self, beginning: &str) -> String {
        format!("{beginning}:{}", self.address.port())
    }

    /// What goes wrong on the next connections, one after the other.
    pub fn fail(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.shared.faults.lock().expect("faults").extend(faults);
    }

    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().expect("mails").clone()
    }

    /// Waits until no connection is open: until all is received that killed processes have sent.
    pub fn wait_until_idle(&self) {
        wait_until("the relay has received everything", || self.shared.open.load(Ordering::Acquire) == 0);
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// The state of a connection.
struct Session<'s> {
    shared: &'s Shared,
    fault: Option<Fault>,
    is_encrypted: bool,
    user: Option<String>,
}

enum End {
    Closed,
    StartTls,
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let fault = self.faults.lock().expect("faults").pop_front().flatten();
        let encrypt = |stream: TcpStream| -> std::io::Result<_> {
            let config = self.settings.tls.clone().ok_or(ErrorKind::Unsupported)?;
            Ok(StreamOwned::new(ServerConnection::new(config).map_err(std::io::Error::other)?, stream))
        };
        let mut session = Session { shared: self, fault, is_encrypted: false, user: None };
        if self.settings.is_implicit {
            session.is_encrypted = true;
            return session.converse(&mut encrypt(stream)?, true).map(drop);
        }
        let mut plain = stream.try_clone()?;
        if let End::StartTls = session.converse(&mut plain, true)? {
            session.is_encrypted = true;
            session.converse(&mut encrypt(stream)?, false)?;
        }
        Ok(())
    }
}

fn line(stream: &mut dyn Stream) -> std::io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line[..line.len() - 2]).into_owned())
}

impl Session<'_> {
    fn answer(&self, stream: &mut dyn Stream, command: &str, text: &str) -> std::io::Result<()> {
        let text = match &self.fault {
            Some(Fault::Answer(at, answer)) if *at == command => *answer,
            Some(Fault::Cut(at)) if *at == command => return Err(ErrorKind::ConnectionAborted.into()),
            Some(Fault::Hang(at)) if *at == command => {
                std::thread::sleep(Duration::from_secs(60));
                return Err(ErrorKind::TimedOut.into());
            }
            Some(Fault::Late(at)) if *at == command => {
                std::thread::sleep(Duration::from_secs(1));
                text
            }
            Some(Fault::Drip(at)) if *at == command => loop {
                stream.write_all(b"2")?;
                stream.flush()?;
                std::thread::sleep(Duration::from_millis(100));
            },
            _ => text,
        };
        stream.write_all(format!("{text}\r\n").as_bytes())?;
        stream.flush()
    }

    fn converse(&mut self, stream: &mut dyn Stream, greets: bool) -> std::io::Result<End> {
        if greets {
            self.answer(stream, "GREETING", "220 relay.example.com")?;
        }
        let (mut from, mut to) = (String::new(), String::new());
        loop {
            let command = line(stream)?;
            let word = command.split([' ', ':']).next().unwrap_or_default().to_uppercase();
            match word.as_str() {
                "EHLO" => {
                    let settings = &self.shared.settings;
                    let mut lines = vec!["relay.example.com", "8BITMIME"];
                    lines.extend((settings.tls.is_some() && !self.is_encrypted).then_some("STARTTLS"));
                    lines.extend(settings.credentials.map(|_| "AUTH PLAIN"));
                    lines.extend(settings.has_smtputf8.then_some("SMTPUTF8"));
                    let last = lines.len() - 1;
                    let line = |(index, line)| format!("250{}{line}", if index == last { ' ' } else { '-' });
                    let text: Vec<_> = lines.into_iter().enumerate().map(line).collect();
                    self.answer(stream, "EHLO", &text.join("\r\n"))?;
                }
                "STARTTLS" => {
                    self.answer(stream, "STARTTLS", "220 go ahead")?;
                    return Ok(End::StartTls);
                }
                "AUTH" => {
                    let sent = command.rsplit(' ').next().unwrap_or_default();
                    let sent = BASE64_STANDARD.decode(sent).unwrap_or_default();
                    let is_right = self
                        .shared
                        .settings
                        .credentials
                        .is_some_and(|(user, password)| sent == format!("\0{user}\0{password}").into_bytes());
                    self.user = self.shared.settings.credentials.map(|(user, _)| user.to_owned());
                    self.answer(stream, "AUTH", if is_right { "235 ok" } else { "535 wrong credentials" })?;
                }
                "MAIL" => {
                    from = path(&command);
                    self.answer(stream, "MAIL", "250 ok")?;
                }
                "RCPT" => {
                    to = path(&command);
                    self.answer(stream, "RCPT", "250 ok")?;
                }
                "DATA" => {
                    self.answer(stream, "DATA", "354 go ahead")?;
                    if matches!(&self.fault, Some(Fault::Answer("DATA", _))) {
                        continue;
                    }
                    let mut message = String::new();
                    loop {
                        let line = line(stream)?;
                        match line.strip_prefix('.') {
                            Some("") => break,
                            Some(rest) => message.push_str(rest),
                            None => message.push_str(&line),
                        }
                        message.push_str("\r\n");
                    }
                    let is_refused = matches!(&self.fault, Some(Fault::Answer("BODY", _) | Fault::Cut("BODY")));
                    if !is_refused {
                        let (from, to, user) = (from.clone(), to.clone(), self.user.clone());
                        let is_encrypted = self.is_encrypted;
                        let mail = Received { from, to, message, is_encrypted, user };
                        self.shared.received.lock().expect("mails").push(mail);
                    }
                    if matches!(&self.fault, Some(Fault::LostAnswer)) {
                        return Ok(End::Closed);
                    }
                    self.answer(stream, "BODY", "250 queued as 4711")?;
                }
                "QUIT" => {
                    self.answer(stream, "QUIT", "221 bye")?;
                    return Ok(End::Closed);
                }
                _ => self.answer(stream, &word, "250 ok")?,
            }
        }
    }
}

/// The address in `MAIL FROM:<…>`.
fn path(command: &str) -> String {
    let rest = command.split_once('<').map_or("", |(_, rest)| rest);
    rest.split('>').next().unwrap_or_default().to_owned()
}
