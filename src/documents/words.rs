//! The words of a ticket document in the languages that it speaks.

use std::hash::{Hash, Hasher};

/// The words of one language.
#[derive(Debug)]
pub(super) struct Words {
    /// The language, as an ISO 639-1 code.
    pub(super) language: &'static str,
    pub(super) holder: &'static str,
    pub(super) access_areas: &'static str,
    pub(super) valid: &'static str,
    pub(super) order: &'static str,
    pub(super) ticket: &'static str,
    /// What a screen reader says of the QR code.
    pub(super) qr_code: &'static str,
    pub(super) logo: &'static str,
    /// Page 1 of 2.
    pub(super) page: fn(usize, usize) -> String,
    pub(super) weekdays: [&'static str; 7],
    pub(super) months: [&'static str; 12],
    /// The date of a weekday, day, month and year.
    pub(super) date: fn(&str, u8, &str, i32) -> String,
    /// A day, month and year.
    pub(super) day: fn(u8, &str, i32) -> String,
    /// What follows a time of day.
    pub(super) after_time: &'static str,
    pub(super) from: &'static str,
    pub(super) until: &'static str,
    pub(super) only_on: &'static str,
    /// Valid for some calendar days from the first scan on.
    pub(super) days: fn(i64) -> String,
    /// Valid for some hours from the first scan on.
    pub(super) hours: fn(i64) -> String,
}

impl Hash for Words {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.language.hash(state);
    }
}

/// Returns the words of a language tag's language (`de` of `de-AT`), and English if that is not known.
pub(super) fn of(tag: Option<&str>) -> &'static Words {
    let primary = tag.unwrap_or_default().trim().split(['-', '_', '.']).next().unwrap_or_default();
    ALL.iter().copied().find(|words| words.language.eq_ignore_ascii_case(primary)).unwrap_or(&ENGLISH)
}

const ALL: [&Words; 6] = [&ENGLISH, &GERMAN, &FRENCH, &SPANISH, &ITALIAN, &DUTCH];

static ENGLISH: Words = Words {
    language: "en",
    holder: "Holder",
    access_areas: "Access",
    valid: "Valid",
    order: "Order",
    ticket: "Ticket",
    qr_code: "QR code of the ticket",
    logo: "Logo",
    page: |page, of| format!("Page {page} of {of}"),
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
    date: |weekday, day, month, year| format!("{weekday}, {day} {month} {year}"),
    day: |day, month, year| format!("{day} {month} {year}"),
    after_time: "",
    from: "from",
    until: "until",
    only_on: "only on",
    days: |days| match days {
        1 => "on the day of the first scan".to_owned(),
        _ => format!("for {days} days from the first scan"),
    },
    hours: |hours| match hours {
        1 => "for 1 hour from the first scan".to_owned(),
        _ => format!("for {hours} hours from the first scan"),
    },
};

static GERMAN: Words = Words {
    language: "de",
    holder: "Inhaber",
    access_areas: "Zugang",
    valid: "Gültig",
    order: "Bestellung",
    ticket: "Ticket",
    qr_code: "QR-Code des Tickets",
    logo: "Logo",
    page: |page, of| format!("Seite {page} von {of}"),
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
    date: |weekday, day, month, year| format!("{weekday}, {day}. {month} {year}"),
    day: |day, month, year| format!("{day}. {month} {year}"),
    after_time: " Uhr",
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
};

