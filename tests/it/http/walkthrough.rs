//! A walkthrough that calls every operation once. The server has a fixed clock and seeded ids, so that each run has the
//! same requests and responses. They are the examples in the OpenAPI document. The clock is far in the future, so that
//! a reader can send the requests: the event is not over, and its sale has begun.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use ticketing::TicketingService;
use ticketing::environment::{ManualClock, SeededEntropy};

use crate::common::Database;
use crate::common::http::{Client, Response, Server};
use crate::common::outbox;

/// An operation of the OpenAPI document.
pub(crate) struct Operation {
    /// The `operationId`.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// The operation object.
    pub(crate) spec: Value,
}

/// The OpenAPI document of a server.
pub(crate) struct Document(pub(crate) Value);

pub(crate) const METHODS: [&str; 5] = ["get", "post", "patch", "put", "delete"];

impl Operation {
    /// The path of resources that do not exist.
    pub(crate) fn path_of_unknown(&self) -> String {
        let segments = self.path.split('/').map(|segment| if segment.starts_with('{') { "none" } else { segment });
        segments.collect::<Vec<_>>().join("/")
    }

    /// The path with these parameters, in their order.
    pub(crate) fn path_with<'a>(&self, parameters: impl IntoIterator<Item = &'a str>) -> String {
        parameters.into_iter().fold(self.path.clone(), |path, parameter| {
            let (before, rest) = path.split_once('{').unwrap();
            format!("{before}{parameter}{}", rest.split_once('}').unwrap().1)
        })
    }
}

impl Document {
    pub(crate) fn of(server: &Server) -> Self {
        Self(server.client_with("").get("/openapi.json").expect(200).json())
    }

    /// Every operation, including those outside `/v1`.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let mut operations = Vec::new();
        for (path, item) in self.0["paths"].as_object().unwrap() {
            for method in METHODS.into_iter().filter(|method| item.get(method).is_some()) {
                let spec = item[method].clone();
                let name = spec["operationId"].as_str().unwrap().to_owned();
                operations.push(Operation { name, method: method.to_uppercase(), path: path.clone(), spec });
            }
        }
        operations
    }

    pub(crate) fn operation(&self, name: &str) -> Operation {
        self.operations().into_iter().find(|operation| operation.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// Follows the `$ref` of a value, if it has one.
    pub(crate) fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.resolve(self.0.pointer(reference.strip_prefix('#').unwrap()).unwrap()),
            None => value,
        }
    }

    /// Validates a value against a schema of this document. Returns the errors; an undocumented field is one too.
    pub(crate) fn schema_errors(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut root = json!({"allOf": [schema], "components": {"schemas": self.0["components"]["schemas"]}});
        root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        let validator = jsonschema::options().should_validate_formats(true).build(&root).unwrap();
        let mut errors: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        self.find_undocumented(schema, value, "", &mut errors);
        errors
    }

    fn find_undocumented(&self, schema: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
        let schema = self.resolve(schema);
        // In a combination of schemas, the part with properties documents the fields.
        let parts = ["anyOf", "allOf"].into_iter().filter_map(|name| schema.get(name)?.as_array()).flatten();
        let has_properties = |part: &&Value| part.get("properties").is_some();
        let schema = parts.map(|part| self.resolve(part)).find(has_properties).unwrap_or(schema);
        match value {
            Value::Object(members) if schema.get("properties").is_some() => {
                for (name, member) in members {
                    match schema["properties"].get(name) {
                        Some(field) => self.find_undocumented(field, member, &format!("{path}/{name}"), errors),
                        None => errors.push(format!("{path}/{name} is not documented")),
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.find_undocumented(&schema["items"], item, &format!("{path}/{index}"), errors);
                }
            }
            _ => {}
        }
    }

    /// Asserts that the document describes this response of the operation: status, headers, media type and schema.
    pub(crate) fn check(&self, operation: &Operation, response: &Response) {
        let name = &operation.name;
        let status = response.status.to_string();
        let spec = &operation.spec["responses"][&status];
        assert!(spec.is_object(), "{name}: status {status} is not documented: {response:?}");
        let spec = self.resolve(spec);
        for (header, header_spec) in spec["headers"].as_object().unwrap() {
            let is_required = self.resolve(header_spec)["required"] == true;
            assert!(!is_required || response.header(header).is_some(), "{name} {status} has no {header}");
        }
        let Some(content) = spec["content"].as_object() else {
            assert!(response.body.is_empty(), "{name} {status} has a body");
            return;
        };
        let media_type = response.header("content-type").unwrap().split(';').next().unwrap();
        let content = content.get(media_type).unwrap_or_else(|| panic!("{name} {status} is {media_type}"));
        if media_type.ends_with("json") {
            let errors = self.schema_errors(&content["schema"], &response.json());
            assert!(errors.is_empty(), "{name} {status}: {errors:#?}: {}", response.text());
        }
        if media_type == "application/problem+json" {
            // The examples list every problem that the response can be.
            let kind = |problem: &Value| ["type", "title", "status", "reason"].map(|member| problem[member].clone());
            let problem = kind(&response.json());
            let mut examples = content["examples"].as_object().unwrap().values();
            assert!(examples.any(|example| kind(&example["value"]) == problem), "{name}: {problem:?}");
        }
    }
}

