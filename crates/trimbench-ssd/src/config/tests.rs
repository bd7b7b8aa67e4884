use super::*;
use crate::ssd::tests::slc_cache::cache;
use crate::ssd::tests::{plain, trim};

fn collected(policy: VictimPolicy, separate_hot: bool) -> SsdConfig {
    let gc = GcConfig { policy, separate_hot, ..plain().gc };
    SsdConfig { gc, ..plain() }
}

fn reading(bytes: u64) -> SsdConfig {
    let gc = GcConfig { read_bytes: Some(Bytes(bytes)), ..plain().gc };
    SsdConfig { gc, ..plain() }
}

fn refused(config: &SsdConfig) -> String {
    config.check().expect_err("the configuration is wrong").to_string()
}

#[test]
fn every_value_out_of_range_is_named() {
    let geometry = plain().geometry;
    for (wrong, name) in [
        (SsdConfig { capacity: Bytes(0), ..plain() }, "capacity"),
        (SsdConfig { capacity: Bytes::mib(64) + Bytes(1), ..plain() }, "capacity"),
        (SsdConfig { capacity: Bytes::gib(16 << 10), ..plain() }, "2^32 mapping units of 4KiB"),
        (SsdConfig { over_provisioning: Ppm(0), ..plain() }, "over_provisioning"),
        (SsdConfig { geometry: Geometry { channels: 0, ..geometry }, ..plain() }, "channels"),
        (SsdConfig { geometry: Geometry { channels: 2, ..geometry }, ..plain() }, "dies"),
        (
            SsdConfig { geometry: Geometry { superblock: Bytes(300_000), ..geometry }, ..plain() },
            "superblock",
        ),
        (SsdConfig { write_buffer: Bytes(4_096), ..plain() }, "write_buffer"),
        (SsdConfig { media: Media::InPlace, ..plain() }, "trim.mode"),
        (
            SsdConfig {
                trim: TrimConfig { background_share: Ppm::ONE, ..trim(TrimMode::Background) },
                ..plain()
            },
            "trim.background_share",
        ),
        (
            SsdConfig {
                trim: TrimConfig { tail_chance: Ppm(1), ..trim(TrimMode::Queued) },
                ..plain()
            },
            "`trim.tail_per_gib`",
        ),
        (
            SsdConfig {
                trim: TrimConfig { uncharged: Bytes::mib(32), ..trim(TrimMode::Queued) },
                ..plain()
            },
            "nothing is charged",
        ),
        (
            SsdConfig {
                trim: TrimConfig {
                    arbitration: TrimArbitration::ReadsFirst,
                    ..trim(TrimMode::Blocking)
                },
                ..plain()
            },
            "trim.arbitration",
        ),
        (SsdConfig { metadata: Ppm(1_000_001), ..plain() }, "drive.metadata"),
        (reading(2_048), "collector.read_bytes"),
        (reading(12 << 10), "collector.read_bytes"),
        (reading(128 << 10), "collector.read_bytes"),
        (
            SsdConfig {
                compression: Some(CompressionConfig { floor: Ppm(100_000) }),
                ..reading(4_096)
            },
            "absent where there is compression",
        ),
        (collected(VictimPolicy::DChoices(0), false), "collector.policy"),
        (collected(VictimPolicy::DChoices(1_025), false), "collector.policy"),
        (
            SsdConfig { write_buffer: Bytes(65_536), ..collected(VictimPolicy::Greedy, true) },
            "write_buffer",
        ),
    ] {
        let error = refused(&wrong);
        assert!(error.contains(name), "no `{name}` in: {error}");
    }
    plain().check().unwrap();
}

#[test]
fn values_of_the_mapping_unit_are_named() {
    // 64 units of 16 KiB are more than the superblock of 256 KiB.
    for (kib, name) in [(2, "unit"), (12, "unit"), (128, "unit"), (16, "geometry.superblock")] {
        let error = refused(&SsdConfig { mapping_unit: Bytes::kib(kib), ..plain() });
        assert!(error.contains(name), "no `{name}` in: {error}");
    }
}

