//! Random drives.

use std::iter;

use trimbench_core::rng::Rng;
use trimbench_core::settings::Named as _;
use trimbench_core::units::narrow;
use trimbench_core::{Bytes, Instant, Nanos, Ppm};
use trimbench_ssd::{
    CompressionConfig, Geometry, LinkDuplex, MappingCacheConfig, Media, MetadataOf, SlcCacheConfig,
    SlcMode, SuspendConfig, TrimArbitration, TrimMode, VictimPolicy, WhenFull,
};

use super::{HALF, PIECE, QUARTER, Scenario, Size, between, pick, scaled};

/// Units of the smallest superblock of the emulator.
const SUPERBLOCK: u64 = 64;

/// In a quarter of the drives more than 4 KiB.
pub(super) fn mapping_unit(rng: &mut Rng, it: &mut Scenario) {
    let largest = if it.size == Size::Tiny { 2 } else { 4 };
    let shift = if rng.chance(QUARTER) { between(rng, 1, largest) } else { 0 };
    it.drive.mapping_unit = Bytes(PIECE << shift);
}

pub(super) fn geometry(rng: &mut Rng, it: &mut Scenario) {
    let channels = pick(rng, &[1, 2, 4, 8]);
    let unit = it.drive.mapping_unit.0;
    let program_bytes = unit << between(rng, 0, 5);
    let shift: u64 = it.unit_pieces().ilog2().into();
    let largest = if it.size == Size::Tiny { 2 } else { 4 };
    it.drive.geometry = Geometry {
        channels,
        dies: channels * pick(rng, &[1, 1, 2, 3, 8]),
        program_bytes: Bytes(program_bytes),
        superblock: Bytes((SUPERBLOCK * unit) << between(rng, 0, largest - shift)),
        programs_per_erase: narrow(scaled(rng, 1, 1_024)),
    };
}

/// At least 8 superblocks; not always a whole number of them.
pub(super) fn capacity(rng: &mut Rng, it: &mut Scenario) {
    let (superblock, unit) = (it.drive.geometry.superblock.0, it.drive.mapping_unit.0);
    let most = match it.size {
        Size::Tiny => 24 * superblock,
        Size::Small => Bytes::mib(128).0,
    };
    let part = if rng.chance(HALF) { between(rng, 0, superblock / unit - 1) } else { 0 };
    let superblocks = scaled(rng, 8, most / superblock);
    it.drive.capacity = Bytes(superblocks * superblock + part * unit);
}

/// 0.5 % to 65.5 %; the emulator rounds up to whole superblocks.
pub(super) fn over_provisioning(rng: &mut Rng, it: &mut Scenario) {
    it.drive.over_provisioning = Ppm(narrow(scaled(rng, 5_000, 655_000)));
}

pub(super) fn timing(rng: &mut Rng, it: &mut Scenario) {
    let nand = &mut it.drive.nand;
    nand.read = micros(rng, 1, 200);
    nand.program = micros(rng, 10, 4_000);
    nand.erase = micros(rng, 0, 10_000);
    nand.channel_rate = Bytes(scaled(rng, 50_000_000, 4_000_000_000));
}

pub(super) fn host(rng: &mut Rng, it: &mut Scenario) {
    let host = &mut it.drive.host;
    host.queue_depth = narrow(scaled(rng, 1, 1_024));
    host.link_rate = Bytes(scaled(rng, 100_000_000, 8_000_000_000));
    host.duplex = pick(rng, &[LinkDuplex::Half, LinkDuplex::Full]);
    host.command = micros(rng, 0, 100);
    host.latency = micros(rng, 0, 100);
}

pub(super) fn write_buffer(rng: &mut Rng, it: &mut Scenario) {
    let groups = scaled(rng, 1, 64);
    it.drive.write_buffer = Bytes(it.drive.geometry.program_bytes.0 * groups);
}

pub(super) fn power_loss_protection(rng: &mut Rng, it: &mut Scenario) {
    it.drive.power_loss_protection = rng.chance(QUARTER);
    it.drive.buffer_frees_early = it.drive.power_loss_protection && rng.chance(HALF);
}

pub(super) fn gc(rng: &mut Rng, it: &mut Scenario) {
    let gc = &mut it.drive.gc;
    gc.idle_after = micros(rng, 0, 100_000);
    gc.idle_free_target = Ppm(narrow(between(rng, 0, 300_000)));
    gc.idle_valid_max = Ppm(narrow(between(rng, 0, 1_000_000)));
    if rng.chance(HALF) {
        gc.idle_share = Ppm(narrow(between(rng, 0, 1_000_000)));
    }
}

