//! Over NBD: a client that keeps no rule.

use std::io::{self, Write as _};
use std::time::Duration;

use ::tests::nbd::{NbdClient, NbdCommand, NbdServer, greet, option_head, request_head};
use anyhow::{Context as _, Result, ensure};
use trimbench_core::rng::Rng;
use trimbench_core::units::index;

use super::{CAPACITY, GUARD, Neighbourhood, PROFILE, Survived, attack_for, frame, peak_mib};
use crate::attach::plugin;
use crate::figure::Figure;
use crate::lab::Lab;

/// Every command, and numbers that none has.
const COMMANDS: [NbdCommand; 7] = [
    NbdCommand::Read,
    NbdCommand::Write,
    NbdCommand::Flush,
    NbdCommand::Trim,
    NbdCommand::WriteZeroes,
    NbdCommand::Unknown(7),
    NbdCommand::Unknown(u16::MAX),
];
/// Options that no server knows, one after the other.
const FLOOD: u32 = 5_000;

pub(super) fn run(lab: &Lab<'_>, span: Duration) -> Result<Vec<Figure>> {
    let around = Neighbourhood::new(lab)?;
    let backing = format!("backing={}", around.drive().display());
    let capacity = format!("capacity={CAPACITY}B");
    let mut server = NbdServer::start(plugin(lab)?, &[PROFILE, &capacity, &backing]);
    let guards = [0, CAPACITY - GUARD];
    let length = u32::try_from(GUARD)?;
    let content = |place: u64| place.wrapping_add(0x5a5a).to_le_bytes().repeat(index(GUARD / 8));
    let mut honest = NbdClient::begin(&server)?;
    for place in guards {
        honest_request(&mut honest, NbdCommand::Write, (place, length), &content(place))?;
    }
    honest_request(&mut honest, NbdCommand::Flush, (0, 0), &[])?;
    let (begun, before) = (frame(&around.drive())?, peak_mib(server.process())?);
    let attacks = attack_for(span, |rng| {
        // Being thrown out is right; being told that nobody listens is not.
        let _broken_off = attack(&server, rng);
        let next = NbdClient::begin(&server).map(drop);
        next.with_context(|| format!("nobody answers any more: {}", server.complaint()))
    })?;
    let most = peak_mib(server.process())?;
    let mut wrong = around.changed()?;
    for place in guards {
        let read = honest_request(&mut honest, NbdCommand::Read, (place, length), &[])?;
        if read != content(place) {
            wrong.push(format!("the drive at {place}"));
        }
    }
    if frame(&around.drive())? != begun {
        wrong.push("the header or the length of the drive's file".to_owned());
    }
    if !server.is_running() {
        wrong.push("the server has ended".to_owned());
    }
    Ok(Survived { way: "NBD", attacks, memory: [before, most], wrong }.figures())
}

fn honest_request(
    client: &mut NbdClient,
    command: NbdCommand,
    place: (u64, u32),
    data: &[u8],
) -> Result<Vec<u8>> {
    let answer = client.ask(command, place, data)?;
    answer.map_err(|error| anyhow::anyhow!("an honest request ends with error {error}"))
}

fn attack(server: &NbdServer, rng: &mut Rng) -> Result<()> {
    match rng.below(6) {
        0 => bad_place(server, rng),
        1 => half_of_a_head(server, rng),
        2 => break_off(server, rng),
        3 => flood_of_options(server, rng),
        4 => noise(server, rng),
        _ => good_place(server, rng),
    }
}

/// A place that is none of the drive's: beyond the end, across it, or beyond all numbers.
fn bad_place(server: &NbdServer, rng: &mut Rng) -> Result<()> {
    let mut client = NbdClient::begin(server)?;
    let places = [
        (CAPACITY, 512),
        (CAPACITY - 512, 1_024),
        (CAPACITY - 1, 2),
        (u64::MAX - 511, 512),
        (u64::MAX, u32::MAX),
        (0, u32::MAX),
        (GUARD + 1, u32::MAX - 511),
        (1 << 63, 4_096),
    ];
    for command in COMMANDS {
        let place = places[index(rng.below(places.len() as u64))];
        // A server may believe that so many bytes follow.
        let data =
            if command == NbdCommand::Write { index(u64::from(place.1.min(4_096))) } else { 0 };
        let is_refused = client.ask(command, place, &vec![0xbd; data])?.is_err();
        ensure!(is_refused || command == NbdCommand::Flush, "{command:?} {place:?} is done");
    }
    Ok(())
}

