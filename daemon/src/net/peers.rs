//! Who the other nodes are and at which addresses: what of packets is theirs, what goes to whom.

use std::collections::BTreeMap;
use std::net::IpAddr;

use evensong_core::ids::NodeId;

use super::plan::{IpVersion, NetConfig};
use super::port::Destination;
use super::ports::socket_address;

/// A node of the list, this one or another.
#[derive(Debug)]
pub struct Listed {
    /// Its id; 0 for this node.
    pub node: NodeId,
    /// Its address or name.
    pub host: String,
    /// Its address, once known.
    pub address: Option<IpAddr>,
    /// Where its frames go, while there is a socket to send from.
    pub to: Option<Destination>,
    /// Why the name has no address, so that it is said once.
    trouble: String,
}

/// All of them.
#[derive(Debug)]
pub struct Peers {
    own: Listed,
    list: Vec<Listed>,
    ip_version: IpVersion,
}

impl Peers {
    /// Addresses are known at once, names are not.
    pub fn new(config: &NetConfig) -> Peers {
        let listed = |node: NodeId, host: &str| Listed {
            node,
            host: host.to_owned(),
            address: host.parse().ok(),
            to: None,
            trouble: String::new(),
        };
        Peers {
            own: listed(NodeId(0), &config.own),
            list: config.peers.iter().map(|peer| listed(peer.node, &peer.host)).collect(),
            ip_version: config.ip_version,
        }
    }

    /// The address of this node.
    pub fn own(&self) -> Option<IpAddr> {
        self.own.address
    }

    /// Whether one of the other nodes has the address.
    pub fn has(&self, address: IpAddr) -> bool {
        self.list.iter().any(|peer| peer.address == Some(address))
    }

    /// The other nodes.
    pub fn list(&self) -> &[Listed] {
        &self.list
    }

    /// Says where frames go: to `port`, over interface `index`.
    pub fn aim(&mut self, port: u16, index: u32) {
        for peer in &mut self.list {
            peer.to = peer.address.map(|address| Destination::new(socket_address(address, port, index)));
        }
    }

    /// Names among the hosts; those only that have no address yet, or all.
    pub fn names(&self, all: bool) -> impl Iterator<Item = &str> {
        let listed = self.list.iter().chain([&self.own]);
        let name = |host: &str| host.parse::<IpAddr>().is_err();
        listed.filter(move |listed| name(&listed.host) && (all || listed.address.is_none())).map(|l| l.host.as_str())
    }

    /// Takes what looking names up brought; lines for the log are added to `said`. True when
    /// an address changed. One that is known stays when its name is not found any more.
    pub fn found(
        &mut self,
        answers: &BTreeMap<String, Result<Vec<IpAddr>, String>>,
        said: &mut Vec<(bool, String)>,
    ) -> bool {
        let mut changed = false;
        for listed in self.list.iter_mut().chain([&mut self.own]) {
            let Some(answer) = answers.get(&listed.host) else { continue };
            let found = answer.clone().and_then(|found| {
                self.ip_version.choose(&found).ok_or_else(|| "it has no address of the IP version in use".to_owned())
            });
            match found {
                Ok(address) => {
                    if listed.address != Some(address) {
                        said.push((true, format!("{} is {address}", listed.host)));
                        listed.address = Some(address);
                        changed = true;
                    }
                    listed.trouble.clear();
                }
                Err(why) if why != listed.trouble => {
                    said.push((false, format!("{} cannot be looked up: {why}", listed.host)));
                    listed.trouble = why;
                }
                Err(_) => {}
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::tests::config;

    #[test]
    fn names_get_their_addresses() {
        let mut peers = Peers::new(&config("10.0.0.1", &["10.0.0.2", "b.example"], 5405));
        assert_eq!(peers.names(true).collect::<Vec<_>>(), ["b.example"]);
        let answer = |answer: Result<Vec<IpAddr>, String>| BTreeMap::from([("b.example".to_owned(), answer)]);
        let mut said = Vec::new();
        assert!(!peers.found(&answer(Err("later".to_owned())), &mut said));
        assert!(!peers.found(&answer(Err("later".to_owned())), &mut said));
        assert_eq!(said.len(), 1, "said once: {said:?}");
        let address = IpAddr::from([10, 0, 0, 3]);
        assert!(peers.found(&answer(Ok(vec![address])), &mut said) && peers.has(address));
        assert_eq!(peers.names(false).count(), 0);
        assert!(!peers.found(&answer(Err("gone".to_owned())), &mut said) && peers.has(address));
    }
}
