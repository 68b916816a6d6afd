//! Dutch.

#[cfg(feature = "documents")]
use super::vocabulary::Ticket;
#[cfg(all(feature = "documents", feature = "server"))]
use super::vocabulary::TicketPages;
#[cfg(feature = "server")]
use super::vocabulary::{Checkout, Message, Payment, Problems};
use super::vocabulary::{Dates, Words};

pub(super) static DUTCH: Words = Words {
    language: "nl",
    dates: Dates {
        weekdays: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
        months: [
            "januari",
            "februari",
            "maart",
            "april",
            "mei",
            "juni",
            "juli",
            "augustus",
            "september",
            "oktober",
            "november",
            "december",
        ],
        day: |day, month, year| format!("{day}\u{A0}{month}\u{A0}{year}"),
        date: |weekday, day| format!("{weekday} {day}"),
        time: |hour, minute| format!("{hour:02}:{minute:02}"),
        after_time: "\u{A0}uur",
        #[cfg(feature = "documents")]
        at: ", ",
        #[cfg(feature = "documents")]
        from: "vanaf",
        #[cfg(feature = "documents")]
        until: "tot",
        #[cfg(feature = "documents")]
        only_on: "alleen op",
        #[cfg(feature = "documents")]
        days: |days| match days {
            1 => "op de dag van de eerste scan".to_owned(),
            _ => format!("{days} dagen vanaf de eerste scan"),
        },
        #[cfg(feature = "documents")]
        hours: |hours| format!("{hours} uur vanaf de eerste scan"),
    },
    decimal_mark: ',',
    thousands_mark: '.',
    #[cfg(feature = "documents")]
    ticket: Ticket {
        name: "Op naam van",
        access_areas: "Toegang",
        valid: "Geldig",
        price: "Prijs",
        order: "Bestelling",
        noun: "Ticket",
        position: |ticket, of| format!("Ticket {ticket} van {of}"),
        qr_code: "QR-code van het ticket",
        logo: "Logo",
        page: |page, of| format!("Pagina {page} van {of}"),
    },
    #[cfg(all(feature = "documents", feature = "server"))]
    tickets: TicketPages {
        your_tickets: "Uw tickets",
        show_at_entrance: "Toon deze code bij de ingang.",
        ticket_cancelled: "Dit ticket is geannuleerd",
        event_cancelled: "Dit evenement gaat niet door",
        order_cancelled: "Deze bestelling is geannuleerd",
        no_entry: "Toegang is niet meer mogelijk.",
        ask_about_money: "Vraag de organisator naar uw geld.",
        checked_in: "Ingecheckt",
        event_over: "Dit evenement is voorbij",
        download_ticket: "Downloaden als PDF",
        download_tickets: "Alles downloaden als PDF",
        add_to_calendar: "Aan agenda toevoegen",
        parts: "Meer tickets",
    },
    #[cfg(feature = "server")]
    checkout: Checkout {
        title: "Betalen",
        order: "Bestelling",
        discount: "Korting",
        total: "Totaal",
        reserved: |minutes| match minutes {
            1 => "Nog 1 minuut gereserveerd".to_owned(),
            _ => format!("Nog {minutes} minuten gereserveerd"),
        },
        pay: |amount| format!("{amount} betalen"),
        let_payment_fail: "Betaling laten mislukken",
        cancel_order: "Bestelling annuleren",
        test_mode: "Testmodus",
        no_money_is_charged: "Er wordt geen geld afgeschreven.",
        choose_outcome: "Kies hoe de betaling afloopt:",
        show_tickets: "Tickets tonen",
        back_to_payment: "Terug naar de betaling",
    },
    #[cfg(feature = "server")]
    payment: Payment {
        paid: Message { title: "Betaald", text: "Hartelijk dank! Uw tickets zijn uitgegeven." },
        failed: Message { title: "Betaling mislukt", text: "Er is niets afgeschreven. U kunt het opnieuw proberen." },
        refunded: Message {
            title: "Terugbetaald",
            text: "Deze bestelling is gesloten en uw betaling is terugbetaald.",
        },
        refund_due: Message { title: "Gesloten", text: "Deze bestelling is gesloten. Uw betaling wordt terugbetaald." },
        cancelled: Message { title: "Geannuleerd", text: "Deze bestelling is geannuleerd. U hoeft niets te betalen." },
        event_cancelled: Message { title: "Het evenement gaat niet door", text: "U hoeft niets te betalen." },
        expired: Message { title: "Verlopen", text: "Deze bestelling is niet op tijd betaald. Bestel opnieuw." },
        too_late: Message {
            title: "Te laat",
            text: "Uw betaling kwam te laat voor deze bestelling. Ze wordt terugbetaald.",
        },
        too_late_and_refunded: Message {
            title: "Terugbetaald",
            text: "Uw betaling kwam te laat voor deze bestelling en is terugbetaald.",
        },
        not_yet: Message { title: "Nog niet betaald", text: "Er is niets afgeschreven. U kunt teruggaan en betalen." },
        in_progress: Message {
            title: "In behandeling",
            text: "Uw betaling is onderweg. Uw tickets worden uitgegeven zodra ze binnen is.",
        },
        unknown: Message {
            title: "Even geduld",
            text: "We weten nog niet of uw betaling binnen is. Deze pagina kijkt vanzelf opnieuw.",
        },
        closed: Message {
            title: "Niet betaald",
            text: "Er is niets afgeschreven. Deze betaling is niet meer mogelijk.",
        },
        mismatch: Message {
            title: "Niet betaald",
            text: "Uw betaling past niet bij deze bestelling. Als er iets is afgeschreven, krijgt u uw geld terug.",
        },
        cancelled_maybe_paid: Message {
            title: "Geannuleerd",
            text: "Deze bestelling is geannuleerd. Als u hebt betaald, krijgt u uw geld terug.",
        },
        expired_maybe_paid: Message {
            title: "Verlopen",
            text: "Deze bestelling is niet op tijd betaald. Als u daarna hebt betaald, krijgt u uw geld terug.",
        },
        replaced: Message {
            title: "Er is een nieuwere link",
            text: "Deze link is vervangen door een nieuwere. Gebruik de nieuwste link die u hebt gekregen.",
        },
    },
    #[cfg(feature = "server")]
    problems: Problems {
        no_such_page: Message { title: "We kunnen deze pagina niet vinden", text: "Controleer het adres." },
        #[cfg(feature = "documents")]
        no_such_ticket: Message {
            title: "We kunnen dit ticket niet vinden",
            text: "Controleer de link die u hebt gekregen, of vraag de organisator om een nieuwe.",
        },
        no_such_checkout: Message {
            title: "We kunnen deze betaling niet vinden",
            text: "Controleer de link die u hebt gekregen.",
        },
        #[cfg(feature = "documents")]
        not_paid: Message {
            title: "Deze bestelling is nog niet betaald",
            text: "De tickets worden uitgegeven als ze betaald is.",
        },
        #[cfg(feature = "documents")]
        nothing_to_download: Message { title: "Deze tickets zijn geannuleerd", text: "Er is niets te downloaden." },
        invalid_request: Message {
            title: "Dit werkt niet",
            text: "Ga terug en gebruik de links en knoppen van de pagina.",
        },
        too_many_requests: Message { title: "Te veel aanvragen", text: "Probeer het over een minuut opnieuw." },
        busy: Message { title: "De server is bezet", text: "Probeer het zo opnieuw." },
        internal: Message { title: "Er ging iets mis", text: "Probeer het later opnieuw." },
    },
};
