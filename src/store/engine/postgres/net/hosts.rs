//! Several hosts in the URL of a database: they are tried one after another, each for a limited time.
//!
//! `tokio-postgres` tries them too, but has a limit for the connection only, and none for what follows: a host whose
//! kernel accepts connections, and whose server does not answer, would never be left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_postgres::config::LoadBalanceHosts;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket};

use super::errors::cannot_open;
use crate::error::{Error, Result, StoreErrorKind};

/// How long a host may take until it can be used, unless the URL says otherwise.
pub(in crate::store::engine::postgres) const MAX_CONNECT_TIME: Duration = Duration::from_secs(5);

/// The host that is tried first: the one that worked last. Clones share it.
#[derive(Debug, Clone, Default)]
pub(in crate::store::engine::postgres) struct FirstHost(Arc<AtomicUsize>);

#[derive(Debug, Clone)]
pub(in crate::store::engine::postgres) struct Host {
    number: usize,
    hosts: usize,
    first: FirstHost,
}

pub(in crate::store::engine::postgres) type Connected<S> = (Client, Connection<Socket, S>, Host);

impl FirstHost {
    /// Connects to the first host that can be used, from this one on, within `max_time`.
    pub(in crate::store::engine::postgres) async fn connect<T>(
        &self,
        config: &Config,
        max_time: Duration,
        tls: T,
    ) -> Result<Connected<T::Stream>>
    where
        T: MakeTlsConnect<Socket> + Clone,
    {
        let hosts = number_of_hosts(config);
        let each = u32::try_from(hosts).unwrap_or(u32::MAX);
        let max_time = config.get_connect_timeout().copied().unwrap_or(MAX_CONNECT_TIME).min(max_time / each);
        let first = match config.get_load_balance_hosts() {
            LoadBalanceHosts::Random => self.0.fetch_add(1, Ordering::Relaxed),
            _ => self.0.load(Ordering::Relaxed),
        };
        let mut failed = Error::from(StoreErrorKind::CannotOpen("the URL names no host".to_owned()));
        for number in (0..hosts).map(|index| first.wrapping_add(index) % hosts) {
            let one = only(config, number);
            match tokio::time::timeout(max_time, one.connect(tls.clone())).await {
                Ok(Ok((client, connection))) => {
                    self.0.store(number, Ordering::Relaxed);
                    return Ok((client, connection, Host { number, hosts, first: self.clone() }));
                }
                Ok(Err(error)) => failed = cannot_open(error),
                Err(_) => {
                    Host { number, hosts, first: self.clone() }.leave();
                    let problem = format!("the server does not answer within {} s", max_time.as_secs_f32());
                    failed = StoreErrorKind::CannotOpen(problem).into();
                }
            }
        }
        Err(failed)
    }

    /// The configuration with this host only.
    pub(in crate::store::engine::postgres) fn only(&self, config: &Config) -> Config {
        only(config, self.0.load(Ordering::Relaxed) % number_of_hosts(config))
    }
}

impl Host {
    pub(in crate::store::engine::postgres) fn has_others(&self) -> bool {
        self.hosts > 1
    }

    /// Lets new connections begin with the next host, because this one does not answer.
    pub(in crate::store::engine::postgres) fn leave(&self) {
        let next = (self.number + 1) % self.hosts;
        // Another connection may have left it already.
        let _ = self.first.0.compare_exchange(self.number, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// How many hosts the URL names, at least 1.
fn number_of_hosts(config: &Config) -> usize {
    config.get_hosts().len().max(config.get_hostaddrs().len()).max(1)
}

/// The configuration with this host only.
fn only(config: &Config, number: usize) -> Config {
    let mut one = Config::new();
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(database) = config.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    match config.get_hosts().get(number) {
        Some(tokio_postgres::config::Host::Tcp(host)) => drop(one.host(host)),
        #[cfg(unix)]
        Some(tokio_postgres::config::Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(number) {
        one.hostaddr(*address);
    }
    if let Some(port) = config.get_ports().get(number).or_else(|| config.get_ports().first()) {
        one.port(*port);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        one.connect_timeout(*timeout);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .target_session_attrs(config.get_target_session_attrs())
        .load_balance_hosts(config.get_load_balance_hosts());
    one
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    const PARAMETERS: &str = "user=ada password=swordfish dbname=hall options=-cgeqo=off application_name=box \
        connect_timeout=3 tcp_user_timeout=4 keepalives=0 keepalives_idle=5 keepalives_interval=6 keepalives_retries=7 \
        sslmode=require sslnegotiation=direct channel_binding=require target_session_attrs=read-only \
        load_balance_hosts=random";

    #[test]
    fn each_host_of_a_url_keeps_all_its_parameters() {
        let parse = |hosts: &str| Config::from_str(&format!("{hosts} {PARAMETERS}")).unwrap();
        let both = parse("host=first,/second hostaddr=10.0.0.1,10.0.0.2 port=5433,5434");
        assert_eq!(only(&both, 0), parse("host=first hostaddr=10.0.0.1 port=5433"));
        assert_eq!(only(&both, 1), parse("host=/second hostaddr=10.0.0.2 port=5434"));
        let same_port = parse("host=first,second port=5433");
        assert_eq!(only(&same_port, 1), parse("host=second port=5433"));
    }

    #[test]
    fn connections_that_leave_a_host_at_the_same_time_skip_no_other() {
        let first = FirstHost::default();
        let host = |number| Host { number, hosts: 3, first: first.clone() };
        host(0).leave();
        host(0).leave();
        assert_eq!(first.0.load(Ordering::Relaxed), 1);
        host(1).leave();
        host(2).leave();
        assert_eq!(first.0.load(Ordering::Relaxed), 0);
    }
}