/// A server on which the walkthrough has run.
pub(crate) struct Walkthrough {
    pub(crate) server: Server,
    pub(crate) document: Document,
    /// By operation: its `path`, and its `request` and `response` if they have a body. `minimal` is a request with few
    /// fields.
    pub(crate) examples: Map<String, Value>,
}

/// Calls operations and records each call as an example.
struct Recorder<'a> {
    client: Client,
    service: TicketingService,
    document: &'a Document,
    /// For what the API cannot do: recording the attempts of a webhook delivery.
    database: Database,
    examples: Map<String, Value>,
    /// By operation: a request with few fields, of an operation that is not recorded yet.
    minimal: Map<String, Value>,
}

impl Recorder<'_> {
    /// Calls an operation with few fields, and records the request as the first one of its example.
    fn call_minimal(&mut self, name: &str, parameters: &[&Value], request: Value) -> Value {
        let operation = self.document.operation(name);
        let path = operation.path_with(parameters.iter().map(|parameter| parameter.as_str().unwrap()));
        let response = self.client.json(&operation.method, &path, &request);
        assert!((200..300).contains(&response.status), "{name}: {response:?}");
        self.minimal.insert(name.to_owned(), request);
        response.json()
    }

    /// Calls an operation with these path parameters, in their order, and this query string. Checks the request and the
    /// response against the document, records them, and returns the body of the response.
    fn call(&mut self, name: &str, parameters: &[&Value], query: &str, request: Option<Value>) -> Value {
        let operation = self.document.operation(name);
        let path = operation.path_with(parameters.iter().map(|parameter| parameter.as_str().unwrap())) + query;
        let response = match &request {
            Some(body) => {
                let schema = &operation.spec["requestBody"]["content"]["application/json"]["schema"];
                let errors = self.document.schema_errors(schema, body);
                assert!(errors.is_empty(), "{name}: {errors:#?}");
                self.client.json(&operation.method, &path, body)
            }
            None => self.client.send(&operation.method, &path, &[], b""),
        };
        assert!((200..300).contains(&response.status), "{name}: {response:?}");
        self.document.check(&operation, &response);
        let is_json = response.header("content-type").is_some_and(|media_type| media_type.ends_with("json"));
        let body = if is_json { response.json() } else { Value::Null };
        let mut example = json!({"path": path});
        if let Some(request) = request {
            example["request"] = request;
        }
        if let Some(minimal) = self.minimal.remove(name) {
            example["minimal"] = minimal;
        }
        if !body.is_null() {
            example["response"] = body.clone();
        }
        let previous = self.examples.insert(name.to_owned(), example);
        assert!(previous.is_none(), "{name} is called twice");
        body
    }

    /// Creates a resource that later calls need, without recording it, and returns its id.
    fn create_unrecorded(&mut self, path: &str, body: &Value) -> Value {
        self.client.post(path, body).expect(201).json()["id"].clone()
    }
}

