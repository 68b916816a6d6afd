//! Forms and texts of those who mean no good.

use std::time::Duration;

use serde_json::json;

use super::shop::{ADA, Form, Shop, event, ticket_type};
use crate::common::long_runs::{first_seed, repetitions};
use crate::common::random::Random;

#[test]
fn a_form_of_another_site_creates_nothing() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    let form = shop.form(&shop.chosen(1)).filled(&ADA);
    let own = format!("Origin: http://{}", shop.server.address);
    for headers in [
        vec!["Sec-Fetch-Site: cross-site"],
        vec!["Sec-Fetch-Site: same-site"],
        vec!["Origin: https://evil.example"],
        vec!["Origin: null"],
        vec!["Sec-Fetch-Site: cross-site", &own],
    ] {
        let refused = form.send_with(&mut customer, &headers).expect(403);
        assert!(refused.text().contains("This form comes from another site"), "{headers:?}");
    }
    assert_eq!(shop.orders(), 0);
    // The controls: the same form from this site, and of a browser that says neither.
    form.send_with(&mut customer, &["Sec-Fetch-Site: same-origin", &own]).expect(303);
    shop.form(&shop.chosen(1)).filled(&ADA).send_with(&mut customer, &[&own]).expect(303);
    shop.form(&shop.chosen(1)).filled(&ADA).send(&mut customer).expect(303);
    assert_eq!(shop.orders(), 3);
}

#[test]
fn a_form_is_only_for_what_it_shows() {
    let shop = Shop::new();
    let mut api = shop.api();
    let other = event(&mut api, "other", &json!({}));
    let other_type = ticket_type(&mut api, &other, &json!({}));
    let mut customer = shop.customer();
    let form = shop.form(&shop.chosen(1)).filled(&ADA);
    let quantity = format!("t.{}", shop.ticket_type);
    let mut of_other_event = form.clone();
    of_other_event.action = format!("/e/{}/other/order", shop.organization);
    let mut other_tickets = of_other_event.clone();
    other_tickets.fields.retain(|(name, _)| *name != quantity);
    other_tickets.set(&format!("t.{other_type}"), "1");
    let forged = [
        form.filled(&[(&quantity, "2")]),
        form.filled(&[("total", "1")]),
        form.filled(&[("total", "")]),
        form.filled(&[("code", "FREE")]),
        form.filled(&[("token", "")]),
        form.filled(&[("token", "A")]),
        form.filled(&[(&format!("t.{other_type}"), "1")]),
        of_other_event,
        other_tickets,
    ];
    for form in forged {
        let refused = form.send(&mut customer).expect(409);
        assert!(refused.text().contains("This form could not be used."), "{form:?}");
    }
    assert_eq!(shop.orders(), 0);
    form.send(&mut customer).expect(303);
}

#[test]
fn a_form_is_used_from_two_seconds_to_two_hours_after_it_was_shown() {
    let shop = Shop::new();
    let mut customer = shop.customer();
    for (millis, status) in [(0, 409), (1_999, 409), (2_000, 303), (7_200_000, 303), (7_200_001, 409)] {
        let form = Form::of(&customer.get(&format!("{}/order?{}", shop.page, shop.chosen(1))).expect(200), &shop.page);
        shop.clock.advance(Duration::from_millis(millis));
        let sent = form.filled(&ADA).send(&mut customer);
        assert_eq!(sent.status, status, "{millis}");
        if status == 409 {
            assert_eq!(Form::of(&sent, &shop.page).get("name"), "Ada Lovelace", "what was entered is kept");
        }
    }
    assert_eq!(shop.orders(), 2);
}

