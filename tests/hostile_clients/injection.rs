//! Injection: HTML on the checkout page, and headers through redirect URLs.

use serde_json::{Value, json};

use crate::common::database::params;
use crate::common::http::{Client, EventOnSale, Server, event_on_sale, id, order_of};
use crate::common::log;

const FORM: &[&str] = &["Content-Type: application/x-www-form-urlencoded"];

fn server() -> Server {
    log::capture();
    Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None)
}

fn new_event(title: &str, slug: &str) -> Value {
    json!({"title": title, "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"})
}

/// Percent-encodes every byte.
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

/// A page, taken apart.
struct Page {
    /// The tags with their attributes, in order.
    tags: Vec<String>,
    /// The text between the tags, as a browser shows it.
    text: String,
}

fn parse_page(html: &str) -> Page {
    let mut tags = Vec::new();
    let mut texts = String::new();
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a complete tag");
        texts.push_str(text);
        texts.push('\n');
        tags.push(without_time(tag).to_owned());
        rest = after;
    }
    texts.push_str(rest);
    let entities = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    let text = entities.iter().fold(texts, |text, (entity, character)| text.replace(entity, character));
    Page { tags, text }
}

/// Removes the value of a `<time>` element, which differs from order to order. It consists of digits and punctuation.
fn without_time(tag: &str) -> &str {
    let time = tag.strip_prefix("time datetime=\"").and_then(|rest| rest.strip_suffix('"'));
    match time {
        Some(time) if time.chars().all(|c| c.is_ascii_digit() || "-:TZ.".contains(c)) => "time",
        _ => tag,
    }
}

/// The name of the element that a tag begins or ends.
fn element(tag: &str) -> &str {
    tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default()
}

fn path_of(link: &str) -> String {
    format!("/{}", link.splitn(4, '/').nth(3).unwrap())
}

/// Creates an order of one ticket, and returns the path of its checkout page.
fn checkout(client: &mut Client, event: &str, ticket_type: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut order = order_of(event, ticket_type, 1);
    change(&mut order);
    path_of(client.post("/v1/orders", &order).expect(201).json()["checkoutUrl"].as_str().unwrap())
}

const HOSTILE: [&str; 14] = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)",
    "<!-- ",
    "--><b>",
    "<![CDATA[<b>]]>",
    "&lt;script&gt;",
    "&#60;script&#62; &amp;amp;",
    "\u{202e}gnp.exe\u{2066}",
    "a\u{1}b\u{7f}c\u{85}d",
    "{{7*7}} ${7*7} %s %n",
    "\r\nSet-Cookie: a=b\r\n\r\n<b>",
];

