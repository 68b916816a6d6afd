//! Dutch.

#[cfg(feature = "documents")]
use super::vocabulary::Ticket;
#[cfg(all(feature = "documents", feature = "server"))]
use super::vocabulary::TicketPages;
#[cfg(feature = "server")]
use super::vocabulary::{Checkout, Door, DoorReasons, Message, Payment, Problems};
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
    door: Door {
        title: "Toegangscontrole",
        start: "Camera starten",
        r#in: "In",
        out: "Uit",
        code: "Code van het ticket",
        check_code: "Controleren",
        admitted: "Toegang",
        left: "Uitgecheckt",
        exception: "Binnengelaten",
        refused: "Geen toegang",
        check: "Zelf controleren",
        let_in_anyway: "Toch binnenlaten",
        tap_again: "Tik nog eens om binnen te laten",
        next: "Volgende",
        first: "Eerst om {time}",
        first_with_device: "Eerst om {time}, {device}",
        age: "Lijst: {age} oud",
        waiting: "Te melden: {count}",
        problems: "Niet aanvaard: {count}",
        inside: "Binnen: {inside} van {expected}",
        online: "Online",
        offline: "Offline",
        more: "Meer",
        camera: "Camera",
        light: "Licht",
        save: "Scans als bestand opslaan",
        forget: "Deze telefoon vergeten",
        device: "Dit apparaat: {device}",
        unreported: "Niet gemelde scans: {count}.",
        admitted_twice: "Twee keer binnengelaten: {type}, {time}",
        would_be_refused: "Binnengelaten, maar niet geldig: {type}, {time}",
        ok: "OK",
        use_here: "Hier gebruiken",
        replace: "Verwijderen en vervangen",
        cancel: "Annuleren",
        camera_refused: "De camera is niet toegestaan. Sta hem toe voor deze pagina in de instellingen van de browser, of typ de code.",
        camera_missing: "Er is geen camera gevonden. Open deze pagina in Safari of Chrome, of typ de code.",
        camera_busy: "De camera start niet. Sluit andere apps die hem gebruiken, en probeer het opnieuw.",
        no_link: Message { title: "Nog geen ingang", text: "Scan de QR-code van uw ingang, of open de link ervan." },
        loading: Message { title: "De lijst wordt geladen", text: "{done} van {all} tickets" },
        no_connection: Message {
            title: "Geen verbinding",
            text: "De lijst van tickets is één keer nodig. Deze pagina blijft het proberen.",
        },
        revoked: Message { title: "Deze link werkt niet meer", text: "Vraag de organisator om een nieuwe." },
        other_window: Message {
            title: "De toegangscontrole is open in een ander venster",
            text: "Slechts één venster kan scannen.",
        },
        no_storage: Message {
            title: "Deze browser bewaart geen scans",
            text: "Gebruik geen privévenster, en maak ruimte vrij op de telefoon. Anders kan niemand binnen worden gelaten.",
        },
        insecure: Message {
            title: "Deze pagina heeft https nodig",
            text: "Open de link zoals u hem hebt gekregen, in Safari of Chrome.",
        },
        forget_question: Message {
            title: "Deze telefoon vergeten?",
            text: "De lijst en de link worden ervan verwijderd.",
        },
        replace_question: Message {
            title: "De link vervangen?",
            text: "Niet gemelde scans van het andere evenement: {count}. Sla ze op voordat ze worden verwijderd.",
        },
        reasons: DoorReasons {
            ticket_cancelled: "Het ticket is geannuleerd",
            already_checked_in: "Al ingecheckt",
            not_checked_in: "Niet ingecheckt",
            wrong_event: "Voor een ander evenement",
            event_cancelled: "Het evenement is geannuleerd",
            not_yet_valid: "Nog niet geldig",
            no_longer_valid: "Niet meer geldig",
            not_valid_today: "Vandaag niet geldig",
            unknown_code: "Onbekende code",
            not_a_ticket: "Geen code van een ticket",
            not_in_list: "Niet in de lijst van {time}",
            cannot_decide: "Deze browser kent de tijdzone van het evenement niet",
            cannot_be_kept: "Deze telefoon kan geen scans bewaren. Gebruik een andere",
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
