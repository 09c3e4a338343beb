//! How many connections an address has: one caller must not take all of a port's places.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use fetch::IpNet;

/// The connections of a port by address.
pub(super) struct Crowd {
    most: usize,
    /// Addresses behind which many callers stand.
    trusted: Vec<IpNet>,
    guests: Arc<Guests>,
}

/// How many connections each address has.
type Guests = Mutex<HashMap<IpAddr, usize>>;

/// A connection's place among those of its address, given back on drop.
pub(super) struct Guest {
    counted: Option<(IpAddr, Arc<Guests>)>,
}

impl Crowd {
    pub(super) fn new(most: usize, trusted: Vec<IpNet>) -> Self {
        Self { most, trusted, guests: Arc::default() }
    }

    /// A place for one more connection of this address; `None` when it has its share.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Guest> {
        let address = address.to_canonical();
        if self.trusted.iter().any(|network| network.contains(&address)) {
            return Some(Guest { counted: None });
        }
        let address = household(address);
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = guests.entry(address).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Guest { counted: Some((address, self.guests.clone())) })
    }
}

/// Who has one address of IPv6 has its whole network of 64 bits.
fn household(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let Some((address, guests)) = &self.counted else { return };
        let mut guests = guests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = guests.get_mut(address) {
            *count -= 1;
            if *count == 0 {
                guests.remove(address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_its_share_and_gets_it_back() {
        let crowd = Crowd::new(2, vec!["10.0.0.0/8".parse().unwrap()]);
        let places = [crowd.enter(ip("192.0.2.1")), crowd.enter(ip("::ffff:192.0.2.1"))];
        assert!(places.iter().all(Option::is_some));
        assert!(crowd.enter(ip("192.0.2.1")).is_none());
        assert!(crowd.enter(ip("192.0.2.2")).is_some());
        drop(places);
        assert!(crowd.enter(ip("192.0.2.1")).is_some());
        assert!(crowd.guests.lock().unwrap().is_empty(), "nobody is left who is remembered");
        let proxied: Vec<_> = (0..9).map(|_| crowd.enter(ip("10.1.2.3"))).collect();
        assert!(proxied.iter().all(Option::is_some));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let crowd = Crowd::new(1, Vec::new());
        let _place = crowd.enter(ip("2001:db8::1"));
        assert!(crowd.enter(ip("2001:db8::ffff:2")).is_none());
        assert!(crowd.enter(ip("2001:db8:0:1::1")).is_some());
    }
}
