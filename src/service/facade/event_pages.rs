//! The pages of events, on which customers buy. They need no API key.

use crate::documents::{Cover, TicketDocuments};
use crate::error::{Error, ResourceKind, Result};
use crate::form::request::Request;
use crate::model::payments::checkout::RenewCheckoutResponse;
use crate::model::sale::discount::DiscountRefusal;
use crate::model::sale::event::Event;
use crate::model::sale::event_page::{EventPage, Quote};
use crate::model::sale::new_order::{CreateOrder, NewOrderItem};
use crate::model::sale::order::CreateOrderResponse;
use crate::model::sale::receipt::OrderOnPage;
use crate::model::tenants::organization::Organization;
use crate::model::tickets::form_token::{self, FormContent, TokenState};
use crate::model::values::id::{EventId, OrderId, OrganizationId};
use crate::sales::catalog::event_pages;
use crate::sales::idempotent_operation::OperationTarget;
use crate::sales::orders::linked_documents;
use crate::sales::orders::{order_lifecycle, quotes, receipts};
use crate::service::TicketingService;
use crate::service::opening::builder::Builder;
use crate::store::Transaction;
use crate::store::sale::events;
use crate::store::tenants::{idempotency_records, organizations};

/// How many events the page at `/` lists.
const MAX_LISTED_EVENTS: usize = 50;

/// # Event pages
impl Builder {
    /// Switches the [pages of events](crate::guide::event_pages) on: with the routes of
    /// [`server`](crate::server), customers buy there without any further program. It switches
    /// [ticket documents](Self::ticket_documents) on too, with default settings if there are none.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ticketing.db");
    /// let builder = ticketing::TicketingService::builder(path).public_url("https://tickets.example.com");
    /// let service = builder.sandbox_gateway().event_pages().open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn event_pages(mut self) -> Self {
        self.event_pages = true;
        self.documents.get_or_insert_with(TicketDocuments::default);
        self
    }
}

