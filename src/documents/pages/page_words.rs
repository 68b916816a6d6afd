//! The words of the pages in the languages that they speak.

use super::super::words::Words;

/// The words of one language that only pages have.
#[derive(Debug)]
pub(super) struct PageWords {
    pub(super) your_tickets: &'static str,
    pub(super) show_at_entrance: &'static str,
    pub(super) ticket_cancelled: &'static str,
    pub(super) event_cancelled: &'static str,
    pub(super) order_cancelled: &'static str,
    /// Cancelled tickets and events admit nobody.
    pub(super) not_valid: &'static str,
    pub(super) checked_in: &'static str,
    pub(super) event_over: &'static str,
    pub(super) download_ticket: &'static str,
    pub(super) download_tickets: &'static str,
    pub(super) add_to_calendar: &'static str,
}

/// The words for pages in the language of a document.
pub(super) fn of(words: &Words) -> &'static PageWords {
    match words.language {
        "de" => &GERMAN,
        "fr" => &FRENCH,
        "es" => &SPANISH,
        "it" => &ITALIAN,
        "nl" => &DUTCH,
        _ => &ENGLISH,
    }
}

static ENGLISH: PageWords = PageWords {
    your_tickets: "Your tickets",
    show_at_entrance: "Show this code at the entrance.",
    ticket_cancelled: "This ticket is cancelled",
    event_cancelled: "This event is cancelled",
    order_cancelled: "This order is cancelled",
    not_valid: "It admits nobody any more.",
    checked_in: "Checked in",
    event_over: "This event is over",
    download_ticket: "Download as PDF",
    download_tickets: "Download all as PDF",
    add_to_calendar: "Add to calendar",
};

static GERMAN: PageWords = PageWords {
    your_tickets: "Ihre Tickets",
    show_at_entrance: "Zeigen Sie diesen Code am Einlass.",
    ticket_cancelled: "Dieses Ticket ist storniert",
    event_cancelled: "Diese Veranstaltung ist abgesagt",
    order_cancelled: "Diese Bestellung ist storniert",
    not_valid: "Damit ist kein Einlass mehr möglich.",
    checked_in: "Eingelassen",
    event_over: "Diese Veranstaltung ist vorbei",
    download_ticket: "Als PDF laden",
    download_tickets: "Alle als PDF laden",
    add_to_calendar: "In den Kalender",
};

static FRENCH: PageWords = PageWords {
    your_tickets: "Vos billets",
    show_at_entrance: "Présentez ce code à l’entrée.",
    ticket_cancelled: "Ce billet est annulé",
    event_cancelled: "Cet événement est annulé",
    order_cancelled: "Cette commande est annulée",
    not_valid: "L’entrée n’est plus possible.",
    checked_in: "Entrée enregistrée",
    event_over: "Cet événement est terminé",
    download_ticket: "Télécharger en PDF",
    download_tickets: "Tout télécharger en PDF",
    add_to_calendar: "Ajouter au calendrier",
};

static SPANISH: PageWords = PageWords {
    your_tickets: "Sus entradas",
    show_at_entrance: "Muestre este código en la entrada.",
    ticket_cancelled: "Esta entrada está anulada",
    event_cancelled: "Este evento está cancelado",
    order_cancelled: "Este pedido está cancelado",
    not_valid: "Ya no permite el acceso.",
    checked_in: "Acceso registrado",
    event_over: "Este evento ha terminado",
    download_ticket: "Descargar en PDF",
    download_tickets: "Descargar todo en PDF",
    add_to_calendar: "Añadir al calendario",
};

static ITALIAN: PageWords = PageWords {
    your_tickets: "I suoi biglietti",
    show_at_entrance: "Mostri questo codice all’ingresso.",
    ticket_cancelled: "Questo biglietto è annullato",
    event_cancelled: "Questo evento è annullato",
    order_cancelled: "Questo ordine è annullato",
    not_valid: "Non consente più l’ingresso.",
    checked_in: "Ingresso registrato",
    event_over: "Questo evento è terminato",
    download_ticket: "Scarica in PDF",
    download_tickets: "Scarica tutti in PDF",
    add_to_calendar: "Aggiungi al calendario",
};

static DUTCH: PageWords = PageWords {
    your_tickets: "Uw tickets",
    show_at_entrance: "Toon deze code bij de ingang.",
    ticket_cancelled: "Dit ticket is geannuleerd",
    event_cancelled: "Dit evenement gaat niet door",
    order_cancelled: "Deze bestelling is geannuleerd",
    not_valid: "Het geeft geen toegang meer.",
    checked_in: "Ingecheckt",
    event_over: "Dit evenement is voorbij",
    download_ticket: "Downloaden als PDF",
    download_tickets: "Alles downloaden als PDF",
    add_to_calendar: "In agenda zetten",
};
