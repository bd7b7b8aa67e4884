//! What a TRIM costs the commands beside it, by its mode, and what it buys.

use super::*;

#[test]
fn a_blocking_trim_adds_its_cost_to_the_nanosecond_to_every_read_behind_it() {
    for ranges in [1, 16, 256] {
        let ends = |trim: TrimConfig| -> Vec<Instant> {
            let mut target = full(SsdConfig { trim, ..plain() });
            let trimmed: Vec<_> = (0..ranges).map(|number| units(number * 32, 16)).collect();
            for tag in 0..31 {
                if tag == 16 {
                    target.submit_discard(Tag(31), &trimmed).unwrap();
                }
                target.submit(Tag(tag), read(8_192 + 97 * u64::from(tag))).unwrap();
            }
            let mut out = Vec::new();
            while out.len() < 32 {
                target.reap(Instant::NEVER, &mut out);
            }
            out.sort_by_key(|completion| completion.tag);
            out[16..31].iter().map(|completion| completion.at).collect()
        };
        let costly = trim(TrimMode::Blocking);
        let none = Nanos::ZERO;
        let free = TrimConfig { command: none, range: none, per_gib_mapped: none, ..costly };
        let cost = 100_000 + ranges * 7_000 + ranges * 16 * 262_000_000 / (1 << 18);
        for (costly, free) in ends(costly).into_iter().zip(ends(free)) {
            assert_eq!(costly - free, Nanos(cost), "{ranges} ranges");
        }
    }
}

/// Goes on with reads, of which so many are outstanding, until `end` holds; reads a second.
fn read_until(
    target: &mut Virtual<Ssd>,
    rng: &mut Rng,
    end: impl Fn(&Virtual<Ssd>) -> bool,
) -> f64 {
    let (begin, mut out, mut count) = (target.now(), Vec::new(), 0);
    while !end(target) {
        target.reap(Instant::NEVER, &mut out);
        for completion in out.drain(..).filter(|completion| completion.tag != TRIM) {
            target.submit(completion.tag, read(8_192 + rng.below(8_192))).unwrap();
            count += 1;
        }
    }
    f64::from(count) / (target.now() - begin).seconds()
}

const TRIM: Tag = Tag(16);

#[test]
fn a_background_trim_takes_its_share_of_the_reads_beside_it_until_it_is_done() {
    let mut settled = Vec::new();
    for mapped in [2_048, 4_096, 8_192] {
        let per_gib_mapped = Nanos::from_secs(25);
        let trim = TrimConfig { per_gib_mapped, ..trim(TrimMode::Background) };
        let mut config = SsdConfig { trim, ..plain() };
        // The controller limits the reads: what is taken from it is missing in full.
        config.host.command = Nanos::from_micros(100);
        let (mut target, mut rng) = (full(config), Rng::new(mapped));
        for tag in 0..16 {
            target.submit(Tag(tag), read(8_192)).unwrap();
        }
        let steady = |target: &mut Virtual<Ssd>, rng: &mut Rng| {
            let until = target.now() + Nanos::from_millis(500);
            read_until(target, rng, |target| target.now() >= until)
        };
        let _warm_up = steady(&mut target, &mut rng);
        let before = steady(&mut target, &mut rng);
        let begin = target.now();
        target.submit(TRIM, BlockCommand::Discard(units(0, mapped))).unwrap();
        let pending = |target: &Virtual<Ssd>| target.model().counters().trim_work_pending;
        let during = read_until(&mut target, &mut rng, |target| pending(target) == Nanos::ZERO);
        let span = (target.now() - begin).0 as f64;
        let after = steady(&mut target, &mut rng);
        let near = |figure: f64, expected: f64, margin: f64| {
            let error = (figure / expected - 1.0).abs();
            assert!(error <= margin, "{mapped} units: {figure}, expected {expected}");
        };
        // A range for each MiB.
        let work = mapped / 256 * 7_000 + mapped * per_gib_mapped.0 / (1 << 18);
        near(span, work as f64 * 4.0, 0.02);
        near(during, before * 0.75, 0.02);
        near(after, before, 0.005);
        settled.push(span);
    }
    let growth = settled[2] / settled[0];
    assert!((growth / 4.0 - 1.0).abs() <= 0.02, "four times the data take {growth} as long");
}

#[test]
fn an_ignored_trim_leaves_write_amplification_as_it_is() {
    let amplification = |mode: Option<TrimMode>| {
        let mode_or_any = trim(mode.unwrap_or(TrimMode::Queued));
        let mut target = full(SsdConfig { trim: mode_or_any, ..plain() });
        if mode.is_some() {
            times(&mut target, &[BlockCommand::Discard(units(0, 4_096))]);
        }
        let mut rng = Rng::new(7);
        let mut write = |fills: u64| {
            let before = target.model().counters();
            let unit = |_| PreconditionStep::Write(narrow(4_096 + rng.below(12_288)));
            target.model_mut().precondition_with((0..fills * 16_384).map(unit));
            target.model().counters().waf_since(&before).unwrap()
        };
        write(6);
        write(8)
    };
    let never = amplification(None);
    let ignored = amplification(Some(TrimMode::Ignored)) / never;
    let acted_on = amplification(Some(TrimMode::Queued)) / never;
    assert!((ignored - 1.0).abs() <= 0.02, "{ignored} of {never}");
    assert!(acted_on <= 0.5, "{acted_on} of {never}");
}
