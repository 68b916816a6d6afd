//! How an event sells and fills.

use crate::enums::scope::Scope;
use crate::error::Result;
use crate::form::request::Nothing;
#[cfg(feature = "server")]
use crate::model::sale::event_report::EventReport;
use crate::model::sale::event_sales::{EventSales, GetEventSales};
#[cfg(feature = "server")]
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::tenants::caller::{Caller, IdempotentCall};
#[cfg(feature = "server")]
use crate::model::tickets::arrivals::ReportedArrivals;
use crate::model::tickets::arrivals::{EventArrivals, GetEventArrivals};
use crate::model::tickets::report_link::ReportLink;
use crate::model::values::id::EventId;
#[cfg(feature = "server")]
use crate::model::values::id::OrganizationId;
#[cfg(feature = "server")]
use crate::rules::event::over_at;
use crate::rules::sales_intervals;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::tickets::report_links;
use crate::service::TicketingService;
use crate::store::sale::event_sales;
#[cfg(feature = "server")]
use crate::store::sale::{event_figures, events};
#[cfg(feature = "server")]
use crate::store::tenants::organizations;
use crate::store::tickets::arrivals;
#[cfg(feature = "server")]
use crate::store::tickets::scan_log;

/// # Reports
impl TicketingService {
    /// Returns the sales of an event by day or hour: orders, tickets, revenue, refunds, issued and cancelled tickets. Intervals
    /// are those of the time zone of the event. All figures are of the same instant.
    ///
    /// It adds up all orders of the event, so it is a search. The sums of all
    /// intervals equal those of the [summary](Self::get_event_summary), which costs the same however much was sold.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) for `before` if it is not after `from`, and for `from` if there
    ///   are more than 1,000 items.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) after the time limit of a search.
    ///
    /// ```
    /// use ticketing::event::{GetEventSales, SalesInterval};
    #[doc = include_str!("../../doc_fixture.md")]
    /// let order = CreateOrder::new(event.id, ada, ticket_type.id, 2).payment(PaymentChoice::Paid);
    /// service.create_order(&caller, order)?;
    /// let sales = service.get_event_sales(&caller, event.id, GetEventSales::new().interval(SalesInterval::Hour))?;
    /// assert_eq!((sales.items[0].tickets, sales.items[0].revenue), (2, Amount::cents(2500)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event_sales(&self, caller: &Caller, event: EventId, request: GetEventSales) -> Result<EventSales> {
        caller.require(Scope::EventsRead)?;
        let request = sales_intervals::check_sales(request)?;
        let organization = caller.organization;
        self.store()?.scan(Some(organization), |tx| event_sales::of_event(tx, organization, event, &request))
    }

    /// Returns the arrivals at an event: admissions, departures and refused scans by five minutes and gate, and how many
    /// tickets are inside, expected and missing. All figures are of the same instant.
    ///
    /// Without a [door link](Self::create_door_link), scans are not logged. Then there is only the last check-in of each
    /// ticket that is checked in.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) for `before` if it is not after `from`, and for `from` if there
    ///   are more than 10,000 items.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) after the time limit of a search.
    ///
    /// ```
    /// use ticketing::door::GetEventArrivals;
    /// use ticketing::ticket::CheckInTicket;
    #[doc = include_str!("../../doc_fixture.md")]
    /// let issued = service.issue_tickets(&caller, IssueTickets::new(ticket_type.id, ada, 2))?.issued_tickets;
    /// service.check_in_ticket(&caller, CheckInTicket::new(&issued[0].code))?;
    /// let arrivals = service.get_event_arrivals(&caller, event.id, GetEventArrivals::new())?;
    /// assert_eq!((arrivals.inside, arrivals.expected, arrivals.missing), (1, 2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event_arrivals(
        &self,
        caller: &Caller,
        event: EventId,
        request: GetEventArrivals,
    ) -> Result<EventArrivals> {
        caller.require(Scope::EventsRead)?;
        let request = sales_intervals::check_arrivals(request)?;
        let organization = caller.organization;
        self.store()?.scan(Some(organization), |tx| arrivals::of_event(tx, organization, event, &request))
    }

    /// Returns the link to the report of an event: a page that shows how it sells and fills, without names, codes and
    /// orders. The first call creates the link. Until it is revoked, further calls return the same one.
    ///
    /// The link works until 30 days after the end of the event, and as long as the organization is not suspended.
    ///
    /// Requires the scope `events:read`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    /// - [`Error::Validation`](crate::Error::Validation) for `public_url` if the service has no [public
    ///   URL](crate::Builder::public_url).
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).public_url("https://tickets.example.com").open()?;
    /// let link = service.create_report_link(&caller, event.id)?;
    /// assert!(link.created && link.url.expose().starts_with("https://tickets.example.com/reports/"));
    /// assert_eq!(service.create_report_link(&caller, event.id)?.url, link.url);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_report_link<C: IdempotentCall>(&self, caller: &C, event: EventId) -> Result<C::Output<ReportLink>> {
        self.writes().require(caller.as_caller(), Scope::EventsRead)?;
        let public_url = self.payments().public_url.clone();
        let target = OperationTarget::on("create_report_link", event);
        self.write(caller, target, Nothing)
            .run(move |tx, caller, _| report_links::create(tx, caller.organization, event, public_url.as_deref()))
    }

    /// Revokes the link to the report of an event. From the next request on it does not work, in every process. The next
    /// link is another one. Without a link, nothing changes.
    ///
    /// Requires the scope `events:write`.
    ///
    /// # Errors
    /// - [`Error::NotFound`](crate::Error::NotFound) if the event does not exist.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// # drop(service);
    /// # let path = folder.path().join("ticketing.db");
    /// let service = TicketingService::builder(path).public_url("https://tickets.example.com").open()?;
    /// let link = service.create_report_link(&caller, event.id)?;
    /// service.revoke_report_link(&caller, event.id)?;
    /// assert_ne!(service.create_report_link(&caller, event.id)?.url, link.url);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn revoke_report_link(&self, caller: &Caller, event: EventId) -> Result<()> {
        caller.require(Scope::EventsWrite)?;
        let organization = caller.organization;
        self.store()?.write(organization, move |tx| report_links::revoke(tx, organization, event))
    }

    /// The organization and the event of a link to a report.
    #[cfg(feature = "server")]
    pub(crate) fn event_of_report_link(&self, token: &str) -> Result<(OrganizationId, EventId)> {
        self.store()?.read(|tx| report_links::find(tx, token))
    }

    /// What the report of an event shows, in one snapshot.
    #[cfg(feature = "server")]
    pub(crate) fn event_report(
        &self,
        organization: OrganizationId,
        id: EventId,
    ) -> Result<EventReport<ReportedArrivals>> {
        self.store()?.scan(Some(organization), |tx| {
            let event = events::get(tx, organization, id)?;
            let summary = event_figures::of_event(tx, organization, id)?;
            let mode = summary.mode.unwrap_or(PaymentMode::Live);
            let times = sales_intervals::arrival_times(event.start_date, over_at(event.start_date, event.end_date));
            let has_arrivals =
                times.contains(&tx.now()) && scan_log::is_kept(tx, organization, id)?.unwrap_or_default();
            let arrivals = has_arrivals.then(|| arrivals::of_report(tx, organization, id));
            Ok(EventReport {
                as_of: tx.now(),
                organizer: organizations::get(tx, organization)?.name,
                sales: event_sales::of_report(tx, organization, id, mode)?,
                arrivals: arrivals.transpose()?,
                event,
                summary,
                mode,
            })
        })
    }
}
