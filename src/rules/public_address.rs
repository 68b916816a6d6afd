//! Which IP addresses are public. Notifications are sent only to public addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses (CIDR): the first address, and the length of the prefix in bits.
type Block<A> = (A, u32);

/// The IPv4 blocks that are not public: the IANA special-purpose address registry (including its globally reachable
/// blocks, which serve protocols), multicast, and the metadata addresses of clouds.
const IPV4: &[Block<Ipv4Addr>] = &[
    (Ipv4Addr::UNSPECIFIED, 8),            // RFC 791: this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // RFC 1918: private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // RFC 6598: between a provider and its customers
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // RFC 1122: loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure: the host of a virtual machine
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // RFC 3927: link-local, and the metadata of most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // RFC 1918: private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // RFC 6890: protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // RFC 5737: documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24),  // RFC 7535: AS112
    (Ipv4Addr::new(192, 52, 193, 0), 24),  // RFC 7450: multicast tunnels
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // RFC 7526: 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // RFC 1918: private
    (Ipv4Addr::new(192, 175, 48, 0), 24),  // RFC 7534: AS112
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // RFC 2544: benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // RFC 5737: documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // RFC 5737: documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // RFC 5771: multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // RFC 1112: reserved; RFC 919: broadcast
];

/// The IPv6 block of global unicast addresses. It does not include loopback, IPv4-mapped, NAT64, unique-local,
/// link-local and multicast addresses.
const GLOBAL_UNICAST: Block<Ipv6Addr> = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3); // RFC 4291

/// The blocks in [`GLOBAL_UNICAST`] that are not public, from the IANA registry.
const IPV6: &[Block<Ipv6Addr>] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // RFC 2928: protocol assignments, Teredo and ORCHID among them
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // RFC 3849: documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // RFC 3056: 6to4, which holds any address of IPv4
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // RFC 7534: AS112
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // RFC 9637: documentation
];

/// Whether the address is a public unicast address.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !IPV4.iter().any(|block| holds_v4(*block, address)),
        IpAddr::V6(address) => holds_v6(GLOBAL_UNICAST, address) && !IPV6.iter().any(|block| holds_v6(*block, address)),
    }
}

fn holds_v4((first, shared): Block<Ipv4Addr>, address: Ipv4Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= shared
}

fn holds_v6((first, shared): Block<Ipv6Addr>, address: Ipv6Addr) -> bool {
    (first.to_bits() ^ address.to_bits()).leading_zeros() >= shared
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().expect(address))
    }

    /// Each special IPv4 block: whether the address below it is public, its first and last address, and whether the address
    /// above it is public.
    const BLOCKS: &[(&str, &str, &str, &str)] = &[
        ("", "0.0.0.0", "0.255.255.255", "1.0.0.0"),
        ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
        ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
        ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
        ("168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"),
        ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
        ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
        ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"),
        ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
        ("192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"),
        ("192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"),
        ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"),
        ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
        ("192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"),
        ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
        ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"),
        ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"),
        ("223.255.255.255", "224.0.0.0", "239.255.255.255", ""),
        ("", "240.0.0.0", "255.255.255.255", ""),
        // IPv6. Outside of 2000::/3 nothing is public.
        ("", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"),
        ("2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"),
        (
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
        ),
        ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"),
        (
            "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
            "2620:4f:8000::",
            "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
            "2620:4f:8001::",
        ),
        ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"),
        ("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""),
    ];

    #[test]
    fn each_special_block_is_refused_from_its_first_to_its_last_address() {
        for (below, first, last, above) in BLOCKS {
            assert!(!public(first), "{first}");
            assert!(!public(last), "{last}");
            for neighbour in [below, above].into_iter().filter(|address| !address.is_empty()) {
                assert!(public(neighbour), "{neighbour}");
            }
        }
    }

    #[test]
    fn addresses_that_everybody_reaches_are_public() {
        for address in ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn no_form_of_ipv6_carries_an_address_of_ipv4_past_the_guard() {
        for address in [
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::10.0.0.1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "fe80::5efe:10.0.0.1",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn what_answers_the_machines_of_a_cloud_is_refused() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::a9fe:a9fe",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    /// The same blocks, written as conditions on the bytes.
    fn public_by_bytes(address: Ipv4Addr) -> bool {
        let [a, b, c, d] = address.octets();
        let special = match (a, b, c) {
            (0 | 10 | 127 | 224..=255, _, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 31, 196)
            | (192, 52, 193)
            | (192, 88, 99)
            | (192, 168, _)
            | (192, 175, 48)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113) => true,
            (100, b, _) => b / 64 == 1,
            (168, 63, 129) => d == 16,
            _ => false,
        };
        !special
    }

    fn public_by_words(address: Ipv6Addr) -> bool {
        let [a, b, c, ..] = address.segments();
        (0x2000..=0x3fff).contains(&a)
            && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
            && a != 0x2002
            && (a, b, c) != (0x2620, 0x4f, 0x8000)
            && !(a == 0x3fff && b < 0x1000)
    }

    proptest! {
        #[test]
        fn the_blocks_agree_with_the_conditions_on_the_bytes(
            low in any::<u16>(),
            // The first half is often that of a special block or of its neighbour.
            high in prop_oneof![
                any::<u16>(),
                prop::sample::select(vec![0xc000_u16, 0xc01f, 0xc034, 0xc058, 0xc0af, 0xc612, 0xc633, 0xcb00, 0xa83f]),
            ],
            words in any::<[u16; 8]>(),
            start in prop::sample::select(vec![0x2000_u16, 0x2001, 0x2002, 0x2620, 0x3fff, 0x4000, 0, 0x64, 0xfe80]),
            second in prop::sample::select(vec![0_u16, 0x4f, 0x1ff, 0x200, 0xdb8, 0xfff, 0x1000]),
        ) {
            let address = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
            prop_assert_eq!(is_public(address.into()), public_by_bytes(address), "{}", address);
            let mut near = words;
            (near[0], near[1], near[2]) = (start, second, 0x8000 | (words[2] & 1));
            for address in [Ipv6Addr::from(words), Ipv6Addr::from(near)] {
                prop_assert_eq!(is_public(address.into()), public_by_words(address), "{}", address);
            }
        }
    }
}
