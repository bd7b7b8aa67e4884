use super::*;

const CONFIG: SuspendConfig = SuspendConfig {
    program: Nanos(20),
    erase: Nanos(100),
    resume: Nanos(7),
    reads_max: 2,
    slice: Nanos::ZERO,
    collector: None,
    channel: false,
};
const READ: Nanos = Nanos(50);

fn at(nanos: u64) -> Instant {
    Instant::from_start(Nanos(nanos))
}

fn die() -> SuspendingDies {
    SuspendingDies::new(CONFIG, 1)
}

/// When reads that come at these instants are over.
fn reads(dies: &mut SuspendingDies, arrivals: &[u64]) -> Vec<u64> {
    let over = |now: &u64| dies.sense(0, at(*now), READ).since_start().0;
    arrivals.iter().map(over).collect()
}

#[test]
fn a_program_stands_still_while_it_is_read_and_goes_on_later() {
    let mut dies = die();
    assert_eq!(dies.operate(0, at(0), Nanos(600), Kind::Program(Some(5))), at(600));
    // 20 until the die can read; 500 are left, and 7 to resume.
    assert_eq!(reads(&mut dies, &[100]), [170]);
    assert_eq!(dies.programs(0).collect::<Vec<_>>(), [(5, at(170 + 507))]);
    // One that comes during a read follows it, without another pause.
    assert_eq!(reads(&mut dies, &[160]), [220]);
    assert_eq!(dies.free_at(0), at(220 + 507));
    // The program has let two by: the third waits for its end.
    assert_eq!(reads(&mut dies, &[300]), [727 + 50]);
}

#[test]
fn an_erase_has_a_pause_of_its_own_and_what_follows_moves() {
    let mut dies = die();
    dies.operate(0, at(0), Nanos(5_000), Kind::Erase);
    dies.operate(0, at(0), Nanos(600), Kind::Program(Some(1)));
    assert_eq!(reads(&mut dies, &[1_000]), [1_150]);
    // 4,000 left and 7, then the program.
    assert_eq!(dies.programs(0).collect::<Vec<_>>(), [(1, at(1_150 + 4_007 + 600))]);
    // Two before the erase, two between it and the program, the fifth behind all.
    assert_eq!(reads(&mut dies, &[1_150, 1_150, 1_150]), [1_200, 5_257, 5_307]);
    assert_eq!(reads(&mut dies, &[1_150]), [5_307 + 600 + 50]);
}

#[test]
fn an_operation_that_is_nearly_over_is_let_alone() {
    let mut dies = die();
    dies.operate(0, at(0), Nanos(600), Kind::Program(None));
    assert_eq!(reads(&mut dies, &[580]), [650]);
    assert_eq!(dies.free_at(0), at(650));
    // One nanosecond earlier it is interrupted: 21 are left and 7.
    let mut dies = die();
    dies.operate(0, at(0), Nanos(600), Kind::Program(None));
    assert_eq!(reads(&mut dies, &[579]), [649]);
    assert_eq!(dies.free_at(0), at(649 + 21 + 7));
}

#[test]
fn what_cannot_be_interrupted_is_waited_for_unless_it_has_not_begun() {
    let mut dies = die();
    dies.operate(0, at(0), Nanos(60), Kind::Other);
    dies.operate(0, at(0), Nanos(60), Kind::Other);
    assert_eq!(reads(&mut dies, &[10]), [110]);
    assert_eq!(dies.free_at(0), at(170));
}

#[test]
fn a_gap_before_an_operation_is_used_and_an_idle_die_reads_at_once() {
    let mut dies = die();
    assert_eq!(reads(&mut dies, &[0, 10]), [50, 100]);
    // Its data come at 300: a read that fits before it moves nothing.
    dies.operate(0, at(300), Nanos(600), Kind::Program(Some(3)));
    assert_eq!(reads(&mut dies, &[200]), [250]);
    assert_eq!(dies.programs(0).collect::<Vec<_>>(), [(3, at(900))]);
    assert_eq!(reads(&mut dies, &[270]), [320]);
    assert_eq!(dies.programs(0).collect::<Vec<_>>(), [(3, at(920))]);
}

#[test]
fn an_operation_is_interrupted_only_between_its_slices() {
    let config = SuspendConfig { slice: Nanos(150), ..CONFIG };
    let mut dies = SuspendingDies::new(config, 1);
    dies.operate(0, at(0), Nanos(600), Kind::Program(None));
    // The slice ends at 150, and 20 later the die can read.
    assert_eq!(reads(&mut dies, &[100]), [150 + 20 + 50]);
    let mut dies = SuspendingDies::new(config, 1);
    dies.operate(0, at(0), Nanos(600), Kind::Program(None));
    assert_eq!(reads(&mut dies, &[450]), [450 + 20 + 50], "at the end of a slice at once");
    assert_eq!(reads(&mut dies, &[500]), [570]);
}

#[test]
fn a_read_by_the_collector_is_interrupted_only_where_it_has_slices() {
    for (collector, over) in [(None, 650), (Some(Nanos(200)), 200 + 20 + 50)] {
        let mut dies = SuspendingDies::new(SuspendConfig { collector, ..CONFIG }, 1);
        dies.operate(0, at(0), Nanos(600), Kind::Collected);
        assert_eq!(reads(&mut dies, &[100]), [over], "{collector:?}");
    }
}
