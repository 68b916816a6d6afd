//! Encrypted connections to a PostgreSQL server.

use std::path::Path;
use std::sync::Arc;

use ticketing::{Builder, PostgresDatabase, TicketingService};

use crate::common::cluster::{Cluster, PASSWORD, USER};
use crate::common::issuer::Issuer;

/// A server whose certificate is for `localhost`, and which accepts only encrypted connections.
struct Encrypted {
    cluster: Cluster,
    issuer: Issuer,
}

impl Encrypted {
    fn start() -> Option<Self> {
        let issuer = Issuer::new("Own authority");
        let cluster = Cluster::start_with(|cluster| {
            let (certificate, key) = issuer.certificate("localhost");
            let certificate = cluster.write("server.pem", &certificate);
            let key = cluster.write("server.key", &key);
            let access = cluster.write("access", "hostssl all all 127.0.0.1/32 scram-sha-256\n");
            format!(
                "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\nhba_file = '{}'",
                certificate.display(),
                key.display(),
                access.display()
            )
        })?;
        Some(Self { cluster, issuer })
    }

    /// A file with the certificate of an authority. Returns its path as a part of a URL.
    fn root(&self, issuer: &Issuer, name: &str) -> String {
        let path = self.cluster.write(name, &issuer.pem());
        path.to_str().unwrap().replace('/', "%2F")
    }

    fn builder(&self, host: &str, parameters: &str) -> Builder {
        let url = format!("postgres://{USER}@{host}:{}/postgres?{parameters}", self.cluster.port);
        TicketingService::postgres(PostgresDatabase::new(&url).unwrap().password(PASSWORD))
    }

    /// Opens a service, and returns whether its connections are encrypted.
    #[track_caller]
    fn is_encrypted(&self, host: &str, parameters: &str) -> bool {
        let service = self.builder(host, parameters).open().unwrap();
        service.ready().unwrap();
        let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE application_name = 'ticketing'";
        let mut client = self.own_client();
        client.query_one(encrypted, &[]).unwrap().get(0)
    }

    fn own_client(&self) -> postgres::Client {
        let config = format!("host=localhost port={} user={USER} dbname=postgres sslmode=require", self.cluster.port);
        let mut config: postgres::Config = config.parse().unwrap();
        config.password(PASSWORD).connect(self.connector()).unwrap()
    }

    fn connector(&self) -> tokio_postgres_rustls::MakeRustlsConnect {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject as _;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.issuer.pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        tokio_postgres_rustls::MakeRustlsConnect::new(config)
    }

    #[track_caller]
    fn problem(&self, host: &str, parameters: &str) -> String {
        self.builder(host, parameters).open().unwrap_err().to_string()
    }
}

#[test]
fn a_certificate_of_the_named_authority_is_accepted_and_any_other_refused() {
    let Some(server) = Encrypted::start() else { return };
    let right = server.root(&server.issuer, "root.pem");
    let wrong = server.root(&Issuer::new("Another authority"), "other.pem");
    for mode in ["require", "verify-full"] {
        assert!(server.is_encrypted("localhost", &format!("sslmode={mode}&sslrootcert={right}")));
        let problem = server.problem("localhost", &format!("sslmode={mode}&sslrootcert={wrong}"));
        assert!(problem.contains("invalid peer certificate"), "{problem}");
        // The certificates of public authorities.
        let problem = server.problem("localhost", &format!("sslmode={mode}"));
        assert!(problem.contains("UnknownIssuer"), "{problem}");
    }
}

#[test]
fn a_certificate_for_another_host_is_refused() {
    let Some(server) = Encrypted::start() else { return };
    let right = server.root(&server.issuer, "root.pem");
    let problem = server.problem("127.0.0.1", &format!("sslmode=require&sslrootcert={right}"));
    assert!(problem.contains("certificate not valid for name \"127.0.0.1\""), "{problem}");
}

#[test]
fn a_certificate_is_not_verified_if_that_is_said() {
    let Some(server) = Encrypted::start() else { return };
    assert!(server.is_encrypted("127.0.0.1", "sslmode=no-verify"));
    assert!(server.is_encrypted("127.0.0.1", "sslmode=prefer"));
    assert!(server.is_encrypted("127.0.0.1", ""));
}

#[test]
fn a_connection_that_is_not_encrypted_is_refused_by_a_server_that_requires_it() {
    let Some(server) = Encrypted::start() else { return };
    let problem = server.problem("localhost", "sslmode=disable");
    assert!(problem.contains("no pg_hba.conf entry") && problem.contains("no encryption"), "{problem}");
}

#[test]
fn a_server_without_tls_is_refused_if_encryption_is_required() {
    let Some(cluster) = Cluster::start("") else { return };
    for mode in ["require", "no-verify"] {
        let url = format!("{}?sslmode={mode}", cluster.url("postgres"));
        let problem = TicketingService::postgres(PostgresDatabase::new(&url).unwrap()).open().unwrap_err().to_string();
        assert!(problem.contains("server does not support TLS"), "{problem}");
    }
    TicketingService::postgres(PostgresDatabase::new(&cluster.url("postgres")).unwrap()).open().unwrap();
}

#[test]
fn the_password_is_bound_to_the_connection() {
    let Some(server) = Encrypted::start() else { return };
    let right = server.root(&server.issuer, "root.pem");
    assert!(server.is_encrypted("localhost", &format!("sslmode=require&channel_binding=require&sslrootcert={right}")));
}

#[test]
fn wrong_parameters_of_encryption_are_named() {
    let message = |parameters: &str| {
        let database = PostgresDatabase::new(&format!("postgres://ada@host/db?{parameters}"));
        let error = database.and_then(|database| TicketingService::postgres(database).open()).unwrap_err();
        let [field] = error.fields() else { panic!("{error}") };
        assert_eq!(field.path, "url");
        field.message.clone()
    };
    assert_eq!(message("sslmode=verify-ca"), "sslmode must be disable, prefer, no-verify, require or verify-full");
    assert_eq!(message("sslrootcert=root.pem"), "sslrootcert needs sslmode=require or sslmode=verify-full");
    let missing = message("sslmode=require&sslrootcert=%2Fno%2Fsuch.pem");
    assert!(missing.starts_with("sslrootcert /no/such.pem: "), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let empty = message(&format!("sslmode=require&sslrootcert={}", escaped(&empty)));
    assert!(empty.ends_with("empty.pem: has no certificate"), "{empty}");
}

fn escaped(path: &Path) -> String {
    path.to_str().unwrap().replace('/', "%2F")
}
