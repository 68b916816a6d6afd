//! The form with which a customer orders the chosen tickets of an event.

use askama::Template;

use super::bill::{self, Bill};
use super::document::render;
use super::event_page::price;
use super::heading::Heading;
use super::page_notice::Notice;
use super::seller::Seller;
use crate::error::Result;
use crate::form::limits::{EMAIL_LENGTH, LINE_LENGTH};
use crate::model::sale::discount::DiscountRefusal;
use crate::model::sale::event::DeliveryMethod;
use crate::model::sale::event_page::{EventPage, Quote};
use crate::model::values::amount::Amount;
use crate::words::{self, Words};

/// What a customer has entered. Nothing of it was checked.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Entries {
    pub(crate) code: Option<String>,
    pub(crate) referrer: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) company: String,
    pub(crate) street: String,
    pub(crate) zip: String,
    pub(crate) city: String,
    pub(crate) country: String,
}

/// A field of the form that a customer has to change, or what is wrong with the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormError {
    Missing(&'static str),
    Invalid(&'static str),
    Email,
    Country,
    Code(DiscountRefusal),
}

impl FormError {
    /// The name of the field.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Missing(field) | Self::Invalid(field) => field,
            Self::Email => "email",
            Self::Country => "country",
            Self::Code(_) => "code",
        }
    }

    fn text(self, words: &Words) -> &'static str {
        let form = &words.form;
        match self {
            Self::Missing(_) => form.required,
            Self::Invalid(_) => form.invalid,
            Self::Email => form.invalid_email,
            Self::Country => form.not_to_this_country,
            Self::Code(refusal) => match refusal {
                DiscountRefusal::NotFound | DiscountRefusal::NotActive => form.code_unknown,
                DiscountRefusal::NotYetValid => form.code_not_yet_valid,
                DiscountRefusal::Expired => form.code_expired,
                DiscountRefusal::UsedUp => form.code_used_up,
                DiscountRefusal::BelowMinimum => form.code_below_minimum,
                DiscountRefusal::NotApplicable => form.code_not_applicable,
            },
        }
    }
}

/// Why nothing was ordered, or what has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormNotice {
    /// Fewer tickets can be had than were chosen.
    Fewer,
    SoldOut,
    SaleOver,
    TotalChanged,
    LimitReached,
    TooCheap,
    /// The token of the form is wrong, too new or too old.
    SentTooLate,
    /// The gateway has failed.
    NoPayment,
}

impl FormNotice {
    fn text(self, words: &Words) -> &'static str {
        let form = &words.form;
        match self {
            Self::Fewer => form.fewer,
            Self::SoldOut => form.sold_out,
            Self::SaleOver => form.sale_over,
            Self::TotalChanged => form.total_changed,
            Self::LimitReached => form.limit_reached,
            Self::TooCheap => form.too_cheap,
            Self::SentTooLate => form.sent_too_late,
            Self::NoPayment => form.no_payment,
        }
    }
}

/// What the form shows.
pub(crate) struct FormToShow<'a> {
    pub(crate) page: &'a EventPage,
    pub(crate) quote: &'a Quote,
    pub(crate) entries: &'a Entries,
    /// Empty if the form cannot be sent.
    pub(crate) token: &'a str,
    pub(crate) errors: &'a [FormError],
    pub(crate) notice: Option<FormNotice>,
    /// The query of the link back to the page of the event.
    pub(crate) query: &'a str,
}

#[derive(Template)]
#[template(path = "order_form.html")]
struct OrderFormPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    notice: Option<Notice>,
    errors: Vec<ShownError>,
    bill: Bill,
    /// The chosen types and quantities.
    items: Vec<(String, i64)>,
    entries: &'a Entries,
    code_error: Option<&'static str>,
    applied_code: Option<&'a str>,
    back: String,
    can_order: bool,
    token: &'a str,
    /// The total in minor units.
    total: i64,
    fields: Vec<Field<'a>>,
    seller: Seller<'a>,
    button: String,
}

struct ShownError {
    field: &'static str,
    label: String,
    text: &'static str,
}

struct Field<'a> {
    name: &'static str,
    label: String,
    hint: Option<&'static str>,
    kind: &'static str,
    autocomplete: &'static str,
    value: &'a str,
    most: usize,
    is_required: bool,
    error: Option<&'static str>,
}

