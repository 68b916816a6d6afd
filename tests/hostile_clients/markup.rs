//! Texts that would like to be more than texts: on the checkout page, and in the header that says where to go next.

use crate::common::http::{Client, Server, event_on_sale, id, order_of};
use crate::common::log;
use serde_json::{Value, json};

const FORM: &[&str] = &["Content-Type: application/x-www-form-urlencoded"];

fn server() -> Server {
    log::capture();
    Server::with(ticketing::Builder::sandbox_gateway, |options| options.rate_limit = None)
}

fn new_event(title: &str, slug: &str) -> Value {
    json!({"title": title, "slug": slug, "startDate": "9000-06-01T18:00:00Z", "deliveryMethod": "DIGITAL"})
}

/// Bytes as a URL spells them, each with an escape.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

/// The texts of a page, and its tags with what is in them: a piece each, in their order.
fn tags_and_texts(html: &str) -> (Vec<String>, String) {
    let (mut tags, mut texts, mut rest) = (Vec::new(), String::new(), html);
    while let Some((text, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        texts.push_str(text);
        texts.push('\n');
        tags.push(tag.to_owned());
        rest = after;
    }
    texts.push_str(rest);
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&minus;", "−"), ("&amp;", "&")];
    let shown = entities.iter().fold(texts, |texts, (entity, letter)| texts.replace(entity, letter));
    (tags, shown)
}

fn path_of(link: &str) -> String {
    format!("/{}", link.splitn(4, '/').nth(3).unwrap())
}

/// Orders one and gives the address of its page.
fn checkout(client: &mut Client, event: &str, seat: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut order = order_of(event, seat, 1);
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
fn what_people_write_is_text_on_the_checkout_page() {
    let server = server();
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "plain");
    let path = checkout(&mut client, &event, &seat, |_| {});
    let plain = client.get(&path).expect(200);
    let (tags, _) = tags_and_texts(plain.text());
    assert!(tags.len() > 20 && tags.iter().any(|tag| tag == "h1"));
    let mut pages = Vec::new();
    for (number, hostile) in HOSTILE.iter().enumerate() {
        let mut event = new_event(&format!("T1{hostile}T2"), &format!("h{number}"));
        event["status"] = json!("PUBLISHED");
        let event = id(&client.post("/v1/events", &event).expect(201));
        let seat = json!({"name": format!("N1{hostile}N2"), "price": 12.5, "quantity": 10});
        let seat = id(&client.post(&format!("/v1/events/{event}/ticket-types"), &seat).expect(201));
        let path = checkout(&mut client, &event, &seat, |order| {
            order["customer"]["name"] = json!(format!("C1{hostile}C2"));
            order["customer"]["email"] = json!("o'neill+<b>@example.com".replace(['<', '>'], ""));
            order["affiliateCode"] = json!(hostile);
            order["language"] = json!(hostile);
        });
        let page = client.get(&path).expect(200);
        assert!(page.headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("set-cookie")));
        let (found, shown) = tags_and_texts(page.text());
        assert_eq!(found, tags, "no tag and no attribute is theirs: {hostile:?}");
        for text in [format!("T1{hostile}T2"), format!("N1{hostile}N2")] {
            assert!(shown.contains(&text), "{text:?}: {shown}");
        }
        pages.push(path);
    }
    // Nor where the order is paid, or its address is wrong.
    for path in &pages {
        client.send("POST", path, FORM, b"outcome=success").expect(303);
        let (tags, _) = tags_and_texts(client.get(path).expect(200).text());
        assert!(["alert", "svg", "img", "script", "button"].iter().all(|tag| !tags.iter().any(|of| of.contains(tag))));
    }
    for hostile in HOSTILE {
        let answer = client.get(&format!("/checkout/{}", escaped(hostile.as_bytes())));
        assert_eq!(answer.status, 404);
        assert!(!answer.text().contains("alert") && !answer.text().contains("gnp"), "{}", answer.text());
    }
    let tokens: Vec<_> = pages.iter().map(|path| path.rsplit_once('/').unwrap().1).collect();
    log::capture().assert_clean(&[&tokens[..], &[&server.key, "o'neill", "@example.com", "C1<"]].concat());
}

#[test]
fn where_the_customer_goes_next_is_one_header_and_nothing_else() {
    let server = server();
    let mut client = server.client();
    let (event, seat) = event_on_sale(&mut client, "summer-night");
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
        let mut order = order_of(&event, &seat, 1);
        order["checkoutRedirectUrls"] = urls(url);
        let all = ["checkoutRedirectUrls.success", "checkoutRedirectUrls.failure", "checkoutRedirectUrls.cancel"];
        assert_eq!(client.post("/v1/orders", &order).paths(), all, "{url:?}");
    }
    for url in ["https://a.example/%0d%0aSet-Cookie:%20a=b", "https://a.example/?a='b'&c=%3Cscript%3E#%00", "urn:x:y"] {
        for outcome in ["success", "failure", "cancel"] {
            let path = checkout(&mut client, &event, &seat, |order| order["checkoutRedirectUrls"] = urls(url));
            let form = format!("outcome={outcome}");
            let next = client.send("POST", &path, FORM, form.as_bytes());
            assert_eq!(next.expect(303).header("location"), Some(url));
        }
    }
    // Without such an address it is the page's own, however it was written.
    let path = checkout(&mut client, &event, &seat, |_| {});
    let (folder, token) = path.rsplit_once('/').unwrap();
    let written = format!("{folder}/{}?x=%0d%0aX:y", escaped(token.as_bytes()));
    let next = client.send("POST", &written, FORM, b"outcome=failure").expect(303);
    let place = next.header("location").unwrap();
    assert!(place.starts_with("/checkout/") && !place.contains(['\r', '\n', '?']), "{place}");
    client.get(place).expect(200);
}
