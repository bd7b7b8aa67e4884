use super::*;

/// What a law was told.
#[derive(Debug, Default)]
struct Recorder {
    answer: Option<PaceStep>,
    work: Vec<Work>,
    began: Vec<Instant>,
    ended: Vec<(Instant, Amount)>,
    requests: Vec<SeenRequest>,
    busy: Vec<Instant>,
}

impl PacingLaw for Recorder {
    fn next(&mut self, _: Instant, work: Work) -> PaceStep {
        self.work.push(work);
        self.answer.unwrap()
    }

    fn began(&mut self, now: Instant) {
        self.began.push(now);
    }

    fn ended(&mut self, now: Instant, done: Amount) {
        self.ended.push((now, done));
    }

    fn request(&mut self, seen: SeenRequest) {
        self.requests.push(seen);
    }

    fn foreground(&mut self, now: Instant, requests: u64) {
        assert!(requests > 0);
        self.busy.push(now);
    }
}

const OPTIONS: LawPolicyOptions = LawPolicyOptions {
    discard_max: Blocks(1_000),
    backlog_max: Blocks(1_500),
    wait_max: Nanos::from_secs(60),
    ..LawPolicyOptions::unlimited(BlockSize::SECTOR)
};

fn at(milliseconds: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(milliseconds))
}

fn policy(extent: StepExtent, piece: Option<Bytes>) -> LawPolicy<Recorder> {
    let answer = Some(PaceStep::Step(StepLimit { extent, piece }));
    LawPolicy::new(Recorder { answer, ..Recorder::default() }, OPTIONS)
}

/// 1,500 blocks in 3 extents of 500, freed at the start.
const WAITING: Backlog = Backlog {
    blocks: Blocks(1_500),
    extents: 3,
    oldest: Instant::START,
    least: Blocks(500),
    in_flight: 0,
};

fn cost(longest: Option<Bytes>) -> StepExtent {
    let (budget, cost) = (Nanos::from_millis(5), crate::pacing::DiscardCost::default());
    StepExtent::Cost { budget, cost, longest }
}

fn blocks(discards: u64, count: u64) -> Amount {
    Amount { discards, bytes: Bytes(512 * count) }
}

fn look(outstanding: u64, milliseconds: Option<u64>) -> Foreground {
    Foreground { outstanding, latency: milliseconds.map(Nanos::from_millis) }
}

#[test]
fn a_step_by_cost_is_one_discard_of_what_the_law_the_piece_and_the_drive_allow() {
    let bytes = |blocks: u64| Some(Bytes(512 * blocks));
    for (longest, piece, granted) in [
        (None, None, 1_000),
        (bytes(700), None, 700),
        (bytes(700), bytes(300), 300),
        (None, bytes(300), 300),
        (bytes(0), None, 1),
    ] {
        let mut it = policy(cost(longest), piece);
        assert_eq!(it.grant(at(1), &WAITING), Grant::Blocks(Blocks(granted)));
        it.issued(at(1), Blocks(7));
        it.completed(at(3));
        assert_eq!(it.law.began, [at(1)]);
        assert_eq!(it.law.ended, [(at(3), blocks(1, 7))]);
        let expected = Work { upcoming: blocks(1, 500), remaining: blocks(3, 1_500) };
        assert_eq!(it.law.work, [expected]);
    }
}

#[test]
fn a_range_is_so_much_of_what_waits_one_discard_after_the_other() {
    let mut it = policy(StepExtent::Range(Bytes(512 * 800)), None);
    assert_eq!(it.grant(at(0), &WAITING), Grant::Blocks(Blocks(800)));
    it.issued(at(0), Blocks(500));
    let left = Backlog { blocks: Blocks(1_000), extents: 2, ..WAITING };
    assert_eq!(it.grant(at(1), &Backlog { in_flight: 1, ..left }), Grant::Idle);
    it.completed(at(2));
    assert_eq!(it.grant(at(2), &left), Grant::Blocks(Blocks(300)));
    it.issued(at(2), Blocks(300));
    it.completed(at(4));
    assert_eq!(
        (&it.law.began[..], &it.law.ended[..]),
        (&[at(0)][..], &[(at(4), blocks(2, 800))][..])
    );
    // What was freed meanwhile is of the next one.
    let mut it = policy(StepExtent::Whole, None);
    it.grant(at(1), &WAITING);
    it.issued(at(1), Blocks(500));
    it.completed(at(2));
    it.grant(at(3), &Backlog { oldest: at(3), ..left });
    assert_eq!(it.law.ended, [(at(2), blocks(1, 500))]);
    assert_eq!(it.law.work.len(), 2);
}

