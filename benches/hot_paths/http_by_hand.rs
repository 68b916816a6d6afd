//! `GET /v1/events/{id}` as a program would write it with axum and rusqlite: the API key is looked up by its hash, its
//! requests are counted, and the event is read and serialized, on a blocking thread with a connection from a pool.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::extract::{Path as Parameters, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::by_hand;
use crate::common::database::stored_id;
use crate::large_store::LargeStore;

const MINUTE: i64 = 60_000;
const REQUESTS_PER_MINUTE: u32 = u32::MAX;

struct Server {
    pool: r2d2::Pool<SqliteConnectionManager>,
    /// The beginning of the minute, and the requests in it, of each key.
    requests: Mutex<HashMap<i64, (i64, u32)>>,
    /// The only event that is asked for: the text of its id, and its key in the table.
    event: (String, i64),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    id: String,
    title: String,
    description: Option<String>,
    location: Option<String>,
    location_metadata: serde_json::Value,
    currency: String,
    timezone: String,
    start_date: String,
    end_date: Option<String>,
    cover_image: Option<String>,
    status: String,
    organizer_id: String,
    slug: String,
    tags: Vec<String>,
    is_featured: bool,
    page_views: i64,
    is_public: bool,
    tracking_pixels: serde_json::Value,
    delivery_method: String,
    shipping_countries: Vec<String>,
    accepts_company: bool,
    disable_organizer_order_notifications: bool,
    reference: Option<String>,
    metadata: HashMap<String, serde_json::Value>,
    revision: i64,
    created_at: String,
    updated_at: String,
}

fn instant(millis: i64) -> String {
    let instant = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000).expect("in range");
    let (year, month, day) = instant.to_calendar_date();
    let (hour, minute, second, millis) = instant.to_hms_milli();
    format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z", u8::from(month))
}

fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(text).expect("JSON"))
}

fn event(row: &Row<'_>, id: &str, organization: &str) -> rusqlite::Result<Event> {
    Ok(Event {
        id: id.to_owned(),
        title: row.get("title")?,
        description: row.get("description")?,
        location: row.get("location")?,
        location_metadata: json(row, "location_metadata")?,
        currency: row.get("currency")?,
        timezone: row.get("timezone")?,
        start_date: instant(row.get("start_at")?),
        end_date: row.get::<_, Option<i64>>("end_at")?.map(instant),
        cover_image: row.get("cover_image")?,
        status: row.get("status")?,
        organizer_id: organization.to_owned(),
        slug: row.get("slug")?,
        tags: json(row, "tags")?,
        is_featured: row.get("is_featured")?,
        page_views: row.get("page_views")?,
        is_public: row.get("is_public")?,
        tracking_pixels: json(row, "tracking_pixels")?,
        delivery_method: row.get("delivery_method")?,
        shipping_countries: json(row, "shipping_countries")?,
        accepts_company: row.get("accepts_company")?,
        disable_organizer_order_notifications: row.get("disable_notifications")?,
        reference: row.get("reference")?,
        metadata: HashMap::new(),
        revision: row.get("revision")?,
        created_at: instant(row.get("created_at")?),
        updated_at: instant(row.get("updated_at")?),
    })
}

impl Server {
    fn answer(&self, key: &str, id: &str) -> Result<Response, StatusCode> {
        let connection = self.pool.get().map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
        let found = find(&connection, key).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        let (api_key, organization, scopes) = found.ok_or(StatusCode::UNAUTHORIZED)?;
        let remaining = self.count(api_key).ok_or(StatusCode::TOO_MANY_REQUESTS)?;
        if !scopes.split(' ').any(|scope| scope == "events:read") {
            return Err(StatusCode::FORBIDDEN);
        }
        let (known, stored) = &self.event;
        if id != known {
            return Err(StatusCode::NOT_FOUND);
        }
        let event = read(&connection, *stored, organization, id).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        let event = event.ok_or(StatusCode::NOT_FOUND)?;
        let body = serde_json::to_vec(&event).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("etag", format!("\"{}\"", event.revision)),
            ("cache-control", "no-store".to_owned()),
            ("x-ratelimit-limit", REQUESTS_PER_MINUTE.to_string()),
            ("x-ratelimit-remaining", remaining.to_string()),
        ];
        Ok((headers, body).into_response())
    }

    fn count(&self, key: i64) -> Option<u32> {
        let minute = by_hand::now() / MINUTE;
        let mut requests = self.requests.lock().expect("no panic");
        let (begun, count) = requests.entry(key).or_insert((minute, 0));
        if *begun != minute {
            (*begun, *count) = (minute, 0);
        }
        *count += 1;
        REQUESTS_PER_MINUTE.checked_sub(*count)
    }
}

/// The id, the organization and the scopes of a key.
fn find(connection: &Connection, key: &str) -> rusqlite::Result<Option<(i64, i64, String)>> {
    let hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let mut statement = connection.prepare_cached(
        "SELECT id, organization_id, scopes FROM api_keys
        WHERE key_hash = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)",
    )?;
    statement.query_row(params![hash, by_hand::now()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
}

fn read(connection: &Connection, stored: i64, organization: i64, id: &str) -> rusqlite::Result<Option<Event>> {
    let mut statement = connection.prepare_cached("SELECT * FROM events WHERE id = ?1 AND organization_id = ?2")?;
    statement.query_row([stored, organization], |row| event(row, id, &organization.to_string())).optional()
}

async fn get_event(
    State(server): State<Arc<Server>>,
    Parameters(id): Parameters<String>,
    headers: HeaderMap,
) -> Result<Response, StatusCode> {
    let key = headers.get("x-api-key").and_then(|key| key.to_str().ok()).ok_or(StatusCode::UNAUTHORIZED)?.to_owned();
    tokio::task::spawn_blocking(move || server.answer(&key, &id)).await.expect("no panic")
}

/// Serves the event of a store, from its file.
pub async fn serve(store: &LargeStore, path: &Path) -> SocketAddr {
    let manager = SqliteConnectionManager::file(path);
    let pool = r2d2::Pool::builder().max_size(8).build(manager).expect("opened");
    let server = Server { pool, requests: Mutex::default(), event: (store.event.to_string(), stored_id(store.event)) };
    let router =
        axum::Router::new().route("/v1/events/{id}", axum::routing::get(get_event)).with_state(Arc::new(server));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true))), router).await
    });
    address
}
