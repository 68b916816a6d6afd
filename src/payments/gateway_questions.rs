//! The payment gateway of a service, and what is needed to ask it.

use std::sync::Arc;

use super::look_up_limit::LookUpLimit;
use crate::environment::Environment;
use crate::model::sale::gateway_account::GatewayKey;
use crate::payment::GatewayCalls;
use crate::rules::money::gateway_choice::is_asked;
use crate::write::Writes;

/// The payment gateway of a service, if it has one.
pub(crate) struct Payments {
    pub(crate) writes: Arc<Writes>,
    pub(crate) environment: Environment,
    pub(crate) gateway: Option<GatewayCalls>,
    /// Whether the gateway is the sandbox, whose checkout page needs no API key.
    pub(crate) has_sandbox: bool,
    /// The address of the service in checkout links, without a trailing slash.
    pub(crate) public_url: Option<String>,
    /// The look-ups for pages to which customers come back.
    pub(crate) page_look_ups: LookUpLimit,
    pub(crate) renewal_look_ups: LookUpLimit,
}

impl Payments {
    /// The gateway that is asked about a checkout or a payment with this [recorded](is_asked) gateway. `None` if the
    /// program does not have it.
    pub(crate) fn gateway_of(&self, recorded: Option<GatewayKey<'_>>) -> Option<&GatewayCalls> {
        self.gateway.as_ref().filter(|gateway| is_asked(gateway.key(), recorded))
    }
}
