//! Which URLs are accepted for webhook endpoints.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fluent_uri::Uri;

use super::public_address::is_public;
use crate::error::FieldErrors;

/// One message for all invalid URLs, so that it reveals nothing about the internal network.
pub(crate) const MESSAGE: &str = "must be an https URL of a public address, on port 443 or a port from 1024 to 65535";

/// The maximum length of a URL in bytes to which notifications are sent. New URLs have a lower limit.
pub(crate) const MAX_BYTES: u16 = 8192;

/// Checks the URL of a webhook endpoint whose length is within its limit.
pub(crate) fn check(errors: &mut FieldErrors, path: &str, url: &str, allow_local: bool) {
    errors.check(ReceiverUrl::parse(url, allow_local).is_some(), path, MESSAGE);
}

/// The host and port of a URL to which notifications can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceiverUrl<'a> {
    pub(crate) host: ReceiverHost<'a>,
    pub(crate) port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiverHost<'a> {
    Name(&'a str),
    /// `localhost` or a name under it. Such names are not looked up in the DNS.
    Localhost,
    Address(IpAddr),
}

impl<'a> ReceiverUrl<'a> {
    /// Parses a URL; `None` if notifications cannot be sent to it. `allow_local` is for development: it allows plain
    /// HTTP and loopback addresses.
    pub(crate) fn parse(url: &'a str, allow_local: bool) -> Option<Self> {
        // Strict, because parsers differ in how they read URLs that RFC 3986 does not allow.
        let uri = Uri::parse(url).ok().filter(|_| url.len() <= usize::from(MAX_BYTES))?;
        let scheme = uri.scheme().as_str();
        let secure = scheme.eq_ignore_ascii_case("https");
        let plain = allow_local && scheme.eq_ignore_ascii_case("http");
        if !secure && !plain {
            return None;
        }
        let authority = uri.authority().filter(|authority| !authority.has_userinfo())?;
        let port = match authority.port() {
            None if secure => 443,
            None => 80,
            Some(port) => plain_number(port.as_str())?,
        };
        if port != 443 && port < 1024 {
            return None;
        }
        let host = read_host(authority.host())?;
        let allowed = match host {
            ReceiverHost::Name(_) => true,
            ReceiverHost::Localhost => allow_local,
            ReceiverHost::Address(address) => is_allowed(address, allow_local),
        };
        allowed.then_some(Self { host, port })
    }
}

/// Whether notifications may be sent to the address.
pub(crate) fn is_allowed(address: IpAddr, allow_local: bool) -> bool {
    is_public(address) || (allow_local && address.is_loopback())
}

/// Parses a number without a sign or leading zeros.
fn plain_number(digits: &str) -> Option<u16> {
    digits.parse().ok().filter(|number: &u16| number.to_string() == digits)
}

/// Parses a host: an IPv4 address, an IPv6 address in brackets, or a name.
fn read_host(host: &str) -> Option<ReceiverHost<'_>> {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse().ok().map(|address: Ipv6Addr| ReceiverHost::Address(address.into()));
    }
    match host.parse() {
        Ok(address) => Some(ReceiverHost::Address(Ipv4Addr::into(address))),
        Err(_) => read_name(host),
    }
}

/// Parses a name that can be in the public DNS. It may end with a dot.
fn read_name(name: &str) -> Option<ReceiverHost<'_>> {
    let labels = name.strip_suffix('.').unwrap_or(name).split('.');
    let last = labels.clone().next_back()?;
    if name.len() > 253 || !labels.clone().all(is_label) || is_number(last) {
        return None;
    }
    if last.eq_ignore_ascii_case("localhost") {
        return Some(ReceiverHost::Localhost);
    }
    let is_local = ["local", "internal"].into_iter().any(|end| last.eq_ignore_ascii_case(end));
    (labels.count() > 1 && !is_local).then_some(ReceiverHost::Name(name))
}

/// Whether this is a valid label: ASCII letters, digits and `_`, with hyphens between them. Only ASCII, because parsers
/// convert other letters differently.
fn is_label(label: &str) -> bool {
    let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    plain && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
}

