//! The commands `report` and `report-link`.
#![cfg(all(feature = "program", unix))]

use serde_json::{Value, json};

use crate::common::program::{Server, finish, program, text};

fn post(server: &Server, path: &str, body: &Value) -> Value {
    let (status, answer) = server.send("POST", path, server.key(), &body.to_string());
    assert!((200..300).contains(&status), "{path}: {answer}");
    serde_json::from_str(answer.lines().last().unwrap_or_default()).expect(&answer)
}

#[test]
fn a_report_is_printed_at_80_columns_and_its_link_leads_to_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let title = "A title that is longer than the eighty columns of a terminal, so that it has to be cut off";
    let event = json!({"title": title, "slug": "jazz", "startDate": "2100-06-01T18:00:00Z", "deliveryMethod": "DIGITAL",
        "status": "PUBLISHED", "timezone": "Europe/Berlin"});
    let event = post(&server, "/v1/events", &event)["id"].as_str().unwrap().to_owned();
    let types = [("A seat in the first row", 12.5), ("Child", 0.0)].map(|(name, price)| {
        let new = json!({"name": name, "price": price, "quantity": 10});
        post(&server, &format!("/v1/events/{event}/ticket-types"), &new)["id"].clone()
    });
    let customer = json!({"name": "Ada", "email": "ada@example.com"});
    for (ticket_type, quantity) in [(&types[0], 4), (&types[1], 1)] {
        let items = json!([{"ticketId": ticket_type, "quantity": quantity}]);
        let order = json!({"eventId": event, "customer": customer, "items": items, "payment": "PAID"});
        let (status, answer) = server.send("POST", "/v1/orders", server.key(), &order.to_string());
        assert_eq!(status, 201, "{answer}");
    }

    let run = |arguments: &[&str]| {
        let output = finish(&mut program(folder.path(), arguments));
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let report = run(&["report", &event]);
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    for wanted in [
        "A title that is longer than the eighty columns of a terminal, so that it has to…\n",
        "2100-06-01 20:00 (Europe/Berlin), as of ",
        "Sold 5 of 20, reserved 0, left 15\nRevenue 50.00 EUR, refunded 0",
        &format!("\nA seat in t…       4  {}\nChild              1  {}▌\n", "█".repeat(58), "█".repeat(14)),
        "Tickets sold by day\n",
    ] {
        assert!(report.contains(wanted), "{wanted}\n{report}");
    }
    assert!(!report.contains("Admitted"), "{report}");
    assert!(!report.contains("Cancelled"), "{report}");
    let tickets = server.send("GET", &format!("/v1/tickets?eventId={event}&limit=1"), server.key(), "").1;
    let ticket: Value = serde_json::from_str(tickets.lines().last().unwrap_or_default()).expect(&tickets);
    post(&server, &format!("/v1/tickets/{}/cancel", ticket["data"][0]["id"].as_str().unwrap()), &json!({}));
    assert!(run(&["report", &event]).contains("Revenue 50.00 EUR, refunded 0.00\nCancelled 1\n"), "{report}");

    let link = ["report-link", &event, "--public-url", "https://tickets.example.com"];
    let printed = run(&link);
    assert!(printed.contains("It works until 2100-07-02 20:00 (Europe/Berlin)."), "{printed}");
    assert!(printed.lines().filter(|line| line.contains('█')).count() > 10, "{printed}");
    let path = printed.lines().find_map(|line| line.strip_prefix("https://tickets.example.com")).expect("a link");
    assert_eq!(server.send("GET", path, "", "").0, 200);
    assert_eq!(run(&link), printed);
    assert_eq!(run(&["report-link", &event, "--revoke"]), "The link does not work any more.\n");
    assert_eq!(server.send("GET", path, "", "").0, 404);

    for (arguments, message) in
        [(&["report", "event_0"][..], "there is no event"), (&["report-link", &event], "--public-url")]
    {
        let output = finish(&mut program(folder.path(), arguments));
        assert!(!output.status.success() && text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
}
