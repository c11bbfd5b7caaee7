//! Rejects addresses that are not public, also in disguise (orchestrator 6).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The metadata address of one cloud, which lies among public ones. Those of the others are link-local, private or shared.
const METADATA: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Networks of IPv4 that are not public, with their kinds.
const NETWORKS: [([u8; 4], u32, &str); 17] = [
    ([0, 0, 0, 0], 8, "unspecified"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "shared by a provider"),
    ([127, 0, 0, 0], 8, "loopback"),
    ([169, 254, 0, 0], 16, "link-local"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "reserved"),
    ([192, 0, 2, 0], 24, "reserved"),
    ([192, 31, 196, 0], 24, "reserved"),
    ([192, 52, 193, 0], 24, "reserved"),
    ([192, 88, 99, 0], 24, "reserved"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "reserved"),
    ([198, 51, 100, 0], 24, "reserved"),
    ([203, 0, 113, 0], 24, "reserved"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

/// The kind of an address that is not public; `None` for a public one.
pub(super) fn kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<&'static str> {
    if address == METADATA {
        return Some("metadata");
    }
    let is_in = |network: [u8; 4], bits: u32| (address.to_bits() ^ Ipv4Addr::from(network).to_bits()) >> (32 - bits) == 0;
    NETWORKS.iter().find(|(network, bits, _)| is_in(*network, *bits)).map(|(.., kind)| *kind)
}

fn kind_of_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [first, second, ..] = address.segments();
    Some(match (first, second) {
        _ if address.is_unspecified() => "unspecified",
        _ if address.is_loopback() => "loopback",
        // Compatible, mapped and translated addresses, 6to4, Teredo.
        (0, _) | (0x64, 0xff9b) | (0x2002, _) | (0x2001, 0) => "IPv4 in IPv6",
        (0xfc00..=0xfdff, _) => "private",
        (0xfe80..=0xfebf, _) => "link-local",
        (0xff00..=0xffff, _) => "multicast",
        // Among the assigned unicast addresses, those for protocols and documentation.
        (0x2001, 0..=0x1ff) | (0x2001, 0xdb8) | (0x3fff, 0..=0xfff) => "reserved",
        (0x2000..=0x3fff, _) => return None,
        _ => "reserved",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(addresses: &[&str]) -> Vec<Option<&'static str>> {
        addresses.iter().map(|address| kind(address.parse().expect("an address"))).collect()
    }

    // orchestrator 6, 10.3: loopback, private, link-local, CGNAT, ULA, multicast, IPv4 in IPv6, metadata
    #[test]
    fn what_is_not_public_has_a_kind() {
        for (kind, addresses) in [
            ("unspecified", &["0.0.0.0", "0.1.2.3", "::"][..]),
            ("loopback", &["127.0.0.1", "127.255.255.254", "::1"]),
            ("private", &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254"]),
            ("link-local", &["169.254.169.254", "169.254.170.2", "fe80::1", "febf::1"]),
            ("shared by a provider", &["100.64.0.1", "100.100.100.200", "100.127.255.255"]),
            ("multicast", &["224.0.0.1", "239.255.255.255", "ff02::1"]),
            ("metadata", &["168.63.129.16"]),
            (
                "IPv4 in IPv6",
                &["::ffff:10.0.0.1", "::ffff:8.8.8.8", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:a00:1::", "2001::1"],
            ),
            ("reserved", &["192.0.0.192", "192.0.2.1", "198.19.0.1", "240.0.0.1", "255.255.255.255", "fec0::1", "100::1", "2001:db8::1"]),
        ] {
            assert_eq!(kinds(addresses), vec![Some(kind); addresses.len()], "{addresses:?}");
        }
    }

    #[test]
    fn what_is_public_has_none() {
        let public = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "172.32.0.1", "169.253.1.1", "223.255.255.255", "2606:4700::1111", "2a00::1"];
        assert_eq!(kinds(&public), [None; 8]);
    }
}
