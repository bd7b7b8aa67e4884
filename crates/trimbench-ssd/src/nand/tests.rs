use super::*;
use crate::config::{Geometry, NandTiming, SuspendConfig};
use crate::ssd::tests::plain;

fn micros(count: u64) -> Instant {
    Instant::from_start(Nanos::from_micros(count))
}

fn two_dies() -> Nand {
    let geometry = Geometry { dies: 2, ..plain().geometry };
    Nand::new(&SsdConfig { geometry, ..plain() })
}

#[test]
fn an_erase_is_charged_in_proportion_to_the_emulated_superblock() {
    let mut nand = two_dies();
    // Four programs of a superblock over two dies of four programs a block: half of 4 ms each.
    nand.erase(1, Instant::START);
    assert_eq!((nand.die_free_at(0), nand.die_free_at(1)), (micros(0), micros(2_000)));
}

#[test]
fn a_read_of_the_collector_takes_die_and_channel_side_by_side() {
    let mut nand = two_dies();
    nand.collect(Cells::Data, 0, (1, 16), Instant::START);
    assert_eq!(nand.die_free_at(0), micros(50));
    // 65.536 us of transfer lie before this one, and the die's 50 us do not.
    let next = nand.transfer(1, 1, Instant::START);
    assert_eq!(next, Instant::from_start(Nanos(65_536 + 4_096)));
}

#[test]
fn a_die_that_suspends_forgets_what_is_over_though_nobody_reads() {
    let (pause, reads_max) = (Nanos::from_micros(20), 2);
    let suspend = SuspendConfig { program: pause, erase: pause, resume: pause, reads_max };
    let config = plain();
    let nand = NandTiming { suspend: Some(suspend), ..config.nand };
    let mut nand = Nand::new(&SsdConfig { nand, ..config });
    let mut now = Instant::START;
    for _ in 0..100 {
        now = nand.program(Cells::Data, 0, now, Some(0));
    }
    assert_eq!(nand.programs_of(0).count(), 1);
}
