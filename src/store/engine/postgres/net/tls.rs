//! How connections to PostgreSQL are encrypted: the parameters `sslmode` and `sslrootcert` of a URL.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, FieldErrors, Result};
use crate::https::crypto_provider;

/// How connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::engine::postgres) enum Encryption {
    /// Not at all.
    Disabled,
    /// If the server offers it. Its certificate is not verified.
    Preferred,
    /// Always, but the certificate of the server is not verified.
    Unverified,
    /// Always. The certificate of the server must be valid for its host, and issued by a root that is trusted.
    Verified,
}

impl Encryption {
    pub(in crate::store::engine::postgres) fn from_sslmode(value: &str) -> Option<Self> {
        match value {
            "disable" => Some(Self::Disabled),
            "prefer" => Some(Self::Preferred),
            "no-verify" => Some(Self::Unverified),
            "require" | "verify-full" => Some(Self::Verified),
            _ => None,
        }
    }
}

/// Creates what encrypts connections. `None` if they are not to be encrypted, or if that is only preferred and there is
/// no implementation of cryptography.
pub(in crate::store::engine::postgres) fn connector(
    encryption: Encryption,
    root_certificates: Option<&PathBuf>,
    provider: Option<Arc<CryptoProvider>>,
    setting: &str,
) -> Result<Option<MakeRustlsConnect>> {
    if encryption == Encryption::Disabled {
        return Ok(None);
    }
    let provider = match crypto_provider::choose(provider, "PostgresDatabase::crypto_provider") {
        Ok(provider) => provider,
        Err(_) if encryption == Encryption::Preferred => return Ok(None),
        Err(error) => return Err(error),
    };
    let algorithms = provider.signature_verification_algorithms;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Internal(error.to_string()))?;
    let mut config = match encryption {
        Encryption::Verified => config.with_root_certificates(roots(root_certificates, setting)?).with_no_client_auth(),
        _ => {
            let verifier = Arc::new(AnyCertificate(algorithms));
            config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    // `sslnegotiation=direct` needs it.
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(Some(MakeRustlsConnect::new(config)))
}

/// The certificates in the file, or else those of the web PKI.
fn roots(file: Option<&PathBuf>, setting: &str) -> Result<RootCertStore> {
    let Some(path) = file else {
        return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
    };
    let mut errors = FieldErrors::default();
    let mut roots = RootCertStore::empty();
    let cannot_read = |problem: &dyn std::fmt::Display| format!("sslrootcert {}: {problem}", path.display());
    match CertificateDer::pem_file_iter(path) {
        Ok(certificates) => {
            for certificate in certificates {
                let added = certificate.map_err(|error| cannot_read(&error));
                let added = added.and_then(|der| roots.add(der).map_err(|error| cannot_read(&error)));
                if let Err(problem) = added {
                    errors.add(setting, problem);
                }
            }
        }
        Err(error) => errors.add(setting, cannot_read(&error)),
    }
    errors.check(!errors.is_empty() || !roots.is_empty(), setting, cannot_read(&"has no certificate"));
    errors.into_result()?;
    Ok(roots)
}

/// Accepts every certificate. The server must still have its private key.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