/// Whether some parsers read a name that ends with this label as an IPv4 address.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accepts(url: &str, allow_local: bool) -> bool {
        let mut errors = FieldErrors::default();
        check(&mut errors, "url", url, allow_local);
        errors.is_empty()
    }

    const ACCEPTED: &str = "
        https://example.com https://example.com/ HTTPS://EXAMPLE.COM/Hook https://example.com:443/hook
        https://example.com:1024/hook https://example.com:65535/hook https://example.com/hook?token=a%20b#part
        https://example.com.:8443/ https://a_b.example.com/ https://1.example.com/ https://4u.example/
        https://xn--bcher-kva.example/ https://localhost.example.com/ https://local.example.com/ https://8.8.8.8/
        https://8.8.8.8:8443/ https://[2606:4700:4700::1111]:8443/
    ";

    /// Those that no row of texts can hold: some parsers repair them.
    const REFUSED_WITH_SPECIAL_CHARACTERS: &[&str] = &[
        "",
        "https:\\\\example.com\\",
        "https://example.com\\@10.0.0.1/",
        " https://example.com/",
        "https://example.com/ ",
        "https://exa mple.com/",
        "https://example.com/a b",
        "https://example.com/\t",
        "https://exam\nple.com/",
        "https://example.com/\r\nHost: a",
        "https://example.com/\0",
        "https://example.com/\u{7f}",
        "https://example.com/\u{a0}",
        "https://b\u{fc}cher.example/",
        "https://1\u{3002}1.1.1/",
        "https://\u{ff11}.1.1.1/",
        "https://\u{2460}27.0.0.1/",
    ];

    const REFUSED: &[&str] = &[
        // No https.
        "example.com //example.com/ /hook http://example.com/ http://example.com:8080/ ftp://example.com/
        httpss://example.com/ https:",
        // Invalid URLs that some parsers repair.
        "https:example.com https:/example.com https:///example.com https://example.com/%zz https://example.com/ü",
        // No host, or user info.
        "https:// https://:8443/ https://?a https://#a https://@example.com/ https://:@example.com/
        https://user@example.com/ https://user:password@example.com/ https://example.com@10.0.0.1/",
        // Ports.
        "https://example.com:/ https://example.com:0/ https://example.com:22/ https://example.com:80/
        https://example.com:442/ https://example.com:444/ https://example.com:1023/ https://example.com:0443/
        https://example.com:08443/ https://example.com:65536/ https://example.com:65979/
        https://example.com:99999999999999999999/ https://example.com:-1/ https://example.com:+8443/
        https://example.com:84a3/",
        // Names.
        "https://localhost/ https://LOCALHOST./ https://a.localhost/ https://a.LocalHost.:8443/ https://intranet/
        https://intranet./ https://printer.local/ https://printer.LOCAL./ https://metadata.google.internal/
        https://metadata.google.Internal./ https://local/ https://./ https://../ https://.example.com/
        https://example..com/ https://example.com../ https://-a.example.com/ https://a-.example.com/
        https://a!b.example.com/ https://a,b.example.com/ https://*.example.com/ https://ex%61mple.com/
        https://example%2ecom/ https://%31%30.0.0.1/",
        // Names that are numbers.
        "https://127.1/ https://127.0.1/ https://2130706433/ https://0x7f000001/ https://0x7f.1/
        https://0X7F.0.0.1/ https://0x/ https://a.0x/ https://017700000001/ https://0177.0.0.1/
        https://08.8.8.8/ https://8.8.8.08/ https://8.8.8.8./ https://8.8.8.256/ https://8.8.8.8.8/
        https://8.8.8/ https://a.b.1/ https://example.0x7f/ https://example.0x7f./",
        // Addresses.
        "https://127.0.0.1/ https://127.0.0.1:8443/ https://10.0.0.1/ https://169.254.169.254/latest/meta-data/
        https://0.0.0.0/ https://255.255.255.255/ https://[::1]/ https://[::]/ https://[::ffff:8.8.8.8]/
        https://[::ffff:7f00:1]/ https://[fd00:ec2::254]/ https://[fe80::1]/ https://[fe80::1%25eth0]/
        https://[fe80::1%eth0]/ https://[2606:4700:4700::1111/ https://2606:4700:4700::1111/ https://[v1.a]/
        https://[8.8.8.8]/ https://[]/",
    ];

    #[test]
    fn a_public_https_url_is_accepted() {
        for url in ACCEPTED.split_whitespace() {
            assert!(accepts(url, false), "{url}");
            assert!(accepts(url, true), "{url}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_one_and_the_same_message() {
        let rows = REFUSED.iter().flat_map(|urls| urls.split_whitespace());
        for url in rows.chain(REFUSED_WITH_SPECIAL_CHARACTERS.iter().copied()) {
            let mut errors = FieldErrors::default();
            check(&mut errors, "url", url, false);
            let messages: Vec<&str> = errors.as_slice().iter().map(|error| error.message.as_str()).collect();
            assert_eq!(messages, [MESSAGE], "{url:?}");
        }
    }

    #[test]
    fn labels_names_and_urls_have_a_maximum_length() {
        let label = "a".repeat(63);
        assert!(accepts(&format!("https://{label}.example/"), false));
        assert!(!accepts(&format!("https://{label}a.example/"), false));
        // 3 × 64 + 61 = 253.
        let longest = format!("{label}.{label}.{label}.{}", "b".repeat(61));
        assert_eq!(longest.len(), 253);
        assert!(accepts(&format!("https://{longest}/"), false));
        assert!(!accepts(&format!("https://{longest}b/"), false));
        let url = format!("https://example.com/{}", "x".repeat(8192 - 20));
        assert!(accepts(&url, false));
        assert!(!accepts(&format!("{url}x"), false));
    }

    #[test]
    fn development_allows_this_machine_and_plain_http_but_no_other_port() {
        let allowed = "http://localhost:8080/hook http://LocalHost.:8080/ https://localhost/ http://a.localhost:1024/
            http://127.0.0.1:8080/ http://127.255.255.254:8080/ https://[::1]:8443/ http://[::1]:443/
            http://example.com:8080/";
        for url in allowed.split_whitespace() {
            assert!(accepts(url, true), "{url}");
        }
        let refused =
            "http://localhost/ http://localhost:80/ http://localhost:22/ http://a@localhost:8080/ http://127.1:8080/
            http://127.0.0.1.:8080/ http://[::ffff:127.0.0.1]:8080/ http://10.0.0.1:8080/
            http://169.254.169.254:8080/ http://0.0.0.0:8080/ http://[::]:8080/ http://intranet:8080/
            http://printer.local:8080/ ftp://localhost:8080/";
        for url in refused.split_whitespace() {
            assert!(!accepts(url, true), "{url}");
        }
    }

    #[test]
    fn a_parsed_url_contains_the_host_and_port_to_connect_to() {
        let read = |url| ReceiverUrl::parse(url, true);
        let url = |host, port| Some(ReceiverUrl { host, port });
        assert_eq!(read("https://Example.com./a"), url(ReceiverHost::Name("Example.com."), 443));
        assert_eq!(read("https://a.localhost:8443/a"), url(ReceiverHost::Localhost, 8443));
        assert_eq!(read("http://127.0.0.1:443"), url(ReceiverHost::Address([127, 0, 0, 1].into()), 443));
        let address = "2606:4700:4700::1111".parse().unwrap();
        assert_eq!(read("https://[2606:4700:4700::1111]:9000/"), url(ReceiverHost::Address(address), 9000));
    }

    proptest! {
        #[test]
        fn an_address_is_accepted_if_and_only_if_it_is_public(address in any::<std::net::IpAddr>()) {
            let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
            prop_assert_eq!(accepts(&format!("https://{host}/"), false), is_public(address));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), host in "[a-z0-9.:@\\[\\]%_-]{0,20}") {
            let _ = (accepts(&text, true), accepts(&format!("https://{text}/"), true));
            if let Some(ReceiverUrl { host: ReceiverHost::Name(name), .. }) =
                ReceiverUrl::parse(&format!("https://{host}/"), false)
            {
                prop_assert!(name.parse::<IpAddr>().is_err() && name.contains('.'));
            }
        }
    }
}
