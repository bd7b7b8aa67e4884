//! The measurements of the claim: the lines of its raw output. `times` multiplies the length of the
//! short form.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use trimbench_core::rng::Rng;
use trimbench_core::{BlockCommand, Instant, Nanos, Tag, Target};

use super::drive;
use super::load::{Load, Writes};
use super::numbers::{CAPACITY_UNITS, GROUP_UNITS, Numbers, Suspend, UNIT, WRITE_GROUPS};
use super::oracle;

/// Reads at random times on one die.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Poisson {
    /// What a read takes of the die, and what it takes alone.
    pub(super) service_ns: u64,
    pub(super) alone_ns: u64,
    /// Mean time between arrivals.
    pub(super) gap_ns: u64,
    pub(super) reads: u64,
    pub(super) mean_latency_ns: f64,
}

/// A drive of which one part is the narrowest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ceiling {
    pub(super) of: String,
    /// How many of that part there are; what each moves in which time.
    pub(super) servers: u64,
    pub(super) bytes: u64,
    pub(super) span_ns: u64,
    pub(super) bytes_per_second: f64,
}

/// The drive and the exact simulation under one load.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Array {
    pub(super) case: String,
    pub(super) read_depth: usize,
    pub(super) drive: Figures,
    pub(super) exact: Figures,
}

/// Figures of the reads.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) iops: f64,
    pub(super) mean_ns: f64,
    pub(super) p99_ns: u64,
}

/// A closed loop on one bottleneck.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClosedLoop {
    pub(super) queue_depth: usize,
    /// What a read takes of the bottleneck.
    pub(super) service_ns: u64,
    pub(super) iops: f64,
    pub(super) mean_latency_ns: f64,
}

/// A load on an array.
pub(super) struct Case {
    pub(super) name: &'static str,
    numbers: Numbers,
    read_units: u64,
    writes: Writes,
}

/// Suspension with round numbers.
const SUSPEND: Suspend = Suspend { program: 20_000, erase: 100_000, resume: 10_000, reads_max: 10 };
/// The same array behind a SATA link.
const SATA: Numbers =
    Numbers { link_rate: 550_000_000, half_duplex: true, controller: 10_000, ..Numbers::ARRAY };

/// What the claim asks for, and beside it the places where a model that reserves ahead goes wrong:
/// reads of several parts, a link for both directions, writes that wait for places.
pub(super) const CASES: [Case; 7] = [
    Case { name: "reads", numbers: Numbers::ARRAY, read_units: 1, writes: Writes::None },
    Case {
        name: "reads and erases",
        numbers: Numbers::ARRAY,
        read_units: 1,
        writes: Writes::Every(200_000),
    },
    Case {
        name: "reads that suspend erases",
        numbers: Numbers { suspend: Some(SUSPEND), ..Numbers::ARRAY },
        read_units: 1,
        writes: Writes::Every(200_000),
    },
    Case {
        name: "reads beside writes that wait for places",
        numbers: Numbers::ARRAY,
        read_units: 1,
        writes: Writes::Depth(32),
    },
    Case {
        name: "the same with a buffer for 8 groups",
        numbers: Numbers { buffer_groups: 8, ..Numbers::ARRAY },
        read_units: 1,
        writes: Writes::Depth(32),
    },
    Case {
        name: "reads of 128 KiB and erases",
        numbers: Numbers::ARRAY,
        read_units: 32,
        writes: Writes::Every(200_000),
    },
    Case {
        name: "reads and erases behind a half duplex link",
        numbers: SATA,
        read_units: 1,
        writes: Writes::Every(200_000),
    },
];

/// A die alone: nothing else takes time worth naming.
const DIE: Numbers = Numbers {
    controller: 0,
    latency: 0,
    link_rate: 1_000_000_000_000,
    channel_rate: 1_000_000_000_000,
    channels: 1,
    dies: 1,
    read: 50_000,
    erases: false,
    ..Numbers::ARRAY
};

/// A die at this load, in percent.
pub(super) fn poisson(load: u64, reads: u64) -> Result<Poisson> {
    let gap = Nanos(DIE.read * 100 / load);
    let mut target = drive::filled(&DIE)?;
    let mut rng = Rng::new(load).split("poisson");
    let mut out = Vec::new();
    let read = |rng: &mut Rng| drive::range(rng.below(CAPACITY_UNITS), 1).map(BlockCommand::Read);
    target.submit(Tag(0), read(&mut rng)?).context("submit a read")?;
    target.reap(Instant::NEVER, &mut out);
    let alone = target.now().since_start().0;
    out.clear();
    let mut submitted = std::collections::VecDeque::new();
    let (mut next, mut sum, mut done) = (target.now() + rng.exponential(gap), 0_u64, 0_u64);
    while done < reads {
        target.reap(next, &mut out);
        for completion in out.drain(..) {
            // A die serves in the order of arrival.
            let begun: Instant = submitted.pop_front().context("a completion of nothing")?;
            sum += (completion.at - begun).0;
            done += 1;
        }
        if target.now() == next {
            target.submit(Tag(0), read(&mut rng)?).context("submit a read")?;
            submitted.push_back(next);
            next += rng.exponential(gap);
        }
    }
    Ok(Poisson {
        service_ns: DIE.read,
        alone_ns: alone,
        gap_ns: gap.0,
        reads: done,
        mean_latency_ns: sum as f64 / done as f64,
    })
}

