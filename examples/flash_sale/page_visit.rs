//! A buyer on the page of the event: shows it and the form, and sends the form a little later, as a person does.

use std::time::{Duration, Instant};

use crate::Result;
use crate::client::{Client, Response};
use crate::sale_server::Event;

/// How long a buyer takes for the form: sooner, the server does not accept it.
pub(crate) const TIME_FOR_FORM: Duration = Duration::from_millis(2100);

/// A form that a buyer has before him.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    body: String,
}

/// Shows the page of the event, and the form for these seats. Returns `None` if there are no seats, and how long each page
/// took.
pub(crate) fn show(client: &mut Client, event: &Event, seats: usize) -> Result<(Option<Form>, [Duration; 2])> {
    let mut times = [Duration::ZERO; 2];
    let paths = [event.page.clone(), format!("{}/order?t.{}={seats}", event.page, event.ticket_type)];
    let mut form = None;
    for (path, time) in paths.iter().zip(&mut times) {
        let sent_at = Instant::now();
        let response = client.get(path)?;
        *time = sent_at.elapsed();
        if response.status != 200 && response.status != 303 {
            return Err(format!("{path} returned {}", response.status).into());
        }
        let page = response.text();
        let hidden = |name: &str| {
            let value = page.split(&format!("name=\"{name}\" value=\"")).nth(1)?.split('"').next()?;
            Some(format!("{name}={value}"))
        };
        let token = hidden("token").zip(hidden("total"));
        let seats = page.split("method=\"post\"").nth(1).and_then(|form| {
            let seats = form.split(&format!("name=\"t.{}\" value=\"", event.ticket_type)).nth(1)?.split('"').next()?;
            Some(format!("t.{}={seats}", event.ticket_type))
        });
        form = token.zip(seats).map(|((token, total), seats)| Form { body: format!("{token}&{total}&{seats}") });
    }
    Ok((form, times))
}

/// Sends the form of a buyer with this number.
pub(crate) fn send(client: &mut Client, event: &Event, form: &Form, number: usize) -> Result<Response> {
    let body = format!("{}&name=Buyer&email=buyer{number}%40example.com", form.body);
    client.submit_form(&format!("{}/order", event.page), &body)
}

/// The id of the order on the page to which the checkout leads back.
pub(crate) fn order_on(client: &mut Client, path: &str) -> Result<String> {
    let page = client.get(path)?.text();
    let number = page.split("Order ").last().and_then(|rest| rest.split('<').next());
    Ok(format!("order_{}", number.ok_or("the page of an order has no number")?))
}