/// Part of a greeting, an option or a request, and then nothing.
fn half_of_a_head(server: &NbdServer, rng: &mut Rng) -> Result<()> {
    let mut stream = server.connect()?;
    greet(&mut stream)?;
    let head = option_head(7, 1 << 20);
    stream.write_all(&head[..index(rng.below(head.len() as u64 + 1))])?;
    drop(stream);
    let mut client = NbdClient::begin(server)?;
    let head = request_head(NbdCommand::Write, 1, (GUARD, 1 << 20));
    client.stream().write_all(&head[..index(rng.below(head.len() as u64 + 1))])?;
    client.stream().write_all(&vec![0xbd; index(rng.below(4_096))])?;
    Ok(())
}

/// A request, and nobody to take the answer. Of several that are answered at once nbdkit 1.32 ends,
/// whatever its plugin: `raw_send_socket: Assertion 'sock >= 0' failed`.
fn break_off(server: &NbdServer, rng: &mut Rng) -> Result<()> {
    let (command, place, data) = drawn(rng);
    Ok(NbdClient::begin(server)?.send(command, place, &data)?)
}

/// Options that nobody knows, short and long, whose answers nobody reads.
fn flood_of_options(server: &NbdServer, rng: &mut Rng) -> Result<()> {
    let mut stream = server.connect()?;
    greet(&mut stream)?;
    let length = [0, 16, 4_096, 1 << 16][index(rng.below(4))];
    let mut flood = || -> io::Result<()> {
        for number in 0..FLOOD {
            stream.write_all(&option_head(1_000 + number, length))?;
            stream.write_all(&vec![0xbd; index(length.into())])?;
        }
        Ok(())
    };
    // It is thrown out at some time.
    let _ = flood();
    Ok(())
}

/// Random bytes instead of a greeting, an option, or a request.
fn noise(server: &NbdServer, rng: &mut Rng) -> Result<()> {
    let bytes: Vec<u8> = (0..64).flat_map(|_| rng.bits().to_le_bytes()).collect();
    match rng.below(3) {
        0 => server.connect()?.write_all(&bytes)?,
        1 => {
            let mut stream = server.connect()?;
            greet(&mut stream)?;
            stream.write_all(&bytes)?;
        }
        _ => NbdClient::begin(server)?.stream().write_all(&bytes)?,
    }
    Ok(())
}

/// Requests that are good, some of them no whole blocks, from two clients at once.
fn good_place(server: &NbdServer, rng: &mut Rng) -> Result<()> {
    let mut clients = [NbdClient::begin(server)?, NbdClient::begin(server)?];
    for number in 0..20 {
        let (command, (offset, length), data) = drawn(rng);
        let shift = if number % 4 == 0 { rng.below(512) } else { 0 };
        let _answer = clients[number % 2].ask(command, (offset + shift, length), &data)?;
    }
    Ok(())
}

/// A request between the guards, of whole blocks.
fn drawn(rng: &mut Rng) -> (NbdCommand, (u64, u32), Vec<u8>) {
    let command = COMMANDS[index(rng.below(5))];
    if command == NbdCommand::Flush {
        return (command, (0, 0), Vec::new());
    }
    let blocks = 1 + rng.below(64);
    let room = (CAPACITY - 2 * GUARD) / 512 - 65;
    let offset = GUARD + rng.below(room) * 512;
    let length = u32::try_from(blocks * 512).expect("it is short");
    let data = if command == NbdCommand::Write { vec![0xbd; index(blocks * 512)] } else { vec![] };
    (command, (offset, length), data)
}
