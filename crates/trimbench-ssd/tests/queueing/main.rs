//! Queueing: the emulated drive beside closed forms, arithmetic and an exact event simulation.
//!
//! - One die, Poisson reads, fixed service time s, load rho: the mean wait of M/D/1 is
//!   rho s / (2 (1 - rho)).
//! - A ceiling is a rate, or a count over a time.
//! - A closed loop of N reads on one bottleneck of service time s and, alone, a latency of R:
//!   min(N / R, 1 / s) reads a second, the corner at N = R / s; and N = throughput x mean latency
//!   at every N (Little's law).
//! - Arrays of dies, with and without erases in between: [`oracle`].

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::VecDeque;

use trimbench_core::rng::Rng;
use trimbench_core::{BlockCommand, Bytes, Instant, Nanos, Ppm, Tag, Target as _, Virtual};
use trimbench_ssd::{
    GcConfig, Geometry, HostInterface, LinkDuplex, NandTiming, Profile, Ssd, SsdConfig,
    SuspendConfig,
};

use load::{CAPACITY_UNITS, Completions, GROUP_UNITS, Load, UNIT, Writes};

mod load;
mod oracle;

const FAST: Bytes = Bytes(1_000_000_000_000);

/// Dies behind channels and four lanes of `PCIe` 3.0.
fn array(channels: u32, dies: u32) -> SsdConfig {
    let base = Profile::built_in("plain-nvme-tlc").unwrap().config;
    let program_bytes = Bytes(GROUP_UNITS * UNIT);
    SsdConfig {
        capacity: Bytes(CAPACITY_UNITS * UNIT),
        // As little as there can be: erases come as soon as writes do.
        over_provisioning: Ppm(1_000),
        geometry: Geometry {
            channels,
            dies,
            program_bytes,
            superblock: Bytes((u64::from(dies) * program_bytes.0).max(1 << 18)),
            // A group on each die a superblock: an erase of each of them costs its full time.
            programs_per_erase: (4 / dies).max(1),
        },
        nand: NandTiming {
            read: Nanos(60_000),
            program: Nanos(660_000),
            erase: Nanos(5_000_000),
            channel_rate: Bytes(1_200_000_000),
            suspend: None,
        },
        write_buffer: Bytes(256 * program_bytes.0),
        host: HostInterface {
            queue_depth: u32::MAX,
            link_rate: Bytes(3_500_000_000),
            duplex: LinkDuplex::Full,
            command: Nanos(1_000),
            latency: Nanos(12_000),
            jitter: Nanos::ZERO,
        },
        gc: GcConfig { idle_after: Nanos::from_secs(3_600), ..base.gc },
        ..base
    }
}

/// An array in which nothing but what is made narrow limits reads and writes.
fn wide_array() -> SsdConfig {
    let mut wide = array(8, 64);
    wide.host.command = Nanos::ZERO;
    wide.host.link_rate = FAST;
    wide
}

/// Throughput and latency of reads.
#[derive(Debug)]
struct ReadRates {
    iops: f64,
    mean_ns: f64,
    p99_ns: f64,
}

impl ReadRates {
    /// Of completions, without the first tenth, in which the queues fill.
    fn of(completions: &Completions) -> Self {
        let steady = &completions[completions.len() / 10..];
        let span = steady[steady.len() - 1].0 - steady[0].0;
        let mut latencies: Vec<u64> = steady.iter().map(|(_, latency)| *latency).collect();
        latencies.sort_unstable();
        let mean_ns = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
        let p99_ns = latencies[latencies.len() * 99 / 100] as f64;
        Self { iops: (steady.len() - 1) as f64 / span as f64 * 1e9, mean_ns, p99_ns }
    }
}

/// Within this share.
fn assert_near(what: &str, figure: f64, expected: f64, share: f64) {
    let off = (figure / expected - 1.0).abs();
    assert!(off <= share, "{what}: {figure}, expected {expected}");
}