#[test]
fn a_step_ends_with_the_requests_that_waited_for_it_or_when_they_take_too_long() {
    for is_patient in [true, false] {
        let mut it = policy(cost(None), None);
        it.foreground(at(0), look(1, None));
        it.grant(at(1), &WAITING);
        it.issued(at(1), Blocks(500));
        it.foreground(at(2), look(2, None));
        it.completed(at(3));
        assert_eq!(it.law.ended, [], "two wait for it");
        assert_eq!(it.grant(at(3), &WAITING), Grant::Until(at(2_003)));
        // One that came later ends first.
        it.foreground(at(4), look(3, None));
        it.foreground(at(5), look(2, Some(1)));
        it.foreground(at(6), look(1, Some(6)));
        assert_eq!(it.law.ended, [], "one is left");
        if is_patient {
            it.foreground(at(7), look(0, Some(5)));
        } else {
            assert!(matches!(it.grant(at(2_003), &WAITING), Grant::Blocks(_)));
        }
        assert_eq!(it.law.ended, [(at(3), blocks(1, 500))]);
    }
}

#[test]
fn a_request_stands_for_the_mean_distance_and_pauses_are_left_out() {
    let mut it = policy(cost(None), None);
    let mut now = 0;
    for _ in 0..200 {
        for gap in [1, 1, 1, 5] {
            now += gap;
            it.foreground(at(now), look(0, Some(1)));
        }
    }
    let last = *it.law.requests.last().unwrap();
    assert_eq!((last.submitted, last.completed), (at(now - 1), at(now)));
    assert!(last.stands_for.0.abs_diff(2_000_000) < 10_000, "{}", last.stands_for);
    // An hour without requests is a second, of 800.
    it.foreground(at(now + 3_600_000), look(0, Some(1)));
    let after = it.law.requests.last().unwrap().stands_for;
    assert!(after < Nanos::from_micros(3_300), "{after}");
    // Requests that become rare are followed.
    let mut now = now + 3_600_000;
    for _ in 0..8_000 {
        now += 10_000;
        it.foreground(at(now), look(0, Some(1)));
    }
    let rare = it.law.requests.last().unwrap().stands_for;
    assert!(rare > Nanos::from_secs(9) && rare <= Nanos::from_secs(10), "{rare}");
    assert_eq!(it.law.busy, [], "a probe ends no idleness");
}

#[test]
fn the_foreground_is_busy_while_a_request_is_outstanding() {
    let mut it = policy(cost(None), None);
    it.foreground(at(1), look(1, None));
    it.grant(at(500), &WAITING);
    it.foreground(at(600), look(0, Some(599)));
    it.grant(at(700), &WAITING);
    assert_eq!(it.law.busy, [at(1), at(500), at(600)]);
}

#[test]
fn no_more_waits_than_the_bound_and_what_has_waited_too_long_goes() {
    let mut it = policy(cost(None), None);
    assert_eq!(
        it.admit(at(0), Blocks(10), &Backlog { blocks: Blocks(1_495), ..WAITING }),
        Blocks(5)
    );
    it.law.answer = Some(PaceStep::Until(at(100_000)));
    assert_eq!(it.grant(at(59_999), &WAITING), Grant::Until(at(60_000)));
    assert_eq!(it.grant(at(60_000), &WAITING), Grant::Blocks(Blocks(1_000)));
    it.issued(at(60_000), Blocks(500));
    it.completed(at(60_001));
    assert_eq!(it.law.ended, [(at(60_001), blocks(1, 500))], "the law learns what it cost");
}

#[test]
fn a_discard_that_takes_no_time_was_none() {
    let mut it = policy(cost(None), None);
    it.grant(at(1), &WAITING);
    it.issued(at(1), Blocks(500));
    it.completed(at(1));
    assert_eq!(it.law.ended, [(at(1), Amount::default())]);
}
