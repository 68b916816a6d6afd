//! A story that has every operation in it once, told to a server that shows the same instant and draws the same ids each
//! time. What is asked and answered in it are the examples of the document.

use serde_json::{Map, Value, json};
use ticketing::{ManualClock, SeededEntropy};

use crate::common::Database;
use crate::common::http::{Client, Response, Server};
use crate::common::outbox;

/// One operation of the document.
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) described: Value,
}

/// The document of a server.
pub(crate) struct Document(pub(crate) Value);

const METHODS: [&str; 5] = ["get", "post", "patch", "put", "delete"];

impl Document {
    pub(crate) fn of(server: &Server) -> Self {
        Self(server.client_with("").get("/openapi.json").expect(200).json())
    }

    /// Every operation, those outside `/v1` too.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let mut operations = Vec::new();
        for (path, item) in self.0["paths"].as_object().unwrap() {
            for method in METHODS.into_iter().filter(|method| item.get(method).is_some()) {
                let described = item[method].clone();
                let name = described["operationId"].as_str().unwrap().to_owned();
                operations.push(Operation { name, method: method.to_uppercase(), path: path.clone(), described });
            }
        }
        operations
    }

    pub(crate) fn operation(&self, name: &str) -> Operation {
        self.operations().into_iter().find(|operation| operation.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// The same, or what it refers to.
    pub(crate) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(place) => self.resolve(self.0.pointer(place.strip_prefix('#').unwrap()).unwrap()),
            None => value,
        }
    }

    /// What is wrong with a value in the eyes of a schema of this document.
    pub(crate) fn complaints(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut root = json!({"allOf": [schema], "components": {"schemas": self.0["components"]["schemas"]}});
        root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        let validator = jsonschema::options().should_validate_formats(true).build(&root).unwrap();
        let mut complaints: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        self.look_for_undocumented(schema, value, "", &mut complaints);
        complaints
    }

    fn look_for_undocumented(&self, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
        let schema = self.resolve(schema);
        // Of the parts of a schema, the one with properties tells which there are.
        let has_form = |part: &&Value| self.resolve(part).get("properties").is_some();
        let parts = ["anyOf", "allOf"].into_iter().filter_map(|name| schema.get(name)?.as_array()).flatten();
        let schema = parts.map(|part| self.resolve(part)).find(has_form).unwrap_or(schema);
        match value {
            Value::Object(members) if schema.get("properties").is_some() => {
                for (name, member) in members {
                    match schema["properties"].get(name) {
                        Some(of) => self.look_for_undocumented(of, member, &format!("{path}/{name}"), found),
                        None => found.push(format!("{path}/{name} is not documented")),
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look_for_undocumented(&schema["items"], item, &format!("{path}/{index}"), found);
                }
            }
            _ => {}
        }
    }

    /// Holds an answer against what the operation's answers are said to be.
    pub(crate) fn check(&self, operation: &Operation, answer: &Response) {
        let (name, status) = (&operation.name, answer.status.to_string());
        let described = &operation.described["responses"][&status];
        assert!(described.is_object(), "{name} never answers {status}, it says: {answer:?}");
        let described = self.resolve(described);
        for (header, of) in described["headers"].as_object().unwrap() {
            let is_there = answer.header(header).is_some();
            assert!(is_there || self.resolve(of)["required"] != true, "{name} {status} has no {header}");
        }
        let Some(content) = described["content"].as_object() else {
            assert!(answer.body.is_empty(), "{name} {status} has a body");
            return;
        };
        let media_type = answer.header("content-type").unwrap().split(';').next().unwrap();
        let content = content.get(media_type).unwrap_or_else(|| panic!("{name} {status} is {media_type}"));
        if media_type.ends_with("json") {
            let complaints = self.complaints(&content["schema"], &answer.json());
            assert!(complaints.is_empty(), "{name} {status}: {complaints:#?}: {}", answer.text());
        }
    }
}

/// A server after the story was told to it.
pub(crate) struct Story {
    pub(crate) server: Server,
    pub(crate) document: Document,
    /// What was asked and answered, by operation: `path`, and `request` and `response` where they have a body.
    pub(crate) examples: Map<String, Value>,
}

struct Teller<'a> {
    client: Client,
    document: &'a Document,
    /// Where the server keeps everything.
    database: Database,
    examples: Map<String, Value>,
}

