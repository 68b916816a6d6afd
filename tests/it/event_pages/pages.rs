//! What the page of an event shows, to whom, and how often it is rendered.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use ticketing::organization::UpdateOrganization;

use super::shop::{self, Shop, event, ticket_type};
use crate::common::python::python;

#[test]
fn what_is_not_shown_is_the_same_page_as_what_does_not_exist() {
    let shop = Shop::new();
    let mut api = shop.api();
    event(&mut api, "draft", &json!({"status": "DRAFTED"}));
    event(&mut api, "private", &json!({"isPublic": false}));
    let mut customer = shop.customer();
    let unknown = customer.get(&format!("/e/{}/unknown", shop.organization)).expect(404);
    for path in ["draft", "private", "draft/order", "private/order?x=1", "draft/cover", "private/event.ics"] {
        let hidden = customer.get(&format!("/e/{}/{path}", shop.organization)).status;
        assert!(hidden == 404 || path.contains("order"), "{path}: {hidden}");
    }
    for path in [
        format!("/e/{}/draft", shop.organization),
        format!("/e/{}/private", shop.organization),
        "/e/org_0000000000000/x".to_owned(),
        "/e/nobody/summer-night".to_owned(),
    ] {
        let hidden = customer.get(&path).expect(404);
        assert_eq!(hidden.text(), unknown.text(), "{path}");
    }
    shop.server.service.suspend_organization(shop.server.organization).unwrap();
    shop.pass_a_second();
    assert_eq!(customer.get(&shop.page).expect(404).text(), unknown.text());
}

#[test]
fn an_event_that_is_cancelled_or_over_says_so_without_a_form() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    shop.clock.set("2027-06-12T21:00:00Z".parse().unwrap());
    let over = customer.get(&shop.page).expect(200);
    assert!(over.text().contains("This event is over") && !over.text().contains("<form"), "{}", over.text());
    let mut api = shop.api();
    let other =
        event(&mut api, "other", &json!({"startDate": "2027-09-01T18:00:00Z", "endDate": "2027-09-02T18:00:00Z"}));
    ticket_type(&mut api, &other, &json!({}));
    let update = api.patch(&format!("/v1/events/{other}"), &json!({"status": "CANCELLED"}));
    assert_eq!(update.status, 200, "{}", update.text());
    let cancelled = customer.get(&format!("/e/{}/other", shop.organization)).expect(200);
    assert!(cancelled.text().contains("This event is cancelled") && !cancelled.text().contains("<form"));
    assert!(cancelled.text().contains("https://schema.org/EventCancelled"));
    assert_eq!(
        api.get(&format!("/v1/events/{other}")).expect(200).json()["pageUrl"],
        format!("http://{}/e/{}/other", shop.server.address, shop.organization)
    );
}

#[test]
fn each_state_of_a_ticket_type_is_said_in_words() {
    let shop = Shop::new();
    let mut api = shop.api();
    let states = [
        (json!({"name": "Sold out", "status": "DISPLAY_AS_SOLD_OUT"}), Some("Sold out</p>")),
        (json!({"name": "Unavailable", "status": "DISPLAY_AS_UNAVAILABLE"}), Some("Not available")),
        (json!({"name": "Secret", "status": "ONLY_VISIBLE_TO_OWNER"}), None),
        (
            json!({"name": "Later", "saleStartDate": "2027-04-01T08:00:00Z"}),
            Some("On sale from Thursday, 1 April 2027, 10:00"),
        ),
        (json!({"name": "Past", "saleEndDate": "2027-02-01T08:00:00Z"}), Some("The sale has ended")),
        (
            json!({"name": "Soon over", "saleEndDate": "2027-04-01T08:00:00Z"}),
            Some("On sale until Thursday, 1 April 2027, 10:00"),
        ),
        (json!({"name": "Counted", "quantity": 7, "displayRemaining": true}), Some("7 left")),
    ];
    for (fields, _) in &states {
        ticket_type(&mut api, &shop.event, fields);
    }
    // 9 of 100: below a tenth.
    for quantity in [10, 10, 10, 10, 10, 10, 10, 10, 10, 1] {
        let ada = json!({"name": "Ada", "email": "ada@example.com"});
        let issue = json!({"ticketId": shop.ticket_type, "quantity": quantity, "customer": ada});
        api.post("/v1/tickets/issue", &issue).expect(201);
    }
    shop.pass_a_second();
    let page = shop::text(&shop.customer().get(&shop.page).expect(200));
    for (fields, said) in states {
        let name = fields["name"].as_str().unwrap();
        let offer = page.split("<div class=\"offer\">").find(|offer| offer.contains(&format!("<b>{name}</b>")));
        assert_eq!(offer.is_some(), said.is_some(), "{name}");
        assert!(said.is_none_or(|said| offer.unwrap().contains(said)), "{name}: {offer:?}");
        let can_be_ordered = ["Soon over", "Counted"].contains(&name);
        assert_eq!(offer.is_some_and(|offer| offer.contains("<input type=\"number\"")), can_be_ordered, "{name}");
    }
    let general = page.split("<b>General admission</b>").nth(1).unwrap();
    assert!(
        general.starts_with(" <span>€12.50</span></p><p class=\"state\"")
            && general.contains("Few left")
            && general.contains("max=\"9\"")
    );
}

