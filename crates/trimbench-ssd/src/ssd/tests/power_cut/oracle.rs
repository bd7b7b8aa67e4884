//! Random loads that are cut at random instants, against the versions that each unit may hold.
//!
//! The oracle knows of the drive only when commands were submitted and when they completed. Of each
//! mapping unit it keeps all versions since the last cut, and the oldest that may come back: with
//! power-loss protection the last that was acknowledged, without it the last before the submission
//! of a flush that has ended, or one that the drive has said is durable.

use proptest::prelude::*;
use trimbench_core::rng::Rng;
use trimbench_core::{Content, Drive as _};

use super::*;
use crate::config::{SlcCacheConfig, SlcMode, SuspendConfig, WhenFull};
use crate::ssd::tests::{compression, gc, mapping_cache, mapping_unit, slc_cache};

/// Only so many bytes of the drive are used, so that commands meet: 512 KiB.
const BLOCKS: u64 = 1_024;

#[derive(Clone, Debug)]
enum Step {
    /// Of logical blocks.
    Write(u64, u64),
    Discard(Vec<(u64, u64)>),
    Read(u64, u64),
    Flush,
    /// Whether these blocks are durable.
    Ask(u64, u64),
    Wait(u64),
    /// To the next events: so many.
    Events(u32),
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    let span = || (0..BLOCKS, 1..400_u64).prop_map(|(at, length)| (at, length.min(BLOCKS - at)));
    let small = (0..BLOCKS, 1..20_u64).prop_map(|(at, length)| (at, length.min(BLOCKS - at)));
    prop_oneof![
        4 => span().prop_map(|(at, length)| Step::Write(at, length)),
        4 => small.prop_map(|(at, length)| Step::Write(at, length)),
        3 => prop::collection::vec(span(), 1..3).prop_map(Step::Discard),
        1 => span().prop_map(|(at, length)| Step::Read(at, length)),
        2 => Just(Step::Flush),
        2 => span().prop_map(|(at, length)| Step::Ask(at, length.div_ceil(8))),
        3 => (1..1_500_u64).prop_map(Step::Wait),
        3 => (1..8_u32).prop_map(Step::Events),
        2 => Just(Step::Cut),
    ]
}

/// All that a power cut may meet.
fn kinds() -> Vec<SsdConfig> {
    let cached = |mode, when_full| {
        let cache = SlcCacheConfig { size: Ppm(20_000), ..slc_cache::cache(mode, when_full) };
        SsdConfig { slc_cache: Some(cache), ..plain() }
    };
    let suspend = Some(SuspendConfig {
        program: Nanos::from_micros(20),
        erase: Nanos::from_micros(50),
        resume: Nanos::from_micros(10),
        reads_max: 4,
        slice: Nanos::ZERO,
        collector: None,
        channel: true,
    });
    let small = SsdConfig { write_buffer: Bytes(65_536), ..plain() };
    let protected = SsdConfig { power_loss_protection: true, ..small.clone() };
    let geometry = Geometry { dies: 4, channels: 2, ..plain().geometry };
    vec![
        plain(),
        SsdConfig { geometry, ..plain() },
        SsdConfig { nand: NandTiming { suspend, ..plain().nand }, ..small.clone() },
        SsdConfig { host: HostInterface { queue_depth: 2, ..plain().host }, ..small.clone() },
        small,
        SsdConfig { buffer_frees_early: true, ..protected.clone() },
        SsdConfig { power_loss_protection: true, ..mapping_unit::mapping(16) },
        protected,
        SsdConfig { buffer_overwrites: true, ..plain() },
        SsdConfig { media: Media::InPlace, trim: trim(TrimMode::None), ..plain() },
        cached(SlcMode::Fixed, WhenFull::Direct),
        cached(SlcMode::Dynamic, WhenFull::Fold),
        mapping_cache::dramless(1),
        mapping_cache::dramless(16),
        compression::compressing(),
        gc::separating(),
        mapping_unit::mapping(16),
    ]
}

/// What a unit holds.
#[derive(Clone, Debug, PartialEq)]
struct Version {
    /// By this command, counted through the load.
    by: u32,
    mapped: bool,
    blocks: Vec<Content>,
}

impl Version {
    fn is(&self, other: &Self) -> bool {
        self.mapped == other.mapped && self.blocks == other.blocks
    }
}

