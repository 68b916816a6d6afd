//! The log lines that the server writes for requests.

use std::time::Duration;

use crate::common::http::{EventOnSale, Server, event_on_sale, order_of};
use crate::common::log;
use crate::common::processes::alone;
use serde_json::json;

#[test]
fn each_request_has_a_log_line_without_personal_data_or_secrets() {
    alone(concat!(module_path!(), "::each_request_has_a_log_line_without_personal_data_or_secrets"), || {
        let log = log::capture();
        let server = Server::start();
        let mut client = server.client();
        let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
        let created = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
        let checkout_url = created["checkoutUrl"].as_str().unwrap();
        let token = checkout_url.rsplit_once('/').unwrap().1;
        client.send("POST", &format!("/checkout/{token}"), &[], b"outcome=success").expect(303);
        let order = client.get(&format!("/v1/orders/{}", created["order"]["id"].as_str().unwrap())).json();
        let code = order["items"][0]["issuedTickets"][0]["code"].as_str().unwrap();
        client.post("/v1/tickets/check-in", &json!({"code": code})).expect(200);
        client.get("/v1/orders?customerEmail=ada@example.com").expect(200);
        let response = client.send("GET", &format!("/v1/events/{event}"), &["X-Request-Id: my-id"], b"").expect(200);
        assert_eq!(response.header("x-request-id"), Some("my-id"));
        client.get(&format!("/v1/nothing/{code}")).expect(404);

        let lines = log.lines();
        let server_lines: Vec<_> = lines.iter().filter(|line| line.starts_with("ticketing::request")).collect();
        assert_eq!(server_lines.len(), 9, "{lines:#?}");
        let line = server_lines.iter().find(|line| line.contains(r#"request_id="my-id""#)).unwrap();
        for part in ["method=GET", r#"route="/v1/events/{eventId}""#, "status=200", "milliseconds="] {
            assert!(line.contains(part), "{part}: {line}");
        }
        log.assert_clean(&[&server.key, token, code, "ada@example.com", "Ada"]);
        refuse_many(log);
        #[cfg(feature = "documents")]
        open_links(log);
    });
}

/// Of the requests that are refused because there are too many, one in a second has a line.
fn refuse_many(log: &log::CapturedLog) {
    const REFUSED: usize = 300;
    let server = Server::with(|builder| builder, |options| options.rate_limit = Some(5));
    let mut client = server.client();
    for _ in 0..5 {
        client.get("/v1/events").expect(200);
    }
    for _ in 0..REFUSED {
        client.get("/v1/events").expect(429);
    }
    // After a second, one more has a line.
    std::thread::sleep(Duration::from_millis(1100));
    client.get("/v1/events").expect(429);
    let lines: Vec<_> = log.lines().into_iter().filter(|line| line.contains("status=429")).collect();
    // In 100 seconds at most.
    assert!((2..100).contains(&lines.len()), "{lines:#?}");
    let without_line = lines.iter().map(|line| {
        let number = line.split("refused_before=").nth(1).and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse::<usize>().ok()).expect(line)
    });
    assert_eq!(without_line.sum::<usize>() + lines.len(), REFUSED + 1, "{lines:#?}");
}

/// Opens links of tickets and orders: right, wrong, dead and malformed ones. Neither their tokens nor the codes of the
/// tickets are in the log, at any level.
#[cfg(feature = "documents")]
fn open_links(log: &log::CapturedLog) {
    use ticketing::documents::TicketDocuments;

    let documents = TicketDocuments::default();
    let server = Server::with(|builder| builder.sandbox_gateway().ticket_documents(documents), |_| {});
    let mut client = server.client();
    let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
    let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json()["order"]["id"].clone();
    let order = order.as_str().unwrap();
    let ticket = client.post_empty(&format!("/v1/orders/{order}/mark-paid")).expect(200).json();
    let ticket = &ticket["items"][0]["issuedTickets"][0];
    let (ticket, code) = (ticket["id"].as_str().unwrap(), ticket["code"].as_str().unwrap());
    let ticket_token = |client: &mut crate::common::http::Client| {
        let ticket = client.get(&format!("/v1/tickets/{ticket}")).expect(200).json();
        ticket["downloadTicketUrl"].as_str().unwrap().split('/').nth_back(1).unwrap().to_owned()
    };
    let details = client.get(&format!("/v1/orders/{order}/details")).expect(200).json();
    let of_order = details["documentsUrl"].as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
    let dead = ticket_token(&mut client);
    client.post_empty(&format!("/v1/tickets/{ticket}/renew-link")).expect(200);
    let live = ticket_token(&mut client);
    let wrong = format!("{}000", &live[..36]);
    for (token, status) in [(&live, 200), (&dead, 404), (&wrong, 404)] {
        for path in ["", "/ticket.pdf", "/event.ics"] {
            client.get(&format!("/tickets/{token}{path}")).expect(status);
        }
    }
    client.get(&format!("/orders/{of_order}")).expect(200);
    client.get(&format!("/orders/{of_order}/tickets.pdf")).expect(200);
    client.get(&format!("/orders/{live}")).expect(404);
    client.get(&format!("/tickets/{live}/nothing")).expect(404);
    client.get(&format!("/tickets/{live}/")).expect(308);
    client.get(&format!("/orders/{of_order}/nothing/more")).expect(404);
    client.get(&format!("/tickets/%{:02X}{}", live.as_bytes()[0], &live[1..])).expect(404);
    client.send("GET", &format!("/tickets/{wrong}"), &["Accept: application/json"], b"").expect(404);
    client.post_empty(&format!("/tickets/{live}")).expect(405);
    client.get(&format!("/v1/tickets/{ticket}/document")).expect(200);
    assert!(log.lines().iter().any(|line| line.contains(r#"route="/tickets/{token}/ticket.pdf" status=404"#)));
    // Half of a token, in case it is shortened.
    let halves = [&live, &dead, &wrong, &of_order].map(|token| &token[13..30]);
    log.assert_clean(&[&halves[..], &[code, "ada@example.com", "Ada"]].concat());
}