/// None, or either kind with either way of being full.
pub(super) fn slc_cache(rng: &mut Rng, it: &mut Scenario) {
    if rng.chance(HALF) {
        return;
    }
    let bits_per_cell = narrow(between(rng, 2, 5));
    let drive = &mut it.drive;
    let groups = drive.geometry.superblock.0 / drive.geometry.program_bytes.0;
    let shares = groups >= u64::from(bits_per_cell);
    let mode = if shares { pick(rng, &[SlcMode::Fixed, SlcMode::Dynamic]) } else { SlcMode::Fixed };
    let most = match mode {
        SlcMode::Fixed => 400_000,
        SlcMode::Dynamic => 1_000_000 / bits_per_cell,
    };
    let size = Ppm(narrow(scaled(rng, 1_000, most.into())));
    let spare = (drive.over_provisioning.0 / bits_per_cell).min(size.0);
    let minimum = match mode {
        SlcMode::Fixed => 0,
        SlcMode::Dynamic => narrow(between(rng, 0, spare.into())),
    };
    let ways = [WhenFull::Direct, WhenFull::Fold, WhenFull::Reorganise];
    // The last one needs a minimum.
    let ways = if minimum > 0 { &ways[..] } else { &ways[..2] };
    drive.slc_cache = Some(SlcCacheConfig {
        mode,
        size,
        minimum: Ppm(minimum),
        bits_per_cell,
        program: micros(rng, 10, 500),
        read: micros(rng, 1, 50),
        when_full: pick(rng, ways),
        fold_idle_after: micros(rng, 0, 100_000),
    });
}

/// In half of the drives that have no cache and map every 4 KiB.
pub(super) fn compression(rng: &mut Rng, it: &mut Scenario) {
    if it.drive.slc_cache.is_none() && it.unit_pieces() == 1 && rng.chance(HALF) {
        let floor = Ppm(10_000 * narrow(between(rng, 10, 100)));
        it.drive.compression = Some(CompressionConfig { floor });
    }
}

pub(super) fn victims(rng: &mut Rng, it: &mut Scenario) {
    use VictimPolicy::{CostBenefit, DChoices, Fifo, Greedy};
    let choices = DChoices(narrow(scaled(rng, 1, 1_024)));
    it.drive.gc.policy = pick(rng, &[Greedy, Fifo, CostBenefit, choices]);
}

/// What named drives need beyond the others, each in half of the drives that can have it: how the
/// collector reads, chooses, bursts, paces and levels.
pub(super) fn collection(rng: &mut Rng, it: &mut Scenario) {
    let drive = &mut it.drive;
    let (program, plain) = (drive.geometry.program_bytes.0, drive.compression.is_none());
    let gc = &mut drive.gc;
    gc.read = rng.chance(HALF).then(|| micros(rng, 1, 400));
    let unit = drive.mapping_unit.0;
    let pages = program.min(64 * unit) / unit;
    let read_bytes = Bytes(unit << between(rng, 0, pages.ilog2().into()));
    gc.read_bytes = (plain && rng.chance(HALF)).then_some(read_bytes);
    // From a fraction of a superblock to several.
    let groups = scaled(rng, 1, 4 * drive.geometry.superblock.0 / program);
    gc.burst = rng.chance(HALF).then_some(Bytes(groups * program));
    gc.pace = if rng.chance(QUARTER) { micros(rng, 1, 1_000) } else { Nanos::ZERO };
    gc.level_every = rng.chance(HALF).then(|| narrow(scaled(rng, 2, 64)));
    if plain && gc.policy == VictimPolicy::CostBenefit && rng.chance(HALF) {
        gc.policy = VictimPolicy::CostBenefitRoot;
    }
}

/// Data that meet in the buffer, metadata of either kind, and times that vary.
pub(super) fn firmware(rng: &mut Rng, it: &mut Scenario) {
    let drive = &mut it.drive;
    drive.buffer_overwrites = drive.compression.is_none() && rng.chance(HALF);
    drive.metadata = if rng.chance(HALF) { Ppm(narrow(scaled(rng, 1, 1_000_000))) } else { Ppm(0) };
    drive.metadata_of = pick(rng, &[MetadataOf::Programs, MetadataOf::HostWrites]);
    drive.host.jitter = if rng.chance(HALF) { micros(rng, 1, 100) } else { Nanos::ZERO };
}

/// What is not linear in the size of a TRIM.
pub(super) fn trim_tail(rng: &mut Rng, it: &mut Scenario) {
    let most = it.drive.capacity.0.min(it.drive.trim.command_max.0 - 1);
    let trim = &mut it.drive.trim;
    if trim.per_gib_mapped > Nanos::ZERO && rng.chance(HALF) {
        trim.uncharged = Bytes(scaled(rng, 1, most));
    }
    if rng.chance(HALF) {
        trim.latency = micros(rng, 1, 2_000);
    }
    if trim.mode.frees() && rng.chance(HALF) {
        trim.tail_chance = Ppm(narrow(scaled(rng, 1, 1_000_000)));
        trim.tail_per_gib = micros(rng, 1, 100_000);
    }
}

/// In half of the drives that can have it.
pub(super) fn separation(rng: &mut Rng, it: &mut Scenario) {
    let drive = &mut it.drive;
    let alone = drive.slc_cache.is_none() && drive.compression.is_none();
    let has_room = drive.write_buffer.0 >= 2 * drive.geometry.program_bytes.0;
    drive.gc.separate_hot = alone && has_room && rng.chance(HALF);
}