impl Walkthrough {
    pub(crate) fn run() -> Self {
        let clock = ManualClock::new("2100-06-01T12:00:00Z".parse().unwrap());
        let server = Server::with(
            |builder| {
                let builder = builder.public_url("https://tickets.example.com").sandbox_gateway();
                #[cfg(feature = "documents")]
                let builder = builder.ticket_documents(ticketing::documents::TicketDocuments::default());
                // Nothing is sent: the mails of the walkthrough wait.
                #[cfg(feature = "mail")]
                let builder = {
                    let nowhere = ticketing::mail::FolderTransport::new("no-folder");
                    builder.mail(ticketing::mail::MailOptions::new(nowhere, "tickets@example.com").threads(false))
                };
                builder.clock(clock).entropy(SeededEntropy::new(1))
            },
            |options| options.rate_limit = None,
        );
        let document = Document::of(&server);
        let mut recorder = Recorder {
            client: server.client(),
            service: server.service.clone(),
            document: &document,
            database: server.database(),
            examples: Map::new(),
            minimal: Map::new(),
        };
        call_with_few_fields(&mut recorder);
        call_sales_operations(&mut recorder);
        call_webhook_operations(&mut recorder);
        list_refunds(&mut recorder);
        let examples = recorder.examples;
        Self { server, document, examples }
    }
}

/// The proof that the code of a ticket was seen.
fn proof(event: &str, code: &str) -> String {
    use base64::Engine;
    let hash = Sha256::digest(format!("scan{event}{code}"));
    base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(&hash[..16])
}

/// A sale with the fields that are required.
fn call_with_few_fields(recorder: &mut Recorder<'_>) {
    let event = json!({
        "title": "Jam Session", "slug": "jam-session", "startDate": "2100-07-02T18:00:00Z", "deliveryMethod": "DIGITAL",
    });
    let event = recorder.call_minimal("create_event", &[], event)["id"].clone();
    let ticket_type = json!({"name": "Seat", "price": 12.5, "quantity": 100});
    let ticket_type = recorder.call_minimal("create_ticket_type", &[&event], ticket_type)["id"].clone();
    let discount = json!({
        "eventId": event, "code": "TEN", "type": "PERCENTAGE", "value": 10, "validFrom": "2026-05-01T00:00:00Z",
        "validTo": "2100-07-02T18:00:00Z",
    });
    recorder.call_minimal("create_discount", &[], discount);
    recorder.call_minimal("update_event", &[&event], json!({"status": "PUBLISHED"}));
    let order = json!({
        "eventId": event, "customer": {"name": "Alan Turing", "email": "alan@example.com"},
        "items": [{"ticketId": ticket_type, "quantity": 2}],
    });
    recorder.call_minimal("create_order", &[], order);
}

