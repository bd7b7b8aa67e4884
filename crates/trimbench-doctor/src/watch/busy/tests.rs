use trimbench_core::rng::Rng;

use super::*;

#[test]
fn the_union_is_what_a_look_at_every_instant_gives() {
    let mut rng = Rng::new(1);
    for _ in 0..200 {
        let draw = |rng: &mut Rng| {
            let from = rng.below(100);
            (Nanos(from), Nanos(from + rng.below(12)))
        };
        let all: Vec<_> = (0..rng.below(12)).map(|_| draw(&mut rng)).collect();
        let held: Vec<bool> =
            (0..120).map(|at| all.iter().any(|(from, to)| (from.0..to.0).contains(&at))).collect();
        let union = BusyIntervals::of(all.clone());
        let (from, length) = (rng.below(100), rng.below(20));
        let (first, last) = (Nanos(from), Nanos(from + length));
        let range = usize::try_from(from).unwrap()..usize::try_from(from + length).unwrap();
        let count = held[range.clone()].iter().filter(|it| **it).count() as u64;
        assert_eq!(union.covered(first, last), Nanos(count), "{all:?} {first:?} {last:?}");
        let meets = held[range.start..=range.end].contains(&true);
        assert_eq!(union.meets(first, last), meets, "{all:?} {first:?} {last:?}");
        assert_eq!(union.total().0, held.iter().filter(|it| **it).count() as u64);
    }
}
