//! The settings of a [`Builder`], by topic.

use std::sync::Arc;
use std::time::Duration;

use super::builder::{Builder, Gateway};
use crate::environment::{Clock, Entropy};
use crate::error::Result;
use crate::model::notifications::notification::Notification;
use crate::model::notifications::notification_types::NotificationTopic;
use crate::payment::PaymentGateway;
use crate::service::TicketingService;
use crate::service::state::notification_handler::NotificationHandler;
use crate::webhook::{SenderOptions, Transport};

/// # Payments and orders
impl Builder {
    /// Sets the payment gateway. Default: none; orders have no checkout link, and organizers mark them as paid.
    ///
    /// The service does not open if the gateway has a [name](PaymentGateway::name) with other characters than
    /// lower-case letters, digits and `-`, or with more than 50.
    ///
    /// A gateway is not asked about the checkouts of another one. If the program has another gateway than before, those
    /// that are not closed [wait](crate::monitoring::Backlog::checkouts_without_gateway) for a program with their
    /// gateway.
    pub fn payment_gateway(mut self, gateway: impl PaymentGateway) -> Self {
        self.gateway = Gateway::Custom(Arc::new(gateway));
        self
    }

    /// Uses the [sandbox gateway](crate::payment::SandboxGateway), which takes no money. It is for tests and
    /// demonstrations, not for sales.
    pub fn sandbox_gateway(mut self) -> Self {
        self.gateway = Gateway::Sandbox;
        self
    }

    /// Sets the timeout of calls to the payment gateway. Default: 20 seconds.
    pub fn gateway_timeout(mut self, timeout: Duration) -> Self {
        self.gateway_limits.timeout = timeout;
        self
    }

    /// Sets how many calls to the payment gateway may run at the same time. Default: 128.
    ///
    /// An organization may make another call while it has fewer running than are left: alone it uses up to half of the
    /// calls, two organizations a third each, and so on, so that none takes them from the others. At the limit, an
    /// order that needs a checkout link fails at once instead of waiting. Of these calls, up to 32 are for background
    /// work, 16 for notices of the gateway and 8 for the pages to which customers come back, which organizations share
    /// in the same way.
    pub fn gateway_calls(mut self, max_concurrent: usize) -> Self {
        self.gateway_limits.max_concurrent = max_concurrent;
        self
    }

    /// Sets the hold: how long a pending order reserves its seats. Default: 30 minutes; minimum: 1 second.
    pub fn order_hold(mut self, hold: Duration) -> Self {
        self.hold.duration = hold;
        self
    }

    /// Sets how many seats the unpaid orders of one customer may reserve for an event. Default: no limit; minimum: 1.
    ///
    /// A customer is an e-mail address, without regard to case. An order beyond the limit is refused with the conflict
    /// `limit-reached`. A free order is completed at once and reserves nothing, and what is paid or expired no longer
    /// counts. So nobody can keep many seats from others without paying, at least not with a single address. Only
    /// orders that were created with a limit are counted: set it in all processes that share the file.
    ///
    /// ```
    /// use ticketing::error::Reason;
    /// use ticketing::order::CreateOrder;
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).sandbox_gateway().max_reserved_per_customer(5).open()?;
    /// let order = CreateOrder::new(event.id, ada, ticket_type.id, 3);
    /// service.create_order(&caller, order.clone())?;
    /// let refused = service.create_order(&caller, order).unwrap_err();
    /// assert_eq!(refused.reason(), Some(Reason::LimitReached));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_reserved_per_customer(mut self, seats: u32) -> Self {
        self.hold.max_seats_per_customer = Some(seats);
        self
    }

    /// Sets the public URL of this service: the URL under which clients reach its routes. Checkout links start with it,
    /// and so do the links of tickets and orders, and it is the server in the OpenAPI document. Default: these links
    /// start with `http://127.0.0.1:8080`, which only suits tests.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }
}

