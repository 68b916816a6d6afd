//! Pages of another origin, in Chromium, that send requests with the login of a program: a cookie.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::http::header::{COOKIE, ORIGIN, SET_COOKIE};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{Html, Response};
use axum::routing::get;
use ticketing::TicketingService;
use ticketing::id::OrganizationId;
use ticketing::order::OrderStatus;
use ticketing::server::router;

use crate::common::http::{EventOnSale, Server, event_on_sale, order_of};
use crate::common::skipped::unavailable;
use crate::common::webhooks::wait_until;

const COOKIE_OF_ORGANIZER: &str = "user=organizer";

/// What a program has answered to each request to the operations: the path, whether the browser has said from which site the
/// request came, and the status.
type Answers = Arc<Mutex<Vec<(String, bool, u16)>>>;

/// The state of a program.
#[derive(Clone)]
struct App {
    service: TicketingService,
    organization: OrganizationId,
    answers: Answers,
}

impl FromRef<App> for TicketingService {
    fn from_ref(app: &App) -> Self {
        app.service.clone()
    }
}

async fn log_in(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let says_site = request.headers().contains_key("sec-fetch-site");
    if request.headers().get(COOKIE).is_some_and(|cookie| cookie == COOKIE_OF_ORGANIZER) {
        let caller = app.service.run(move |service| service.act_for(app.organization)).await.unwrap();
        request.extensions_mut().insert(caller);
    }
    let response = next.run(request).await;
    if path.contains("/v1/") {
        app.answers.lock().unwrap().push((path, says_site, response.status().as_u16()));
    }
    response
}

/// Removes what a browser says of the page: as if the server did not look at it.
async fn hide_the_page(mut request: Request, next: Next) -> Response {
    request.headers_mut().remove("sec-fetch-site");
    request.headers_mut().remove(ORIGIN);
    next.run(request).await
}

/// A server with the routes of the service, and with pages: `/start` logs the user in and goes on to the page of the other
/// site, and `/own` is one of the program.
fn program(answers: &Answers, next: &Arc<Mutex<[String; 2]>>) -> Server {
    let (answers, next) = (Arc::clone(answers), Arc::clone(next));
    Server::with_app(
        |builder| builder.sandbox_gateway(),
        |_| {},
        move |service, options| {
            let organizations = ticketing::organization::ListOrganizations::default();
            let organization = service.list_organizations(organizations).unwrap().data[0].id;
            let app = App { service: service.clone(), organization, answers };
            let of_next = Arc::clone(&next);
            let start = async move || {
                let page = next.lock().unwrap()[0].clone();
                ([(SET_COOKIE, format!("{COOKIE_OF_ORGANIZER}; HttpOnly; SameSite=Lax; Path=/"))], Html(page))
            };
            let own = async move || Html(of_next.lock().unwrap()[1].clone());
            let unprotected = router(service.clone(), options).layer(from_fn(hide_the_page));
            Router::new()
                .route("/start", get(start))
                .route("/own", get(own))
                .merge(router(service, options))
                .nest("/unprotected", unprotected)
                .layer(from_fn_with_state(app.clone(), log_in))
                .with_state(app)
        },
    )
}

/// A browser that resolves only names below `.example`, and is ended when this is dropped.
struct Browser(Child);

impl Browser {
    fn open(profile: &Path, url: &str) -> std::io::Result<Self> {
        let child = Command::new("chromium")
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-features=HttpsUpgrades"])
            .arg("--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(["--remote-debugging-port=0", url])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn in_chromium_a_page_of_another_origin_cannot_use_the_login_of_the_program() {
    // Chromium sends `Sec-Fetch-Site` to loopback addresses, and only `Origin` to a name without TLS. The other page is of
    // another origin and of the same site, so that it gets the cookie.
    for (host, other_host, says_site) in
        [("127.0.0.1", "127.0.0.1", true), ("shop.example", "evil.shop.example", false)]
    {
        let answers = Arc::new(Mutex::new(Vec::new()));
        let next = Arc::new(Mutex::new([String::new(), String::new()]));
        let server = program(&answers, &next);
        let mut client = server.client();
        let EventOnSale { event, ticket_type } = event_on_sale(&mut client, "summer-night");
        let mut order = || {
            let order = client.post("/v1/orders", &order_of(&event, &ticket_type, 1)).expect(201).json();
            order["order"]["id"].as_str().unwrap().to_owned()
        };
        let [attacked, control, own] = [(); 3].map(|()| order());
        let port = server.address.port();
        let program_url = format!("http://{host}:{port}");
        let mark = |prefix: &str, order: &str| format!("{program_url}{prefix}/v1/orders/{order}/mark-paid");
        let attack = format!(
            "<iframe name=hidden></iframe><form method=post action='{attacked}' target=hidden></form><script>
            const options = {{ method: 'POST', mode: 'no-cors', credentials: 'include' }};
            fetch('{attacked}', options)
                .then(() => fetch('{control}', options))
                .then(() => {{
                    navigator.sendBeacon('{attacked}');
                    document.forms[0].submit();
                    document.querySelector('iframe').onload = () => {{ location = '{program_url}/own'; }};
                }});
            </script>",
            attacked = mark("", &attacked),
            control = mark("/unprotected", &control),
        );
        let other = Server::with_app(
            |builder| builder,
            |_| {},
            move |_, _| {
                let attack = attack.clone();
                Router::new().route("/", get(async move || Html(attack.clone())))
            },
        );
        let other_url = format!("http://{other_host}:{}/", other.address.port());
        *next.lock().unwrap() = [
            format!("<script>location = '{other_url}';</script>"),
            format!("<script>fetch('{}', {{ method: 'POST' }});</script>", mark("", &own)),
        ];
        let profile = tempfile::tempdir().unwrap();
        answers.lock().unwrap().clear();
        let browser = match Browser::open(profile.path(), &format!("{program_url}/start")) {
            Ok(browser) => browser,
            Err(error) => return unavailable(format!("chromium did not start: {error}")),
        };
        wait_until("the pages have sent all requests", || answers.lock().unwrap().len() >= 5);
        drop(browser);

        let of = |prefix: &str, order: &str| -> Vec<(bool, u16)> {
            let path = format!("{prefix}/v1/orders/{order}/mark-paid");
            let answers = answers.lock().unwrap();
            answers.iter().filter(|(found, ..)| *found == path).map(|(_, says, status)| (*says, *status)).collect()
        };
        // A fetch, a beacon and a form.
        assert_eq!(of("", &attacked), [(says_site, 403); 3], "{host}");
        assert_eq!(of("/unprotected", &control), [(says_site, 200)], "{host}");
        assert_eq!(of("", &own), [(says_site, 200)], "{host}");
        let status = |order: &str| {
            let caller = server.service.act_for(server.organization).unwrap();
            server.service.get_order(&caller, order.parse().unwrap()).unwrap().status
        };
        let expected = [OrderStatus::Pending, OrderStatus::Completed, OrderStatus::Completed];
        assert_eq!([attacked, control, own].map(|order| status(&order)), expected, "{host}");
    }
}
