//! Spanish.

#[cfg(feature = "documents")]
use super::vocabulary::Ticket;
#[cfg(all(feature = "documents", feature = "server"))]
use super::vocabulary::TicketPages;
#[cfg(feature = "server")]
use super::vocabulary::{Checkout, Message, Payment, Problems};
use super::vocabulary::{Dates, Words};

pub(super) static SPANISH: Words = Words {
    language: "es",
    dates: Dates {
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
        day: |day, month, year| format!("{day}\u{A0}de\u{A0}{month}\u{A0}de\u{A0}{year}"),
        date: |weekday, day| format!("{weekday}, {day}"),
        time: |hour, minute| format!("{hour:02}:{minute:02}"),
        after_time: "",
        #[cfg(feature = "documents")]
        at: ", ",
        #[cfg(feature = "documents")]
        from: "desde el",
        #[cfg(feature = "documents")]
        until: "hasta el",
        #[cfg(feature = "documents")]
        only_on: "solo el",
        #[cfg(feature = "documents")]
        days: |days| match days {
            1 => "el día del primer escaneo".to_owned(),
            _ => format!("durante {days} días desde el primer escaneo"),
        },
        #[cfg(feature = "documents")]
        hours: |hours| match hours {
            1 => "durante 1 hora desde el primer escaneo".to_owned(),
            _ => format!("durante {hours} horas desde el primer escaneo"),
        },
    },
    decimal_mark: ',',
    thousands_mark: '.',
    #[cfg(feature = "documents")]
    ticket: Ticket {
        name: "Nombre",
        access_areas: "Acceso",
        valid: "Validez",
        price: "Precio",
        order: "Pedido",
        noun: "Entrada",
        position: |ticket, of| format!("Entrada {ticket} de {of}"),
        qr_code: "Código QR de la entrada",
        logo: "Logotipo",
        page: |page, of| format!("Página {page} de {of}"),
    },
    #[cfg(all(feature = "documents", feature = "server"))]
    tickets: TicketPages {
        your_tickets: "Tus entradas",
        show_at_entrance: "Muestra este código en la entrada.",
        ticket_cancelled: "Esta entrada está anulada",
        event_cancelled: "Este evento está cancelado",
        order_cancelled: "Este pedido está cancelado",
        no_entry: "Ya no es posible el acceso.",
        ask_about_money: "Consulta a la organización sobre tu dinero.",
        checked_in: "Acceso registrado",
        event_over: "Este evento ha terminado",
        download_ticket: "Descargar en PDF",
        download_tickets: "Descargar todas en PDF",
        add_to_calendar: "Añadir al calendario",
        parts: "Más entradas",
    },
    #[cfg(feature = "server")]
    checkout: Checkout {
        title: "Pago",
        order: "Pedido",
        discount: "Descuento",
        total: "Total",
        reserved: |minutes| match minutes {
            1 => "Reservado durante 1 minuto más".to_owned(),
            _ => format!("Reservado durante {minutes} minutos más"),
        },
        pay: |amount| format!("Pagar {amount}"),
        let_payment_fail: "Hacer que falle el pago",
        cancel_order: "Cancelar el pedido",
        test_mode: "Modo de prueba",
        no_money_is_charged: "No se cobra nada.",
        choose_outcome: "Elige cómo termina el pago:",
        show_tickets: "Ver las entradas",
        back_to_payment: "Volver al pago",
    },
    #[cfg(feature = "server")]
    payment: Payment {
        paid: Message { title: "Pagado", text: "¡Gracias! Tus entradas ya están emitidas." },
        failed: Message { title: "El pago ha fallado", text: "No se te ha cobrado nada. Puedes intentarlo de nuevo." },
        refunded: Message { title: "Reembolsado", text: "Este pedido está cerrado y tu pago se ha reembolsado." },
        refund_due: Message { title: "Cerrado", text: "Este pedido está cerrado. Tu pago se reembolsará." },
        cancelled: Message { title: "Cancelado", text: "Este pedido se ha cancelado. No hay nada que pagar." },
        event_cancelled: Message { title: "El evento se ha cancelado", text: "No hay nada que pagar." },
        expired: Message { title: "Caducado", text: "Este pedido no se pagó a tiempo. Haz un pedido nuevo." },
        too_late: Message {
            title: "Demasiado tarde",
            text: "Tu pago llegó demasiado tarde para este pedido. Se reembolsará.",
        },
        too_late_and_refunded: Message {
            title: "Reembolsado",
            text: "Tu pago llegó demasiado tarde para este pedido y se ha reembolsado.",
        },
        not_yet: Message { title: "Aún no está pagado", text: "No se te ha cobrado nada. Puedes volver y pagar." },
        in_progress: Message {
            title: "En curso",
            text: "Tu pago está en camino. Tus entradas se emitirán en cuanto llegue.",
        },
        unknown: Message {
            title: "Espera un momento",
            text: "Aún no sabemos si tu pago ha llegado. Esta página vuelve a comprobarlo por sí sola.",
        },
        closed: Message { title: "No pagado", text: "No se te ha cobrado nada. Este pago ya no es posible." },
        mismatch: Message {
            title: "No pagado",
            text: "Tu pago no corresponde a este pedido. Si se te ha cobrado algo, se te devolverá.",
        },
        cancelled_maybe_paid: Message {
            title: "Cancelado",
            text: "Este pedido se ha cancelado. Si has pagado, se te devolverá el dinero.",
        },
        expired_maybe_paid: Message {
            title: "Caducado",
            text: "Este pedido no se pagó a tiempo. Si has pagado después, se te devolverá el dinero.",
        },
        replaced: Message {
            title: "Hay un enlace más reciente",
            text: "Este enlace se ha sustituido por otro más reciente. Usa el último enlace que recibiste.",
        },
    },
    #[cfg(feature = "server")]
    problems: Problems {
        no_such_page: Message { title: "No encontramos esta página", text: "Comprueba la dirección." },
        #[cfg(feature = "documents")]
        no_such_ticket: Message {
            title: "No encontramos esta entrada",
            text: "Comprueba el enlace que recibiste o pide uno nuevo a la organización.",
        },
        no_such_checkout: Message { title: "No encontramos este pago", text: "Comprueba el enlace que recibiste." },
        #[cfg(feature = "documents")]
        not_paid: Message { title: "Este pedido aún no está pagado", text: "Sus entradas se emiten cuando se paga." },
        #[cfg(feature = "documents")]
        nothing_to_download: Message { title: "Estas entradas están anuladas", text: "No hay nada que descargar." },
        invalid_request: Message {
            title: "Así no funciona",
            text: "Vuelve atrás y usa los enlaces y botones de la página.",
        },
        too_many_requests: Message { title: "Demasiadas solicitudes", text: "Inténtalo de nuevo en un minuto." },
        busy: Message { title: "El servidor está ocupado", text: "Inténtalo de nuevo en un momento." },
        internal: Message { title: "Algo ha salido mal", text: "Inténtalo de nuevo más tarde." },
    },
};