/// # Background work
impl Builder {
    /// Runs the [maintenance](TicketingService::run_maintenance) every second as long as the service lives. Default:
    /// it runs after [`start_maintenance`](TicketingService::start_maintenance) is called.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ticketing.db");
    /// let service = ticketing::TicketingService::builder(path).maintenance().open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn maintenance(mut self) -> Self {
        self.maintenance = true;
        self
    }

    /// Calls a function of the program with every notification, of all organizations: to send e-mails, for example, or
    /// to update another system. `name` identifies the function in the database, where its notifications are queued.
    /// [`on_topics`](Self::on_topics) queues only those of some topics.
    ///
    /// A notification is queued in the transaction of the change that it reports, and the handler is called once the
    /// change is durable: **at least once**, usually within milliseconds, and again after an error or a panic, on the
    /// schedule of webhooks: up to eight times, after 1, 2, 5, 10, 20, 40 and 80 minutes. After the last one, the
    /// notification is logged as an error and given up. A handler should do nothing the second time for a notification
    /// with the same [`id`](crate::notification::Notification::id).
    ///
    /// Each handler has a thread of its own, which calls it with one notification after another. Organizations take
    /// turns. A handler that fails or is slow delays no other handler, no webhook, and no operation. It gets the
    /// service, and can call every operation, also for an organization that was
    /// [suspended](TicketingService::suspend_organization) in the meantime. That holds for callers that
    /// [`act_for`](TicketingService::act_for) of this very handle has returned: a caller that the program made before
    /// is refused then. Organizations do not see handlers: not in lists, and not in metrics.
    ///
    /// Several processes with the same file may have the same handler; one of them is called with each notification.
    /// The changes of processes without the handler are reported too. If a process ends during a call, the call is
    /// repeated after a minute; a call that takes longer than a minute is repeated by another process, if one has the
    /// handler.
    ///
    /// If no program has the handler any more, for example because its name was changed, its notifications wait. They
    /// are called when a program has the name again. The maintenance deletes them at the age of the
    /// [`webhook_retention`](Self::webhook_retention). A handler with a new name gets the changes from its first
    /// opening on.
    ///
    /// When the service is closed or dropped, a call in progress has two seconds to end.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// # let path = folder.path().join("hall.db");
    /// # let (mails, mail) = std::sync::mpsc::channel();
    /// use ticketing::notification::NotificationDetails;
    ///
    /// let service = TicketingService::builder(path)
    ///     .on_notification("mail", move |service, notification| {
    ///         if let NotificationDetails::OrderCompleted(completed) = &notification.details {
    ///             let caller = service.act_for(notification.organization_id)?;
    ///             let order = service.get_order(&caller, completed.order_id)?;
    ///             mails.send(format!("Dear {}, here are your tickets", order.customer.name))?;
    ///         }
    ///         Ok(())
    ///     })
    ///     .open()?;
    /// # let organization = service.create_organization(CreateOrganization::default())?;
    /// # let caller = service.act_for(organization.id)?;
    /// # let event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX).status(EventStatus::Published);
    /// # let event = service.create_event(&caller, event)?;
    /// # let ticket_type = CreateTicketType::new("General admission", Amount::cents(0), 100);
    /// # let ticket_type = service.create_ticket_type(&caller, event.id, ticket_type)?;
    /// # let ada = NewCustomer::new("Ada", "ada@example.com");
    /// service.create_order(&caller, CreateOrder::new(event.id, ada, ticket_type.id, 2))?;
    /// assert_eq!(mail.recv()?, "Dear Ada, here are your tickets");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_notification(
        self,
        name: impl Into<String>,
        handler: impl Fn(&TicketingService, &Notification) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.on_topics(name, NotificationTopic::ALL.iter().copied(), handler)
    }

    /// Like [`on_notification`](Self::on_notification), but only with the notifications of these topics. The others are
    /// not queued, which saves writes.
    ///
    /// All processes should name the same topics for a handler: those of the process that was opened last are queued.
    ///
    /// ```
    /// use ticketing::TicketingService;
    /// use ticketing::notification::NotificationTopic;
    /// let builder = TicketingService::temporary()
    ///     .on_topics("accounting", [NotificationTopic::RefundRefused], |_, notification| {
    ///         println!("return money manually: {:?}", notification.details);
    ///         Ok(())
    ///     });
    /// # builder.open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_topics(
        mut self,
        name: impl Into<String>,
        topics: impl IntoIterator<Item = NotificationTopic>,
        handler: impl Fn(&TicketingService, &Notification) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let (name, topics) = (name.into(), topics.into_iter().collect());
        self.handlers.push(NotificationHandler { name, topics, call: Box::new(handler) });
        self
    }

    /// Sets whether each function of [`on_notification`](Self::on_notification) has a thread. Default: true.
    ///
    /// Without threads, functions are called by
    /// [`deliver_due_notifications`](TicketingService::deliver_due_notifications) only: in a test, at a moment of its
    /// choice.
    pub fn handler_threads(mut self, threads: bool) -> Self {
        self.handler_threads = threads;
        self
    }
}