pub(super) fn suspension(rng: &mut Rng, it: &mut Scenario) {
    it.drive.nand.suspend = rng.chance(HALF).then(|| SuspendConfig {
        program: micros(rng, 0, 100),
        erase: micros(rng, 0, 1_000),
        resume: micros(rng, 0, 100),
        reads_max: narrow(scaled(rng, 1, 100)),
        slice: if rng.chance(HALF) { micros(rng, 1, 1_000) } else { Nanos::ZERO },
        collector: rng.chance(HALF).then(|| micros(rng, 1, 1_000)),
        channel: rng.chance(HALF),
    });
}

/// In half of the drives, from one translation page to all that there are.
pub(super) fn mapping_cache(rng: &mut Rng, it: &mut Scenario) {
    if rng.chance(HALF) {
        return;
    }
    let drive = &mut it.drive;
    let page = PIECE << between(rng, 0, (drive.geometry.program_bytes.0 / PIECE).ilog2().into());
    let pages = drive.exported_units().div_ceil(page / 4);
    drive.mapping_cache = Some(MappingCacheConfig {
        size: Bytes(scaled(rng, 1, pages) * page),
        page: Bytes(page),
        read: micros(rng, 1, 200),
        program: micros(rng, 10, 4_000),
    });
}

/// The modes that act are drawn as twice as likely: the others free nothing.
pub(super) fn trim_mode(rng: &mut Rng, it: &mut Scenario) {
    let weighed = |(_, mode): &(_, TrimMode)| iter::repeat_n(*mode, 1 + usize::from(mode.frees()));
    let modes: Vec<TrimMode> = TrimMode::NAMES.iter().flat_map(weighed).collect();
    it.drive.trim.mode = pick(rng, &modes);
}

pub(super) fn trim_cost(rng: &mut Rng, it: &mut Scenario) {
    let trim = &mut it.drive.trim;
    trim.command = micros(rng, 0, 10_000);
    trim.range = micros(rng, 0, 1_000);
    trim.per_gib_mapped = micros(rng, 0, 300_000);
    trim.per_gib_unmapped = micros(rng, 0, 30_000);
    trim.background_share = Ppm(narrow(between(rng, 1, 999_999)));
    trim.background_slice = micros(rng, 100, 10_000);
}

pub(super) fn trim_bound(rng: &mut Rng, it: &mut Scenario) {
    let bounded = it.drive.trim.mode == TrimMode::Background && rng.chance(HALF);
    it.drive.trim.background_bound = bounded.then(|| micros(rng, 0, 100_000));
}

const ARBITRATIONS: [TrimArbitration; 3] =
    [TrimArbitration::FirstCome, TrimArbitration::RoundRobin, TrimArbitration::ReadsFirst];

pub(super) fn trim_arbitration(rng: &mut Rng, it: &mut Scenario) {
    if it.drive.trim.mode == TrimMode::Queued {
        it.drive.trim.arbitration = pick(rng, &ARBITRATIONS);
    }
}

/// Also granularities that are no power of two, alignments within them, and limits that are met.
pub(super) fn trim_granularity(rng: &mut Rng, it: &mut Scenario) {
    let unit = it.drive.mapping_unit.0;
    let trim = &mut it.drive.trim;
    let granules = if rng.chance(HALF) { scaled(rng, 1, 300) } else { 1 };
    trim.granularity = Bytes(granules * unit);
    trim.alignment = Bytes(between(rng, 0, granules - 1) * unit);
    trim.range_max = Bytes(scaled(rng, PIECE, Bytes::mib(64).0));
    let least = trim.range_max.max(trim.granularity).0;
    trim.command_max = Bytes(scaled(rng, least, least.max(2 * it.drive.capacity.0)));
}

/// A few drives are overwritten in place; they have no cache of either kind and no TRIM that acts.
pub(super) fn media(rng: &mut Rng, it: &mut Scenario) {
    if rng.chance(Ppm(60_000)) {
        let drive = &mut it.drive;
        drive.media = Media::InPlace;
        drive.trim.mode = pick(rng, &[TrimMode::None, TrimMode::Ignored]);
        (drive.slc_cache, drive.compression) = (None, None);
        drive.mapping_cache = None;
    }
}

/// Drives that stop for a while at each TRIM, and drives that fail from some time on.
pub(super) fn faults(rng: &mut Rng, it: &mut Scenario) {
    if rng.chance(Ppm(200_000)) {
        it.faults.freeze_on_discard = micros(rng, 1, 10_000);
    }
    if rng.chance(Ppm(100_000)) {
        it.faults.fail_from = Some(Instant::from_start(micros(rng, 1, 100_000_000)));
    }
}

/// A span from the first to the last number of microseconds, to the nanosecond; zero is drawn as
/// such.
fn micros(rng: &mut Rng, low: u64, high: u64) -> Nanos {
    if low == 0 && rng.chance(QUARTER) {
        return Nanos::ZERO;
    }
    Nanos(scaled(rng, low * 1_000, high * 1_000))
}