fn call_sales_operations(recorder: &mut Recorder<'_>) {
    let event = json!({
        "title": "Summer Night", "slug": "summer-night", "description": "Jazz under the trees",
        "location": "Riverside Park, Berlin", "currency": "EUR", "timezone": "Europe/Berlin",
        "startDate": "2100-07-01T18:00:00Z", "endDate": "2100-07-01T22:00:00Z",
        "coverImage": "https://example.com/summer-night.jpg", "isPublic": true, "status": "PUBLISHED",
        "deliveryMethod": "PHYSICAL", "shippingCountries": ["DE", "AT"], "acceptsCompany": true,
        "reference": "tour-2100-3", "metadata": {"stage": "east"},
    });
    let event = recorder.call("create_event", &[], "", Some(event))["id"].clone();
    let changes = json!({"description": "Jazz under the old trees", "endDate": "2100-07-01T23:00:00Z"});
    recorder.call("update_event", &[&event], "", Some(changes));
    let settings = json!({
        "tags": ["jazz", "open air"], "isFeatured": true, "locationMetadata": {"stage": "east"},
        "trackingPixels": ["https://example.com/pixel"], "disableOrganizerOrderNotifications": false,
        "dayStartsAt": "06:00",
    });
    recorder.call("update_event_settings", &[&event], "", Some(settings));
    recorder.call("record_page_view", &[&event], "", None);

    let ticket_type = json!({
        "name": "Seat", "price": 12.5, "quantity": 1000, "description": "One of the good ones", "status": "ON_SALE",
        "displayRemaining": true, "validityDays": 2, "validityHours": 48, "accessAreas": ["Lawn"], "maxPerOrder": 10,
        "sortOrder": 1, "ticketText": "Bring a blanket", "ticketLogo": "https://example.com/logo.png",
        "validFrom": "2026-06-01T00:00:00Z", "validUntil": "2100-07-03T00:00:00Z",
        "allowedDates": ["2100-06-01T12:00:00Z", "2100-07-01T18:00:00Z"],
        "saleStartDate": "2026-05-01T00:00:00Z", "saleEndDate": "2100-07-01T18:00:00Z",
        "reference": "lawn", "metadata": {"block": "A"},
    });
    let ticket_type = recorder.call("create_ticket_type", &[&event], "", Some(ticket_type))["id"].clone();
    recorder.call("update_ticket_type", &[&ticket_type], "", Some(json!({"quantity": 1200, "validityHours": null})));
    recorder.call("get_ticket_type", &[&ticket_type], "", None);

    let discount = json!({
        "eventId": event, "code": "EARLY", "type": "FIXED_AMOUNT", "value": 5, "description": "For early birds",
        "usageLimit": 100, "validFrom": "2026-05-01T00:00:00Z", "validTo": "2100-06-15T00:00:00Z",
        "minimumPurchase": 20, "applicableTicketTypes": [ticket_type], "isActive": true, "autoApply": false,
    });
    let discount = recorder.call("create_discount", &[], "", Some(discount))["id"].clone();
    recorder.call(
        "update_discount",
        &[&discount],
        "",
        Some(json!({"usageLimit": 200, "validTo": "2100-06-20T00:00:00Z"})),
    );
    recorder.call("get_discount", &[&discount], "", None);
    let basket = json!({
        "eventId": event, "code": "early", "orderAmount": 25,
        "ticketItems": [{"ticketId": ticket_type, "quantity": 2, "price": 12.5}],
    });
    recorder.call("validate_discount", &[], "", Some(basket));

    let order = json!({
        "eventId": event,
        "customer": {"email": "ada@example.com", "name": "Ada Lovelace", "companyName": "Engines Ltd", "locale": "en-GB",
            "metadata": {"crm": "4711"}},
        "items": [{"ticketId": ticket_type, "quantity": 2}],
        "discountCode": "EARLY", "affiliateCode": "newsletter", "language": "en",
        "reference": "basket-815", "metadata": {"campaign": "spring"},
        "shippingAddress": {"street": "1 Park Row", "zip": "10115", "city": "Berlin", "country": "DE"},
        "checkoutRedirectUrls": {
            "success": "https://example.com/thanks", "failure": "https://example.com/again",
            "cancel": "https://example.com/basket",
        },
    });
    let order = recorder.call("create_order", &[], "", Some(order))["order"]["id"].clone();
    recorder.call("get_checkout", &[&order], "", None);
    recorder.call("renew_checkout", &[&order], "", None);
    recorder.call("mark_checkout_reminder_sent", &[&order], "", None);
    recorder.call("mark_order_paid", &[&order], "", Some(json!({"how": "CASH", "note": "At the box office"})));
    recorder.call("get_order", &[&order], "", None);
    recorder.call("get_order_details", &[&order], "", None);
    let guest = json!({
        "ticketId": ticket_type, "quantity": 2, "customer": {"email": "grace@example.com", "name": "Grace Hopper", "locale": "en-US", "metadata": {"crm": "4712"}},
    });
    let issued = recorder.call("issue_tickets", &[], "", Some(guest))["issuedTickets"].clone();
    let scan = json!({"code": issued[0]["code"], "eventId": event});
    recorder.call("check_in_ticket", &[], "", Some(scan.clone()));
    recorder.call("check_out_ticket", &[], "", Some(scan));
    let link = json!({"name": "Gate A", "until": "2100-07-02T06:00:00Z"});
    let link = recorder.call("create_door_link", &[&event], "", Some(link))["id"].clone();
    recorder.call("get_roster", &[&event], "?limit=100", None);
    recorder.call("get_roster_order", &[&event, &order], "", None);
    let scans = json!({
        "eventId": event, "device": "Gate A, phone 1",
        "scans": [
            {"id": "0192f0c1-2a3b-7c4d-8e5f-0123456789ab", "code": issued[0]["code"], "kind": "IN",
                "scannedAt": "2100-06-01T11:58:00Z", "verdict": "ADMITTED", "override": false},
            {"id": "0192f0c1-2a3b-7c4d-8e5f-0123456789ac", "ticketId": issued[0]["id"], "kind": "OUT",
                "proof": proof(event.as_str().unwrap(), issued[0]["code"].as_str().unwrap()),
                "scannedAt": "2100-06-01T11:59:00Z", "verdict": "ADMITTED", "override": false},
        ],
    });
    let uploaded = recorder.call("upload_scans", &[], "", Some(scans));
    assert_eq!(uploaded["results"][1]["outcome"], "LEFT");
    recorder.call("list_scans", &[&event], "?limit=10", None);
    recorder.call("list_door_links", &[&event], "?limit=10", None);
    recorder.call("revoke_door_link", &[&event, &link], "", None);
    recorder.call("get_ticket", &[&issued[0]["id"]], "", None);
    let by_code = format!("?code={}", issued[0]["code"].as_str().unwrap());
    recorder.call("get_ticket_by_code", &[], &by_code, None);
    #[cfg(feature = "documents")]
    {
        recorder.call("get_order_document", &[&order], "", None);
        recorder.call("get_ticket_document", &[&issued[0]["id"]], "", None);
        recorder.call("renew_ticket_link", &[&issued[0]["id"]], "", None);
    }
    #[cfg(feature = "mail")]
    {
        recorder.call("get_mail_settings", &[], "", None);
        let settings = json!({
            "mailEnabled": true, "senderName": "Jazz Cellar", "replyTo": "help@example.com",
            "notifyAddress": "office@example.com", "mailIntro": "We look forward to seeing you.",
            "mailFooter": "Jazz Cellar, 1 Park Row, 10115 Berlin", "paymentReminderMinutes": 10,
        });
        recorder.call("update_mail_settings", &[], "", Some(settings));
        recorder.call("preview_mail", &[&order], "?kind=TICKETS", None);
        recorder.call("resend_tickets", &[&order], "", Some(json!({"to": "ada@example.org"})));
        recorder.call("resend_ticket", &[&issued[0]["id"]], "", Some(json!({"to": "grace@example.org"})));
        let of_order = format!("?orderId={}&kind=TICKETS&limit=10", order.as_str().unwrap());
        recorder.call("list_mails", &[], &of_order, None);
    }
    recorder.call("cancel_ticket", &[&issued[1]["id"]], "", None);
    recorder.call("cancel_order", &[&order], "", Some(json!({})));
    let given_back = json!({"amount": 15, "how": "CASH", "note": "At the box office"});
    let given_back = recorder.call("mark_order_refunded", &[&order], "", Some(given_back));
    recorder.call("get_order_balance", &[&order], "", None);
    recorder.call("withdraw_refund", &[&given_back["settled"][0]["refundId"]], "", None);
    recorder.call("list_disputes", &[], "?status=OPEN", None);

    recorder.call("get_event", &[&event], "", None);
    recorder.call("get_event_summary", &[&event], "", None);
    recorder.call("get_event_sales", &[&event], "?interval=hour&from=2100-06-01T00:00:00Z", None);
    recorder.call("get_event_arrivals", &[&event], "?from=2100-06-01T06:00:00Z", None);
    recorder.call("create_report_link", &[&event], "", None);
    recorder.call("revoke_report_link", &[&event], "", None);
    #[cfg(feature = "exports")]
    {
        recorder.call("get_settlement", &[&event], "", None);
        let of_event = format!("?eventId={}", event.as_str().unwrap());
        for kind in ["ledger", "orders", "attendees", "check_ins", "settlement"] {
            recorder.call(&format!("export_{kind}"), &[], &of_event, None);
        }
    }
    recorder.call("list_events", &[], "?status=PUBLISHED&q=night&limit=10", None);
    recorder.call("list_ticket_types", &[&event], "", None);
    recorder.call("list_orders", &[], "?customerEmail=ada%40example.com", None);
    recorder.call("list_tickets", &[], "?status=NOT_CHECKED_IN&limit=1", None);
    recorder.call("list_discounts", &[], "?isActive=true", None);

    let other = json!({
        "title": "Winter Night", "slug": "winter-night", "startDate": "2100-12-01T18:00:00Z", "deliveryMethod": "DIGITAL",
    });
    let other = recorder.create_unrecorded("/v1/events", &other);
    let path = format!("/v1/events/{}/ticket-types", other.as_str().unwrap());
    let box_seat = recorder.create_unrecorded(&path, &json!({"name": "Box", "price": 0, "quantity": 1}));
    let unused = json!({
        "eventId": other, "code": "UNUSED", "type": "PERCENTAGE", "value": 10, "validFrom": "2026-05-01T00:00:00Z",
        "validTo": "2100-06-15T00:00:00Z",
    });
    let unused = recorder.create_unrecorded("/v1/discounts", &unused);
    recorder.call("delete_discount", &[&unused], "", None);
    recorder.call("delete_ticket_type", &[&box_seat], "", None);
    recorder.call("delete_event", &[&other], "", None);
    call_allocation_operations(recorder);
    cancel_event_orders(recorder);
}

