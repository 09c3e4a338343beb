//! Which addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// IPv4 ranges that are not the public internet (IANA's special-purpose registry), and one public address at which a
/// cloud answers its own machines.
const NOT_PUBLIC_V4: &[([u8; 4], u8)] = &[
    ([0, 0, 0, 0], 8),        // this network
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // shared by a carrier's customers; metadata of some clouds
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // Azure's host, as seen from its machines
    ([169, 254, 0, 0], 16),   // link-local; metadata of most clouds
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocol assignments; metadata of some clouds
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 88, 99, 0], 24),   // 6to4 relays
    ([192, 168, 0, 0], 16),   // private
    ([198, 18, 0, 0], 15),    // benchmarks
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, and broadcast
];

/// All of public IPv6 is in 2000::/3; these parts of it are not public, or hold an IPv4 address that a relay unpacks.
const NOT_PUBLIC_V6: &[([u16; 8], u8)] = &[
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),     // protocol assignments, Teredo
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),     // 6to4
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),     // documentation
];
const PUBLIC_V6: ([u16; 8], u8) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Whether a stranger's url may lead to this address: it is public, or in a network of the allow-list.
pub fn is_permitted(address: IpAddr, allowed: &[IpNet]) -> bool {
    // An IPv4-mapped IPv6 address is connected to as IPv4, so it is judged as IPv4.
    let address = address.to_canonical();
    is_public(address) || allowed.iter().any(|network| network.contains(&address))
}

/// Whether the address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|range| within_v4(address, *range)),
        IpAddr::V6(address) => {
            within_v6(address, &PUBLIC_V6) && !NOT_PUBLIC_V6.iter().any(|range| within_v6(address, range))
        }
    }
}

fn within_v4(address: Ipv4Addr, (network, bits): ([u8; 4], u8)) -> bool {
    let mask = u32::MAX << (32 - bits);
    address.to_bits() & mask == Ipv4Addr::from(network).to_bits() & mask
}

fn within_v6(address: Ipv6Addr, (network, bits): &([u16; 8], u8)) -> bool {
    let mask = u128::MAX << (128 - bits);
    address.to_bits() & mask == Ipv6Addr::from(*network).to_bits() & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[&str], public: bool) {
        for text in addresses {
            assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
        }
    }

    #[test]
    fn private_loopback_and_special_ranges_are_not_public() {
        check(
            &[
                "0.0.0.0",
                "0.1.2.3",
                "10.0.0.1",
                "10.255.255.255",
                "100.64.0.1",
                "100.100.100.200",
                "100.127.255.255",
                "127.0.0.1",
                "127.255.255.255",
                "168.63.129.16",
                "169.254.0.1",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.0.0.192",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.0.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.7",
                "203.0.113.7",
                "224.0.0.1",
                "239.255.255.255",
                "240.0.0.1",
                "255.255.255.255",
            ],
            false,
        );
        check(
            &[
                "::",
                "::1",
                "::7f00:1",
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "::ffff:169.254.169.254",
                "::ffff:0:127.0.0.1",
                "64:ff9b::7f00:1",
                "64:ff9b::808:808",
                "64:ff9b:1::1",
                "100::1",
                "2001::1",
                "2001:0:4136:e378::1",
                "2001:10::1",
                "2001:20::1",
                "2001:db8::1",
                "2002:7f00:1::1",
                "2002:808:808::1",
                "3fff::1",
                "5f00::1",
                "fc00::1",
                "fd00::1",
                "fd00:ec2::254",
                "fe80::1",
                "febf::1",
                "fec0::1",
                "ff02::1",
                "ff0e::1",
                "4000::1",
            ],
            false,
        );
    }

    #[test]
    fn neighbours_of_those_ranges_are() {
        check(
            &[
                "1.1.1.1",
                "8.8.8.8",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "168.63.129.17",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
                "::ffff:8.8.8.8",
                "2001:200::1",
                "2001:4860:4860::8888",
                "2a00:1450::1",
                "2606:4700::1111",
                "3ffe::1",
            ],
            true,
        );
    }

    #[test]
    fn an_allow_list_opens_its_networks_and_no_others() {
        let allowed: Vec<IpNet> = ["10.1.0.0/16", "fd00:1::/32"].map(|net| net.parse().unwrap()).into();
        for (text, permitted) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.1", false),
            ("::ffff:10.2.0.1", false),
            ("fd00:1::7", true),
            ("fd00:2::7", false),
            ("127.0.0.1", false),
            ("8.8.8.8", true),
        ] {
            assert_eq!(is_permitted(text.parse().unwrap(), &allowed), permitted, "{text}");
        }
    }
}
