//! Pages with one message, and links or a button to go on. `languages` are those that the reader wants, the most wanted
//! first.

use askama::Template;

use super::document::render;
use super::heading::Heading;
use crate::error::Result;
use crate::model::sale::receipt::OrderOnPage;
use crate::words::{self, Message, Words};

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    words: &'static Words,
    heading: Option<Heading<'a>>,
    message: MessageText,
    links: Vec<(String, &'static str)>,
    form: Option<(String, &'static str)>,
}

struct MessageText {
    title: &'static str,
    text: String,
}

impl MessagePage<'_> {
    fn title(&self) -> &str {
        self.message.title
    }
}

/// The page that says that a form was sent already, with other entries. `order` is the token of the order that it made, and
/// `again` the query with which it begins again.
pub(crate) fn sent_already_page(order: &str, slug: &str, again: &str, languages: &[String]) -> Result<String> {
    let words = words::for_reader(None, languages);
    let links = vec![
        (format!("../../../orders/{order}"), words.form.show_order),
        (format!("../{slug}{again}"), words.event.order_again),
    ];
    message_page(None, words.form.sent_already, words.form.sent_already.text.to_owned(), links, None, words)
}

/// The page that refuses a form of another site.
pub(crate) fn other_site_page(languages: &[String]) -> Result<String> {
    let words = words::for_reader(None, languages);
    message_page(None, words.form.other_site, words.form.other_site.text.to_owned(), Vec::new(), None, words)
}

/// The page that refuses an order because its network has made too many.
pub(crate) fn too_many_orders_page(seconds: u64, languages: &[String]) -> Result<String> {
    let words = words::for_reader(None, languages);
    let message = Message { title: words.form.too_many_orders, text: "" };
    message_page(None, message, (words.form.again_in)(seconds.div_ceil(60).max(1)), Vec::new(), None, words)
}

/// The page that asks whether to cancel an order.
pub(crate) fn cancel_page(shown: &OrderOnPage, token: &str, languages: &[String]) -> Result<String> {
    let words = words::for_reader(shown.receipt.language().as_deref(), languages);
    let links = vec![(format!("../{token}"), words.event.keep_order)];
    let question = words.event.cancel_question;
    let form = Some(("cancel".to_owned(), words.checkout.cancel_order));
    message_page(Some(Heading::of(&shown.event, words, None)?), question, question.text.to_owned(), links, form, words)
}

fn message_page(
    heading: Option<Heading<'_>>,
    message: Message,
    text: String,
    links: Vec<(String, &'static str)>,
    form: Option<(String, &'static str)>,
    words: &'static Words,
) -> Result<String> {
    render(&MessagePage { words, heading, message: MessageText { title: message.title, text }, links, form })
}