#[test]
fn values_of_the_cache_of_compression_and_of_the_granularity_are_named_too() {
    let fixed = cache(SlcMode::Fixed, WhenFull::Direct);
    let dynamic = cache(SlcMode::Dynamic, WhenFull::Direct);
    let cached = |slc_cache| SsdConfig { slc_cache: Some(slc_cache), ..plain() };
    let floor =
        |floor| SsdConfig { compression: Some(CompressionConfig { floor: Ppm(floor) }), ..plain() };
    let trimmed = |granularity, alignment| SsdConfig {
        trim: TrimConfig {
            granularity: Bytes(granularity),
            alignment: Bytes(alignment),
            ..trim(TrimMode::Queued)
        },
        ..plain()
    };
    let in_place = SsdConfig { media: Media::InPlace, trim: trim(TrimMode::None), ..cached(fixed) };
    for (wrong, name) in [
        (cached(SlcCacheConfig { bits_per_cell: 1, ..fixed }), "slc_cache.bits_per_cell"),
        (cached(SlcCacheConfig { bits_per_cell: 5, ..dynamic }), "geometry.superblock"),
        (cached(SlcCacheConfig { size: Ppm(0), ..fixed }), "slc_cache.size"),
        (cached(cache(SlcMode::Fixed, WhenFull::Reorganise)), "slc_cache.mode"),
        (cached(cache(SlcMode::Dynamic, WhenFull::Reorganise)), "slc_cache.minimum"),
        (cached(SlcCacheConfig { size: Ppm(250_001), ..dynamic }), "slc_cache.size"),
        (cached(SlcCacheConfig { minimum: Ppm(25_001), ..dynamic }), "slc_cache.minimum"),
        (cached(SlcCacheConfig { minimum: Ppm(1), ..fixed }), "slc_cache.minimum"),
        (
            cached(SlcCacheConfig { fold_idle_after: Nanos::from_secs(3_601), ..fixed }),
            "slc_cache.fold_idle_after",
        ),
        (floor(145_000), "compression.floor"),
        (floor(90_000), "compression.floor"),
        (SsdConfig { slc_cache: Some(fixed), ..floor(140_000) }, "compression"),
        (in_place, "drive.media"),
        (
            SsdConfig { slc_cache: Some(fixed), ..collected(VictimPolicy::Greedy, true) },
            "collector.separate_hot",
        ),
        (trimmed(0, 0), "trim.granularity"),
        (trimmed(6_144, 0), "trim.granularity"),
        (trimmed(64 << 20, 0), "trim.granularity"),
        (trimmed(65_536, 65_536), "trim.alignment"),
        (trimmed(65_536, 512), "trim.alignment"),
    ] {
        let error = refused(&wrong);
        assert!(error.contains(name), "no `{name}` in: {error}");
    }
    for right in [cached(fixed), cached(dynamic), floor(140_000), trimmed(65_536, 61_440)] {
        right.check().unwrap();
    }
}

#[test]
fn values_of_the_mapping_cache_are_named_and_it_is_so_many_pages() {
    let cache = MappingCacheConfig {
        size: Bytes(10_000),
        page: Bytes(4_096),
        read: Nanos::from_micros(50),
        program: Nanos::from_micros(600),
    };
    let with = |cache| SsdConfig { mapping_cache: Some(cache), ..plain() };
    let hours = Nanos::from_secs(3_601);
    for (wrong, name) in [
        (with(MappingCacheConfig { page: Bytes(2_048), ..cache }), "mapping_cache.page"),
        (with(MappingCacheConfig { page: Bytes(12_288), ..cache }), "mapping_cache.page"),
        (with(MappingCacheConfig { page: Bytes(131_072), ..cache }), "mapping_cache.page"),
        (with(MappingCacheConfig { size: Bytes(4_095), ..cache }), "mapping_cache.size"),
        (with(MappingCacheConfig { size: Bytes::gib(17), ..cache }), "mapping_cache.size"),
        (with(MappingCacheConfig { read: hours, ..cache }), "mapping_cache.read"),
        (with(MappingCacheConfig { program: hours, ..cache }), "mapping_cache.program"),
        (
            SsdConfig { media: Media::InPlace, trim: trim(TrimMode::None), ..with(cache) },
            "drive.media",
        ),
    ] {
        let error = refused(&wrong);
        assert!(error.contains(name), "no `{name}` in: {error}");
    }
    with(cache).check().unwrap();
    // 16 pages of 1,024 entries; two fit, and of a large cache as many as there are.
    let sizes = |cache: MappingCacheConfig| {
        let config = with(cache);
        (cache.pages(&config), cache.frames(&config), config.memory() - plain().memory())
    };
    assert_eq!(sizes(cache), (16, 2, Bytes(16 * 12 + 2 * 16)));
    let large = MappingCacheConfig { page: Bytes(16_384), size: Bytes::mib(1), ..cache };
    assert_eq!(sizes(large), (4, 4, Bytes(4 * 12 + 4 * 16)));
}

#[test]
fn a_cache_is_so_many_superblocks() {
    let sizes = |slc_cache: SlcCacheConfig| {
        let config = SsdConfig { slc_cache: Some(slc_cache), ..plain() };
        let superblocks = slc_cache.superblocks_of(slc_cache.size, &config);
        let bytes = Bytes(superblocks * slc_cache.usable_units(&config) * PIECE_BYTES);
        (config.superblocks(), config.cache_superblocks(), bytes)
    };
    // 16,384 units: 10 % are 26 superblocks of 64, beside one more for the second open one.
    let fixed = SlcCacheConfig { size: Ppm(100_000), ..cache(SlcMode::Fixed, WhenFull::Direct) };
    assert_eq!(sizes(fixed), (286, 26, Bytes(26 * 262_144)));
    // Or 103 with one of four program operations, taken from what there is.
    let dynamic = SlcCacheConfig { mode: SlcMode::Dynamic, ..fixed };
    assert_eq!(sizes(dynamic), (286, 0, Bytes(103 * 65_536)));
}

#[test]
fn the_reserve_comes_on_top_of_the_over_provisioning() {
    // 16,384 units and 10 % are 18,022.4 units: 282 superblocks of 64, and 3.
    assert_eq!(plain().superblocks(), 285);
    assert_eq!(plain().memory(), Bytes(285 * 64 * 8 + 285 * 64 / 8));
    // The host and the collector have a second one open each.
    assert_eq!(collected(VictimPolicy::Greedy, true).superblocks(), 287);
}
