use super::*;

fn at(milliseconds: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(milliseconds))
}

#[test]
fn fstrim_does_all_in_one_call_and_pieces_only_shorten_its_discards() {
    let mut plain = Rival::Plain;
    assert_eq!(plain.next(at(0), Work::default()), PaceStep::Step(StepLimit::WHOLE));
    let mut pieces = Rival::Pieces(Bytes::mib(4));
    let wanted = StepLimit { extent: StepExtent::Whole, piece: Some(Bytes::mib(4)) };
    assert_eq!(pieces.next(at(0), Work::default()), PaceStep::Step(wanted));
}

#[test]
fn chunks_are_a_delay_apart() {
    let delay = Nanos::from_millis(250);
    let mut law = Rival::Chunks { chunk: Bytes::gib(1), delay, ended: None };
    assert!(matches!(law.next(at(0), Work::default()), PaceStep::Step(_)));
    law.ended(at(100), Amount::default());
    assert_eq!(law.next(at(100), Work::default()), PaceStep::Until(at(350)));
    assert!(matches!(law.next(at(350), Work::default()), PaceStep::Step(_)));
}

#[test]
fn the_law_of_means_slows_down_while_the_short_mean_is_above_the_long_one() {
    let mut law = MeanLaw::new(MeanLawOptions::default());
    let mut now = 0;
    let mut request = |law: &mut MeanLaw, latency: u64, count: u64| {
        for _ in 0..count {
            let stands_for = Nanos::from_millis(10);
            let (submitted, completed) = (at(now), at(now + latency));
            law.request(SeenRequest { submitted, completed, stands_for });
            now += 10;
        }
    };
    request(&mut law, 1, 1_000);
    (0..8).for_each(|_| law.ended(at(0), Amount::default()));
    let fast = law.rate;
    assert!(fast > law.options.rates[0]);
    request(&mut law, 5, 200);
    law.ended(at(0), Amount::default());
    assert_eq!(law.rate.0, fast.0 / 2);
    // A rare stall moves neither mean much: what makes such laws blind to the tail.
    request(&mut law, 1, 6_000);
    request(&mut law, 5, 1);
    let before = law.rate;
    law.ended(at(0), Amount::default());
    assert!(law.rate > before);
}

#[test]
fn the_law_of_means_keeps_its_rate_from_the_start_of_each_range() {
    let mut law = MeanLaw::new(MeanLawOptions::default());
    let chunk = Bytes::mib(64);
    let range = PaceStep::Step(StepLimit { extent: StepExtent::Range(chunk), piece: None });
    assert_eq!(law.next(at(0), Work::default()), range);
    law.began(at(100));
    // 64 MiB at 25 MiB a second.
    assert_eq!(law.next(at(200), Work::default()), PaceStep::Until(at(2_660)));
    assert_eq!(law.next(at(2_660), Work::default()), range);
}

#[test]
fn the_rate_stays_between_its_bounds() {
    let mut law = MeanLaw::new(MeanLawOptions::default());
    law.ended(at(0), Amount::default());
    assert_eq!(law.rate, Bytes(Bytes::mib(25).0 * 5 / 4));
    (0..99).for_each(|_| law.ended(at(0), Amount::default()));
    assert_eq!(law.rate, Bytes::gib(4));
    (law.short.value, law.long.value) = (Some(Nanos(126)), Some(Nanos(100)));
    law.ended(at(0), Amount::default());
    assert_eq!(law.rate, Bytes::gib(2));
    (0..99).for_each(|_| law.ended(at(0), Amount::default()));
    assert_eq!(law.rate, Bytes::mib(25));
    // A quarter more is allowed.
    law.short.value = Some(Nanos(125));
    law.ended(at(0), Amount::default());
    assert!(law.rate > Bytes::mib(25));
}

#[test]
fn a_latency_weighs_as_much_as_the_time_since_the_one_before() {
    let mut law = MeanLaw::new(MeanLawOptions::default());
    let mut request = |completed: u64, latency: u64| {
        let (submitted, completed) = (at(completed - latency), at(completed));
        law.request(SeenRequest { submitted, completed, stands_for: Nanos(1) });
        law.short.value.unwrap()
    };
    assert_eq!(request(1_000, 1), Nanos::from_millis(1));
    assert_eq!(request(1_250, 5), Nanos::from_millis(2));
    assert_eq!(request(5_000, 7), Nanos::from_millis(7));
}
