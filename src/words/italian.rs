//! Italian.

#[cfg(feature = "documents")]
use super::vocabulary::Ticket;
#[cfg(all(feature = "documents", feature = "server"))]
use super::vocabulary::TicketPages;
#[cfg(feature = "server")]
use super::vocabulary::{Checkout, Door, DoorReasons, Message, Payment, Problems};
use super::vocabulary::{Dates, Words};

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
        #[cfg(feature = "documents")]
        at: ", ",
        #[cfg(feature = "documents")]
        from: "da",
        #[cfg(feature = "documents")]
        until: "fino a",
        #[cfg(feature = "documents")]
        only_on: "solo il",
        #[cfg(feature = "documents")]
        days: |days| match days {
            1 => "il giorno della prima scansione".to_owned(),
            _ => format!("per {days} giorni dalla prima scansione"),
        },
        #[cfg(feature = "documents")]
        hours: |hours| match hours {
            1 => "per 1 ora dalla prima scansione".to_owned(),
            _ => format!("per {hours} ore dalla prima scansione"),
        },
    },
    decimal_mark: ',',
    thousands_mark: '.',
    #[cfg(feature = "documents")]
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
    #[cfg(all(feature = "documents", feature = "server"))]
    tickets: TicketPages {
        your_tickets: "I tuoi biglietti",
        show_at_entrance: "Mostra questo codice all’ingresso.",
        ticket_cancelled: "Questo biglietto è annullato",
        event_cancelled: "Questo evento è annullato",
        order_cancelled: "Questo ordine è annullato",
        no_entry: "L’ingresso non è più possibile.",
        ask_about_money: "Per il rimborso rivolgiti all’organizzatore.",
        checked_in: "Ingresso registrato",
        event_over: "Questo evento è terminato",
        download_ticket: "Scarica il PDF",
        download_tickets: "Scarica tutti in PDF",
        add_to_calendar: "Aggiungi al calendario",
        parts: "Altri biglietti",
    },
    #[cfg(feature = "server")]
    checkout: Checkout {
        title: "Pagamento",
        order: "Ordine",
        discount: "Sconto",
        total: "Totale",
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
    #[cfg(feature = "server")]
    payment: Payment {
        paid: Message { title: "Pagato", text: "Grazie! I tuoi biglietti sono stati emessi." },
        failed: Message { title: "Pagamento non riuscito", text: "Non ti è stato addebitato nulla. Puoi riprovare." },
        refunded: Message {
            title: "Rimborsato",
            text: "Questo ordine è chiuso e il tuo pagamento è stato rimborsato.",
        },
        refund_due: Message { title: "Chiuso", text: "Questo ordine è chiuso. Il tuo pagamento verrà rimborsato." },
        cancelled: Message {
            title: "Annullato", text: "Questo ordine è stato annullato. Non c’è nulla da pagare."
        },
        event_cancelled: Message { title: "L’evento è stato annullato", text: "Non c’è nulla da pagare." },
        expired: Message { title: "Scaduto", text: "Questo ordine non è stato pagato in tempo. Ordina di nuovo." },
        too_late: Message {
            title: "Troppo tardi",
            text: "Il tuo pagamento è arrivato troppo tardi per questo ordine. Verrà rimborsato.",
        },
        too_late_and_refunded: Message {
            title: "Rimborsato",
            text: "Il tuo pagamento è arrivato troppo tardi per questo ordine ed è stato rimborsato.",
        },
        not_yet: Message {
            title: "Non ancora pagato",
            text: "Non ti è stato addebitato nulla. Puoi tornare indietro e pagare.",
        },
        in_progress: Message {
            title: "In corso",
            text: "Il tuo pagamento è in arrivo. I biglietti vengono emessi appena arriva.",
        },
        unknown: Message {
            title: "Attendi",
            text: "Non sappiamo ancora se il tuo pagamento è arrivato. Questa pagina ricontrolla da sola.",
        },
        closed: Message {
            title: "Non pagato",
            text: "Non ti è stato addebitato nulla. Questo pagamento non è più possibile.",
        },
        mismatch: Message {
            title: "Non pagato",
            text: "Il tuo pagamento non corrisponde a questo ordine. Se ti è stato addebitato qualcosa, verrai rimborsato.",
        },
        cancelled_maybe_paid: Message {
            title: "Annullato",
            text: "Questo ordine è stato annullato. Se hai pagato, verrai rimborsato.",
        },
        expired_maybe_paid: Message {
            title: "Scaduto",
            text: "Questo ordine non è stato pagato in tempo. Se hai pagato dopo, verrai rimborsato.",
        },
        replaced: Message {
            title: "C’è un link più recente",
            text: "Questo link è stato sostituito da uno più recente. Usa l’ultimo link che hai ricevuto.",
        },
    },
    #[cfg(feature = "server")]
    door: Door {
        title: "Controllo accessi",
        start: "Avvia la fotocamera",
        r#in: "Entrata",
        out: "Uscita",
        code: "Codice del biglietto",
        check_code: "Controlla",
        admitted: "Può entrare",
        left: "Uscita registrata",
        exception: "Fatto entrare",
        refused: "Non può entrare",
        check: "Controllare a mano",
        let_in_anyway: "Fai entrare comunque",
        tap_again: "Tocca ancora per far entrare",
        next: "Avanti",
        first: "Prima volta alle {time}",
        first_with_device: "Prima volta alle {time}, {device}",
        age: "Elenco: {age}",
        waiting: "Da inviare: {count}",
        problems: "Non accettate: {count}",
        inside: "Dentro: {inside} di {expected}",
        online: "Online",
        offline: "Offline",
        more: "Altro",
        camera: "Fotocamera",
        light: "Luce",
        save: "Salva le scansioni in un file",
        forget: "Dimentica questo telefono",
        device: "Questo dispositivo: {device}",
        unreported: "Scansioni non inviate: {count}.",
        admitted_twice: "Entrato due volte: {type}, {time}",
        would_be_refused: "Entrato, ma non valido: {type}, {time}",
        ok: "OK",
        use_here: "Usa qui",
        replace: "Elimina e sostituisci",
        cancel: "Annulla",
        camera_refused: "La fotocamera non è consentita. Consentila per questa pagina nelle impostazioni del browser, o scrivi il codice.",
        camera_missing: "Nessuna fotocamera trovata. Apri questa pagina in Safari o Chrome, o scrivi il codice.",
        camera_busy: "La fotocamera non si avvia. Chiudi le altre app che la usano e riprova.",
        no_link: Message {
            title: "Ancora nessun ingresso",
            text: "Scansiona il codice QR del tuo ingresso, o apri il suo link.",
        },
        loading: Message { title: "Caricamento dell’elenco", text: "{done} di {all} biglietti" },
        no_connection: Message {
            title: "Nessuna connessione",
            text: "L’elenco dei biglietti serve una volta. Questa pagina continua a provare.",
        },
        revoked: Message { title: "Questo link non funziona più", text: "Chiedine uno nuovo all’organizzatore." },
        other_window: Message {
            title: "Il controllo è aperto in un’altra finestra",
            text: "Solo una finestra può scansionare.",
        },
        no_storage: Message {
            title: "Questo browser non conserva le scansioni",
            text: "Non usare una finestra privata e libera spazio sul telefono. Altrimenti nessuno può entrare.",
        },
        insecure: Message {
            title: "Questa pagina richiede https",
            text: "Apri il link come l’hai ricevuto, in Safari o Chrome.",
        },
        forget_question: Message {
            title: "Dimenticare questo telefono?",
            text: "L’elenco e il link vengono eliminati.",
        },
        replace_question: Message {
            title: "Sostituire il link?",
            text: "Scansioni non inviate dell’altro evento: {count}. Salvale prima che vengano eliminate.",
        },
        reasons: DoorReasons {
            ticket_cancelled: "Il biglietto è annullato",
            already_checked_in: "Già utilizzato",
            not_checked_in: "Non è entrato",
            wrong_event: "Per un altro evento",
            event_cancelled: "L’evento è annullato",
            not_yet_valid: "Non ancora valido",
            no_longer_valid: "Non più valido",
            not_valid_today: "Non valido oggi",
            unknown_code: "Codice sconosciuto",
            not_a_ticket: "Non è un codice di biglietto",
            not_in_list: "Non è nell’elenco delle {time}",
            cannot_decide: "Questo browser non conosce il fuso orario dell’evento",
            cannot_be_kept: "Questo telefono non può conservare le scansioni. Usane un altro",
        },
    },
    #[cfg(feature = "server")]
    problems: Problems {
        no_such_page: Message { title: "Non troviamo questa pagina", text: "Controlla l’indirizzo." },
        #[cfg(feature = "documents")]
        no_such_ticket: Message {
            title: "Non troviamo questo biglietto",
            text: "Controlla il link che hai ricevuto, o chiedine uno nuovo all’organizzatore.",
        },
        no_such_checkout: Message {
            title: "Non troviamo questo pagamento",
            text: "Controlla il link che hai ricevuto.",
        },
        #[cfg(feature = "documents")]
        not_paid: Message {
            title: "Questo ordine non è ancora pagato",
            text: "I suoi biglietti vengono emessi quando è pagato.",
        },
        #[cfg(feature = "documents")]
        nothing_to_download: Message {
            title: "Questi biglietti sono annullati", text: "Non c’è nulla da scaricare."
        },
        invalid_request: Message {
            title: "Così non funziona",
            text: "Torna indietro e usa i link e i pulsanti della pagina.",
        },
        too_many_requests: Message { title: "Troppe richieste", text: "Riprova tra un minuto." },
        busy: Message { title: "Il server è occupato", text: "Riprova tra un momento." },
        internal: Message { title: "Qualcosa è andato storto", text: "Riprova più tardi." },
    },
};
