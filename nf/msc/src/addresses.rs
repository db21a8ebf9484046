//! The addresses of groups, by the numbers that leases name them by.
//!
//! A number stays with its address as long as the process lives, whatever the section becomes:
//! streams that stand name it.

use crate::config::{Group, Msc};
use media::program::Place;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// An address of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The group's name.
    pub group: String,
    /// The name of its routing table; `None`: the global one.
    pub vrf: Option<String>,
    /// The address.
    pub ip: IpAddr,
    /// The first even port, and how many pairs follow.
    pub pairs: (u16, u16),
    /// Whether the section still has it.
    pub stands: bool,
}

/// All addresses that there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct Addresses {
    list: Vec<Address>,
    /// The numbers of their routing tables, as the forwarder knows them.
    vrfs: BTreeMap<String, u32>,
    by_place: BTreeMap<(u32, IpAddr), u16>,
}

impl Addresses {
    /// Takes those of a section: new ones get the next numbers, in the order of the addresses.
    pub fn configure(&mut self, section: &Msc) {
        let of_group = |group: &Group| -> Vec<Address> {
            let Some(pairs) = group.pairs() else { return Vec::new() };
            let (name, vrf) = (&group.name, &group.vrf);
            let address = |ip: &IpAddr| Address {
                group: name.clone(),
                vrf: vrf.clone(),
                ip: *ip,
                pairs,
                stands: true,
            };
            group.addresses.iter().map(address).collect()
        };
        let mut wanted: Vec<Address> = section.group.iter().flat_map(of_group).collect();
        wanted.sort_by(|one, other| (&one.vrf, one.ip).cmp(&(&other.vrf, other.ip)));
        self.list.iter_mut().for_each(|it| it.stands = false);
        for address in wanted {
            let is_it = |it: &Address| (&it.vrf, it.ip) == (&address.vrf, address.ip);
            match self.list.iter().position(is_it) {
                Some(at) => self.list[at] = address,
                None if self.list.len() < usize::from(u16::MAX) => self.list.push(address),
                None => {}
            }
        }
        self.index();
    }

    /// Goes on with the numbers that a controller before had.
    pub fn restore(
        &mut self,
        known: impl Iterator<Item = (u16, Option<String>, IpAddr)>,
        section: &Msc,
    ) {
        let mut known: Vec<_> = known.collect();
        known.sort();
        let mut list: Vec<Address> = Vec::new();
        for (number, vrf, ip) in known {
            let free =
                |ip| Address { group: String::new(), vrf: None, ip, pairs: (2, 1), stands: false };
            if usize::from(number) < list.len() {
                continue;
            }
            // A number that is missing is one that nobody has.
            let nobody = IpAddr::from([0; 16]);
            list.resize(usize::from(number), free(nobody));
            list.push(Address { vrf, ..free(ip) });
        }
        self.list = list;
        self.configure(section);
    }

    /// Learns how the forwarder numbers routing tables.
    pub fn number(&mut self, vrfs: BTreeMap<String, u32>) {
        self.vrfs = vrfs;
        self.index();
    }

    fn index(&mut self) {
        let numbered = self.iter().map(|(number, it)| ((self.vrf(it), it.ip), number));
        self.by_place = numbered.collect();
    }

    fn vrf(&self, address: &Address) -> u32 {
        let number = address.vrf.as_ref().and_then(|name| self.vrfs.get(name));
        number.copied().unwrap_or(0)
    }

    /// The address of a number that still stands.
    pub fn at(&self, number: u16) -> Option<&Address> {
        self.list.get(usize::from(number)).filter(|it| it.stands)
    }

    /// Those that stand, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Address)> {
        (0..=u16::MAX).zip(&self.list).filter(|(_, it)| it.stands)
    }

    /// Those of a group and a family.
    pub fn of_group<'a>(
        &'a self,
        group: &'a str,
        is_v6: bool,
    ) -> impl Iterator<Item = (u16, IpAddr)> + 'a {
        let is_meant = move |it: &&Address| it.group == group && it.ip.is_ipv6() == is_v6;
        self.iter().filter(move |(_, it)| is_meant(it)).map(|(number, it)| (number, it.ip))
    }

    /// A port as the forwarder names it.
    pub fn place(&self, number: u16, port: u16) -> Option<Place> {
        let address = self.at(number)?;
        Some(Place { vrf: self.vrf(address), address: address.ip, port })
    }

    /// The number of the address of a place.
    pub fn number_of(&self, place: &Place) -> Option<u16> {
        self.by_place.get(&(place.vrf, place.address)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(addresses: &str) -> Msc {
        let text = format!("name = \"msc1\"\n[[group]]\nname = \"access\"\n{addresses}");
        toml::from_str(&text).expect("a section")
    }

    #[test]
    fn an_address_keeps_its_number_and_one_that_is_gone_is_nobodys() {
        let mut addresses = Addresses::default();
        addresses.configure(&section("addresses = [\"192.0.2.3\", \"192.0.2.1\"]"));
        let of = |addresses: &Addresses| -> Vec<(u16, String)> {
            addresses.iter().map(|(number, it)| (number, it.ip.to_string())).collect()
        };
        assert_eq!(of(&addresses), [(0, "192.0.2.1".into()), (1, "192.0.2.3".into())]);
        addresses.configure(&section("addresses = [\"192.0.2.2\", \"192.0.2.3\"]"));
        assert_eq!(of(&addresses), [(1, "192.0.2.3".into()), (2, "192.0.2.2".into())]);
        assert_eq!((addresses.at(0), addresses.place(0, 20_000)), (None, None));
        let place = addresses.place(2, 20_000).expect("it stands");
        assert_eq!(addresses.number_of(&place), Some(2));
        addresses.configure(&section("addresses = [\"192.0.2.1\", \"192.0.2.3\"]"));
        assert_eq!(addresses.at(0).map(|it| it.ip.to_string()), Some("192.0.2.1".into()));
    }
}