/// All versions of a unit since the last cut, and the oldest that may come back.
#[derive(Clone, Debug)]
struct Unit {
    versions: Vec<Version>,
    oldest: usize,
}

struct Load {
    ssd: Ssd,
    now: Instant,
    units: Vec<Unit>,
    unit_blocks: u64,
    /// By tag: whether it is a flush. Tags go on through all cuts.
    commands: Vec<bool>,
    outstanding: Vec<u32>,
    trims: bool,
    /// Nothing that was acknowledged is lost.
    protected: bool,
}

fn blocks(at: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(at), Blocks(length)).unwrap()
}

impl Load {
    fn new(config: SsdConfig, filled: bool) -> Self {
        let in_place = config.media == Media::InPlace;
        let protected = in_place || config.power_loss_protection;
        let unit_blocks = config.mapping_unit.0 / 512;
        let mut target = Virtual::new(config.build().unwrap());
        if filled {
            target.model_mut().precondition_random(40_000, &mut Rng::new(1));
            target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
        }
        // Contents are kept from here on.
        let data = Data::Stamped(u32::MAX);
        let range = blocks(BLOCKS, unit_blocks);
        times(&mut target, &[BlockCommand::Write { range, data }, BlockCommand::Flush]);
        let now = target.now();
        let mut load = Self {
            ssd: target.into_model(),
            now,
            units: Vec::new(),
            unit_blocks,
            commands: Vec::new(),
            outstanding: Vec::new(),
            trims: !in_place,
            protected,
        };
        for unit in 0..BLOCKS / unit_blocks {
            let versions = vec![load.look(unit)];
            load.units.push(Unit { versions, oldest: 0 });
        }
        load
    }

    fn look(&mut self, unit: u64) -> Version {
        let (first, mut found) = (unit * self.unit_blocks, Vec::new());
        self.ssd.examine(blocks(first, self.unit_blocks), &mut found).unwrap();
        let mapped = self.ssd.holds_data(Bytes(first * 512));
        Version { by: 0, mapped, blocks: found }
    }

    fn change(&mut self, unit: u64, change: impl FnOnce(&mut Version)) {
        let (by, unit) = (narrow(self.commands.len() as u64), &mut self.units[at(unit)]);
        let mut version = unit.versions.last().unwrap().clone();
        change(&mut version);
        unit.versions.push(Version { by, ..version });
    }

    fn submit(&mut self, command: BlockCommand, ranges: &[LbaRange]) {
        let tag = narrow(self.commands.len() as u64);
        if let BlockCommand::Discard(_) = command {
            self.ssd.submit_discard(self.now, Tag(tag), ranges).unwrap();
        } else {
            self.ssd.submit(self.now, Tag(tag), command).unwrap();
        }
        self.commands.push(matches!(command, BlockCommand::Flush));
        self.outstanding.push(tag);
    }

    fn write(&mut self, start: u64, length: u64) {
        let (end, width) = (start + length, self.unit_blocks);
        let generation = narrow(self.commands.len() as u64);
        for unit in start / width..end.div_ceil(width) {
            self.change(unit, |version| {
                version.mapped = true;
                for (lba, block) in (unit * width..).zip(&mut version.blocks) {
                    if (start..end).contains(&lba) {
                        *block = Content::Stamp { lba: Lba(lba), generation };
                    }
                }
            });
        }
        let (range, data) = (blocks(start, length), Data::Stamped(generation));
        self.submit(BlockCommand::Write { range, data }, &[]);
    }

    fn discard(&mut self, ranges: &[(u64, u64)]) {
        let width = self.unit_blocks;
        for (start, length) in ranges.iter().filter(|_| self.trims).copied().collect::<Vec<_>>() {
            for unit in start.div_ceil(width)..(start + length) / width {
                self.change(unit, |version| {
                    version.mapped = false;
                    version.blocks.fill(Content::Zeroes);
                });
            }
        }
        let ranges: Vec<_> = ranges.iter().map(|(at, length)| blocks(*at, *length)).collect();
        self.submit(BlockCommand::Discard(ranges[0]), &ranges);
    }

    fn advance(&mut self, now: Instant) {
        let mut out = Vec::new();
        self.ssd.advance(now, &mut out);
        self.now = now;
        for Completion { tag: Tag(tag), .. } in out {
            self.outstanding.retain(|other| *other != tag);
            let flush = self.commands[at(tag.into())];
            for unit in &mut self.units {
                let covered = |version: &Version| match (flush, self.protected) {
                    (_, true) => version.by == tag,
                    (true, false) => version.by < tag,
                    (false, false) => false,
                };
                let covered = unit.versions.iter().rposition(covered);
                unit.oldest = unit.oldest.max(covered.unwrap_or(0));
            }
        }
    }

