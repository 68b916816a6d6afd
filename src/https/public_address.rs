//! Which IP addresses are public. Receivers of notifications must have one.

use std::net::IpAddr;

#[derive(Debug)]
struct Block {
    /// The bits of the first address, from the highest on.
    first: u128,
    /// The number of leading bits that all addresses of the block share.
    prefix: u32,
}

impl Block {
    fn contains(&self, bits: u128) -> bool {
        (self.first ^ bits).leading_zeros() >= self.prefix
    }
}

const fn v4(first: [u8; 4], prefix: u32) -> Block {
    Block { first: (u32::from_be_bytes(first) as u128) << 96, prefix }
}

/// A block of IPv6 addresses by the first three groups of its first address. The others are 0.
const fn v6([a, b, c]: [u16; 3], prefix: u32) -> Block {
    Block { first: (a as u128) << 112 | (b as u128) << 96 | (c as u128) << 80, prefix }
}

/// The IPv4 blocks that are not public: those of the IANA special-purpose address registry (including blocks that are
/// globally reachable but reserved for a protocol), multicast, and addresses of cloud metadata services.
const IPV4: &[Block] = &[
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
const GLOBAL_UNICAST: Block = v6([0x2000, 0, 0], 3); // RFC 4291

/// The blocks of global unicast addresses that are not public: the others of the IANA registry.
const IPV6: &[Block] = &[
    v6([0x2001, 0, 0], 23),         // RFC 2928: protocol assignments, including Teredo and ORCHID
    v6([0x2001, 0xdb8, 0], 32),     // RFC 3849: documentation
    v6([0x2002, 0, 0], 16),         // RFC 3056: 6to4, which can contain any IPv4 address
    v6([0x2620, 0x4f, 0x8000], 48), // RFC 7534: AS112
    v6([0x3fff, 0, 0], 20),         // RFC 9637: documentation
];

/// Whether an address is public: globally reachable, and not reserved for a special purpose.
pub(crate) fn is_public(address: IpAddr) -> bool {
    let is_outside = |blocks: &[Block], bits| !blocks.iter().any(|block| block.contains(bits));
    match address {
        IpAddr::V4(address) => is_outside(IPV4, u128::from(address.to_bits()) << 96),
        IpAddr::V6(address) => GLOBAL_UNICAST.contains(address.to_bits()) && is_outside(IPV6, address.to_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().expect(address))
    }

    /// The blocks that are not public: the public address directly below each, its first and last address, and the
    /// public address directly above. A hyphen stands for an address that is not public or does not exist.
    const BLOCKS: &str = "
        - 0.0.0.0 0.255.255.255 1.0.0.0
        9.255.255.255 10.0.0.0 10.255.255.255 11.0.0.0
        100.63.255.255 100.64.0.0 100.127.255.255 100.128.0.0
        126.255.255.255 127.0.0.0 127.255.255.255 128.0.0.0
        168.63.129.15 168.63.129.16 168.63.129.16 168.63.129.17
        169.253.255.255 169.254.0.0 169.254.255.255 169.255.0.0
        172.15.255.255 172.16.0.0 172.31.255.255 172.32.0.0
        191.255.255.255 192.0.0.0 192.0.0.255 192.0.1.0
        192.0.1.255 192.0.2.0 192.0.2.255 192.0.3.0
        192.31.195.255 192.31.196.0 192.31.196.255 192.31.197.0
        192.52.192.255 192.52.193.0 192.52.193.255 192.52.194.0
        192.88.98.255 192.88.99.0 192.88.99.255 192.88.100.0
        192.167.255.255 192.168.0.0 192.168.255.255 192.169.0.0
        192.175.47.255 192.175.48.0 192.175.48.255 192.175.49.0
        198.17.255.255 198.18.0.0 198.19.255.255 198.20.0.0
        198.51.99.255 198.51.100.0 198.51.100.255 198.51.101.0
        203.0.112.255 203.0.113.0 203.0.113.255 203.0.114.0
        223.255.255.255 224.0.0.0 239.255.255.255 -
        - 240.0.0.0 255.255.255.255 -
        - :: 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2000::
        2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2001:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff 2001:200::
        2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9::
        2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2002:: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2003::
        2620:4f:7fff:ffff:ffff:ffff:ffff:ffff 2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff 2620:4f:8001::
        3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff 3fff:1000::
        3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 4000:: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff -
    ";

    #[test]
    fn each_special_block_is_refused_from_its_first_to_its_last_address() {
        let addresses: Vec<&str> = BLOCKS.split_whitespace().collect();
        // Outside of the global unicast addresses, nothing is public on either side. There are no other blocks.
        assert_eq!(addresses.len(), 4 * (IPV4.len() + IPV6.len() + 2));
        for block in addresses.chunks(4) {
            for (address, is_public) in block.iter().zip([true, false, false, true]) {
                assert!(*address == "-" || public(address) == is_public, "{address}");
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
    fn cloud_metadata_services_and_ipv4_addresses_within_ipv6_addresses_are_not_public() {
        let services = "169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254
            fd20:ce::254 fe80::a9fe:a9fe";
        let ipv4 = "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ::127.0.0.1 64:ff9b::10.0.0.1
            64:ff9b:1::10.0.0.1 2002:7f00:1:: 2001:0:7f00:1:: fe80::5efe:10.0.0.1";
        for address in services.split_whitespace().chain(ipv4.split_whitespace()) {
            assert!(!public(address), "{address}");
        }
    }
}