#[test]
fn the_page_has_the_language_that_the_link_or_the_browser_names() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    for (language, word, price) in [
        ("de", "Weiter", "12,50\u{A0}€"),
        ("en", "Continue", "€12.50"),
        ("es", "Continuar", "12,50\u{A0}€"),
        ("fr", "Continuer", "12,50\u{A0}€"),
        ("it", "Continua", "12,50\u{A0}€"),
        ("nl", "Verder", "€\u{A0}12,50"),
    ] {
        let by_browser =
            customer.send("GET", &shop.page, &[&format!("Accept-Language: {language}-XX, pl")], b"").expect(200);
        let by_link =
            customer.send("GET", &format!("{}?lang={language}", shop.page), &["Accept-Language: pl"], b"").expect(200);
        for page in [&by_browser, &by_link] {
            let text = page.text();
            assert!(text.contains(&format!("<html lang=\"{language}\">")), "{language}");
            assert!(text.contains(&format!(">{word}</button>")) && text.contains(price), "{language}: {text}");
        }
        assert_eq!(by_browser.header("vary"), Some("accept-encoding, accept-language"));
    }
}

#[test]
fn a_page_is_rendered_once_in_a_second_and_sent_again_only_if_it_has_changed() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let first = customer.get(&shop.page).expect(200);
    assert_eq!(first.header("cache-control"), Some("public, max-age=5"));
    assert_eq!(
        (first.header("x-robots-tag"), first.header("referrer-policy")),
        (None, Some("strict-origin-when-cross-origin"))
    );
    let policy = first.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-")
            && policy.contains("img-src 'self' data:; base-uri 'none'; form-action 'self'")
    );
    shop.api().patch(&format!("/v1/events/{}", shop.event), &json!({"title": "Winter Night"})).expect(200);
    assert!(customer.get(&shop.page).expect(200).text().contains("Summer Night"), "within the second");
    let etag = first.header("etag").unwrap();
    let unchanged = customer.send("GET", &shop.page, &[&format!("If-None-Match: {etag}")], b"");
    assert_eq!(unchanged.status, 304);
    shop.pass_a_second();
    let changed = customer.send("GET", &shop.page, &[&format!("If-None-Match: {etag}")], b"").expect(200);
    assert!(changed.text().contains("Winter Night"));
    let zipped = customer.send("GET", &shop.page, &["Accept-Encoding: gzip"], b"").expect(200);
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert_eq!(zipped.decompressed(), changed.body);

    // Views are answers with the page: neither 304 nor HEAD.
    customer.send("HEAD", &shop.page, &[], b"");
    shop.server.service.run_maintenance().unwrap();
    assert_eq!(shop.api().get(&format!("/v1/events/{}", shop.event)).expect(200).json()["pageViews"], 4);
}