/// Sets tickets aside, gives one to a guest, and imports tickets.
fn call_allocation_operations(recorder: &mut Recorder<'_>) {
    let event = json!({
        "title": "Spring Night", "slug": "spring-night", "startDate": "2100-08-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED",
    });
    let event = recorder.create_unrecorded("/v1/events", &event);
    let path = format!("/v1/events/{}/ticket-types", event.as_str().unwrap());
    let seat = recorder.create_unrecorded(&path, &json!({"name": "Seat", "price": 20, "quantity": 1000}));
    let guests = json!({
        "name": "Guest list", "quantity": 2, "labels": ["Ada Lovelace, press", "Row A, seat 3"], "reference": "G-1",
        "metadata": {"host": "Grace"},
    });
    let allocation = recorder.call("create_allocation", &[&seat], "", Some(guests))["id"].clone();
    recorder.service.run_maintenance().expect("a run");
    recorder.call("get_allocation", &[&allocation], "", None);
    #[cfg(feature = "documents")]
    recorder.call("get_allocation_document", &[&allocation], "?from=1", None);
    let tickets = format!("/v1/tickets?allocationId={}", allocation.as_str().unwrap());
    let ticket = recorder.client.get(&tickets).expect(200).json()["data"][1]["id"].clone();
    let guest =
        json!({"customer": {"name": "Ada Lovelace", "email": "ada@example.com", "locale": "en-GB", "metadata": {}}});
    recorder.call("assign_ticket", &[&ticket], "", Some(guest));
    let import = json!({
        "name": "Box office", "notify": false,
        "tickets": [
            {"code": "4006381333931", "label": "Row B, seat 1", "holder": {"name": "Alan Turing", "email": "alan@example.com"}},
            {"code": "4006381333948"},
        ],
    });
    recorder.call("import_tickets", &[&seat], "", Some(import));
    let of_event = format!("?eventId={}&ticketId={}&state=COMPLETE", event.as_str().unwrap(), seat.as_str().unwrap());
    recorder.call("list_allocations", &[], &of_event, None);
    recorder.call("cancel_allocation", &[&allocation], "", None);
}