#[test]
fn random_reads_wait_for_a_die_as_in_theory() {
    const READS: u64 = 1_000_000;
    // Nothing but the die takes time worth naming.
    let mut die = array(1, 1);
    die.host.command = Nanos::ZERO;
    die.host.latency = Nanos::ZERO;
    die.host.link_rate = FAST;
    die.nand.channel_rate = FAST;
    let service = die.nand.read.0;
    for percent in [30, 60, 90] {
        let gap = Nanos(service * 100 / percent);
        let mut target = load::filled(&die);
        let mut rng = Rng::new(percent).split("poisson");
        let mut out = Vec::new();
        let read = |rng: &mut Rng| BlockCommand::Read(load::range(rng.below(CAPACITY_UNITS), 1));
        target.submit(Tag(0), read(&mut rng)).unwrap();
        target.reap(Instant::NEVER, &mut out);
        let alone = target.now().since_start().0 as f64;
        out.clear();
        let mut submitted: VecDeque<Instant> = VecDeque::new();
        let (mut next, mut sum, mut done) = (target.now() + rng.exponential(gap), 0_u64, 0_u64);
        while done < READS {
            target.reap(next, &mut out);
            for completion in out.drain(..) {
                // A die serves in the order of arrival.
                sum += (completion.at - submitted.pop_front().unwrap()).0;
                done += 1;
            }
            if target.now() == next {
                target.submit(Tag(0), read(&mut rng)).unwrap();
                submitted.push_back(next);
                next += rng.exponential(gap);
            }
        }
        let load = service as f64 / gap.0 as f64;
        let expected = load * service as f64 / (2.0 * (1.0 - load));
        let wait = sum as f64 / done as f64 - alone;
        assert_near(&format!("wait at a load of {load:.1}, ns"), wait, expected, 0.02);
    }
}

#[test]
fn reads_are_as_fast_as_their_narrowest_part() {
    let (mut link, mut channels, dies) = (array(8, 64), wide_array(), wide_array());
    link.host.link_rate = Bytes(500_000_000);
    channels.nand.channel_rate = Bytes(200_000_000);
    let of_dies = 64.0 * UNIT as f64 / dies.nand.read.seconds();
    for (of, config, read_depth, read_units, expected) in [
        ("link", link, 128, 16, 500e6),
        ("channels", channels, 1_024, 16, 8.0 * 200e6),
        ("dies", dies, 16_384, 1, of_dies),
    ] {
        let (reads, writes) = (12 * 16_384, Writes::None);
        let load = Load { read_depth, read_units, reads, writes, seed: 3 };
        let rate = ReadRates::of(&load::run(&config, &load)).iops * (read_units * UNIT) as f64;
        assert_near(&format!("bytes a second of the {of}"), rate, expected, 0.01);
    }
}

#[test]
fn writes_are_as_fast_as_dies_program_and_erase() {
    let (mut without_erases, with_erases) = (wide_array(), wide_array());
    without_erases.nand.erase = Nanos::ZERO;
    for config in [without_erases, with_erases] {
        let span = config.nand.program + config.nand.erase;
        let rate = groups_a_second(&config, 5_000);
        assert_near("groups a second", rate, 64.0 / span.seconds(), 0.01);
    }
}

/// Of writes in order, without the first fifth.
fn groups_a_second(config: &SsdConfig, count: u64) -> f64 {
    let mut target = load::filled(config);
    let (mut out, mut ends, mut writes) = (Vec::new(), Vec::new(), (0..count).map(load::write));
    let mut begin = |target: &mut Virtual<Ssd>, more: usize| {
        for write in writes.by_ref().take(more) {
            target.submit(Tag(0), write).unwrap();
        }
    };
    begin(&mut target, 512);
    while (ends.len() as u64) < count {
        target.reap(Instant::NEVER, &mut out);
        begin(&mut target, out.len());
        ends.extend(out.drain(..).map(|completion| completion.at));
    }
    let first = ends.len() / 5;
    (ends.len() - 1 - first) as f64 / (ends[ends.len() - 1] - ends[first]).seconds()
}