impl Field<'_> {
    /// The ids of the texts about the field.
    fn described_by(&self) -> Option<String> {
        let hint = self.hint.map(|_| format!("{}-hint", self.name));
        let error = self.error.map(|_| format!("{}-error", self.name));
        let ids: Vec<_> = error.into_iter().chain(hint).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

impl OrderFormPage<'_> {
    fn title(&self) -> String {
        format!("{}: {}", self.words.form.title, self.heading.title)
    }
}

/// Renders the form. `languages` are those that the reader wants, the most wanted first.
pub(crate) fn order_form_page(shown: &FormToShow<'_>, languages: &[String]) -> Result<String> {
    let words = words::for_reader(None, languages);
    let FormToShow { page, quote, entries, token, errors, notice, query } = *shown;
    let fields = fields(page, entries, errors, words);
    let label = |field: &str| match fields.iter().find(|known| known.name == field) {
        Some(known) => known.label.clone(),
        None => words.form.code.to_owned(),
    };
    let shown_errors = errors.iter().map(|error| {
        let field = error.field();
        ShownError { field, label: label(field), text: error.text(words) }
    });
    let shown_errors: Vec<_> = shown_errors.collect();
    let code_error = errors.iter().find(|error| error.field() == "code").map(|error| error.text(words));
    let total = price(quote.total, &page.event.currency, words);
    render(&OrderFormPage {
        words,
        heading: Heading::of(&page.event, words, None)?,
        notice: notice.map(|notice| Notice::new("bad", notice.text(words), "")),
        errors: shown_errors,
        bill: bill(page, quote, words),
        items: quote.items.iter().map(|item| (item.ticket_type_id.to_string(), item.quantity)).collect(),
        entries,
        code_error,
        applied_code: entries.code.as_deref().filter(|_| code_error.is_none()),
        back: format!("../{}{query}", page.event.slug),
        can_order: !quote.items.is_empty() && !token.is_empty(),
        token,
        total: quote.total.minor_units(),
        fields,
        seller: Seller::of(&page.organization, words),
        button: match quote.total.is_zero() {
            true => words.form.order_for_free.to_owned(),
            false => format!("{} · {total}", words.form.order_and_pay),
        },
    })
}

/// What the chosen tickets cost.
fn bill(page: &EventPage, quote: &Quote, words: &Words) -> Bill {
    let money = |amount| words::money(words, amount, &page.event.currency);
    let items = quote.items.iter();
    let items = items.map(|item| bill::tickets(&item.name, item.quantity, &money(item.price), money(item.subtotal)));
    let discount = (quote.discounted > Amount::ZERO)
        .then(|| bill::discount(quote.code.as_deref(), &money(quote.discounted), words));
    Bill { items: items.chain(discount).collect(), total: money(quote.total), movements: Vec::new(), buyer: Vec::new() }
}

fn fields<'a>(page: &EventPage, entries: &'a Entries, errors: &[FormError], words: &'static Words) -> Vec<Field<'a>> {
    let form = &words.form;
    let error = |name: &str| errors.iter().find(|error| error.field() == name).map(|error| error.text(words));
    let field = |name, label: &str, autocomplete, value: &'a str| Field {
        name,
        label: label.to_owned(),
        hint: None,
        kind: "text",
        autocomplete,
        value,
        most: LINE_LENGTH,
        is_required: true,
        error: error(name),
    };
    let email = Field {
        kind: "email",
        most: EMAIL_LENGTH,
        hint: Some(form.email_hint),
        ..field("email", form.email, "email", &entries.email)
    };
    let mut fields = vec![field("name", form.name, "name", &entries.name), email];
    if page.event.accepts_company {
        let label = (form.optional)(words.receipt.company);
        let company = field("company", &label, "organization", &entries.company);
        fields.push(Field { is_required: false, ..company });
    }
    if page.event.delivery_method == DeliveryMethod::Physical {
        fields.extend([
            field("street", form.street, "street-address", &entries.street),
            field("zip", form.zip, "postal-code", &entries.zip),
            field("city", form.city, "address-level2", &entries.city),
            Field {
                most: 2,
                hint: Some(form.country_hint),
                ..field("country", form.country, "country", &entries.country)
            },
        ]);
    }
    fields
}
