//! A certificate authority, and receivers with its certificates.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use ticketing::webhook::HttpsTransport;

use super::receiver::WebhookReceiver;
use super::resolver::FakeResolver;

/// A certificate authority that only these tests trust.
pub struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Starts a receiver with a certificate for `name` that is valid from the year `from` to the year `to`.
    pub fn receiver_in(&self, name: &str, from: i32, to: i32) -> WebhookReceiver {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder().with_no_client_auth();
        WebhookReceiver::start_tls(config.with_single_cert(vec![certificate.der().clone()], key).unwrap())
    }

    /// A certificate for `name` and its private key, as PEM.
    pub fn certificate(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// The certificate of this authority, as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    pub fn receiver(&self, name: &str) -> WebhookReceiver {
        self.receiver_in(name, 2000, 4000)
    }

    /// Creates a transport that trusts this authority and resolves every name to this machine.
    pub fn transport(&self) -> HttpsTransport {
        let builder = HttpsTransport::builder().allow_local(true).resolver(FakeResolver::at(&["127.0.0.1"]));
        builder.root_certificates(&self.0.pem()).unwrap().build().unwrap()
    }
}
