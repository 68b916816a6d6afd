//! The words that a page or a document needs, in any language.

/// The words of one language.
#[derive(Debug)]
pub(crate) struct Words {
    /// The language tag: an ISO 639-1 code, and a region if its dates differ.
    pub(crate) language: &'static str,
    pub(crate) dates: Dates,
    pub(super) money: Money,
    pub(crate) ticket: Ticket,
    pub(crate) tickets: TicketPages,
    pub(crate) checkout: Checkout,
    pub(crate) receipt: Receipt,
    pub(crate) payment: Payment,
    pub(crate) home: Home,
    pub(crate) event: EventPage,
    pub(crate) form: OrderForm,
    pub(crate) report: Report,
    pub(crate) problems: Problems,
    #[cfg_attr(not(feature = "mail"), expect(dead_code, reason = "only mails have these words"))]
    pub(crate) mail: Mails,
}

/// The words in dates, times and validity.
#[derive(Debug)]
pub(crate) struct Dates {
    pub(super) weekdays: [&'static str; 7],
    pub(super) months: [&'static str; 12],
    /// A day, month and year. They stay on one line: their spaces are U+00A0.
    pub(super) day: fn(u8, &str, i32) -> String,
    /// A weekday and the day after it.
    pub(super) date: fn(&str, &str) -> String,
    /// An hour from 0 to 23, and a minute.
    pub(super) time: fn(u8, u8) -> String,
    /// What follows the last time of day.
    pub(super) after_time: &'static str,
    /// What stands between a date and a time within a sentence.
    pub(super) at: &'static str,
    pub(super) from: &'static str,
    pub(super) until: &'static str,
    pub(super) only_on: &'static str,
    /// Valid for some calendar days from the first scan on.
    pub(super) days: fn(i64) -> String,
    /// Valid for some hours from the first scan on.
    pub(super) hours: fn(i64) -> String,
}

/// How amounts of money are written.
#[derive(Debug)]
pub(crate) struct Money {
    /// What stands before the decimals.
    pub(super) decimal_mark: char,
    /// What stands between the thousands.
    pub(super) thousands_mark: char,
    pub(super) currency: CurrencyPlace,
}

/// Where the sign of a currency stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum CurrencyPlace {
    /// `€12.50`, and with a code `CHF 12.50`.
    Before,
    /// `€ 12,50`.
    BeforeWithSpace,
    /// `12,50 €`.
    After,
}

/// The words on a ticket.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// The label of the holder's name.
    pub(crate) name: &'static str,
    pub(crate) access_areas: &'static str,
    /// What distinguishes the ticket: a seat, or a guest.
    pub(crate) label: &'static str,
    pub(crate) valid: &'static str,
    pub(crate) price: &'static str,
    /// The label of the order's number.
    pub(crate) order: &'static str,
    pub(crate) noun: &'static str,
    /// Ticket 3 of 30.
    pub(crate) position: fn(usize, usize) -> String,
    /// What a screen reader says of the QR code.
    pub(crate) qr_code: &'static str,
    pub(crate) logo: &'static str,
    /// Page 1 of 2.
    pub(crate) page: fn(usize, usize) -> String,
}

/// The words on the pages of tickets and orders.
#[derive(Debug)]
pub(crate) struct TicketPages {
    pub(crate) your_tickets: &'static str,
    pub(crate) show_at_entrance: &'static str,
    pub(crate) ticket_cancelled: &'static str,
    pub(crate) event_cancelled: &'static str,
    pub(crate) order_cancelled: &'static str,
    /// Of what is cancelled.
    pub(crate) no_entry: &'static str,
    /// Of a cancelled event, while nobody has decided about a refund.
    pub(crate) contact_about_refund: &'static str,
    pub(crate) checked_in: &'static str,
    pub(crate) event_over: &'static str,
    pub(crate) download_ticket: &'static str,
    pub(crate) download_tickets: &'static str,
    pub(crate) add_to_calendar: &'static str,
    /// Names the links to the other parts of a long page.
    pub(crate) parts: &'static str,
}

/// The words on the pages on which customers pay, and to which they come back.
#[derive(Debug)]
pub(crate) struct Checkout {
    pub(crate) title: &'static str,
    /// For how many more minutes the tickets are reserved.
    pub(crate) reserved: fn(u64) -> String,
    /// The button with the amount.
    pub(crate) pay: fn(&str) -> String,
    pub(crate) let_payment_fail: &'static str,
    pub(crate) cancel_order: &'static str,
    pub(crate) test_mode: &'static str,
    pub(crate) no_money_is_charged: &'static str,
    /// The label of the buttons of the sandbox.
    pub(crate) choose_outcome: &'static str,
    pub(crate) show_tickets: &'static str,
    pub(crate) back_to_payment: &'static str,
}

