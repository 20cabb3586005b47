//! Clients on their way in: the handshake, and what is said about those that are turned away.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use evensong_core::input::Input;
use evensong_core::output::LogLevel;
use nix::sys::epoll::{EpollEvent, EpollFlags};

use super::{EventLoop, Surroundings, TOKEN_ARRIVAL, TOKEN_CLIENT};
use crate::ipc::{Admitted, Arrival, Link, Progress, ARRIVALS_MAX};

/// Lines about refused connections in a second; further ones are counted.
const REFUSALS_LOGGED: u32 = 5;

impl<S: Surroundings> EventLoop<S> {
    pub(super) fn accept_all(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(Some(arrival)) => {
                    self.make_way();
                    let slot = self.arrivals.iter().position(Option::is_none).unwrap_or(self.arrivals.len());
                    let event = EpollEvent::new(EpollFlags::EPOLLIN, TOKEN_ARRIVAL | slot as u64);
                    if self.epoll.add(arrival.stream(), event).is_err() {
                        continue;
                    }
                    if slot == self.arrivals.len() {
                        self.arrivals.push(None);
                    }
                    self.arrivals[slot] = Some(arrival);
                    // The hello usually came with the connection.
                    self.proceed(slot);
                }
                Ok(None) => return,
                Err(error) => {
                    self.refused(&format!("Cannot accept a connection: {error}"));
                    let none_left = matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
                    if !none_left || !self.listener.turn_away() {
                        return;
                    }
                }
            }
        }
    }

    /// Peers that connect and say nothing must not keep others out for the time they are granted.
    fn make_way(&mut self) {
        if self.arrivals.iter().flatten().count() < ARRIVALS_MAX {
            return;
        }
        let waiting = self.arrivals.iter_mut().filter(|slot| slot.is_some());
        if let Some(oldest) = waiting.min_by_key(|slot| slot.as_ref().map(Arrival::since)) {
            *oldest = None;
        }
    }

    pub(super) fn proceed(&mut self, slot: usize) {
        let Some(Some(arrival)) = self.arrivals.get_mut(slot) else { return };
        let room = self.clients.has_room();
        let progress = arrival.proceed(&self.access, self.clients.limits(), room);
        if matches!(progress, Progress::Waiting) {
            return;
        }
        if let Some(arrival) = self.arrivals[slot].take() {
            // Not implied by closing it: the admitted client's descriptor is a duplicate.
            if let Err(error) = self.epoll.delete(arrival.stream()) {
                self.around.log(LogLevel::Warning, "IPC", &format!("Cannot stop watching a handshake: {error}"));
            }
        }
        match progress {
            Progress::Admitted(admitted) => self.admit(*admitted),
            Progress::Over(Some(text)) => self.refused(&text),
            Progress::Over(None) | Progress::Waiting => {}
        }
    }

    fn admit(&mut self, admitted: Admitted) {
        let (service, pid, peer_pid) = (admitted.service, admitted.pid, admitted.peer_pid);
        let link = Link::new(admitted.socket, admitted.memory);
        let id = self.clients.add(link, service, peer_pid);
        let Some(client) = self.clients.get(id) else { return };
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, TOKEN_CLIENT | u64::from(id.0));
        if let Err(error) = self.epoll.add(client.link.socket().as_fd(), event) {
            self.clients.remove(id);
            return self.refused(&format!("Cannot watch the connection of process {peer_pid}: {error}"));
        }
        self.input(Input::Connect { client: id, service, pid });
        self.clients.flush();
        self.activate(id);
    }

    /// Logs a refusal, at most a few lines a second.
    fn refused(&mut self, text: &str) {
        let now = Instant::now();
        if now.duration_since(self.refusals.0) >= Duration::from_secs(1) {
            if self.refusals.2 > 0 {
                let more = format!("{} further connections were refused", self.refusals.2);
                self.around.log(LogLevel::Warning, "IPC", &more);
            }
            self.refusals = (now, 0, 0);
        }
        if self.refusals.1 < REFUSALS_LOGGED {
            self.refusals.1 += 1;
            self.around.log(LogLevel::Error, "IPC", text);
        } else {
            self.refusals.2 += 1;
        }
    }

    pub(super) fn drop_late_arrivals(&mut self) {
        if self.arrivals.iter().all(Option::is_none) {
            return;
        }
        let now = Instant::now();
        for slot in &mut self.arrivals {
            if slot.as_ref().is_some_and(|arrival| arrival.is_late(now)) {
                *slot = None;
            }
        }
    }
}
