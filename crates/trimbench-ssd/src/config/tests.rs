use super::*;
use crate::ssd::tests::{plain, trim};

fn refused(config: &SsdConfig) -> String {
    config.check().expect_err("the configuration is wrong").to_string()
}

#[test]
fn every_value_out_of_range_is_named() {
    let geometry = plain().geometry;
    for (wrong, name) in [
        (SsdConfig { capacity: Bytes(0), ..plain() }, "capacity"),
        (SsdConfig { capacity: Bytes::mib(64) + Bytes(1), ..plain() }, "capacity"),
        (SsdConfig { capacity: Bytes::gib(16 << 10), ..plain() }, "16TiB"),
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
    ] {
        let error = refused(&wrong);
        assert!(error.contains(name), "no `{name}` in: {error}");
    }
    plain().check().unwrap();
}

#[test]
fn the_reserve_comes_on_top_of_the_over_provisioning() {
    // 16,384 units and 10 % are 18,022.4 units: 282 superblocks of 64, and 3.
    assert_eq!(plain().superblocks(), 285);
    assert_eq!(plain().memory(), Bytes(285 * 64 * 8 + 285 * 64 / 8));
}
