//! A program that uses rustls with aws-lc-rs, and the crate with its default features. rustls must still choose its
//! provider, for which there must be only one, and the crate must use that provider to send a webhook.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use ticketing::event::{CreateEvent, EventStatus};
use ticketing::order::{CreateOrder, NewCustomer};
use ticketing::organization::CreateOrganization;
use ticketing::ticket_type::CreateTicketType;
use ticketing::webhook::{CreateWebhook, EventType, HttpsTransport, SenderOptions};
use ticketing::{Amount, TicketingService};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    // This panics if the program is compiled with two providers.
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![cert.der().clone()], key)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("https://localhost:{}/", listener.local_addr()?.port());
    let requests = receive(listener, Arc::new(config));

    let folder = tempfile::tempdir()?;
    let transport = HttpsTransport::builder().allow_local(true).root_certificates(&cert.pem())?.build()?;
    let service = TicketingService::builder(folder.path().join("ticketing.db"))
        .allow_local_webhooks(true)
        .webhook_transport(transport)
        .webhook_sender(SenderOptions::default().workers(2))
        .open()?;
    let organization = service.create_organization(CreateOrganization::default())?;
    let caller = service.act_for(organization.id)?;
    service.create_webhook(&caller, CreateWebhook::new(url, [EventType::OrderCompleted]))?;
    let mut event = CreateEvent::new("Summer Night", "summer-night", "2100-06-01T18:00:00Z".parse()?);
    event.status = Some(EventStatus::Published);
    let event = service.create_event(&caller, event)?;
    let ticket_type = service.create_ticket_type(&caller, event.id, CreateTicketType::new("Guest", Amount::ZERO, 1))?;
    let ada = NewCustomer::new("Ada", "ada@example.com");
    service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 1))?;

    let request = requests.recv_timeout(Duration::from_secs(60))?;
    assert!(request.contains("\"type\":\"order.completed\""), "{request}");
    println!("The program uses rustls with aws-lc-rs, and received a webhook over it.");
    Ok(())
}

/// Accepts requests over TLS, one after the other, and sends them to the channel.
fn receive(listener: TcpListener, config: Arc<ServerConfig>) -> Receiver<String> {
    let (sender, requests) = channel();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a valid configuration");
            let mut stream = StreamOwned::new(connection, socket.expect("a connection"));
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            while !request.ends_with(b"}") {
                let amount = stream.read(&mut chunk).expect("a request");
                assert!(amount > 0, "the request has no end");
                request.extend_from_slice(&chunk[..amount]);
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").expect("a response");
            if sender.send(String::from_utf8_lossy(&request).into_owned()).is_err() {
                return;
            }
        }
    });
    requests
}
