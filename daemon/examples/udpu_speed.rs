//! What a frame costs over the loopback: `cargo run --release --example udpu_speed [SECONDS]`.
//!
//! One thread sends runs of frames of 1455 bytes, another takes them and answers every run
//! with a token, as a ring would; with segmentation offload and without. Printed are frames
//! per second and the processor time of both threads per frame.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use evensong_core::ids::NodeId;
use evensong_daemon::net::{IpVersion, Net, NetConfig, Outbox, Peer, Transport};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike;

const FRAME: usize = 1455;
const PORT: u16 = 5495;

fn net(own: u8, peer: u8, offload: bool) -> Net {
    let host = |last: u8| format!("127.0.0.{last}");
    let config = NetConfig {
        transport: Transport::Udpu,
        own: host(own),
        peers: vec![Peer { node: NodeId(u32::from(peer)), host: host(peer) }],
        port: PORT,
        group: None,
        cluster_name: String::new(),
        ttl: 1,
        broadcast: false,
        block_unlisted: true,
        ip_version: IpVersion::V4,
        downcheck: Duration::from_secs(1),
        offload,
    };
    Net::new(config, Instant::now()).expect("loopback is there")
}

/// Takes frames until one is a token; how many came before it.
fn until_token(net: &mut Net) -> usize {
    let mut frames = Vec::new();
    loop {
        net.receive(&mut frames);
        match frames.last() {
            Some(last) if last.len() == 57 => return frames.len() - 1,
            _ => {
                let mut fds = [PollFd::new(net.as_fd(), PollFlags::POLLIN)];
                if poll(&mut fds, PollTimeout::from(100u8)) == Ok(0) {
                    return frames.len();
                }
            }
        }
    }
}

fn measure(offload: bool, run: usize, time: Duration) {
    let (mut one, mut two) = (net(1, 2, offload), net(2, 1, offload));
    let memory = bytes::Bytes::from(vec![7; FRAME]);
    let token = bytes::Bytes::from(vec![9; 57]);
    let start = Instant::now();
    let before = getrusage(UsageWho::RUSAGE_SELF).expect("always known");
    let (mut sent, mut taken) = (0, 0);
    std::thread::scope(|scope| {
        let answers = token.clone();
        let receiver = scope.spawn(move || {
            let mut outbox = Outbox::default();
            let mut taken = 0;
            while start.elapsed() < time {
                taken += until_token(&mut two);
                outbox.push(NodeId(1), answers.clone());
                two.send(&mut outbox);
            }
            taken
        });
        let mut outbox = Outbox::default();
        while start.elapsed() < time {
            (0..run).for_each(|_| outbox.push(NodeId(0), memory.clone()));
            outbox.push(NodeId(2), token.clone());
            one.send(&mut outbox);
            sent += run;
            until_token(&mut one);
        }
        taken = receiver.join().expect("no panic");
    });
    let after = getrusage(UsageWho::RUSAGE_SELF).expect("always known");
    let cpu = |usage: nix::sys::resource::Usage| {
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
    };
    let spent = cpu(after) - cpu(before);
    println!(
        "{:7} runs of {run:3}: {:8.0} frames/s {:6.0} MB/s {:5.2} us CPU a frame, {} of {sent} lost",
        if offload { "offload" } else { "plain" },
        taken as f64 / start.elapsed().as_secs_f64(),
        (taken * FRAME) as f64 / start.elapsed().as_secs_f64() / 1e6,
        spent as f64 / taken as f64,
        sent.saturating_sub(taken),
    );
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2);
    for run in [17, 50, 130, 400] {
        for offload in [true, false] {
            measure(offload, run, Duration::from_secs(seconds));
        }
    }
}