/// Drives of which link, channels or dies are the narrowest.
pub(super) fn ceilings(times: usize) -> Result<Vec<Ceiling>> {
    let wide = Numbers { link_rate: 100_000_000_000, controller: 0, ..Numbers::ARRAY };
    let group = GROUP_UNITS * UNIT;
    let channel = Numbers { channel_rate: 200_000_000, ..wide };
    let reading = |numbers: &Numbers, read_depth, read_units| -> Result<f64> {
        let load = Load {
            read_depth,
            read_units,
            reads: 12 * 16_384 * times,
            writes: Writes::None,
            seed: 3,
        };
        let figures = Figures::of(&drive::run(numbers, &load)?.reads);
        Ok(figures.iops * (read_units * UNIT) as f64)
    };
    let link = Numbers { link_rate: 500_000_000, ..Numbers::ARRAY };
    let ceiling = |of: &str, (servers, bytes, span_ns): (usize, u64, u64), bytes_per_second| {
        let (of, servers) = (of.to_owned(), servers as u64);
        Ceiling { of, servers, bytes, span_ns, bytes_per_second }
    };
    let second = 1_000_000_000;
    let rate = channel.channel_rate;
    let mut ceilings = vec![
        ceiling("link", (1, link.link_rate, second), reading(&link, 128, 16)?),
        ceiling("channels", (channel.channels, rate, second), reading(&channel, 1_024, 16)?),
        ceiling("dies, reads", (wide.dies, UNIT, wide.read), reading(&wide, 16_384, 1)?),
    ];
    for (of, numbers, span) in [
        ("dies, programs", Numbers { erase: 0, ..wide }, wide.program),
        ("dies, programs and erases", wide, wide.program + wide.erase),
    ] {
        let rate = writing(&numbers, 5_000 * times as u64)?;
        ceilings.push(ceiling(of, (numbers.dies, group, span), rate));
    }
    Ok(ceilings)
}

/// Bytes a second of writes in order, without the first fifth.
fn writing(numbers: &Numbers, count: u64) -> Result<f64> {
    let mut target = drive::filled(numbers)?;
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    let mut begun = 0;
    while (ends.len() as u64) < count {
        while begun < count && begun < ends.len() as u64 + 512 {
            let group = begun % WRITE_GROUPS;
            let range = drive::range(group * GROUP_UNITS, GROUP_UNITS)?;
            target.submit(Tag(0), BlockCommand::write(range)).context("submit a write")?;
            begun += 1;
        }
        target.reap(Instant::NEVER, &mut out);
        ends.extend(out.drain(..).map(|completion| completion.at));
    }
    let first = ends.len() / 5;
    let span = (ends[ends.len() - 1] - ends[first]).seconds();
    Ok((ends.len() - 1 - first) as f64 * (GROUP_UNITS * UNIT) as f64 / span)
}

/// The drive and the exact simulation under a case's load.
pub(super) fn array(case: &Case, read_depth: usize, times: usize) -> Result<Array> {
    let Case { name, numbers, read_units, writes } = *case;
    let load = Load { read_depth, read_units, reads: 20_000 * times, writes, seed: 1 };
    Ok(Array {
        case: name.to_owned(),
        read_depth,
        drive: Figures::of(&drive::run(&numbers, &load)?.reads),
        exact: Figures::of(&oracle::run(&numbers, &load)?.reads),
    })
}

/// The link is the bottleneck; what else a read takes is the same for each.
pub(super) fn closed_loop(queue_depth: usize, times: usize) -> Result<ClosedLoop> {
    let numbers = Numbers {
        link_rate: 409_600_000,
        controller: 0,
        latency: 100_000,
        read: 1_000,
        dies: 1_024,
        channel_rate: 100_000_000_000,
        erases: false,
        ..Numbers::ARRAY
    };
    let load = Load {
        read_depth: queue_depth,
        read_units: 1,
        reads: 20_000 * times,
        writes: Writes::None,
        seed: 5,
    };
    let Figures { iops, mean_ns, .. } = Figures::of(&drive::run(&numbers, &load)?.reads);
    let service_ns = numbers.link_span(UNIT);
    Ok(ClosedLoop { queue_depth, service_ns, iops, mean_latency_ns: mean_ns })
}

impl Figures {
    /// Without the first tenth, in which the queues fill.
    fn of(completions: &[(u64, u64)]) -> Self {
        let steady = &completions[completions.len() / 10..];
        let span = steady[steady.len() - 1].0 - steady[0].0;
        let mut latencies: Vec<u64> = steady.iter().map(|(_, latency)| *latency).collect();
        latencies.sort_unstable();
        let mean_ns = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
        let p99_ns = latencies[latencies.len() * 99 / 100];
        Self { iops: (steady.len() - 1) as f64 / span as f64 * 1e9, mean_ns, p99_ns }
    }
}
