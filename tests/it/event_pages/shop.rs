//! A server with event pages, and a customer who follows links and sends forms, as a browser without scripts does.

use std::time::Duration;

use serde_json::{Value, json};
use ticketing::Builder;
use ticketing::environment::ManualClock;
use ticketing::server::ServerOptions;

use crate::common::http::{Client, Response, Server};

/// An event with one ticket type at 12.50, of which an order may have 10.
pub struct Shop {
    pub server: Server,
    pub clock: ManualClock,
    pub organization: String,
    pub event: String,
    pub ticket_type: String,
    /// The path of the page.
    pub page: String,
}

/// The entries of a customer.
pub const ADA: [(&str, &str); 2] = [("name", "Ada Lovelace"), ("email", "ada@example.com")];

impl Shop {
    pub fn new() -> Self {
        Self::with(|builder| builder, |_| {})
    }

    pub fn with(configure: impl FnOnce(Builder) -> Builder, adjust: impl FnOnce(&mut ServerOptions)) -> Self {
        let clock = ManualClock::new("2027-03-01T12:00:00Z".parse().unwrap());
        let of_service = clock.clone();
        let server = Server::with(
            |builder| configure(builder.sandbox_gateway().event_pages().clock(of_service)),
            |options| {
                options.rate_limit = None;
                adjust(options);
            },
        );
        let mut api = server.client();
        let event = event(&mut api, "summer-night", &json!({}));
        let ticket_type = ticket_type(&mut api, &event, &json!({}));
        let organization = server.organization.to_string();
        let page = format!("/e/{organization}/summer-night");
        Self { server, clock, organization, event, ticket_type, page }
    }

    pub fn api(&self) -> Client {
        self.server.client()
    }

    /// A connection without an API key.
    pub fn customer(&self) -> Client {
        self.server.client_with("")
    }

    /// The query that chooses this many tickets.
    pub fn chosen(&self, quantity: u32) -> String {
        format!("t.{}={quantity}", self.ticket_type)
    }

    /// Shows the form for this query, and waits as long as a customer needs to fill it in.
    pub fn form(&self, query: &str) -> Form {
        let form = Form::of(&self.customer().get(&format!("{}/order?{query}", self.page)).expect(200), &self.page);
        self.clock.advance(Duration::from_secs(10));
        form
    }

    pub fn orders(&self) -> usize {
        self.api().get("/v1/orders?limit=100").expect(200).json()["data"].as_array().unwrap().len()
    }

    pub fn update_type(&self, changes: &Value) {
        self.api().patch(&format!("/v1/ticket-types/{}", self.ticket_type), changes).expect(200);
        self.pass_a_second();
    }

    /// Pages that were rendered are rendered again.
    pub fn pass_a_second(&self) {
        self.clock.advance(Duration::from_secs(1));
    }
}

/// Creates an event on sale, with these fields besides.
pub fn event(api: &mut Client, slug: &str, fields: &Value) -> String {
    let mut body = json!({
        "title": "Summer Night", "slug": slug, "startDate": "2027-06-12T17:30:00Z", "endDate": "2027-06-12T21:00:00Z",
        "timezone": "Europe/Berlin", "deliveryMethod": "DIGITAL", "status": "PUBLISHED", "location": "Botanical Garden\nBerlin",
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    api.post("/v1/events", &body).expect(201).json()["id"].as_str().unwrap().to_owned()
}

/// Creates a ticket type at 12.50, with these fields besides.
pub fn ticket_type(api: &mut Client, event: &str, fields: &Value) -> String {
    let mut body = json!({"name": "General admission", "price": 12.5, "quantity": 100});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let created = api.post(&format!("/v1/events/{event}/ticket-types"), &body).expect(201);
    created.json()["id"].as_str().unwrap().to_owned()
}

/// The form for an order, as the page has it.
#[derive(Debug, Clone)]
pub struct Form {
    pub action: String,
    /// Hidden fields, and those to fill in with their present values.
    pub fields: Vec<(String, String)>,
}

impl Form {
    /// The form with which the order is sent, of a page.
    pub fn of(page: &Response, path: &str) -> Self {
        let form = page.text().split("<form ").find(|form| form.starts_with("class=\"fields\"")).expect("a form");
        assert!(form.contains("method=\"post\" action=\"order\""), "{form}");
        let fields = form.split("<input ").skip(1).map(|input| {
            let attribute = |name: &str| {
                let value = input.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
                value.unwrap_or_default().replace("&#38;", "&")
            };
            let name = input.split("name=\"").nth(1).unwrap().split('"').next().unwrap();
            (name.to_owned(), attribute("value"))
        });
        Self { action: format!("{path}/order"), fields: fields.collect() }
    }

    pub fn get(&self, name: &str) -> &str {
        &self.fields.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}: {self:?}")).1
    }

    pub fn set(&mut self, name: &str, value: &str) -> &mut Self {
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, current)) => value.clone_into(current),
            None => self.fields.push((name.to_owned(), value.to_owned())),
        }
        self
    }

    pub fn filled(&self, entries: &[(&str, &str)]) -> Self {
        let mut form = self.clone();
        for (name, value) in entries {
            form.set(name, value);
        }
        form
    }

    pub fn body(&self) -> String {
        let mut body = form_urlencoded(&self.fields);
        if body.is_empty() {
            body.push('&');
        }
        body
    }

    pub fn send(&self, client: &mut Client) -> Response {
        self.send_with(client, &[])
    }

    /// Sends the form with further headers.
    pub fn send_with(&self, client: &mut Client, headers: &[&str]) -> Response {
        let headers = [&["Content-Type: application/x-www-form-urlencoded"], headers].concat();
        client.send("POST", &self.action, &headers, self.body().as_bytes())
    }
}

pub fn form_urlencoded(fields: &[(String, String)]) -> String {
    let encode = |text: &str| {
        let bytes = text.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
            b' ' => "+".to_owned(),
            _ => format!("%{byte:02X}"),
        });
        bytes.collect::<String>()
    };
    fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect::<Vec<_>>().join("&")
}

/// Where a response leads to, as a path of the server.
pub fn followed(response: &Response, from: &str) -> String {
    let location = response.header("location").expect("a location");
    if let Some(absolute) = location.strip_prefix("http://") {
        return format!("/{}", absolute.split_once('/').unwrap().1);
    }
    // Relative to the last segment of the path (RFC 3986, section 5.3).
    let mut segments: Vec<_> = from.split('/').collect();
    segments.pop();
    for segment in location.split('/') {
        match segment {
            ".." => segments.truncate(segments.len() - 1),
            _ => segments.push(segment),
        }
    }
    segments.join("/")
}

/// Submits the form of the sandbox's checkout page with this outcome. Returns the path to which the customer comes back.
pub fn pay(client: &mut Client, checkout: &str, outcome: &str) -> String {
    let form = "Content-Type: application/x-www-form-urlencoded";
    let paid = client.send("POST", checkout, &[form], format!("outcome={outcome}").as_bytes()).expect(303);
    followed(&paid, checkout)
}

/// The text of a page with plain spaces: dates and amounts have spaces at which no line breaks.
pub fn text(page: &Response) -> String {
    page.text().replace('\u{A0}', " ")
}
