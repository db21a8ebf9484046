//! The interfaces of this machine and their addresses.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Interfaces that are looked at; further ones are left out.
pub const INTERFACES_MAX: usize = 1_024;

/// An interface that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it leads to ourselves only.
    pub is_loopback: bool,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// The interfaces that are up, by name.
///
/// # Errors
/// The kernel's.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut head = std::ptr::null_mut();
    // SAFETY: the library writes the head of a list, which is freed below, once.
    if unsafe { libc::getifaddrs(&raw mut head) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found: BTreeMap<String, Interface> = BTreeMap::new();
    let mut at = head;
    while !at.is_null() {
        // SAFETY: a row of the list, valid until it is freed; its name is a string.
        let (row, name) = unsafe { (&*at, CStr::from_ptr((*at).ifa_name)) };
        at = row.ifa_next;
        let name = name.to_string_lossy().into_owned();
        let is_up = row.ifa_flags & libc::IFF_UP as u32 != 0;
        if !is_up || (found.len() >= INTERFACES_MAX && !found.contains_key(&name)) {
            continue;
        }
        let Ok(index) = crate::link::interface(&name) else { continue };
        let is_loopback = row.ifa_flags & libc::IFF_LOOPBACK as u32 != 0;
        let addresses = Vec::new();
        let fresh = Interface { index, name: name.clone(), is_loopback, addresses };
        let interface = found.entry(name).or_insert(fresh);
        interface.addresses.extend(address(row.ifa_addr));
    }
    // SAFETY: the list from above; nothing of it is used any more.
    unsafe { libc::freeifaddrs(head) };
    Ok(found.into_values().collect())
}

/// An IP address, if it is one.
fn address(raw: *const libc::sockaddr) -> Option<IpAddr> {
    if raw.is_null() {
        return None;
    }
    // SAFETY: the family says which structure it is; it is read as that one only.
    unsafe {
        match i32::from((*raw).sa_family) {
            libc::AF_INET => {
                let raw = raw.cast::<libc::sockaddr_in>();
                Some(Ipv4Addr::from(u32::from_be((*raw).sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let raw = raw.cast::<libc::sockaddr_in6>();
                Some(Ipv6Addr::from((*raw).sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_with_its_address() {
        let found = interfaces().unwrap();
        let loopback = found.iter().find(|interface| interface.is_loopback).unwrap();
        assert!(loopback.addresses.contains(&Ipv4Addr::LOCALHOST.into()), "{loopback:?}");
        assert!(loopback.index > 0);
    }
}