/// # Webhooks
impl Builder {
    /// Sends webhooks as long as the service lives. Default: none are sent until
    /// [`start_webhook_sender`](TicketingService::start_webhook_sender) is called.
    ///
    /// The service does not open if the default transport has no implementation of cryptography: see
    /// [`webhook`](crate::webhook#sending).
    pub fn webhook_sender(mut self, options: SenderOptions) -> Self {
        self.webhook_sender = Some(options);
        self
    }

    /// Sets the transport of webhooks. Default: HTTPS.
    ///
    /// A custom transport must do its own SSRF filtering. All senders of the service share it: when one of several
    /// senders stops, the attempts of the others are interrupted too, and fail.
    pub fn webhook_transport(mut self, transport: impl Transport) -> Self {
        self.webhook_transport = Some(Arc::new(transport));
        self
    }

    /// Sets how long the history of webhook deliveries is kept. Default: 30 days; minimum: 1 day.
    ///
    /// An attempt is deleted at this age, and its notification a day after the last of its attempts. A notification
    /// that waits to be sent is kept until it is sent or given up.
    pub fn webhook_retention(mut self, kept: Duration) -> Self {
        self.webhook_retention = kept;
        self
    }

    /// Permits webhooks to loopback addresses and over plain `http`, for development, and with the feature `documents` logos
    /// and covers that are fetched from there. Default: false.
    ///
    /// If it is false, webhook endpoints must have public addresses, so that a client that registers an endpoint cannot
    /// reach internal services.
    pub fn allow_local_webhooks(mut self, allow: bool) -> Self {
        self.allow_local_webhooks = allow;
        self
    }
}

/// # The database
impl Builder {
    /// Sets the number of connections for look-ups, such as authentication. Default: 8; minimum: 1.
    ///
    /// Half as many again, and at least one, are opened for reads that may look at many rows: searches, lists with
    /// filters, the backlog, and [snapshots](TicketingService::on_one_snapshot). At most half of those serve the same
    /// organization at a time. A look-up never waits for a search.
    pub fn readers(mut self, connections: u32) -> Self {
        self.readers.connections = connections as usize;
        self
    }

    /// Sets how long a read may take that looks at many rows, such as a search. Then it fails with
    /// [`Error::Unavailable`](crate::Error::Unavailable). Default: 2 seconds; minimum: 10 milliseconds.
    pub fn search_timeout(mut self, timeout: Duration) -> Self {
        self.readers.max_scan_time = timeout;
        self
    }

    /// Sets whether a database with an older schema is migrated. Default: true. If false, opening one fails with
    /// [`StoreErrorKind::SchemaTooOld`](crate::error::StoreErrorKind::SchemaTooOld), which suits tools that must not
    /// migrate the file of a program that is still running.
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }
}

