//! Which IP addresses are public. Receivers of notifications must have one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses.
#[derive(Debug, Clone, Copy)]
struct Block<A> {
    first: A,
    /// The number of leading bits that all addresses of the block share.
    prefix: u32,
}

const fn v4(first: [u8; 4], prefix: u32) -> Block<Ipv4Addr> {
    let [a, b, c, d] = first;
    Block { first: Ipv4Addr::new(a, b, c, d), prefix }
}

/// A block of IPv6 addresses by the first three groups of its first address. The others are 0.
const fn v6(groups: [u16; 3], prefix: u32) -> Block<Ipv6Addr> {
    let [a, b, c] = groups;
    Block { first: Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix }
}

/// The IPv4 blocks that are not public: those of the IANA special-purpose address registry (including blocks that are
/// globally reachable but reserved for a protocol), multicast, and addresses of cloud metadata services.
const IPV4: &[Block<Ipv4Addr>] = &[
    v4([0, 0, 0, 0], 8),        // RFC 791: this network
    v4([10, 0, 0, 0], 8),       // RFC 1918: private
    v4([100, 64, 0, 0], 10),    // RFC 6598: carrier-grade NAT
    v4([127, 0, 0, 0], 8),      // RFC 1122: loopback
    v4([168, 63, 129, 16], 32), // Azure: the host of a virtual machine
    v4([169, 254, 0, 0], 16),   // RFC 3927: link-local, and metadata services of most clouds
    v4([172, 16, 0, 0], 12),    // RFC 1918: private
    v4([192, 0, 0, 0], 24),     // RFC 6890: protocol assignments
    v4([192, 0, 2, 0], 24),     // RFC 5737: documentation
    v4([192, 31, 196, 0], 24),  // RFC 7535: AS112
    v4([192, 52, 193, 0], 24),  // RFC 7450: multicast tunnels
    v4([192, 88, 99, 0], 24),   // RFC 7526: 6to4 relays
    v4([192, 168, 0, 0], 16),   // RFC 1918: private
    v4([192, 175, 48, 0], 24),  // RFC 7534: AS112
    v4([198, 18, 0, 0], 15),    // RFC 2544: benchmarks
    v4([198, 51, 100, 0], 24),  // RFC 5737: documentation
    v4([203, 0, 113, 0], 24),   // RFC 5737: documentation
    v4([224, 0, 0, 0], 4),      // RFC 5771: multicast
    v4([240, 0, 0, 0], 4),      // RFC 1112: reserved; RFC 919: broadcast
];

/// The IPv6 block of global unicast addresses. Loopback, mapped, translated (NAT64), unique-local, link-local and
/// multicast addresses are outside of it.
const GLOBAL_UNICAST: Block<Ipv6Addr> = v6([0x2000, 0, 0], 3); // RFC 4291

/// The blocks of global unicast addresses that are not public: the others of the IANA registry.
const IPV6: &[Block<Ipv6Addr>] = &[
    v6([0x2001, 0, 0], 23),         // RFC 2928: protocol assignments, including Teredo and ORCHID
    v6([0x2001, 0xdb8, 0], 32),     // RFC 3849: documentation
    v6([0x2002, 0, 0], 16),         // RFC 3056: 6to4, which can contain any IPv4 address
    v6([0x2620, 0x4f, 0x8000], 48), // RFC 7534: AS112
    v6([0x3fff, 0, 0], 20),         // RFC 9637: documentation
];

/// Whether an address is public: globally reachable, and not reserved for a special purpose.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !IPV4.iter().any(|block| contains_v4(*block, address)),
        IpAddr::V6(address) => {
            contains_v6(GLOBAL_UNICAST, address) && !IPV6.iter().any(|block| contains_v6(*block, address))
        }
    }
}

fn contains_v4(block: Block<Ipv4Addr>, address: Ipv4Addr) -> bool {
    (block.first.to_bits() ^ address.to_bits()).leading_zeros() >= block.prefix
}

fn contains_v6(block: Block<Ipv6Addr>, address: Ipv6Addr) -> bool {
    (block.first.to_bits() ^ address.to_bits()).leading_zeros() >= block.prefix
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().expect(address))
    }

    /// The blocks that are not public: the public address directly below each, its first and last address, and the
    /// public address directly above. An empty text stands for an address that is not public or does not exist.
    const BLOCKS: &[[&str; 4]] = &[
        ["", "0.0.0.0", "0.255.255.255", "1.0.0.0"],
        ["9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
        ["100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"],
        ["126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"],
        ["168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"],
        ["169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"],
        ["172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"],
        ["191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
        ["192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
        ["192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"],
        ["192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"],
        ["192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"],
        ["192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"],
        ["192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"],
        ["198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"],
        ["198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"],
        ["203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"],
        ["223.255.255.255", "224.0.0.0", "239.255.255.255", ""],
        ["", "240.0.0.0", "255.255.255.255", ""],
        // IPv6: nothing outside 2000::/3 is public.
        ["", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
        ["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
        [
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
        ],
        ["2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
        [
            "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
            "2620:4f:8000::",
            "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
            "2620:4f:8001::",
        ],
        ["3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
        ["3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""],
    ];

    #[test]
    fn each_special_block_is_refused_from_its_first_to_its_last_address() {
        for [below, first, last, above] in BLOCKS {
            assert!(!public(first), "{first}");
            assert!(!public(last), "{last}");
            for neighbor in [below, above].into_iter().filter(|neighbor| !neighbor.is_empty()) {
                assert!(public(neighbor), "{neighbor}");
            }
        }
    }

    #[test]
    fn well_known_public_addresses_are_public() {
        for address in ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn ipv4_addresses_within_ipv6_addresses_are_not_public() {
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
    fn cloud_metadata_services_are_not_public() {
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

    /// The same blocks, expressed by the groups of an address.
    fn public_by_groups(address: Ipv6Addr) -> bool {
        let [a, b, c, ..] = address.segments();
        (0x2000..=0x3fff).contains(&a)
            && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
            && a != 0x2002
            && (a, b, c) != (0x2620, 0x4f, 0x8000)
            && !(a == 0x3fff && b < 0x1000)
    }

    proptest! {
        #[test]
        fn blocks_agree_with_a_second_implementation(
            low in any::<u16>(),
            // Often within or next to a special block.
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
            near[0] = start;
            near[1] = second;
            near[2] = 0x8000 | (words[2] & 1);
            for address in [Ipv6Addr::from(words), Ipv6Addr::from(near)] {
                prop_assert_eq!(is_public(address.into()), public_by_groups(address), "{}", address);
            }
        }
    }
}
