//! Payments with Stripe: the options, and the command `stripe-check`.

use std::path::PathBuf;

use crate::failure::{Failure, usage};
use crate::raw_options::RawOptions;

/// The options of payments with Stripe.
pub(crate) const OPTIONS: [&str; 3] = ["stripe-key-file", "stripe-webhook-secret-file", "stripe-api-base"];

/// How Stripe is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StripeSettings {
    /// The file with the secret key.
    pub(crate) key_file: PathBuf,
    /// The file with the signing secrets of the endpoint for notices, one on each line. Only the server needs it.
    pub(crate) webhook_secret_file: Option<PathBuf>,
    /// The URL of the API; `None` for Stripe's own.
    pub(crate) api_base: Option<String>,
}

/// Reads the options of the server. `None` if payments go through the sandbox.
pub(crate) fn server_settings(options: &RawOptions) -> Result<Option<StripeSettings>, Failure> {
    match (path(options, "stripe-key-file")?, path(options, "stripe-webhook-secret-file")?) {
        (Some(key_file), Some(secrets)) => {
            let api_base = options.text("stripe-api-base")?;
            Ok(Some(StripeSettings { key_file, webhook_secret_file: Some(secrets), api_base }))
        }
        (None, None) => match options.raw("stripe-api-base") {
            Some(raw) => Err(usage(format!("{} needs --stripe-key-file", raw.source))),
            None => Ok(None),
        },
        (Some(_), None) => Err(usage("--stripe-key-file needs --stripe-webhook-secret-file")),
        (None, Some(_)) => Err(usage("--stripe-webhook-secret-file needs --stripe-key-file")),
    }
}

/// Reads the options of `stripe-check`.
pub(crate) fn check_settings(options: &RawOptions) -> Result<StripeSettings, Failure> {
    options.allow_only("stripe-check", &OPTIONS)?;
    settings_of_command("stripe-check", options)
}

/// Reads how a command reaches Stripe.
pub(crate) fn settings_of_command(command: &str, options: &RawOptions) -> Result<StripeSettings, Failure> {
    let key_file = path(options, "stripe-key-file")?;
    Ok(StripeSettings {
        key_file: key_file.ok_or_else(|| usage(format!("{command} needs --stripe-key-file")))?,
        webhook_secret_file: path(options, "stripe-webhook-secret-file")?,
        api_base: options.text("stripe-api-base")?,
    })
}

fn path(options: &RawOptions, option: &str) -> Result<Option<PathBuf>, Failure> {
    match options.raw(option) {
        Some(raw) if raw.value.is_empty() => Err(usage(format!("{} must not be empty", raw.source))),
        raw => Ok(raw.map(|raw| raw.value.into())),
    }
}

#[cfg(feature = "stripe")]
pub(crate) use with_stripe::{check, gateway};

#[cfg(feature = "stripe")]
mod with_stripe {
    use std::path::Path;

    use serde_json::json;
    use ticketing::stripe::StripeGateway;

    use super::StripeSettings;
    use crate::failure::Failure;
    use crate::print_line;

    /// Creates the gateway.
    pub(crate) fn gateway(settings: &StripeSettings) -> Result<StripeGateway, Failure> {
        let mut builder = StripeGateway::builder(read(&settings.key_file)?.trim().to_owned());
        if let Some(path) = &settings.webhook_secret_file {
            let secrets = read(path)?;
            let secrets: Vec<&str> = secrets.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            if secrets.is_empty() {
                return Err(Failure::Run(format!("{} has no secret", path.display())));
            }
            for secret in secrets {
                builder = builder.webhook_secret(secret);
            }
        }
        if let Some(url) = &settings.api_base {
            builder = builder.api_base(url);
        }
        Ok(builder.build()?)
    }

    /// Asks Stripe whether it accepts the key, and prints the mode of the key, whether it may make refunds and be used for
    /// `stripe-reconcile`, and the endpoints for notices. Fails if it may not, or if no endpoint receives all notices.
    pub(crate) fn check(settings: &StripeSettings) -> Result<(), Failure> {
        let setup = gateway(settings)?.check_setup().map_err(|error| Failure::Run(error.to_string()))?;
        let endpoints = setup.endpoints.iter().map(|endpoint| {
            json!({
                "url": endpoint.url, "enabled": endpoint.is_enabled, "live": endpoint.is_live,
                "connect": endpoint.is_connect, "missingEventTypes": endpoint.missing_event_types,
            })
        });
        let mode = setup.is_live.map(|is_live| if is_live { "live" } else { "test" });
        let endpoints: Vec<_> = endpoints.collect();
        let json = json!({
            "mode": mode, "canRefund": setup.can_refund, "canReconcile": setup.can_reconcile, "endpoints": endpoints,
        });
        print_line(&json.to_string())?;
        match setup.problem() {
            None => Ok(()),
            Some(problem) => Err(Failure::Run(problem.to_owned())),
        }
    }

    fn read(path: &Path) -> Result<String, Failure> {
        std::fs::read_to_string(path).map_err(|error| Failure::Run(format!("cannot read {}: {error}", path.display())))
    }
}

#[cfg(not(feature = "stripe"))]
pub(crate) fn check(_: &StripeSettings) -> Result<(), Failure> {
    Err(not_compiled())
}

#[cfg(not(feature = "stripe"))]
pub(crate) fn not_compiled() -> Failure {
    usage("payments with Stripe need a program that is compiled with the feature stripe")
}