/// # Limits
impl Builder {
    /// Sets how many bytes an organization may write per minute with its API keys, or `None` for no limit. Default: 256
    /// MiB; minimum: 1 byte.
    ///
    /// So one key cannot fill the disk of all organizations within minutes. Ordinary sales stay far below it: an order
    /// of two tickets writes about 1 KB. Texts count with their bytes and numbers with 8; the file grows by up to twice
    /// as much, because of its indexes. The text of a notification counts once, and its row, 84 bytes, for each webhook
    /// endpoint that gets it, also if the webhook sender stores the row later.
    ///
    /// Beyond the quota, operations that create or update fail with
    /// [`Error::WriteQuotaExceeded`](crate::Error::WriteQuotaExceeded) until the minute is over, over HTTP with status
    /// 429. Check-in, payments, cancellations and deletions still work. Callers of
    /// [`act_for`](TicketingService::act_for) have no API key: they are the program itself, and are neither counted nor
    /// refused. Each process counts for itself and begins with zero.
    ///
    /// ```
    /// use ticketing::event::CreateEvent;
    /// use ticketing::organization::CreateApiKey;
    /// use ticketing::{Error, TicketingService, Timestamp};
    /// let service = TicketingService::temporary().write_quota(Some(10_000)).open()?;
    /// let organization = service.create_organization(Default::default())?;
    /// let key = service.create_api_key(organization.id, CreateApiKey::new("Shop"))?.key;
    /// let caller = service.authenticate(key.expose())?;
    ///
    /// let event = CreateEvent::new("Summer Night", "summer-night", Timestamp::MAX).description("a".repeat(20_000));
    /// service.create_event(&caller, event)?;
    /// let refused = service.create_event(&caller, CreateEvent::new("Another", "another", Timestamp::MAX));
    /// assert!(matches!(refused, Err(Error::WriteQuotaExceeded { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_quota(mut self, bytes_per_minute: Option<u64>) -> Self {
        self.write_limits.bytes_per_minute = bytes_per_minute;
        self
    }

    /// Sets how many notifications may wait for the webhook endpoints of an organization, or `None` for no limit.
    /// Default: 1,000,000; minimum: 1. A notification counts once for each endpoint that it waits for, also for those
    /// that are disabled.
    ///
    /// The webhook sender makes a few thousand attempts a second, so the default is some minutes of its work.
    ///
    /// At the limit, callers with an API key can create no orders, issue no tickets and send no notification again:
    /// these fail with [`Error::WebhookBacklogExceeded`](crate::Error::WebhookBacklogExceeded), over HTTP with status
    /// 429, until notifications were delivered or given up, or their endpoint was deleted. Nothing else is refused: not
    /// payments, check-in, cancellations, changes of endpoints, or what the program does with
    /// [`act_for`](TicketingService::act_for). What these queue may exceed the limit, and so may an order that was
    /// accepted below it. The notifications are counted every few seconds.
    ///
    /// ```
    /// use ticketing::TicketingService;
    /// let service = TicketingService::temporary().max_waiting_notifications(Some(200_000)).open()?;
    /// # Ok::<(), ticketing::Error>(())
    /// ```
    pub fn max_waiting_notifications(mut self, notifications: Option<u64>) -> Self {
        self.write_limits.waiting_notifications = notifications;
        self
    }
}

/// # Time and randomness
impl Builder {
    /// Sets the clock. Default: the [system clock](crate::environment::SystemClock), or on PostgreSQL the clock of the
    /// database server, so that several machines agree on the time.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Sets the source of randomness for ids, ticket codes, keys, and the addresses of checkout pages. Default: the
    /// [system's](crate::environment::SystemEntropy).
    ///
    /// With anything less than cryptographic randomness, codes and keys can be guessed.
    pub fn entropy(mut self, entropy: impl Entropy + 'static) -> Self {
        self.entropy = Arc::new(entropy);
        self
    }
}