static FRENCH: Words = Words {
    language: "fr",
    holder: "Titulaire",
    access_areas: "Accès",
    valid: "Validité",
    order: "Commande",
    ticket: "Billet",
    qr_code: "Code QR du billet",
    logo: "Logo",
    page: |page, of| format!("Page {page} sur {of}"),
    weekdays: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    months: [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
    date: |weekday, day, month, year| match day {
        1 => format!("{weekday} 1er {month} {year}"),
        _ => format!("{weekday} {day} {month} {year}"),
    },
    day: |day, month, year| match day {
        1 => format!("1er {month} {year}"),
        _ => format!("{day} {month} {year}"),
    },
    after_time: "",
    from: "à partir du",
    until: "jusqu’au",
    only_on: "uniquement le",
    days: |days| match days {
        1 => "le jour du premier contrôle".to_owned(),
        _ => format!("pendant {days} jours à partir du premier contrôle"),
    },
    hours: |hours| match hours {
        1 => "pendant 1 heure à partir du premier contrôle".to_owned(),
        _ => format!("pendant {hours} heures à partir du premier contrôle"),
    },
};

static SPANISH: Words = Words {
    language: "es",
    holder: "Titular",
    access_areas: "Acceso",
    valid: "Validez",
    order: "Pedido",
    ticket: "Entrada",
    qr_code: "Código QR de la entrada",
    logo: "Logotipo",
    page: |page, of| format!("Página {page} de {of}"),
    weekdays: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
    months: [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
    date: |weekday, day, month, year| format!("{weekday}, {day} de {month} de {year}"),
    day: |day, month, year| format!("{day} de {month} de {year}"),
    after_time: "",
    from: "desde el",
    until: "hasta el",
    only_on: "solo el",
    days: |days| match days {
        1 => "el día del primer escaneo".to_owned(),
        _ => format!("durante {days} días desde el primer escaneo"),
    },
    hours: |hours| match hours {
        1 => "durante 1 hora desde el primer escaneo".to_owned(),
        _ => format!("durante {hours} horas desde el primer escaneo"),
    },
};

static ITALIAN: Words = Words {
    language: "it",
    holder: "Intestatario",
    access_areas: "Accesso",
    valid: "Validità",
    order: "Ordine",
    ticket: "Biglietto",
    qr_code: "Codice QR del biglietto",
    logo: "Logo",
    page: |page, of| format!("Pagina {page} di {of}"),
    weekdays: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
    months: [
        "gennaio",
        "febbraio",
        "marzo",
        "aprile",
        "maggio",
        "giugno",
        "luglio",
        "agosto",
        "settembre",
        "ottobre",
        "novembre",
        "dicembre",
    ],
    date: |weekday, day, month, year| format!("{weekday} {day} {month} {year}"),
    day: |day, month, year| format!("{day} {month} {year}"),
    after_time: "",
    from: "da",
    until: "fino a",
    only_on: "solo il",
    days: |days| match days {
        1 => "il giorno della prima scansione".to_owned(),
        _ => format!("per {days} giorni dalla prima scansione"),
    },
    hours: |hours| match hours {
        1 => "per 1 ora dalla prima scansione".to_owned(),
        _ => format!("per {hours} ore dalla prima scansione"),
    },
};

static DUTCH: Words = Words {
    language: "nl",
    holder: "Houder",
    access_areas: "Toegang",
    valid: "Geldig",
    order: "Bestelling",
    ticket: "Ticket",
    qr_code: "QR-code van het ticket",
    logo: "Logo",
    page: |page, of| format!("Pagina {page} van {of}"),
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
    date: |weekday, day, month, year| format!("{weekday} {day} {month} {year}"),
    day: |day, month, year| format!("{day} {month} {year}"),
    after_time: "",
    from: "vanaf",
    until: "tot",
    only_on: "alleen op",
    days: |days| match days {
        1 => "op de dag van de eerste scan".to_owned(),
        _ => format!("{days} dagen vanaf de eerste scan"),
    },
    hours: |hours| format!("{hours} uur vanaf de eerste scan"),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primary_subtag_decides_and_else_it_is_english() {
        for (tag, language) in [
            (Some("de-AT"), "de"),
            (Some("FR_ca"), "fr"),
            (Some("nl_NL.UTF-8"), "nl"),
            (Some("it"), "it"),
            (Some("es-419"), "es"),
            (Some("pl-PL"), "en"),
            (Some("german"), "en"),
            (Some(""), "en"),
            (None, "en"),
        ] {
            assert_eq!(of(tag).language, language, "{tag:?}");
        }
    }
}
