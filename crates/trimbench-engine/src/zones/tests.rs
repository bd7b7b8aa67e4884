use trimbench_core::{BlockSize, Data};

use super::*;

const ACCESS: Bytes = Bytes(64 << 10);
const ZONE: Bytes = Bytes::mib(1);

fn shape() -> Shape {
    Shape {
        size: Bytes::mib(16),
        origin: Bytes(0),
        capacity: Bytes::mib(16),
        logical_block: BlockSize::SECTOR,
        granularity: Bytes(4_096),
        discard_max: Bytes(512 << 10),
    }
}

/// The commands of `count` writes, one at a time, going on from what is active.
fn issued(pattern: Zones, active: &mut ActiveZones, count: u64, seed: u64) -> Vec<BlockCommand> {
    let area = shape().first(Bytes::mib(10) + Bytes(4_096), Data::Random);
    let length = (count, Instant::START);
    let rng = Rng::new(seed);
    let mut load = ZoneWrites::new((pattern, active), (area, shape()), (ACCESS, 1), length, rng);
    let mut commands = Vec::new();
    while let Next::Issue { command, .. } = load.next(Instant::START) {
        assert!(!matches!(load.next(Instant::START), Next::Issue { .. }), "one at a time");
        load.completed(&command, Instant::START);
        commands.push(command);
    }
    assert_eq!(load.next(Instant::START), Next::Done);
    commands
}

/// Zone and place in it of each write, in accesses.
fn places(commands: &[BlockCommand]) -> Vec<(u64, u64)> {
    let place = |command: &BlockCommand| match command {
        BlockCommand::Write { range, .. } => {
            assert_eq!(range.length().bytes(BlockSize::SECTOR), ACCESS);
            let first = range.start().0 * 512 / ACCESS.0;
            Some((first / 16, first % 16))
        }
        _ => None,
    };
    commands.iter().filter_map(place).collect()
}

#[test]
fn each_zone_is_written_in_order_and_the_next_is_another_one() {
    let pattern = Zones { size: ZONE, active: 3, trimmed: false };
    let mut active = ActiveZones::default();
    let mut places = self::places(&issued(pattern, &mut active, 10_000, 1));
    // The second round goes on where the first one ended.
    places.extend(self::places(&issued(pattern, &mut active, 10_000, 2)));
    assert_eq!(places.len(), 20_000);
    // Writes of each zone; 0 and 16: it is not being written.
    let (mut written, mut begun) = ([0; 10], [0_u32; 10]);
    for (zone, place) in places {
        let written_of = &mut written[index(zone)];
        *written_of %= 16;
        assert_eq!(place, *written_of, "in order, and from the beginning");
        *written_of += 1;
        begun[index(zone)] += u32::from(place == 0);
        let open = written.iter().filter(|&&written| written % 16 > 0).count();
        assert!(open <= 3, "a new one only for one that is full");
    }
    let (least, most) = (begun.iter().min().unwrap(), begun.iter().max().unwrap());
    assert!(*least > 100 && *most < 150, "all alike likely: {begun:?}");
}

#[test]
fn a_zone_that_has_just_been_filled_is_not_the_next() {
    let pattern = Zones { size: ZONE, active: 1, trimmed: false };
    let zones = places(&issued(pattern, &mut ActiveZones::default(), 16_000, 5));
    let order: Vec<u64> = zones.iter().step_by(16).map(|(zone, _)| *zone).collect();
    assert!(order.windows(2).all(|two| two[0] != two[1]));
}

#[test]
fn active_zones_are_written_alike_often() {
    let pattern = Zones { size: Bytes::mib(2), active: 4, trimmed: false };
    let commands = issued(pattern, &mut ActiveZones::default(), 40_000, 3);
    let switches = places(&commands).windows(2).filter(|two| two[0].0 / 2 != two[1].0 / 2).count();
    assert!((29_000..31_000).contains(&switches), "three of four writes go elsewhere: {switches}");
}

#[test]
fn a_zone_is_discarded_before_its_first_write_in_pieces_that_the_device_takes() {
    let pattern = Zones { size: ZONE, active: 2, trimmed: true };
    let commands = issued(pattern, &mut ActiveZones::default(), 320, 4);
    let mut discarded = 0;
    for (at, command) in commands.iter().enumerate() {
        if let BlockCommand::Discard(range) = command {
            assert_eq!(range.length().bytes(BlockSize::SECTOR), Bytes(512 << 10));
            discarded += range.length().bytes(BlockSize::SECTOR).0;
            let (next, place) = places(&commands[at..])[0];
            assert_eq!((range.start().0 * 512 / ZONE.0, 0), (next, place));
        }
    }
    let begun = places(&commands).iter().filter(|(_, place)| *place == 0).count() as u64;
    assert_eq!(discarded, begun * ZONE.0);
    let plain = Zones { trimmed: false, ..pattern };
    let plain = issued(plain, &mut ActiveZones::default(), 320, 4);
    assert_eq!(places(&plain), places(&commands), "TRIM changes no write");
    assert_eq!(plain.len(), 320);
}

#[test]
fn spans_that_hold_no_further_zone_are_refused() {
    let zones = |active| Zones { size: ZONE, active, trimmed: false };
    zones(9).fit(Bytes::mib(10), ACCESS).unwrap();
    let refused = zones(10).fit(Bytes::mib(10), ACCESS).unwrap_err().to_string();
    assert!(refused.contains("give smaller zones or fewer"), "{refused}");
    let refused = zones(1).fit(Bytes::mib(10), Bytes(96 << 10)).unwrap_err().to_string();
    assert!(refused.contains("are not whole accesses of 96KiB"), "{refused}");
}
