//! TEMP
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub const SIGNATURE: &str = "X-Service-Signature";
pub const TIMESTAMP: &str = "X-Service-Timestamp";
pub const EVENT_ID: &str = "X-Service-Event-Id";
pub const EVENT_TYPE: &str = "X-Service-Event-Type";
pub const USER_AGENT: &str = "Service-Webhooks/1.0";

pub fn sign(secret: &str, timestamp: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(timestamp.to_string().as_bytes());
    mac.update(b".");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}