impl Teller<'_> {
    /// Asks for an operation, with what its path has in the places of its parameters, and the query.
    fn tell(&mut self, name: &str, parameters: &[&Value], query: &str, request: Option<Value>) -> Value {
        let operation = self.document.operation(name);
        let mut path = operation.path.clone();
        for parameter in parameters {
            let (before, rest) = path.split_once('{').unwrap();
            path = format!("{before}{}{}", parameter.as_str().unwrap(), rest.split_once('}').unwrap().1);
        }
        path += query;
        let answer = match &request {
            Some(body) => {
                let schema = &operation.described["requestBody"]["content"]["application/json"]["schema"];
                let complaints = self.document.complaints(schema, body);
                assert!(complaints.is_empty(), "{name}: {complaints:#?}");
                self.client.json(&operation.method, &path, body)
            }
            None => self.client.send(&operation.method, &path, &[], b""),
        };
        assert!((200..300).contains(&answer.status), "{name}: {answer:?}");
        self.document.check(&operation, &answer);
        let response = if answer.body.is_empty() { Value::Null } else { answer.json() };
        let mut example = json!({"path": path});
        if let Some(request) = request {
            example["request"] = request;
        }
        if !response.is_null() {
            example["response"] = response.clone();
        }
        let told_before = self.examples.insert(name.to_owned(), example);
        assert!(told_before.is_none(), "{name} is in the story twice");
        response
    }

    /// Makes something that only serves the story.
    fn prepare(&mut self, path: &str, body: &Value) -> Value {
        self.client.post(path, body).expect(201).json()["id"].clone()
    }
}

impl Story {
    pub(crate) fn tell() -> Self {
        let clock = ManualClock::at("2026-06-01T12:00:00Z".parse().unwrap());
        let server = Server::with(
            |builder| {
                let builder = builder.public_url("https://tickets.example.com").sandbox_gateway();
                builder.clock(clock).entropy(SeededEntropy::new(1))
            },
            |options| options.rate_limit = None,
        );
        let document = Document::of(&server);
        let mut teller =
            Teller { client: server.client(), document: &document, database: server.database(), examples: Map::new() };
        tell_of_the_sale(&mut teller);
        tell_of_webhooks(&mut teller);
        let examples = teller.examples;
        Self { server, document, examples }
    }
}