#[test]
fn arrays_of_dies_are_as_fast_as_an_exact_simulation_says() {
    let plain = array(8, 64);
    let (mut small_buffer, mut suspending, mut sata) =
        (plain.clone(), plain.clone(), plain.clone());
    small_buffer.write_buffer = Bytes(8 * GROUP_UNITS * UNIT);
    suspending.nand.suspend = Some(SuspendConfig {
        program: Nanos(20_000),
        erase: Nanos(100_000),
        resume: Nanos(10_000),
        reads_max: 10,
        slice: Nanos::ZERO,
        collector: None,
        channel: false,
    });
    sata.host.link_rate = Bytes(550_000_000);
    sata.host.duplex = LinkDuplex::Half;
    sata.host.command = Nanos(10_000);
    let erases = Writes::Every(200_000);
    // Beside the plain ones the places where a model that reserves ahead goes wrong: reads of
    // several parts, a link for both directions, writes that wait for places.
    for (case, config, read_units, writes) in [
        ("reads", &plain, 1, Writes::None),
        ("reads and erases", &plain, 1, erases),
        ("reads that suspend erases", &suspending, 1, erases),
        ("reads beside writes that wait for places", &plain, 1, Writes::Depth(32)),
        ("the same with a buffer for 8 groups", &small_buffer, 1, Writes::Depth(32)),
        ("reads of 128 KiB and erases", &plain, 32, erases),
        ("reads and erases behind a half duplex link", &sata, 1, erases),
    ] {
        for read_depth in [1, 32, 128] {
            let load = Load { read_depth, read_units, reads: 20_000, writes, seed: 1 };
            let ours = ReadRates::of(&load::run(config, &load));
            let exact = ReadRates::of(&oracle::run(config, &load));
            for (name, ours, exact) in [
                ("IOPS", ours.iops, exact.iops),
                ("mean latency, ns", ours.mean_ns, exact.mean_ns),
                ("p99 of latency, ns", ours.p99_ns, exact.p99_ns),
            ] {
                let what = format!("{case}, queue depth {read_depth}: {name}");
                assert_near(&what, ours, exact, 0.02);
            }
        }
    }
}

#[test]
fn throughput_follows_the_queue_depth_up_to_its_ceiling() {
    const MARGIN: f64 = 0.01;
    // The link is the bottleneck; what else a read takes is the same for each.
    let mut config = array(8, 1_024);
    config.host.command = Nanos::ZERO;
    config.host.latency = Nanos(100_000);
    config.host.link_rate = Bytes(409_600_000);
    config.nand.read = Nanos(1_000);
    config.nand.channel_rate = FAST;
    let service = UNIT as f64 / 0.4096;
    let rates = [1_u8, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 24, 32, 64].map(|depth| {
        let (read_depth, reads, writes) = (depth.into(), 20_000, Writes::None);
        let load = Load { read_depth, read_units: 1, reads, writes, seed: 5 };
        (f64::from(depth), ReadRates::of(&load::run(&config, &load)))
    });
    // Little's law at a queue depth of 1 is what the latency alone means.
    let alone = rates[0].1.mean_ns;
    for (depth, rate) in &rates {
        let bound = (depth / alone).min(1.0 / service) * 1e9;
        assert_near(&format!("IOPS at queue depth {depth}"), rate.iops, bound, MARGIN);
        let outstanding = rate.iops * rate.mean_ns / 1e9;
        assert_near("throughput x latency at a queue depth", outstanding, *depth, MARGIN);
    }
    let is_full = |(_, rate): &&(f64, ReadRates)| rate.iops >= (1.0 - MARGIN) * 1e9 / service;
    let (first_full, _) = rates.iter().find(is_full).unwrap();
    let corner = alone / service;
    let expected = (corner * (1.0 - MARGIN)).floor()..=corner.ceil();
    assert!(expected.contains(first_full), "the ceiling begins at {first_full}, not {corner:.2}");
}