/// The words of a receipt.
#[derive(Debug)]
pub(crate) struct Receipt {
    pub(crate) title: &'static str,
    pub(crate) discount: &'static str,
    pub(crate) total: &'static str,
    pub(crate) paid: &'static str,
    /// Through the payment gateway.
    pub(crate) paid_online: &'static str,
    pub(crate) paid_in_cash: &'static str,
    pub(crate) paid_by_card: &'static str,
    pub(crate) paid_by_transfer: &'static str,
    pub(crate) refunded: &'static str,
    pub(crate) refund_due: &'static str,
    pub(crate) company: &'static str,
    pub(crate) delivery_address: &'static str,
}

/// A title, and a sentence that explains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// The results of a payment, and the states of its order.
#[derive(Debug)]
pub(crate) struct Payment {
    pub(crate) paid: Message,
    pub(crate) failed: Message,
    pub(crate) expired: Message,
    pub(crate) too_late: Message,
    pub(crate) not_yet: Message,
    pub(crate) in_progress: Message,
    pub(crate) unknown: Message,
    /// Nothing was paid, and nothing can be paid any more.
    pub(crate) closed: Message,
    /// The payment does not match the order.
    pub(crate) mismatch: Message,
    /// The link of a checkout that was renewed.
    pub(crate) replaced: Message,
    /// Of an order that has ended without a payment.
    pub(crate) nothing_to_pay: &'static str,
    /// An amount went back.
    pub(crate) was_refunded: fn(&str) -> String,
    /// An amount will go back.
    pub(crate) will_be_refunded: fn(&str) -> String,
}

/// The page of the server itself.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) title: &'static str,
    /// What the server is for, and where a buyer finds the tickets.
    pub(crate) text: &'static str,
    /// The link to the description of the API.
    pub(crate) documentation: &'static str,
    /// The link to the page for check-in, which has this title.
    pub(crate) check_in: &'static str,
}

/// Requests that fail, for people.
#[derive(Debug)]
pub(crate) struct Problems {
    pub(crate) no_such_page: Message,
    pub(crate) no_such_ticket: Message,
    pub(crate) no_such_checkout: Message,
    pub(crate) not_paid: Message,
    pub(crate) nothing_to_download: Message,
    pub(crate) invalid_request: Message,
    pub(crate) too_many_requests: Message,
    pub(crate) busy: Message,
    pub(crate) internal: Message,
}

/// The words on the page of an event, and of pending orders.
#[derive(Debug)]
pub(crate) struct EventPage {
    /// The heading of the ticket types.
    pub(crate) tickets: &'static str,
    pub(crate) quantity: &'static str,
    /// The button to the order form.
    pub(crate) go_on: &'static str,
    pub(crate) free: &'static str,
    pub(crate) sold_out: &'static str,
    pub(crate) unavailable: &'static str,
    pub(crate) few_left: &'static str,
    /// How many tickets are left.
    pub(crate) left: fn(i64) -> String,
    /// When the sale begins.
    pub(crate) on_sale_from: fn(&str) -> String,
    pub(crate) on_sale_until: fn(&str) -> String,
    pub(crate) sale_ended: &'static str,
    pub(crate) nothing_on_sale: &'static str,
    pub(crate) website: &'static str,
    pub(crate) imprint: &'static str,
    pub(crate) privacy: &'static str,
    /// The heading of the list of events.
    pub(crate) events: &'static str,
    pub(crate) no_events: &'static str,
    /// The link from an order that has ended to the event.
    pub(crate) order_again: &'static str,
    /// Until when the tickets of an order are reserved.
    pub(crate) reserved_until: fn(&str) -> String,
    /// A pending order that the organizer marks as paid.
    pub(crate) not_paid: Message,
    pub(crate) cancel_question: Message,
    pub(crate) keep_order: &'static str,
}

/// The words on the form for an order.
#[derive(Debug)]
pub(crate) struct OrderForm {
    pub(crate) title: &'static str,
    pub(crate) change_tickets: &'static str,
    pub(crate) code: &'static str,
    pub(crate) apply: &'static str,
    pub(crate) your_details: &'static str,
    pub(crate) name: &'static str,
    pub(crate) email: &'static str,
    /// What the e-mail address is for.
    pub(crate) email_hint: &'static str,
    pub(crate) street: &'static str,
    pub(crate) zip: &'static str,
    pub(crate) city: &'static str,
    pub(crate) country: &'static str,
    /// How a country is written.
    pub(crate) country_hint: &'static str,
    /// The label of a field that may stay empty.
    pub(crate) optional: fn(&str) -> String,
    /// The button of an order that costs something. In the European Union it must say that it obliges to pay.
    pub(crate) order_and_pay: &'static str,
    pub(crate) order_for_free: &'static str,
    /// The heading of the summary of errors.
    pub(crate) please_check: &'static str,
    pub(crate) required: &'static str,
    pub(crate) invalid: &'static str,
    pub(crate) invalid_email: &'static str,
    pub(crate) not_to_this_country: &'static str,
    pub(crate) code_unknown: &'static str,
    pub(crate) code_not_yet_valid: &'static str,
    pub(crate) code_expired: &'static str,
    pub(crate) code_used_up: &'static str,
    pub(crate) code_below_minimum: &'static str,
    pub(crate) code_not_applicable: &'static str,
    pub(crate) nothing_chosen: &'static str,
    /// Fewer tickets can be had than were chosen.
    pub(crate) fewer: &'static str,
    pub(crate) sold_out: &'static str,
    pub(crate) sale_over: &'static str,
    pub(crate) total_changed: &'static str,
    pub(crate) limit_reached: &'static str,
    pub(crate) too_cheap: &'static str,
    pub(crate) sent_too_late: &'static str,
    pub(crate) no_payment: &'static str,
    pub(crate) sent_already: Message,
    pub(crate) show_order: &'static str,
    pub(crate) other_site: Message,
    pub(crate) too_many_orders: &'static str,
    /// In how many minutes a network may order again.
    pub(crate) again_in: fn(u64) -> String,
}

