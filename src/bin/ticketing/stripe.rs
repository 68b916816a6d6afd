//! Payments with Stripe: the options, and the command `stripe-check`.

#[cfg(feature = "stripe")]
pub(crate) use with_stripe::{check, gateway};

use super::arguments::StripeOptions;
use super::failure::{Failure, usage};

/// Whether the server takes payments with Stripe: if both files are set.
pub(crate) fn is_on(options: &StripeOptions) -> Result<bool, Failure> {
    match (&options.stripe_key_file, &options.stripe_webhook_secret_file) {
        (Some(_), Some(_)) => Ok(true),
        (None, None) if options.stripe_api_base.is_some() => Err(usage("--stripe-api-base needs --stripe-key-file")),
        (None, None) => Ok(false),
        (Some(_), None) => Err(usage("--stripe-key-file needs --stripe-webhook-secret-file")),
        (None, Some(_)) => Err(usage("--stripe-webhook-secret-file needs --stripe-key-file")),
    }
}

#[cfg(feature = "stripe")]
mod with_stripe {
    use std::path::Path;

    use serde_json::json;
    use ticketing::stripe::StripeGateway;

    use super::super::output::print_line;
    use super::{Failure, StripeOptions, usage};

    /// Creates the gateway.
    pub(crate) fn gateway(options: &StripeOptions) -> Result<StripeGateway, Failure> {
        let key_file = options.stripe_key_file.as_ref().ok_or_else(|| usage("the command needs --stripe-key-file"))?;
        let mut builder = StripeGateway::builder(read(key_file)?.trim().to_owned());
        if let Some(path) = &options.stripe_webhook_secret_file {
            let secrets = read(path)?;
            let secrets: Vec<&str> = secrets.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            if secrets.is_empty() {
                return Err(Failure::Run(format!("{} has no secret", path.display())));
            }
            for secret in secrets {
                builder = builder.webhook_secret(secret);
            }
        }
        if let Some(url) = &options.stripe_api_base {
            builder = builder.api_base(url);
        }
        Ok(builder.build()?)
    }

    /// Asks Stripe whether it accepts the key, and prints the mode of the key, whether it may make refunds and be used
    /// for `stripe-reconcile`, and the endpoints for notices. Fails if it may not, or if no endpoint receives all
    /// notices.
    pub(crate) fn check(options: &StripeOptions) -> Result<(), Failure> {
        let setup = gateway(options)?.check_setup().map_err(|error| Failure::Run(error.to_string()))?;
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
pub(crate) fn check(_: &StripeOptions) -> Result<(), Failure> {
    Err(not_compiled())
}

#[cfg(not(feature = "stripe"))]
pub(crate) fn not_compiled() -> Failure {
    usage("payments with Stripe need a program that is compiled with the feature stripe")
}