#[test]
fn a_crawler_that_sends_each_form_at_once_creates_nothing() {
    let shop = Shop::new();
    let mut crawler = shop.customer();
    let page = crawler.get(&shop.page).expect(200);
    let links: Vec<_> = page.text().split("href=\"").skip(1).filter_map(|link| link.split('"').next()).collect();
    for link in links.into_iter().filter(|link| !link.contains(':')) {
        crawler.get(&format!("/e/{}/{link}", shop.organization));
    }
    let shown = crawler.get(&format!("{}/order?{}", shop.page, shop.chosen(1))).expect(200);
    let mut form = Form::of(&shown, &shop.page).filled(&ADA);
    for _ in 0..5 {
        // It sends what it gets, again and again.
        form = Form::of(&form.send(&mut crawler).expect(409), &shop.page).filled(&ADA);
    }
    assert_eq!(shop.orders(), 0);
    shop.clock.advance(Duration::from_secs(2));
    form.send(&mut crawler).expect(303);
}

/// Texts that end what they stand in, if they are not escaped.
const PIECES: [&str; 16] = [
    "</script>",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onfocus='alert(1)",
    "&lt;",
    "<!--",
    "-->",
    "\u{202E}",
    "\u{2066}",
    "]]>",
    "{{ 7*7 }}",
    "\\u003c",
    "https://a.example/\"x",
    "javascript:alert(1)",
    "&#x3c;",
    "Ada",
];

#[test]
fn texts_with_markup_are_shown_as_texts() {
    let shop = Shop::with(|builder| builder, |options| options.orders_per_network = u32::MAX);
    let mut api = shop.api();
    let mut random = Random::new(first_seed());
    let mut customer = shop.customer();
    // Eight texts a round.
    for round in 0..repetitions("TICKETING_HOSTILE_TEXTS", 480) / 8 {
        let mut text = || (0..1 + random.below(6)).map(|_| random.pick(&PIECES)).collect::<String>();
        let (title, description, name, place) = (
            format!("Title {}", text()),
            format!("Desc {}", text()),
            format!("Name {}", text()),
            format!("Hall {}", text()),
        );
        let slug = format!("hostile-{round}");
        let created = event(&mut api, &slug, &json!({"title": title, "description": description, "location": place}));
        let seat = ticket_type(&mut api, &created, &json!({"name": name, "description": description}));
        let page = format!("/e/{}/{slug}", shop.organization);
        let query: String = text().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let shown = customer.get(&format!("{page}?t.{seat}=1&code={query}&ref={query}&lang={query}")).expect(200);
        check_markup(shown.text());
        let form = customer.get(&format!("{page}/order?t.{seat}=1&code={query}&ref={query}")).expect(200);
        check_markup(form.text());
        let hostile = text();
        let sent = Form::of(&form, &page)
            .filled(&[("name", &hostile), ("email", &hostile), ("token", "")])
            .send(&mut customer)
            .expect(409);
        check_markup(sent.text());
    }
}

/// A page has the tags and attributes of its templates, and no others.
#[track_caller]
fn check_markup(page: &str) {
    let (head, body) = page.split_once("<main").unwrap();
    assert_eq!(head.matches("<script").count(), page.matches("<script").count(), "{page}");
    assert!(
        head.matches("<script").count() <= 1 && page.matches("</script").count() == head.matches("<script").count(),
        "{page}"
    );
    assert!(!body.contains("<img src=x"), "{page}");
    // Only a field keeps what was entered as it was.
    let outside_fields = body.split("value=\"").enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once('"').map_or("", |(_, rest)| rest),
    });
    let outside_fields: String = outside_fields.collect();
    for control in ['\u{202E}', '\u{2066}'] {
        let at = outside_fields.find(control).map(|at| outside_fields[at..].chars().take(80).collect::<String>());
        assert_eq!(at, None);
    }
    // Each tag is closed before the next one begins, and attributes are quoted.
    let mut rest = body;
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').unwrap();
        assert!(!tag.contains('<') && tag.matches('"').count() % 2 == 0, "{tag}");
        assert!(!tag.contains(" on") || !tag.contains("alert") || tag.contains("value=\""), "{tag}");
        rest = after;
    }
    for link in body.split("href=\"").skip(1) {
        let link = link.split('"').next().unwrap();
        assert!(!link.starts_with("javascript:"), "{link}");
    }
}