/// Cancels an event with an order that was paid in cash, and its orders.
fn cancel_event_orders(recorder: &mut Recorder<'_>) {
    let event = json!({
        "title": "Autumn Night", "slug": "autumn-night", "startDate": "2100-09-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED",
    });
    let event = recorder.create_unrecorded("/v1/events", &event);
    let path = format!("/v1/events/{}/ticket-types", event.as_str().unwrap());
    let seat = recorder.create_unrecorded(&path, &json!({"name": "Seat", "price": 20, "quantity": 10}));
    let order = json!({
        "eventId": event, "customer": {"name": "Ada Lovelace", "email": "ada@example.com"},
        "items": [{"ticketId": seat, "quantity": 2}], "payment": "PAID",
    });
    recorder.client.post("/v1/orders", &order).expect(201);
    let path = format!("/v1/events/{}", event.as_str().unwrap());
    recorder
        .client
        .send("PATCH", &path, &["Content-Type: application/json"], br#"{"status": "CANCELLED"}"#)
        .expect(200);
    let reason = json!({"refund": true, "reason": "The park is flooded"});
    recorder.call("cancel_event_orders", &[&event], "", Some(reason));
    recorder.call("get_cancellation_run", &[&event], "", None);
}

fn call_webhook_operations(recorder: &mut Recorder<'_>) {
    let webhook = json!({
        "url": "https://example.com/hook", "description": "The bookkeeping's",
        "events": ["order.completed", "order.cancelled", "ticket.issued"], "enabled": true,
    });
    let webhook = recorder.call("create_webhook", &[], "", Some(webhook))["id"].clone();
    recorder.call("get_webhook", &[&webhook], "", None);
    recorder.call("list_webhooks", &[], "?limit=10", None);
    recorder.call("rotate_webhook_secret", &[&webhook], "", None);

    let ticket_type = recorder.examples["get_ticket_type"]["response"]["id"].clone();
    let guest = json!({"ticketId": ticket_type, "quantity": 1, "customer": {"email": "grace@example.com", "name": "Grace Hopper"}});
    recorder.client.post("/v1/tickets/issue", &guest).expect(201);
    outbox::record_attempt(&recorder.database, outbox::rows(&recorder.database)[0].id, 1, Some(503));
    let deliveries =
        recorder.call("list_webhook_deliveries", &[&webhook], "?success=false&eventType=TICKET_ISSUED", None);
    recorder.call("resend_webhook_delivery", &[&webhook, &deliveries["data"][0]["id"]], "", None);

    recorder.call("update_webhook", &[&webhook], "", Some(json!({"description": null, "events": ["order.completed"]})));
    let unused = recorder
        .create_unrecorded("/v1/webhooks", &json!({"url": "https://example.com/unused", "events": ["ticket.issued"]}));
    recorder.call("delete_webhook", &[&unused], "", None);
}

/// Lists the refund of an order that was paid on the sandbox's checkout page, and then cancelled.
fn list_refunds(recorder: &mut Recorder<'_>) {
    let mut order = recorder.examples["create_order"]["request"].clone();
    order["discountCode"] = Value::Null;
    let created = recorder.client.post("/v1/orders", &order).expect(201).json();
    let page = created["checkoutUrl"].as_str().unwrap().strip_prefix("https://tickets.example.com").unwrap();
    let form = ["Content-Type: application/x-www-form-urlencoded"];
    recorder.client.send("POST", page, &form, b"outcome=success").expect(303);
    let order = &created["order"]["id"];
    let paid = recorder.client.get(&format!("/v1/orders/{}", order.as_str().unwrap())).expect(200).json();
    let ticket = &paid["items"][0]["issuedTickets"][0]["id"];
    recorder.call("refund_order", &[order], "", Some(json!({"tickets": [ticket], "reason": "The guest is ill"})));
    recorder.client.post_empty(&format!("/v1/orders/{}/cancel", order.as_str().unwrap())).expect(200);
    recorder.call("list_refunds", &[], "?status=DONE", None);
    recorder.call("list_payments", &[], "?mode=TEST", None);
    recorder.call(
        "list_ledger_entries",
        &[],
        "?kind=REFUND&from=2100-06-01T00:00:00Z&before=2100-07-01T00:00:00Z",
        None,
    );
}
