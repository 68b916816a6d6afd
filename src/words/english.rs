//! English, with British dates, and with those of the United States.

use super::vocabulary::{
    Checkout, CurrencyPlace, Dates, Home, Message, Money, Payment, Problems, Receipt, Ticket, TicketPages, Words,
};

pub(super) static ENGLISH: Words = WORDS;

pub(super) static AMERICAN: Words = Words {
    language: "en-US",
    dates: Dates {
        day: |day, month, year| format!("{month}\u{A0}{day},\u{A0}{year}"),
        time: |hour, minute| {
            let half = if hour < 12 { "AM" } else { "PM" };
            let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
            format!("{hour}:{minute:02}\u{A0}{half}")
        },
        ..DATES
    },
    ..WORDS
};

const WORDS: Words = Words {
    language: "en",
    dates: DATES,
    money: Money { decimal_mark: '.', thousands_mark: ',', currency: CurrencyPlace::Before },
    ticket: Ticket {
        name: "Name",
        access_areas: "Access",
        valid: "Valid",
        price: "Price",
        order: "Order",
        noun: "Ticket",
        position: |ticket, of| format!("Ticket {ticket} of {of}"),
        qr_code: "QR code of the ticket",
        logo: "Logo",
        page: |page, of| format!("Page {page} of {of}"),
    },
    tickets: TicketPages {
        your_tickets: "Your tickets",
        show_at_entrance: "Show this code at the entrance.",
        ticket_cancelled: "This ticket is cancelled",
        event_cancelled: "This event is cancelled",
        order_cancelled: "This order is cancelled",
        no_entry: "Entry is no longer possible.",
        contact_about_refund: "Contact the organizer about a refund.",
        checked_in: "Checked in",
        event_over: "This event is over",
        download_ticket: "Download as PDF",
        download_tickets: "Download all as PDF",
        add_to_calendar: "Add to calendar",
        parts: "More tickets",
    },
    checkout: Checkout {
        title: "Checkout",
        reserved: |minutes| match minutes {
            1 => "Reserved for 1 more minute".to_owned(),
            _ => format!("Reserved for {minutes} more minutes"),
        },
        pay: |amount| format!("Pay {amount}"),
        let_payment_fail: "Let the payment fail",
        cancel_order: "Cancel the order",
        test_mode: "Test mode",
        no_money_is_charged: "No money is charged.",
        choose_outcome: "Choose how the payment ends:",
        show_tickets: "Show tickets",
        back_to_payment: "Back to payment",
    },
    receipt: Receipt {
        title: "Receipt",
        discount: "Discount",
        total: "Total",
        paid: "Paid",
        paid_online: "Paid online",
        paid_in_cash: "Paid in cash",
        paid_by_card: "Paid by card",
        paid_by_transfer: "Paid by bank transfer",
        refunded: "Refunded",
        refund_due: "Refund pending",
        company: "Company",
        delivery_address: "Delivery address",
    },
    payment: Payment {
        paid: Message { title: "Paid", text: "Thank you! Your tickets have been issued." },
        failed: Message { title: "Payment failed", text: "You have not been charged. You can try again." },
        expired: Message { title: "Expired", text: "This order was not paid in time. Please order again." },
        too_late: Message { title: "Too late", text: "Your payment came too late for this order." },
        not_yet: Message { title: "Not paid yet", text: "You have not been charged. You can go back and pay." },
        in_progress: Message {
            title: "In progress",
            text: "Your payment is being processed. Your tickets are issued as soon as it has arrived.",
        },
        unknown: Message {
            title: "Please wait",
            text: "We do not know yet whether your payment has arrived. This page checks again by itself.",
        },
        closed: Message { title: "Not paid", text: "You have not been charged. This payment can no longer be made." },
        mismatch: Message { title: "Not paid", text: "Your payment does not match this order." },
        replaced: Message {
            title: "There is a newer link",
            text: "This link was replaced by a newer one. Please use the newest link that you were given.",
        },
        nothing_to_pay: "There is nothing to pay.",
        was_refunded: |amount| format!("{amount} was refunded."),
        will_be_refunded: |amount| format!("{amount} will be refunded."),
    },
    home: Home {
        title: "Ticketing server",
        text: "Organizers sell tickets and check them in with this server. If you have bought a ticket, please open the link that you were given.",
        documentation: "API documentation",
        check_in: "Check-in",
    },
    problems: Problems {
        no_such_page: Message { title: "We cannot find this page", text: "Please check the address." },
        no_such_ticket: Message {
            title: "We cannot find this ticket",
            text: "Please check the link that you were given, or ask the organizer for a new one.",
        },
        no_such_checkout: Message {
            title: "We cannot find this checkout",
            text: "Please check the link that you were given.",
        },
        not_paid: Message { title: "This order is not paid yet", text: "Its tickets are issued when it is paid." },
        nothing_to_download: Message { title: "These tickets are cancelled", text: "There is nothing to download." },
        invalid_request: Message {
            title: "That did not work",
            text: "Please go back, and use the links and buttons of the page.",
        },
        too_many_requests: Message { title: "Too many requests", text: "Please try again in a minute." },
        busy: Message { title: "The server is busy", text: "Please try again in a moment." },
        internal: Message { title: "Something went wrong", text: "Please try again later." },
    },
};

const DATES: Dates = Dates {
    weekdays: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    months: [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    day: |day, month, year| format!("{day}\u{A0}{month}\u{A0}{year}"),
    date: |weekday, day| format!("{weekday}, {day}"),
    time: |hour, minute| format!("{hour:02}:{minute:02}"),
    after_time: "",
    at: ", ",
    from: "from",
    until: "until",
    only_on: "only on",
    days: |days| match days {
        1 => "on the day of first entry".to_owned(),
        _ => format!("for {days} days from first entry"),
    },
    hours: |hours| match hours {
        1 => "for 1 hour from first entry".to_owned(),
        _ => format!("for {hours} hours from first entry"),
    },
};
