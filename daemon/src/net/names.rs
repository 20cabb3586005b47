//! Looking names up, on a thread of its own: the resolver may take its time, the loop may not.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// What came of looking a name up: its addresses, or why there are none.
pub type Answer = (String, Result<Vec<IpAddr>, String>);

/// The thread, seen from the loop. It ends when this is dropped.
#[derive(Debug)]
pub struct Names {
    ask: Sender<String>,
    answers: Receiver<Answer>,
    bell: Arc<EventFd>,
    /// Names that were asked for and not answered yet.
    open: usize,
}

impl Names {
    /// Starts the thread.
    pub fn new() -> io::Result<Names> {
        let (ask, asked) = channel::<String>();
        let (answer, answers) = channel();
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let ring = Arc::clone(&bell);
        std::thread::Builder::new().name("names".to_owned()).spawn(move || {
            while let Ok(name) = asked.recv() {
                let found = look_up(&name);
                if answer.send((name, found)).is_err() {
                    return;
                }
                // It fails only when it has rung 2^64 times unheard.
                let _rung = ring.arm();
            }
        })?;
        Ok(Names { ask, answers, bell, open: 0 })
    }

    /// Asks for names; ignored while earlier ones are unanswered.
    pub fn ask<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        if self.open > 0 {
            return;
        }
        self.open = names.filter(|name| self.ask.send((*name).to_owned()).is_ok()).count();
    }

    /// The answers that have come.
    pub fn take(&mut self) -> BTreeMap<String, Result<Vec<IpAddr>, String>> {
        // It fails when nobody has rung.
        let _quiet = self.bell.read();
        let answers: Vec<Answer> = self.answers.try_iter().collect();
        self.open = self.open.saturating_sub(answers.len());
        answers.into_iter().collect()
    }
}

fn look_up(name: &str) -> Result<Vec<IpAddr>, String> {
    match (name, 0u16).to_socket_addrs() {
        Ok(found) => Ok(found.map(|address| address.ip()).collect()),
        Err(error) => Err(error.to_string()),
    }
}

impl AsFd for Names {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

    #[test]
    fn answers_ring_the_bell() {
        let mut names = Names::new().expect("a thread can be started");
        names.ask(["localhost", "no such name"].into_iter());
        let mut answers = BTreeMap::new();
        while answers.len() < 2 {
            let mut fds = [PollFd::new(names.as_fd(), PollFlags::POLLIN)];
            assert_eq!(poll(&mut fds, PollTimeout::from(30_000u16)), Ok(1), "an answer comes");
            answers.extend(names.take());
        }
        assert!(answers["localhost"].as_ref().is_ok_and(|found| found.iter().all(IpAddr::is_loopback)));
        assert!(answers["no such name"].is_err());
    }
}