fn tell_of_the_sale(story: &mut Teller<'_>) {
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "description": "Jazz under the trees",
        "location": "Riverside Park, Berlin", "currency": "EUR", "timezone": "Europe/Berlin",
        "startDate": "2026-07-01T18:00:00Z", "endDate": "2026-07-01T22:00:00Z",
        "coverImage": "https://example.com/summer-night.jpg", "isPublic": true, "status": "PUBLISHED",
        "deliveryMethod": "PHYSICAL", "shippingCountries": ["DE", "AT"], "acceptsCompany": true,
    });
    let event = story.tell("create_event", &[], "", Some(event))["id"].clone();
    let changes = json!({"description": "Jazz under the old trees", "endDate": "2026-07-01T23:00:00Z"});
    story.tell("update_event", &[&event], "", Some(changes));
    let settings = json!({
        "tags": ["jazz", "open air"], "isFeatured": true, "locationMetadata": {"stage": "east"},
        "trackingPixels": ["https://example.com/pixel"], "disableOrganizerOrderNotifications": false,
    });
    story.tell("update_event_settings", &[&event], "", Some(settings));
    story.tell("record_page_view", &[&event], "", None);

    let seat = json!({
        "name": "Seat", "price": 12.5, "quantity": 1000, "description": "One of the good ones", "status": "ON_SALE",
        "displayRemaining": true, "validityDays": 2, "validityHours": 48, "accessAreas": ["Lawn"], "maxPerOrder": 10,
        "sortOrder": 1, "ticketText": "Bring a blanket", "ticketLogo": "https://example.com/logo.png",
        "validFrom": "2026-06-01T00:00:00Z", "validUntil": "2026-07-03T00:00:00Z",
        "allowedDates": ["2026-06-01T12:00:00Z", "2026-07-01T18:00:00Z"],
        "saleStartDate": "2026-05-01T00:00:00Z", "saleEndDate": "2026-07-01T18:00:00Z",
    });
    let seat = story.tell("create_ticket_type", &[&event], "", Some(seat))["id"].clone();
    story.tell("update_ticket_type", &[&seat], "", Some(json!({"quantity": 1200, "validityHours": null})));
    story.tell("get_ticket_type", &[&seat], "", None);

    let discount = json!({
        "eventId": event, "code": "EARLY", "type": "FIXED_AMOUNT", "value": 5, "description": "For early birds",
        "usageLimit": 100, "validFrom": "2026-05-01T00:00:00Z", "validTo": "2026-06-15T00:00:00Z",
        "minimumPurchase": 20, "applicableTicketTypes": [seat], "isActive": true, "autoApply": false,
    });
    let discount = story.tell("create_discount", &[], "", Some(discount))["id"].clone();
    story.tell(
        "update_discount",
        &[&discount],
        "",
        Some(json!({"usageLimit": 200, "validTo": "2026-06-20T00:00:00Z"})),
    );
    story.tell("get_discount", &[&discount], "", None);
    let basket = json!({
        "eventId": event, "code": "early", "orderAmount": 25,
        "ticketItems": [{"ticketId": seat, "quantity": 2, "price": 12.5}],
    });
    story.tell("validate_discount", &[], "", Some(basket));

    let order = json!({
        "eventId": event,
        "customer": {"email": "ada@example.com", "name": "Ada Lovelace", "companyName": "Engines Ltd", "locale": "en-GB"},
        "items": [{"ticketId": seat, "quantity": 2}],
        "discountCode": "EARLY", "affiliateCode": "newsletter", "language": "en",
        "shippingAddress": {"street": "1 Park Row", "zip": "10115", "city": "Berlin", "country": "DE"},
        "checkoutRedirectUrls": {
            "success": "https://example.com/thanks", "failure": "https://example.com/again",
            "cancel": "https://example.com/basket",
        },
    });
    let order = story.tell("create_order", &[], "", Some(order))["order"]["id"].clone();
    story.tell("mark_checkout_reminder_sent", &[&order], "", None);
    story.tell("mark_order_paid", &[&order], "", Some(json!({})));
    story.tell("get_order", &[&order], "", None);
    story.tell("get_order_details", &[&order], "", None);
    let guest = json!({
        "ticketId": seat, "quantity": 2, "customer": {"email": "grace@example.com", "name": "Grace Hopper", "locale": "en-US"},
    });
    let issued = story.tell("issue_tickets", &[], "", Some(guest))["issuedTickets"].clone();
    let scan = json!({"code": issued[0]["code"], "eventId": event});
    story.tell("check_in_ticket", &[], "", Some(scan.clone()));
    story.tell("check_out_ticket", &[], "", Some(scan));
    story.tell("get_ticket", &[&issued[0]["id"]], "", None);
    story.tell("cancel_ticket", &[&issued[1]["id"]], "", None);
    story.tell("cancel_order", &[&order], "", Some(json!({})));

    story.tell("get_event", &[&event], "", None);
    story.tell("get_event_summary", &[&event], "", None);
    story.tell("list_events", &[], "?status=PUBLISHED&q=night&limit=10", None);
    story.tell("list_ticket_types", &[&event], "", None);
    story.tell("list_orders", &[], "?customerEmail=ada%40example.com", None);
    story.tell("list_tickets", &[], "?status=NOT_CHECKED_IN&limit=1", None);
    story.tell("list_discounts", &[], "?isActive=true", None);

    let other = json!({
        "title": "Winter Night", "slug": "winter-night", "startDate": "2026-12-01T18:00:00Z", "deliveryMethod": "DIGITAL",
    });
    let other = story.prepare("/v1/events", &other);
    let path = format!("/v1/events/{}/ticket-types", other.as_str().unwrap());
    let box_seat = story.prepare(&path, &json!({"name": "Box", "price": 0, "quantity": 1}));
    let unused = json!({
        "eventId": other, "code": "UNUSED", "type": "PERCENTAGE", "value": 10, "validFrom": "2026-05-01T00:00:00Z",
        "validTo": "2026-06-15T00:00:00Z",
    });
    let unused = story.prepare("/v1/discounts", &unused);
    story.tell("delete_discount", &[&unused], "", None);
    story.tell("delete_ticket_type", &[&box_seat], "", None);
    story.tell("delete_event", &[&other], "", None);
}

fn tell_of_webhooks(story: &mut Teller<'_>) {
    let webhook = json!({
        "url": "https://example.com/hook", "description": "The bookkeeping's",
        "events": ["order.completed", "order.cancelled", "ticket.issued"], "enabled": true,
    });
    let webhook = story.tell("create_webhook", &[], "", Some(webhook))["id"].clone();
    story.tell("get_webhook", &[&webhook], "", None);
    story.tell("list_webhooks", &[], "?limit=10", None);
    story.tell("rotate_webhook_secret", &[&webhook], "", None);

    let seat = story.examples["get_ticket_type"]["response"]["id"].clone();
    let guest =
        json!({"ticketId": seat, "quantity": 1, "customer": {"email": "grace@example.com", "name": "Grace Hopper"}});
    story.client.post("/v1/tickets/issue", &guest).expect(201);
    outbox::record_attempt(&story.database, outbox::rows(&story.database)[0].id, 1, Some(503));
    let deliveries = story.tell("list_webhook_deliveries", &[&webhook], "?success=false&eventType=TICKET_ISSUED", None);
    story.tell("resend_webhook_delivery", &[&webhook, &deliveries["data"][0]["id"]], "", None);

    story.tell("update_webhook", &[&webhook], "", Some(json!({"description": null, "events": ["order.completed"]})));
    let unused =
        story.prepare("/v1/webhooks", &json!({"url": "https://example.com/unused", "events": ["ticket.issued"]}));
    story.tell("delete_webhook", &[&unused], "", None);
}
