//! German.

use super::vocabulary::{Checkout, CurrencyPlace, Dates, Message, Money, Payment, Problems, Ticket, TicketPages, Words};

pub(super) static GERMAN: Words = Words {
    language: "de",
    dates: Dates {
        weekdays: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        day: |day, month, year| format!("{day}.\u{A0}{month}\u{A0}{year}"),
        date: |weekday, day| format!("{weekday}, {day}"),
        time: |hour, minute| format!("{hour:02}:{minute:02}"),
        after_time: "\u{A0}Uhr",
        at: ", ",
        from: "ab",
        until: "bis",
        only_on: "nur am",
        days: |days| match days {
            1 => "am Tag des ersten Scans".to_owned(),
            _ => format!("{days} Tage ab dem ersten Scan"),
        },
        hours: |hours| match hours {
            1 => "1 Stunde ab dem ersten Scan".to_owned(),
            _ => format!("{hours} Stunden ab dem ersten Scan"),
        },
    },
    money: Money { decimal_mark: ',', thousands_mark: '.', currency: CurrencyPlace::After },
    ticket: Ticket {
        name: "Name",
        access_areas: "Zugang",
        valid: "Gültig",
        price: "Preis",
        order: "Bestellung",
        noun: "Ticket",
        position: |ticket, of| format!("Ticket {ticket} von {of}"),
        qr_code: "QR-Code des Tickets",
        logo: "Logo",
        page: |page, of| format!("Seite {page} von {of}"),
    },
    tickets: TicketPages {
        your_tickets: "Ihre Tickets",
        show_at_entrance: "Zeigen Sie diesen Code am Einlass vor.",
        ticket_cancelled: "Dieses Ticket ist storniert",
        event_cancelled: "Diese Veranstaltung ist abgesagt",
        order_cancelled: "Diese Bestellung ist storniert",
        no_entry: "Einlass ist nicht mehr möglich.",
        ask_about_money: "Fragen Sie den Veranstalter nach Ihrem Geld.",
        checked_in: "Bereits eingelöst",
        event_over: "Diese Veranstaltung ist vorbei",
        download_ticket: "Als PDF herunterladen",
        download_tickets: "Alle als PDF herunterladen",
        add_to_calendar: "Zum Kalender hinzufügen",
        parts: "Weitere Tickets",
    },
    checkout: Checkout {
        title: "Kasse",
        discount: "Rabatt",
        total: "Summe",
        reserved: |minutes| match minutes {
            1 => "Noch 1 Minute reserviert".to_owned(),
            _ => format!("Noch {minutes} Minuten reserviert"),
        },
        pay: |amount| format!("{amount} bezahlen"),
        let_payment_fail: "Zahlung scheitern lassen",
        cancel_order: "Bestellung stornieren",
        test_mode: "Testmodus",
        no_money_is_charged: "Es wird kein Geld abgebucht.",
        choose_outcome: "Wählen Sie, wie die Zahlung ausgeht:",
        show_tickets: "Tickets anzeigen",
        back_to_payment: "Zurück zur Zahlung",
    },
    payment: Payment {
        paid: Message { title: "Bezahlt", text: "Vielen Dank! Ihre Tickets sind ausgestellt." },
        failed: Message {
            title: "Zahlung fehlgeschlagen",
            text: "Es wurde nichts abgebucht. Sie können es noch einmal versuchen.",
        },
        refunded: Message {
            title: "Erstattet",
            text: "Diese Bestellung ist geschlossen, und Ihre Zahlung wurde erstattet.",
        },
        refund_due: Message {
            title: "Geschlossen",
            text: "Diese Bestellung ist geschlossen. Ihre Zahlung wird erstattet.",
        },
        cancelled: Message { title: "Storniert", text: "Diese Bestellung wurde storniert. Es ist nichts zu bezahlen." },
        event_cancelled: Message { title: "Die Veranstaltung wurde abgesagt", text: "Es ist nichts zu bezahlen." },
        expired: Message {
            title: "Abgelaufen",
            text: "Diese Bestellung wurde nicht rechtzeitig bezahlt. Bitte bestellen Sie noch einmal.",
        },
        too_late: Message {
            title: "Zu spät",
            text: "Ihre Zahlung kam für diese Bestellung zu spät. Sie wird erstattet.",
        },
        too_late_and_refunded: Message {
            title: "Erstattet",
            text: "Ihre Zahlung kam für diese Bestellung zu spät und wurde erstattet.",
        },
        not_yet: Message {
            title: "Noch nicht bezahlt",
            text: "Es wurde nichts abgebucht. Sie können zurückgehen und bezahlen.",
        },
        in_progress: Message {
            title: "In Bearbeitung",
            text: "Ihre Zahlung ist unterwegs. Ihre Tickets werden ausgestellt, sobald sie eingegangen ist.",
        },
        unknown: Message {
            title: "Bitte warten",
            text: "Wir wissen noch nicht, ob Ihre Zahlung eingegangen ist. Diese Seite sieht von selbst wieder nach.",
        },
        closed: Message {
            title: "Nicht bezahlt",
            text: "Es wurde nichts abgebucht. Diese Zahlung ist nicht mehr möglich.",
        },
        mismatch: Message {
            title: "Nicht bezahlt",
            text: "Ihre Zahlung passt nicht zu dieser Bestellung. Falls etwas abgebucht wurde, bekommen Sie Ihr Geld zurück.",
        },
        cancelled_maybe_paid: Message {
            title: "Storniert",
            text: "Diese Bestellung wurde storniert. Falls Sie bezahlt haben, bekommen Sie Ihr Geld zurück.",
        },
        expired_maybe_paid: Message {
            title: "Abgelaufen",
            text: "Diese Bestellung wurde nicht rechtzeitig bezahlt. Falls Sie danach bezahlt haben, bekommen Sie Ihr Geld zurück.",
        },
        replaced: Message {
            title: "Es gibt einen neueren Link",
            text: "Dieser Link wurde durch einen neueren ersetzt. Bitte nehmen Sie den neuesten Link, den Sie bekommen haben.",
        },
    },
    problems: Problems {
        no_such_page: Message { title: "Wir finden diese Seite nicht", text: "Bitte prüfen Sie die Adresse." },
        no_such_ticket: Message {
            title: "Wir finden dieses Ticket nicht",
            text: "Bitte prüfen Sie den Link, den Sie bekommen haben, oder bitten Sie den Veranstalter um einen neuen.",
        },
        no_such_checkout: Message {
            title: "Wir finden diese Kasse nicht",
            text: "Bitte prüfen Sie den Link, den Sie bekommen haben.",
        },
        not_paid: Message {
            title: "Diese Bestellung ist noch nicht bezahlt",
            text: "Ihre Tickets werden ausgestellt, wenn sie bezahlt ist.",
        },
        nothing_to_download: Message { title: "Diese Tickets sind storniert", text: "Es gibt nichts herunterzuladen." },
        invalid_request: Message {
            title: "Das geht so nicht",
            text: "Bitte gehen Sie zurück, und benutzen Sie die Links und Knöpfe der Seite.",
        },
        too_many_requests: Message {
            title: "Zu viele Anfragen",
            text: "Bitte versuchen Sie es in einer Minute noch einmal.",
        },
        busy: Message { title: "Der Server ist ausgelastet", text: "Bitte versuchen Sie es gleich noch einmal." },
        internal: Message { title: "Etwas ist schiefgegangen", text: "Bitte versuchen Sie es später noch einmal." },
    },
};