/// The words of mails.
#[derive(Debug)]
#[cfg_attr(not(feature = "mail"), expect(dead_code, reason = "only mails have these words"))]
pub(crate) struct Mails {
    /// The colon after a label. In French, a space is before it.
    pub(crate) colon: &'static str,
    /// The subject of a mail about tickets of an order that stays valid.
    pub(crate) tickets_cancelled: &'static str,
    pub(crate) refund: &'static str,
    pub(crate) payment_returned: &'static str,
    pub(crate) reminder: &'static str,
    pub(crate) new_order: &'static str,
    pub(crate) attached: &'static str,
    /// The document is too large to be attached.
    pub(crate) download: &'static str,
    /// The tickets are sent by post.
    pub(crate) sent_by_post: &'static str,
    /// Further items or tickets of a long order.
    pub(crate) more: fn(usize) -> String,
    /// What happens to an unpaid order.
    pub(crate) expires: &'static str,
    pub(crate) returned_as_paid: &'static str,
    pub(crate) returned_by_organizer: &'static str,
    pub(crate) customer: &'static str,
    /// The link to a ticket.
    pub(crate) open_ticket: &'static str,
    pub(crate) cancelled: &'static str,
}

/// The words on the report of an event.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) title: &'static str,
    /// When the figures were read.
    pub(crate) as_of: fn(&str) -> String,
    pub(crate) sold: &'static str,
    pub(crate) reserved: &'static str,
    /// Tickets that can still be sold.
    pub(crate) left: &'static str,
    /// How many seats there are.
    pub(crate) of: fn(&str) -> String,
    pub(crate) revenue: &'static str,
    /// Taken by banks for disputes.
    pub(crate) disputed: &'static str,
    /// Tickets without an order.
    pub(crate) issued: &'static str,
    /// Tickets that another seller has sold.
    pub(crate) imported: &'static str,
    /// Cancelled tickets.
    pub(crate) cancelled: &'static str,
    /// The heading of the figures of tests.
    pub(crate) tests: &'static str,
    /// If there is real money and that of tests.
    pub(crate) tests_apart: &'static str,
    /// The headings of the charts.
    pub(crate) by_day: &'static str,
    pub(crate) by_weeks: &'static str,
    pub(crate) last_hours: &'static str,
    /// The tickets sold today, the time, and the tickets sold until then a week before.
    pub(crate) today: fn(&str, &str, &str) -> String,
    /// What a screen reader says of a chart: its name, and the largest of its bars.
    pub(crate) chart: fn(&str, &str) -> String,
    /// What the line of a chart is, with its end.
    pub(crate) sum_line: fn(&str) -> String,
    /// The link that shows a table beneath a chart.
    pub(crate) table: &'static str,
    pub(crate) day: &'static str,
    pub(crate) week_from: &'static str,
    pub(crate) time: &'static str,
    pub(crate) orders: &'static str,
    pub(crate) sum: &'static str,
    /// The heading of the ticket types.
    pub(crate) types: &'static str,
    pub(crate) discount_codes: &'static str,
    pub(crate) affiliate_codes: &'static str,
    pub(crate) code: &'static str,
    pub(crate) uses: &'static str,
    /// The codes that are not named.
    pub(crate) other_codes: fn(usize) -> String,
    pub(crate) arrivals: &'static str,
    pub(crate) inside: &'static str,
    pub(crate) expected: &'static str,
    pub(crate) missing: &'static str,
    pub(crate) admitted: &'static str,
    /// Those who were let out.
    pub(crate) departed: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) gate: &'static str,
    /// Scans without a gate.
    pub(crate) no_gate: &'static str,
    pub(crate) other_gates: &'static str,
    /// What the line of the arrivals is, with its end.
    pub(crate) inside_line: fn(&str) -> String,
    pub(crate) no_orders: &'static str,
}