#[test]
fn html_in_names_is_text_on_the_checkout_page() {
    let server = server();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "plain");
    let path = checkout(&mut client, &event, &ticket_type, |_| {});
    let plain = client.get(&path).expect(200);
    let tags = parse_page(plain.text()).tags;
    assert!(tags.len() > 20 && tags.iter().any(|tag| tag == "h1"));
    // The text with which a title is found is not changed with it.
    server.skip_final_check();
    let mut pages = Vec::new();
    for (number, hostile) in HOSTILE.iter().enumerate() {
        let (title, name) = (format!("T1{hostile}T2"), format!("N1{hostile}N2"));
        let mut event = new_event(&title, &format!("h{number}"));
        event["status"] = json!("PUBLISHED");
        // Only an earlier version has stored control characters.
        let is_refused = hostile.contains(char::is_control);
        if is_refused {
            assert_eq!(client.post("/v1/events", &event).paths(), ["title"]);
            event["title"] = json!(format!("T{number}"));
        }
        let event = id(&client.post("/v1/events", &event).expect(201));
        let stored_name = if is_refused { format!("N{number}") } else { name.clone() };
        let ticket_type = json!({"name": stored_name, "price": 12.5, "quantity": 10});
        let ticket_type = id(&client.post(&format!("/v1/events/{event}/ticket-types"), &ticket_type).expect(201));
        let database = server.database();
        database.execute("UPDATE events SET title = ?1 WHERE title = ?2", params![title, format!("T{number}")]);
        database.execute("UPDATE ticket_types SET name = ?1 WHERE name = ?2", params![name, format!("N{number}")]);
        let path = checkout(&mut client, &event, &ticket_type, |order| {
            let hostile = if is_refused { "" } else { hostile };
            order["customer"]["name"] = json!(format!("C1{hostile}C2"));
            order["customer"]["email"] = json!("o'neill+<b>@example.com".replace(['<', '>'], ""));
            order["affiliateCode"] = json!(hostile);
            order["language"] = json!(hostile);
        });
        let page = client.get(&path).expect(200);
        assert!(page.headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("set-cookie")));
        let page = parse_page(page.text());
        assert_eq!(page.tags, tags, "the name adds no tag and no attribute: {hostile:?}");
        // Without the characters that would change what stands around them, and on one line.
        let shown = hostile.replace(['\u{202e}', '\u{2066}'], "").replace(char::is_control, " ");
        for text in [format!("T1{shown}T2"), format!("N1{shown}N2")] {
            assert!(page.text.contains(&text), "{text:?}: {}", page.text);
        }
        pages.push(path);
    }
    // The same holds for a paid order, and for an unknown token.
    for path in &pages {
        client.send("POST", path, FORM, b"outcome=success").expect(303);
        let tags = parse_page(client.get(path).expect(200).text()).tags;
        for name in ["alert", "svg", "img", "script", "button"] {
            assert!(tags.iter().all(|tag| element(tag) != name), "{name}: {tags:?}");
        }
    }
    for hostile in HOSTILE {
        let response = client.get(&format!("/checkout/{}", percent_encoded(hostile.as_bytes())));
        let text = response.expect(404).text().to_owned();
        assert!(!text.contains("alert") && !text.contains("gnp"), "{text}");
    }
    let tokens: Vec<_> = pages.iter().map(|path| path.rsplit_once('/').unwrap().1).collect();
    log::capture().assert_clean(&[&tokens[..], &[&server.key, "o'neill", "@example.com", "C1<"]].concat());
}

#[test]
fn a_redirect_url_cannot_add_headers() {
    let server = server();
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let urls = |url: &str| json!({"success": url, "failure": url, "cancel": url});
    for url in [
        "https://a.example/\r\nSet-Cookie: a=b",
        "https://a.example/\nX: y",
        "https://a.example/\u{85}",
        "https://a.example/ä",
        "https://a.example/ x",
        "https://a.example/\"><script>",
        "https://a.example/\u{202e}",
        "https://a.example/\t",
        "https://a.example\\@b.example/",
        "//a.example",
        "/relative",
        "a.example",
    ] {
        let mut order = order_of(&event, &ticket_type, 1);
        order["checkoutRedirectUrls"] = urls(url);
        let all = ["checkoutRedirectUrls.success", "checkoutRedirectUrls.failure", "checkoutRedirectUrls.cancel"];
        assert_eq!(client.post("/v1/orders", &order).paths(), all, "{url:?}");
    }
    for url in ["https://a.example/%0d%0aSet-Cookie:%20a=b", "https://a.example/?a='b'&c=%3Cscript%3E#%00", "urn:x:y"] {
        for outcome in ["success", "failure", "cancel"] {
            let path = checkout(&mut client, &event, &ticket_type, |order| order["checkoutRedirectUrls"] = urls(url));
            let form = format!("outcome={outcome}");
            let response = client.send("POST", &path, FORM, form.as_bytes());
            assert_eq!(response.expect(303).header("location"), Some(url));
        }
    }
    // Without redirect URLs, the location is the page, relative to itself, even if the request had a query.
    let path = checkout(&mut client, &event, &ticket_type, |_| {});
    let (folder, token) = path.rsplit_once('/').unwrap();
    let encoded = format!("{folder}/{}?x=%0d%0aX:y", percent_encoded(token.as_bytes()));
    let response = client.send("POST", &encoded, FORM, b"outcome=failure").expect(303);
    let location = response.header("location").unwrap();
    assert!(!location.contains(['\r', '\n', '?', '/', ':']), "{location}");
    client.get(&format!("{folder}/{location}")).expect(200);
}
