//! Italian.

use super::vocabulary::{
    Checkout, CurrencyPlace, Dates, Message, Money, Payment, Problems, Receipt, Ticket, TicketPages, Words,
};

pub(super) static ITALIAN: Words = Words {
    language: "it",
    dates: Dates {
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
        day: |day, month, year| match day {
            1 => format!("1º\u{A0}{month}\u{A0}{year}"),
            _ => format!("{day}\u{A0}{month}\u{A0}{year}"),
        },
        date: |weekday, day| format!("{weekday} {day}"),
        time: |hour, minute| format!("{hour:02}:{minute:02}"),
        after_time: "",
        at: ", ",
        from: "da",
        until: "fino a",
        only_on: "solo il",
        days: |days| match days {
            1 => "il giorno del primo ingresso".to_owned(),
            _ => format!("per {days} giorni dal primo ingresso"),
        },
        hours: |hours| match hours {
            1 => "per 1 ora dal primo ingresso".to_owned(),
            _ => format!("per {hours} ore dal primo ingresso"),
        },
    },
    money: Money { decimal_mark: ',', thousands_mark: '.', currency: CurrencyPlace::After },
    ticket: Ticket {
        name: "Nome",
        access_areas: "Accesso",
        valid: "Validità",
        price: "Prezzo",
        order: "Ordine",
        noun: "Biglietto",
        position: |ticket, of| format!("Biglietto {ticket} di {of}"),
        qr_code: "Codice QR del biglietto",
        logo: "Logo",
        page: |page, of| format!("Pagina {page} di {of}"),
    },
    tickets: TicketPages {
        your_tickets: "I tuoi biglietti",
        show_at_entrance: "Mostra questo codice all’ingresso.",
        ticket_cancelled: "Questo biglietto è annullato",
        event_cancelled: "Questo evento è annullato",
        order_cancelled: "Questo ordine è annullato",
        no_entry: "L’ingresso non è più possibile.",
        contact_about_refund: "Per il rimborso rivolgiti all’organizzatore.",
        checked_in: "Ingresso registrato",
        event_over: "Questo evento è terminato",
        download_ticket: "Scarica il PDF",
        download_tickets: "Scarica tutti in PDF",
        add_to_calendar: "Aggiungi al calendario",
        parts: "Altri biglietti",
    },
    checkout: Checkout {
        title: "Pagamento",
        reserved: |minutes| match minutes {
            1 => "Riservato ancora per 1 minuto".to_owned(),
            _ => format!("Riservato ancora per {minutes} minuti"),
        },
        pay: |amount| format!("Paga {amount}"),
        let_payment_fail: "Fai fallire il pagamento",
        cancel_order: "Annulla l’ordine",
        test_mode: "Modalità di prova",
        no_money_is_charged: "Non viene addebitato nulla.",
        choose_outcome: "Scegli come finisce il pagamento:",
        show_tickets: "Mostra i biglietti",
        back_to_payment: "Torna al pagamento",
    },
    receipt: Receipt {
        title: "Ricevuta",
        discount: "Sconto",
        total: "Totale",
        paid: "Pagato",
        paid_online: "Pagato online",
        paid_in_cash: "Pagato in contanti",
        paid_by_transfer: "Pagato con bonifico",
        refunded: "Rimborsato",
        refund_due: "Rimborso in corso",
        company: "Azienda",
        delivery_address: "Indirizzo di spedizione",
    },
    payment: Payment {
        paid: Message { title: "Pagato", text: "Grazie! I tuoi biglietti sono stati emessi." },
        failed: Message { title: "Pagamento non riuscito", text: "Non ti è stato addebitato nulla. Puoi riprovare." },
        expired: Message { title: "Scaduto", text: "Questo ordine non è stato pagato in tempo. Ordina di nuovo." },
        too_late: Message {
            title: "Troppo tardi",
            text: "Il tuo pagamento è arrivato troppo tardi per questo ordine.",
        },
        not_yet: Message {
            title: "Non ancora pagato",
            text: "Non ti è stato addebitato nulla. Puoi tornare indietro e pagare.",
        },
        in_progress: Message {
            title: "In corso",
            text: "Il tuo pagamento è in elaborazione. I biglietti vengono emessi appena arriva.",
        },
        unknown: Message {
            title: "Attendi",
            text: "Non sappiamo ancora se il tuo pagamento è arrivato. Questa pagina ricontrolla da sola.",
        },
        closed: Message {
            title: "Non pagato",
            text: "Non ti è stato addebitato nulla. Questo pagamento non è più possibile.",
        },
        mismatch: Message { title: "Non pagato", text: "Il tuo pagamento non corrisponde a questo ordine." },
        replaced: Message {
            title: "C’è un link più recente",
            text: "Questo link è stato sostituito da uno più recente. Usa l’ultimo link che hai ricevuto.",
        },
        nothing_to_pay: "Non c’è nulla da pagare.",
        was_refunded: |amount| format!("{amount} sono stati rimborsati."),
        will_be_refunded: |amount| format!("{amount} verranno rimborsati."),
    },
    problems: Problems {
        no_such_page: Message { title: "Non troviamo questa pagina", text: "Controlla l’indirizzo." },
        no_such_ticket: Message {
            title: "Non troviamo questo biglietto",
            text: "Controlla il link che hai ricevuto, o chiedine uno nuovo all’organizzatore.",
        },
        no_such_checkout: Message {
            title: "Non troviamo questo pagamento",
            text: "Controlla il link che hai ricevuto.",
        },
        not_paid: Message {
            title: "Questo ordine non è ancora pagato",
            text: "I suoi biglietti vengono emessi quando è pagato.",
        },
        nothing_to_download: Message {
            title: "Questi biglietti sono annullati", text: "Non c’è nulla da scaricare."
        },
        invalid_request: Message {
            title: "Non ha funzionato",
            text: "Torna indietro e usa i link e i pulsanti della pagina.",
        },
        too_many_requests: Message { title: "Troppe richieste", text: "Riprova tra un minuto." },
        busy: Message { title: "Il server è occupato", text: "Riprova tra un momento." },
        internal: Message { title: "Qualcosa è andato storto", text: "Riprova più tardi." },
    },
};