    /// What the drive says is durable must not be lost later.
    fn ask(&mut self, start: u64, length: u64) {
        if !self.ssd.is_durable(blocks(start, length), self.now) {
            return;
        }
        for unit in start / self.unit_blocks..(start + length).div_ceil(self.unit_blocks) {
            let found = self.look(unit);
            let unit = &mut self.units[at(unit)];
            let versions = &unit.versions[unit.oldest..];
            let which = versions.iter().position(|version| version.is(&found));
            unit.oldest += which.expect("the drive shows a version that it may hold");
        }
    }

    fn cut(&mut self) {
        let mut lost: Vec<u32> =
            self.ssd.cut_power(self.now).into_iter().map(|Tag(tag)| tag).collect();
        lost.sort_unstable();
        assert_eq!(lost, self.outstanding, "exactly the outstanding commands are lost");
        self.outstanding.clear();
        assert_eq!((self.ssd.statistics().outstanding, self.ssd.next_event()), (0, Instant::NEVER));
        self.ssd.check();
        for number in 0..self.units.len() {
            let found = self.look(number as u64);
            let Unit { versions, oldest } = &self.units[number];
            // Without protection no TRIM is durable before a flush has ended.
            let may_be = |(index, version): (usize, &Version)| {
                (index == 0 || version.mapped || self.protected) && version.is(&found)
            };
            let good = versions[*oldest..].iter().enumerate().any(may_be);
            assert!(good, "unit {number} is {found:?}, not from {oldest} on of {versions:?}");
            self.units[number] = Unit { versions: vec![found], oldest: 0 };
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Write(at, length) => self.write(*at, *length),
            Step::Discard(ranges) => self.discard(ranges),
            Step::Read(at, length) => self.submit(BlockCommand::Read(blocks(*at, *length)), &[]),
            Step::Flush => self.submit(BlockCommand::Flush, &[]),
            Step::Ask(at, length) => self.ask(*at, *length),
            Step::Wait(micros) => self.advance(self.now + Nanos::from_micros(*micros)),
            Step::Events(count) => {
                for _ in 0..*count {
                    let next = self.ssd.next_event();
                    if next < Instant::NEVER {
                        self.advance(next);
                    }
                }
            }
            Step::Cut => self.cut(),
        }
    }

    /// The drive works on, and loses nothing that is flushed.
    fn end(&mut self) {
        self.write(0, BLOCKS / 2);
        self.submit(BlockCommand::Read(blocks(0, BLOCKS)), &[]);
        self.submit(BlockCommand::Flush, &[]);
        while self.ssd.next_event() < Instant::NEVER {
            self.advance(self.ssd.next_event());
        }
        assert_eq!(self.outstanding, [0; 0], "each command completes");
        for unit in &self.units {
            assert_eq!(unit.oldest + 1, unit.versions.len(), "only the last version may be found");
        }
        self.cut();
    }
}

fn at(number: u64) -> usize {
    trimbench_core::units::index(number)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_power_cut_at_any_instant_leaves_what_it_may(
        steps in prop::collection::vec(step(), 20..200),
        config in prop::sample::select(kinds()),
        mode in prop::sample::select(vec![
            TrimMode::Queued, TrimMode::Blocking, TrimMode::Background,
        ]),
        arbitration in prop::sample::select(vec![
            TrimArbitration::FirstCome, TrimArbitration::RoundRobin, TrimArbitration::ReadsFirst,
        ]),
        filled in any::<bool>(),
    ) {
        let in_place = config.media == Media::InPlace;
        let trim = TrimConfig {
            background_slice: Nanos::from_micros(100),
            background_bound: (mode == TrimMode::Background).then_some(Nanos::ZERO),
            arbitration: match mode {
                TrimMode::Queued if !in_place => arbitration,
                _ => TrimArbitration::FirstCome,
            },
            ranges: 2,
            ..trim(if in_place { TrimMode::None } else { mode })
        };
        let mut load = Load::new(SsdConfig { trim, ..config }, filled);
        for step in &steps {
            load.take(step);
        }
        load.end();
    }
}
