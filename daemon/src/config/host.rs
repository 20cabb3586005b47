//! What the checks need to know about this machine: its name, its addresses, name lookups
//! with a bound in time. Tests put their own facts in.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest wait for all lookups together.
const LOOKUP_MAX: Duration = Duration::from_secs(1);
/// Most names looked up.
const NAMES_MAX: usize = 64;

/// Facts about a machine.
#[derive(Clone, Debug)]
pub struct Host {
    name: String,
    addresses: Vec<IpAddr>,
    lookups: bool,
}

impl Host {
    /// The machine this runs on.
    pub fn this() -> Host {
        let name = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let addresses = nix::ifaddrs::getifaddrs().map(|list| {
            let address = |storage: nix::sys::socket::SockaddrStorage| {
                let v4 = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
                v4.or_else(|| storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
            };
            list.filter_map(|interface| interface.address.and_then(address)).collect()
        });
        Host { name, addresses: addresses.unwrap_or_default(), lookups: true }
    }

    /// A machine with these facts that looks no names up.
    #[cfg(test)]
    pub fn imagined(name: &str, addresses: &[IpAddr]) -> Host {
        Host { name: name.to_owned(), addresses: addresses.to_vec(), lookups: false }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether `name` is its name, with or without a domain.
    pub fn is_called(&self, name: &str) -> bool {
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        !name.is_empty()
            && name.parse::<IpAddr>().is_err()
            && (self.name.eq_ignore_ascii_case(name)
                || ((!name.contains('.') || !self.name.contains('.')) && short(&self.name) == short(name)))
    }

    /// Whether `address` is one of its own. The loopback addresses are, even while the
    /// loopback interface is down.
    pub fn has(&self, address: IpAddr) -> bool {
        address == IpAddr::V4(Ipv4Addr::LOCALHOST)
            || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
            || self.addresses.contains(&address)
    }

    /// Its addresses, for a message.
    pub fn address_list(&self) -> String {
        let mut list: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        list.sort();
        list.dedup();
        if list.is_empty() {
            return "no address".to_owned();
        }
        list.join(", ")
    }

    /// Looks names up, all at once; those without an answer in time are missing.
    pub fn resolve(&self, names: &[String]) -> BTreeMap<String, Vec<IpAddr>> {
        let mut found = BTreeMap::new();
        if !self.lookups || names.is_empty() {
            return found;
        }
        let (sender, receiver) = mpsc::channel();
        for name in names.iter().take(NAMES_MAX) {
            let (name, sender) = (name.clone(), sender.clone());
            // A lookup cannot be called off; a late one ends by itself.
            let started = std::thread::Builder::new().name("lookup".to_owned()).spawn(move || {
                let answer = (name.as_str(), 0u16).to_socket_addrs();
                let addresses = answer.map(|list| list.map(|address| address.ip()).collect::<Vec<_>>());
                // The receiver may have stopped waiting.
                let _ = sender.send((name, addresses.ok()));
            });
            if started.is_err() {
                break;
            }
        }
        drop(sender);
        let deadline = Instant::now() + LOOKUP_MAX;
        while let Ok((name, addresses)) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if let Some(addresses) = addresses {
                found.insert(name, addresses);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_with_and_without_domain() {
        let host = Host::imagined("Alpha.example.org", &[]);
        for name in ["alpha", "alpha.example.org", "ALPHA"] {
            assert!(host.is_called(name), "{name}");
        }
        for name in ["alpha.other.org", "beta", "", "127.0.0.1"] {
            assert!(!host.is_called(name), "{name}");
        }
    }

    #[test]
    fn loopback_is_always_here() {
        let host = Host::imagined("a", &[]);
        assert!(host.has(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        assert!(!host.has(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2))));
        assert!(Host::this().resolve(&[]).is_empty());
    }
}