/// # Event pages
///
/// For programs with pages of their own.
impl TicketingService {
    /// Returns what the page of an event shows: the event, who sells, and the ticket types that customers see, with how
    /// many are left and whether they can be ordered now. `organization` is the id of the organization, or its page
    /// name. There is no [`Caller`](crate::Caller): what is returned is public, except for references and metadata.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if there is no such event, if it is DRAFTED or not public, or if its organization is
    ///   suspended.
    ///
    /// ```
    #[doc = include_str!("../../doc_fixture.md")]
    /// let page = service.get_event_page(&organization.id.to_string(), &event.slug)?;
    /// assert_eq!(page.event.title, "Summer Night");
    /// assert_eq!(page.most(&page.ticket_types[0]), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_event_page(&self, organization: &str, slug: &str) -> Result<EventPage> {
        self.store()?.read(|tx| event_pages::get(tx, organization, slug))
    }

    /// Whether event pages are switched on.
    pub(crate) fn has_event_pages(&self) -> bool {
        self.inner.event_pages
    }

    /// Returns the only organization, with its public events that are published, newest first. `None` if there are
    /// several organizations, or none.
    pub(crate) fn events_of_only_organization(&self) -> Result<Option<(Organization, Vec<Event>)>> {
        self.store()?.read(|tx| {
            let Some(organization) = organizations::find_only(tx)? else { return Ok(None) };
            let listed = events::published(tx, organization.id, MAX_LISTED_EVENTS)?;
            Ok(Some((organization, listed)))
        })
    }

    /// Counts a view of the page of an event. It is stored later; views for which there is no room are not counted.
    pub(crate) fn count_page_view(&self, event: EventId) {
        let _ = self.inner.page_views.add(event, 1);
    }

    /// Returns the page of an event, the price of the chosen tickets, and the token of the form with which they are
    /// ordered. `choose` returns the tickets that can be had of those that were chosen.
    pub(crate) fn order_form(
        &self,
        organization: &str,
        slug: &str,
        code: Option<&str>,
        choose: impl Fn(&EventPage) -> Vec<NewOrderItem>,
    ) -> Result<OrderForm> {
        let step = self.payments().price_step();
        self.store()?.read(|tx| {
            let page = event_pages::get(tx, organization, slug)?;
            let items = choose(&page);
            let (quote, refusal) = quotes::quote(tx, &page, &items, code, &step)?;
            // A code that does not apply is not sent with the form.
            let (code, total) = (code.filter(|_| refusal.is_none()), quote.total.minor_units());
            let content = FormContent { event: page.event.id, items: &items, code, total };
            let token = form_token::make(links(tx)?, &content, tx.now(), tx.environment().random());
            Ok(OrderForm { page, items, quote, refusal, token })
        })
    }

    /// The URL of the page of an event.
    pub(crate) fn url_of_event(&self, page: &EventPage) -> Result<String> {
        self.store_in_operation().read_one(|tx| Ok(links(tx)?.event(&page.organization.page(), &page.event.slug)))
    }

    /// The cover of an event, if it is kept.
    pub(crate) fn cover_of_event(&self, page: &EventPage) -> Option<Cover> {
        self.kept_cover(page.event.organizer_id, page.event.cover_image.as_deref()?)
    }

    /// Checks the token of a form that was sent, and finds the order that was created with it.
    pub(crate) fn check_form(
        &self,
        organization: OrganizationId,
        token: &str,
        content: &FormContent<'_>,
    ) -> Result<(TokenState, Option<OrderId>)> {
        self.store()?.read(|tx| {
            let state = form_token::check(links(tx)?, token, content, tx.now());
            let order = match state {
                TokenState::Wrong => None,
                _ => idempotency_records::order_of_program(tx, organization, &key(token))?,
            };
            Ok((state, order))
        })
    }

    /// Creates an order with a form whose token was checked. A form that is sent twice creates one order. The order
    /// costs `shown_total`, in minor units, and its checkout leads back to its own page.
    ///
    /// # Errors
    /// Those of [`create_order`](Self::create_order), and [`Error::Validation`] for `total` if the order costs another
    /// total now.
    pub(crate) fn order_from_page(
        &self,
        organization: OrganizationId,
        token: &str,
        shown_total: i64,
        request: CreateOrder,
    ) -> Result<CreateOrderResponse> {
        let caller = self.act_for(organization)?.with_idempotency_key(key(token));
        let request: Request<CreateOrder> = request.into();
        let created =
            self.write(&caller, OperationTarget::new("order_from_page"), request).in_steps(|operation, request| {
                self.checked_order(&caller.caller, operation, request, Some(shown_total))?.run()
            })?;
        Ok(created.value)
    }

    /// Returns an order of a link on its page, and the path of the page of its event, if there is one.
    pub(crate) fn order_on_page(&self, token: &str) -> Result<OrderOnPage> {
        self.store()?.read(|tx| {
            let (organization, id) = linked_documents::find_order(tx, token)?;
            receipts::on_page(tx, organization, id)
        })
    }

    /// Returns the URL at which the order of a link is paid.
    ///
    /// # Errors
    /// Those of [`renew_checkout`](Self::renew_checkout).
    pub(crate) fn pay_order_of_link(&self, token: &str) -> Result<String> {
        let (organization, id) = self.store()?.read_one(|tx| linked_documents::find_order(tx, token))?;
        let RenewCheckoutResponse { checkout_url, .. } = self.renew_checkout(&self.act_for(organization)?, id)?;
        Ok(checkout_url)
    }

    /// Cancels the order of a link if it is pending. Else nothing changes.
    pub(crate) fn cancel_order_of_link(&self, token: &str) -> Result<()> {
        let (organization, id) = self.store()?.read_one(|tx| linked_documents::find_order(tx, token))?;
        self.store()?
            .write_event(organization, id.into(), move |tx| order_lifecycle::cancel_if_pending(tx, organization, id))?;
        Ok(())
    }

    /// The last part of the path of the page of an order.
    pub(crate) fn token_of_order(&self, id: OrderId) -> Result<String> {
        self.store_in_operation().read_one(|tx| Ok(links(tx)?.order_token(id)))
    }
}

/// What the form for an order shows.
#[derive(Debug)]
pub(crate) struct OrderForm {
    pub(crate) page: EventPage,
    /// The tickets that can be ordered of those that were chosen.
    pub(crate) items: Vec<NewOrderItem>,
    pub(crate) quote: Quote,
    /// Why the code does not apply.
    pub(crate) refusal: Option<DiscountRefusal>,
    pub(crate) token: String,
}

/// The idempotency key of the order that a form creates.
fn key(token: &str) -> String {
    format!("order-form:{token}")
}

fn links<'a>(tx: &'a Transaction<'_>) -> Result<&'a crate::model::tickets::document_link::DocumentLinks> {
    tx.environment().links.as_deref().ok_or(Error::NotFound(ResourceKind::Event))
}
