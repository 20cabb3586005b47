//! The local clients of a service, sorted by number. Few and looked up often, so numbers and
//! states lie in two flat lists.

use crate::ids::ClientId;

/// Clients with a state of type `T` each.
#[derive(Debug)]
pub struct Clients<T> {
    ids: Vec<ClientId>,
    states: Vec<T>,
}

impl<T> Default for Clients<T> {
    fn default() -> Clients<T> {
        Clients { ids: Vec::new(), states: Vec::new() }
    }
}

impl<T> Clients<T> {
    /// Adds a client; one that is there already stays as it is.
    pub fn insert(&mut self, client: ClientId, state: T) -> bool {
        let Err(at) = self.ids.binary_search(&client) else { return false };
        self.ids.insert(at, client);
        self.states.insert(at, state);
        true
    }

    /// Takes a client out.
    pub fn remove(&mut self, client: ClientId) -> Option<T> {
        let at = self.ids.binary_search(&client).ok()?;
        self.ids.remove(at);
        Some(self.states.remove(at))
    }

    /// State of a client.
    #[inline]
    pub fn get(&self, client: ClientId) -> Option<&T> {
        self.states.get(self.ids.binary_search(&client).ok()?)
    }

    /// State of a client.
    #[inline]
    pub fn get_mut(&mut self, client: ClientId) -> Option<&mut T> {
        self.states.get_mut(self.ids.binary_search(&client).ok()?)
    }

    /// All clients.
    pub fn iter(&self) -> impl Iterator<Item = (ClientId, &T)> {
        self.ids.iter().copied().zip(&self.states)
    }

    /// All clients.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ClientId, &mut T)> {
        self.ids.iter().copied().zip(&mut self.states)
    }
}