#[test]
fn an_organization_is_named_by_its_page_name_and_names_its_own_pages() {
    let shop = Shop::new();
    let mut update = UpdateOrganization::default();
    update.page_name = ticketing::Change::Set(Some("blue-moon".to_owned()));
    update.name = ticketing::Change::Set("Blue Moon".to_owned());
    update.website = ticketing::Change::Set(Some("https://moon.example".to_owned()));
    update.imprint_url = ticketing::Change::Set(Some("https://moon.example/imprint".to_owned()));
    update.privacy_url = ticketing::Change::Set(Some("https://moon.example/privacy".to_owned()));
    shop.server.service.update_organization(shop.server.organization, update).unwrap();
    let url = shop.api().get(&format!("/v1/events/{}", shop.event)).expect(200).json()["pageUrl"].clone();
    assert_eq!(url, format!("http://{}/e/blue-moon/summer-night", shop.server.address));
    let mut customer = shop.customer();
    let page = customer.get("/e/blue-moon/summer-night").expect(200);
    let footer = page.text().split("<footer>").nth(1).unwrap().split("</footer>").next().unwrap();
    assert_eq!(
        footer,
        "Blue Moon · <a href=\"https://moon.example\">Website</a> · <a href=\"https://moon.example/imprint\">Legal notice</a> · \
        <a href=\"https://moon.example/privacy\">Privacy</a>"
    );
    assert!(page.text().contains(&format!("<link rel=\"canonical\" href=\"{}\">", url.as_str().unwrap())));
    let form = customer.get(&format!("/e/blue-moon/summer-night/order?{}", shop.chosen(1))).expect(200);
    assert!(form.text().contains("<p class=\"legal\"><a href=\"https://moon.example/imprint\">Legal notice</a> · <a href=\"https://moon.example/privacy\">"));
    // The id still leads to it.
    customer.get(&shop.page).expect(200);
}

#[test]
fn the_first_page_of_the_server_lists_the_events_of_the_only_organization() {
    let shop = Shop::new();
    let mut api = shop.api();
    event(&mut api, "hidden", &json!({"title": "Hidden", "isPublic": false}));
    event(&mut api, "drafted", &json!({"title": "Drafted", "status": "DRAFTED"}));
    event(&mut api, "newer", &json!({"title": "Newer <Night>"}));
    let browser = ["Accept: text/html"];
    let mut customer = shop.customer();
    let home = customer.send("GET", "/", &browser, b"").expect(200);
    let titles: Vec<_> =
        home.text().split("<li><a href=\"").skip(1).map(|item| item.split('"').next().unwrap().to_owned()).collect();
    assert_eq!(titles, [format!("/e/{}/newer", shop.organization), format!("/e/{}/summer-night", shop.organization)]);
    assert!(home.text().contains("Newer &#60;Night&#62;") && !home.text().contains("Hidden"));
    shop.server.service.create_organization(Default::default()).unwrap();
    let several = customer.send("GET", "/", &browser, b"").expect(200);
    assert!(!several.text().contains("/e/") && several.text().contains("Ticketing server"));
}

