//! French.

use super::vocabulary::{
    Checkout, CurrencyPlace, Dates, Home, Message, Money, Payment, Problems, Receipt, Ticket, TicketPages, Words,
};

pub(super) static FRENCH: Words = Words {
    language: "fr",
    dates: Dates {
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
        day: |day, month, year| match day {
            1 => format!("1er\u{A0}{month}\u{A0}{year}"),
            _ => format!("{day}\u{A0}{month}\u{A0}{year}"),
        },
        date: |weekday, day| format!("{weekday} {day}"),
        time: |hour, minute| match minute {
            0 => format!("{hour}\u{A0}h"),
            _ => format!("{hour}\u{A0}h\u{A0}{minute:02}"),
        },
        after_time: "",
        at: " à ",
        from: "à partir du",
        until: "jusqu’au",
        only_on: "uniquement le",
        days: |days| match days {
            1 => "le jour du premier passage".to_owned(),
            _ => format!("pendant {days} jours à partir du premier passage"),
        },
        hours: |hours| match hours {
            1 => "pendant 1 heure à partir du premier passage".to_owned(),
            _ => format!("pendant {hours} heures à partir du premier passage"),
        },
    },
    money: Money { decimal_mark: ',', thousands_mark: '\u{A0}', currency: CurrencyPlace::After },
    ticket: Ticket {
        name: "Nom",
        access_areas: "Accès",
        valid: "Validité",
        price: "Prix",
        order: "Commande",
        noun: "Billet",
        position: |ticket, of| format!("Billet {ticket} sur {of}"),
        qr_code: "Code QR du billet",
        logo: "Logo",
        page: |page, of| format!("Page {page} sur {of}"),
    },
    tickets: TicketPages {
        your_tickets: "Vos billets",
        show_at_entrance: "Présentez ce code à l’entrée.",
        ticket_cancelled: "Ce billet est annulé",
        event_cancelled: "Cet événement est annulé",
        order_cancelled: "Cette commande est annulée",
        no_entry: "L’entrée n’est plus possible.",
        contact_about_refund: "Contactez l’organisateur au sujet du remboursement.",
        checked_in: "Entrée enregistrée",
        event_over: "Cet événement est terminé",
        download_ticket: "Télécharger en PDF",
        download_tickets: "Tout télécharger en PDF",
        add_to_calendar: "Ajouter au calendrier",
        parts: "Autres billets",
    },
    checkout: Checkout {
        title: "Paiement",
        reserved: |minutes| match minutes {
            1 => "Réservé pendant encore 1 minute".to_owned(),
            _ => format!("Réservé pendant encore {minutes} minutes"),
        },
        pay: |amount| format!("Payer {amount}"),
        let_payment_fail: "Faire échouer le paiement",
        cancel_order: "Annuler la commande",
        test_mode: "Mode test",
        no_money_is_charged: "Aucun montant n’est débité.",
        choose_outcome: "Choisissez l’issue du paiement :",
        show_tickets: "Afficher les billets",
        back_to_payment: "Retour au paiement",
    },
    receipt: Receipt {
        title: "Reçu",
        discount: "Réduction",
        total: "Total",
        paid: "Payé",
        paid_online: "Payé en ligne",
        paid_in_cash: "Payé en espèces",
        paid_by_card: "Payé par carte",
        paid_by_transfer: "Payé par virement",
        refunded: "Remboursé",
        refund_due: "Remboursement en cours",
        company: "Société",
        delivery_address: "Adresse de livraison",
    },
    payment: Payment {
        paid: Message { title: "Payé", text: "Merci ! Vos billets ont été émis." },
        failed: Message {
            title: "Échec du paiement", text: "Vous n’avez pas été débité. Vous pouvez réessayer."
        },
        expired: Message {
            title: "Expirée",
            text: "Cette commande n’a pas été payée à temps. Veuillez commander à nouveau.",
        },
        too_late: Message { title: "Trop tard", text: "Votre paiement est arrivé trop tard pour cette commande." },
        not_yet: Message {
            title: "Pas encore payé",
            text: "Vous n’avez pas été débité. Vous pouvez revenir en arrière et payer.",
        },
        in_progress: Message {
            title: "En cours",
            text: "Votre paiement est en cours de traitement. Vos billets seront émis dès son arrivée.",
        },
        unknown: Message {
            title: "Veuillez patienter",
            text: "Nous ne savons pas encore si votre paiement est arrivé. Cette page vérifie de nouveau toute seule.",
        },
        closed: Message {
            title: "Non payé", text: "Vous n’avez pas été débité. Ce paiement n’est plus possible."
        },
        mismatch: Message { title: "Non payé", text: "Votre paiement ne correspond pas à cette commande." },
        replaced: Message {
            title: "Il existe un lien plus récent",
            text: "Ce lien a été remplacé par un plus récent. Veuillez utiliser le dernier lien que vous avez reçu.",
        },
        nothing_to_pay: "Il n’y a rien à payer.",
        was_refunded: |amount| format!("{amount} ont été remboursés."),
        will_be_refunded: |amount| format!("{amount} seront remboursés."),
    },
    home: Home {
        title: "Serveur de billetterie",
        text: "Avec ce serveur, des organisateurs vendent et contrôlent leurs billets. Si vous avez acheté un billet, veuillez ouvrir le lien que vous avez reçu.",
        documentation: "Documentation de l’API",
        check_in: "Contrôle des billets",
    },
    problems: Problems {
        no_such_page: Message { title: "Nous ne trouvons pas cette page", text: "Veuillez vérifier l’adresse." },
        no_such_ticket: Message {
            title: "Nous ne trouvons pas ce billet",
            text: "Veuillez vérifier le lien que vous avez reçu, ou en demander un nouveau à l’organisateur.",
        },
        no_such_checkout: Message {
            title: "Nous ne trouvons pas ce paiement",
            text: "Veuillez vérifier le lien que vous avez reçu.",
        },
        not_paid: Message {
            title: "Cette commande n’est pas encore payée",
            text: "Ses billets seront émis après le paiement.",
        },
        nothing_to_download: Message { title: "Ces billets sont annulés", text: "Il n’y a rien à télécharger." },
        invalid_request: Message {
            title: "Cela n’a pas fonctionné",
            text: "Veuillez revenir en arrière et utiliser les liens et les boutons de la page.",
        },
        too_many_requests: Message { title: "Trop de demandes", text: "Veuillez réessayer dans une minute." },
        busy: Message { title: "Le serveur est occupé", text: "Veuillez réessayer dans un instant." },
        internal: Message { title: "Une erreur s’est produite", text: "Veuillez réessayer plus tard." },
    },
};