#[test]
fn search_engines_read_what_the_api_says() {
    let shop = Shop::new();
    let mut api = shop.api();
    // Clocks are put back while it lasts.
    let changing = event(
        &mut api,
        "clocks",
        &json!({
            "title": "Clocks \u{202E}</script>", "startDate": "2027-10-30T22:30:00Z", "endDate": "2027-10-31T02:30:00Z",
            "description": "Line one\n\nLine two </script><b>", "location": "Hall <1>\nBerlin",
        }),
    );
    ticket_type(
        &mut api,
        &changing,
        &json!({"name": "Early", "saleStartDate": "2027-04-01T08:00:00Z", "saleEndDate": "2027-11-15T08:00:00Z"}),
    );
    ticket_type(&mut api, &changing, &json!({"name": "Gone", "status": "DISPLAY_AS_SOLD_OUT", "price": 3}));
    let page = shop.customer().get(&format!("/e/{}/clocks", shop.organization)).expect(200);
    let data =
        page.text().split("<script type=\"application/ld+json\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let url = format!("http://{}/e/{}/clocks", shop.server.address, shop.organization);
    let expected = json!({
        "@context": "https://schema.org", "@type": "Event", "name": "Clocks </script>", "url": url,
        "startDate": "2027-10-31T00:30:00+02:00", "endDate": "2027-10-31T03:30:00+01:00",
        "eventStatus": "https://schema.org/EventScheduled", "description": "Line one\n\nLine two </script><b>",
        "location": {"@type": "Place", "name": "Hall <1>", "address": "Hall <1>, Berlin"},
        "organizer": {"@type": "Organization", "name": data["organizer"]["name"]},
        "offers": [
            {"@type": "Offer", "name": "Early", "price": "12.50", "priceCurrency": "EUR", "url": url,
                "availability": "https://schema.org/PreSale",
                "validFrom": "2027-04-01T10:00:00+02:00", "validThrough": "2027-11-15T09:00:00+01:00"},
            {"@type": "Offer", "name": "Gone", "price": "3.00", "priceCurrency": "EUR", "url": url,
                "availability": "https://schema.org/SoldOut"},
        ],
    });
    assert_eq!(data, expected);
    for tag in [
        "<meta property=\"og:title\" content=\"Clocks &#60;/script&#62;\">".to_owned(),
        format!("<meta property=\"og:url\" content=\"{url}\">"),
        "<meta property=\"og:description\" content=\"Line one  Line two &#60;/script&#62;&#60;b&#62;\">".to_owned(),
        format!("<link rel=\"alternate\" hreflang=\"nl\" href=\"{url}?lang=nl\">"),
    ] {
        assert!(page.text().contains(&tag), "{tag}: {}", page.text());
    }
    // What another program finds on the page.
    let Some(python) = python("extruct") else { return };
    let script = "import extruct, json, sys; \
        print(json.dumps(extruct.extract(sys.stdin.buffer.read(), syntaxes=['json-ld', 'opengraph'])))";
    let mut reader =
        Command::new(python).args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    reader.stdin.take().unwrap().write_all(page.text().as_bytes()).unwrap();
    let found: Value = serde_json::from_slice(&reader.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(found["json-ld"], json!([expected]));
    let properties = found["opengraph"][0]["properties"].as_array().unwrap();
    for (name, value) in [
        ("og:type", "website"),
        ("og:title", "Clocks </script>"),
        ("og:url", &url),
        ("og:description", "Line one  Line two </script><b>"),
    ] {
        assert!(properties.contains(&json!([name, value])), "{name}: {properties:?}");
    }
}

#[test]
fn the_calendar_entry_leads_to_the_page() {
    let shop = Shop::new();
    let entry = shop.customer().get(&format!("{}/event.ics", shop.page)).expect(200);
    assert_eq!(entry.header("content-type"), Some("text/calendar; charset=utf-8"));
    for line in ["DTSTART:20270612T173000Z", "DTEND:20270612T210000Z", "SUMMARY:Summer Night", "STATUS:CONFIRMED"] {
        assert!(entry.text().contains(&format!("{line}\r\n")), "{line}: {}", entry.text());
    }
    let unfolded = entry.text().replace("\r\n ", "");
    assert!(unfolded.contains(&format!("URL:http://{}{}\r\n", shop.server.address, shop.page)), "{unfolded}");
}

#[test]
fn without_the_pages_there_is_nothing_under_their_addresses() {
    use crate::common::http::Server;

    let server = Server::with(|builder| builder.sandbox_gateway().ticket_documents(Default::default()), |_| {});
    let mut api = server.client();
    let created = event(&mut api, "summer-night", &json!({}));
    assert_eq!(api.get(&format!("/v1/events/{created}")).expect(200).json()["pageUrl"], Value::Null);
    let mut customer = server.client_with("");
    for path in ["", "/order?t.x=1", "/cover", "/event.ics"] {
        customer.get(&format!("/e/{}/summer-night{path}", server.organization)).expect(404);
    }
}
