//! The method on the emulated drive, and on one whose answers are spoilt on purpose.

mod drive;
mod plan;

use trimbench_core::{Content, Errno, Instant, Lba, Nanos, TrimPromise};
use trimbench_ssd::{ContentsConfig, Overreach, SsdConfig, TrimMode, TrimmedReads};

use self::drive::{Spoilt, config, device, faulty, method, run, run_with};
use super::*;
use trimbench_engine::MethodResult;
use trimbench_engine::testing::{self, KeptSteps};

fn value(found: &MethodResult, id: &str) -> f64 {
    let figure = found.figures.iter().find(|figure| figure.id == id);
    figure.unwrap_or_else(|| panic!("{id} is found")).value
}

fn verdict(found: &MethodResult, id: &str) -> String {
    let figure = found.figures.iter().find(|figure| figure.id == id);
    figure.and_then(trimbench_results::Figure::words).unwrap_or_else(|| panic!("{id} is judged"))
}

/// What a case found.
fn case(found: &MethodResult, id: &str) -> TrimIntegrityStep {
    let step = found.steps.iter().find(|found| found.id == id);
    step.unwrap_or_else(|| panic!("{id} is missing")).read().unwrap()
}

fn blocks(found: &MethodResult, id: &str) -> TrimBlocksStep {
    case(found, id).blocks
}

/// What all cases found.
fn all(found: &MethodResult) -> Vec<TrimBlocksStep> {
    let cases = found.steps.iter().map(|step| step.read::<TrimIntegrityStep>().unwrap());
    cases.map(|case| case.blocks).collect()
}

fn with(reads: TrimmedReads, promise: TrimPromise) -> SsdConfig {
    SsdConfig { contents: ContentsConfig { reads, promise }, ..config() }
}

/// None of what must not be: what an honest drive gives, but for the promise.
fn assert_unharmed(found: &MethodResult) {
    for id in ["neighbour-blocks-lost", "rewritten-blocks-lost", "unwritten-blocks"] {
        assert!(value(found, id).abs() < 0.5, "{id}");
    }
    let said = verdict(found, "neighbour-blocks-lost");
    let expected = match (value(found, "promise-violations") > 0.5, old_data_only(found)) {
        (true, _) => "intact, but a promise is broken",
        (false, true) => "no loss shows: trimmed blocks keep reading their old data",
        (false, false) => "intact",
    };
    assert_eq!(said, expected);
}

/// Whether everything that was trimmed whole read as it did before.
fn old_data_only(found: &MethodResult) -> bool {
    let whole: u64 = all(found).iter().map(|blocks| blocks.whole_blocks).sum();
    let old: u64 = all(found).iter().map(|blocks| blocks.whole_blocks_old_data).sum();
    whole > 0 && whole == old
}

#[test]
fn honest_drives_keep_their_promise() {
    use TrimPromise as P;
    use TrimmedReads as R;
    for (reads, promise, expected, seen) in [
        (R::Zeroes, P::Zeroes, "kept: zeroes as promised", "zeroes"),
        (R::Zeroes, P::Deterministic, "kept: the same at each read, zeroes", "zeroes"),
        (R::OldData, P::Deterministic, "kept: the same at each read, old data", "old-data"),
        (R::OldData, P::Nothing, "no promise; reads old data", "old-data"),
        (R::Zeroes, P::Unknown, "promise unknown; reads zeroes", "zeroes"),
    ] {
        let found = run(&mut device(with(reads, promise)), &method(&[]));
        assert_unharmed(&found);
        assert!(value(&found, "promise-violations").abs() < 0.5, "{expected}");
        assert!(value(&found, "trimmed-unstable-blocks").abs() < 0.5);
        assert!(verdict(&found, "promise-violations").starts_with(expected), "{found:?}");
        for share in ["zeroes", "ones", "old-data", "other"] {
            let expected = if share == seen { 100.0 } else { 0.0 };
            let share = value(&found, &format!("trimmed-{share}-share"));
            assert!((share - expected).abs() < 1e-9, "{seen}: {share}");
        }
    }
}

#[test]
fn drives_that_lie_are_found_out_by_every_block() {
    use TrimPromise as P;
    use TrimmedReads as R;
    for (reads, promise, expected) in [
        (R::OldData, P::Zeroes, "broken: promises zeroes, reads old data"),
        (R::OldData, P::Ones, "broken: promises ones, reads old data"),
        (R::Zeroes, P::Ones, "broken: promises ones, reads zeroes"),
        (R::Unstable, P::Zeroes, "broken: promises zeroes, reads something else at each read"),
        (
            R::Unstable,
            P::Deterministic,
            "broken: promises the same at each read, reads something else at each read",
        ),
    ] {
        let found = run(&mut device(with(reads, promise)), &method(&[]));
        assert_unharmed(&found);
        assert_eq!(verdict(&found, "promise-violations"), expected);
        let whole: u64 = all(&found).iter().map(|blocks| blocks.whole_blocks).sum();
        let violations = value(&found, "promise-violations");
        assert!((violations - whole as f64).abs() < 0.5, "{violations} of {whole}");
    }
}

#[test]
fn a_drive_that_promises_nothing_may_read_anything() {
    let contents = with(TrimmedReads::Unstable, TrimPromise::Nothing);
    let found = run(&mut device(contents), &method(&[]));
    assert_unharmed(&found);
    assert!(value(&found, "promise-violations").abs() < 0.5);
    assert_eq!(
        verdict(&found, "promise-violations"),
        "no promise; reads something else at each read"
    );
    for blocks in all(&found) {
        assert_eq!(blocks.trimmed_blocks_unstable, blocks.whole_blocks);
    }
}

#[test]
fn an_off_by_one_that_eats_neighbours_is_found_in_both_directions() {
    let (none, unit) = (Bytes(0), Bytes(4_096));
    for (before, behind, lost, first) in [(none, unit, 8, 1_536), (unit, none, 8, 248)] {
        let mut device = device(with(TrimmedReads::Zeroes, TrimPromise::Zeroes));
        device.model_mut().inner_mut().plant_overreach(Overreach { before, behind });
        let found = run(&mut device, &method(&[("region", "16MiB"), ("guard", "128KiB")]));
        // 128 KiB are 256 blocks: the TRIM of the whole region eats into one guard, at its end.
        assert_eq!(blocks(&found, "whole").harm.neighbour_blocks_lost, Some(lost));
        let expected = if before == unit { first } else { 256 + 32_768 };
        assert_eq!(blocks(&found, "whole").lost_lba_first, Some(expected));
        assert_eq!(blocks(&found, "aligned").harm.neighbour_blocks_lost, Some(16 * lost));
        assert_eq!(blocks(&found, "share-0%").harm.neighbour_blocks_lost, Some(0));
        let lost = |blocks: &TrimBlocksStep| blocks.harm.neighbour_blocks_lost;
        let total: u64 = all(&found).iter().filter_map(lost).sum();
        assert!((value(&found, "neighbour-blocks-lost") - total as f64).abs() < 0.5);
        let verdict = verdict(&found, "neighbour-blocks-lost");
        let place = format!("data lost that was not trimmed: first in `whole` at LBA {expected}");
        assert!(verdict.starts_with(&place), "{verdict}");
        assert!(value(&found, "promise-violations").abs() < 0.5, "the promise is another matter");
    }
}

#[test]
fn a_trim_that_is_ignored_breaks_the_promise_of_zeroes_and_nothing_else() {
    let ignored = |promise| {
        let own = with(TrimmedReads::Zeroes, promise);
        let trim = trimbench_ssd::TrimConfig { mode: TrimMode::Ignored, ..own.trim };
        run(&mut device(SsdConfig { trim, ..own }), &method(&[]))
    };
    let found = ignored(TrimPromise::Zeroes);
    assert_unharmed(&found);
    assert_eq!(verdict(&found, "promise-violations"), "broken: promises zeroes, reads old data");
    let found = ignored(TrimPromise::Deterministic);
    assert!(value(&found, "promise-violations").abs() < 0.5);
}

#[test]
fn partly_trimmed_granules_may_keep_their_data_and_are_counted() {
    let found = run(&mut device(config()), &method(&[]));
    for (step, whole, edge) in [
        ("single-blocks", 0, 64),
        ("alternating-blocks", 0, 512),
        ("alternating-granules", 512 * 8, 0),
        ("unaligned-head-in", 32_768 / 2 - 16 * 8, 16 * 7),
        ("unaligned-head-out", 32_768 / 2, 16),
        ("unaligned-both-in", 32_768 / 2 - 16 * 16, 16 * 14),
        ("across-the-middle", 32_768 / 4, 2),
        ("small", 512 * 8, 0),
    ] {
        let blocks = blocks(&found, step);
        assert_eq!(blocks.whole_blocks, whole, "{step}");
        let kept = TrimEdgesStep { edge_blocks: edge, edge_blocks_old_data: edge };
        assert_eq!(blocks.edges, Some(kept), "{step}");
    }
    assert!(
        verdict(&found, "promise-violations").ends_with("partly trimmed granules keep old data")
    );
    // A drive that says it can trim single blocks has no such excuse.
    let mut finer = Spoilt::new(device(config()), |_, _, content| content);
    finer.capabilities.discard_granularity = Bytes(512);
    let found = run(&mut finer, &method(&[]));
    assert!(blocks(&found, "single-blocks").harm.trimmed_blocks_against_promise > Some(32));
    assert!(verdict(&found, "promise-violations").starts_with("broken: promises zeroes, reads"));
}

#[test]
fn another_blocks_data_is_a_leak_whatever_is_promised() {
    let config = with(TrimmedReads::Zeroes, TrimPromise::Nothing);
    let mut spoilt = Spoilt::new(device(config), |_, lba, content| match content {
        Content::Zeroes if lba.0 == 3_000 => Content::Stamp { lba: Lba(7), generation: 1 },
        other => other,
    });
    let found = run(&mut spoilt, &method(&[("cases", "shapes")]));
    assert_eq!(blocks(&found, "whole").harm.trimmed_blocks_foreign, Some(1));
    assert_eq!(blocks(&found, "whole").harm.trimmed_blocks_against_promise, Some(1));
    assert_eq!(
        verdict(&found, "promise-violations"),
        "broken: trimmed blocks read as other blocks' data"
    );
}

#[test]
fn a_write_that_is_lost_before_the_trim_is_not_blamed_on_it() {
    let mut spoilt = Spoilt::new(device(config()), |_, lba, content| match content {
        Content::Stamp { generation, .. } if lba.0 == 5 => {
            Content::Stamp { lba, generation: generation + 100 }
        }
        other => other,
    });
    let found = run(&mut spoilt, &method(&[]));
    let cases = found.steps.len() as f64;
    assert!((value(&found, "unwritten-blocks") - cases).abs() < 0.5, "one in each case");
    assert!(value(&found, "neighbour-blocks-lost").abs() < 0.5);
}

#[test]
fn a_write_that_is_lost_after_the_trim_is_noticed() {
    // The third generation of each case is that of the rewritten trimmed blocks.
    let mut spoilt = Spoilt::new(device(config()), |_, lba, content| match content {
        Content::Stamp { generation, .. } if generation % 3 == 0 && lba.0 == 3_000 => {
            Content::Zeroes
        }
        other => other,
    });
    let found = run(&mut spoilt, &method(&[]));
    assert_eq!(blocks(&found, "whole").harm.rewritten_blocks_lost, Some(1));
    assert!(value(&found, "neighbour-blocks-lost").abs() < 0.5);
}

#[test]
fn a_neighbour_that_is_lost_only_later_is_lost() {
    // Reads are counted from 0: one before the TRIM, three after it, one after the neighbours were
    // written, one at the end.
    for pass in [2, 4, 5] {
        let mut spoilt = Spoilt::new(device(config()), move |read, lba, content| {
            if read % 6 == pass && lba.0 == 3 { Content::Zeroes } else { content }
        });
        let found = run(&mut spoilt, &method(&[("cases", "shapes")]));
        let cases = found.steps.len() as f64;
        assert!((value(&found, "neighbour-blocks-lost") - cases).abs() < 0.5, "pass {pass}");
    }
}

#[test]
fn a_neighbour_that_loses_its_own_rewrite_is_lost() {
    // The second generation of each case is that of the rewritten neighbours.
    let mut spoilt = Spoilt::new(device(config()), |_, lba, content| match content {
        Content::Stamp { generation, .. } if generation % 3 == 2 => {
            Content::Stamp { lba, generation: generation - 1 }
        }
        other => other,
    });
    let found = run(&mut spoilt, &method(&[("cases", "shapes")]));
    assert_eq!(blocks(&found, "whole").harm.neighbour_blocks_lost, Some(2), "one on each side");
    assert_eq!(blocks(&found, "aligned").harm.neighbour_blocks_lost, Some(32));
}

#[test]
fn a_value_that_changes_when_a_neighbour_is_written_is_unstable() {
    let mut spoilt = Spoilt::new(device(config()), |read, lba, content| match content {
        Content::Zeroes if read % 6 == 4 && lba.0 == 3_000 => Content::Ones,
        other => other,
    });
    let found = run(&mut spoilt, &method(&[]));
    assert_eq!(blocks(&found, "whole").trimmed_blocks_unstable, 1);
    assert_eq!(blocks(&found, "whole").harm.trimmed_blocks_against_promise, Some(1));
}

#[test]
fn a_device_that_breaks_or_vanishes_ends_the_run_and_keeps_what_was_done() {
    let method = method(&[]);
    let whole = run_with(&mut faulty(config(), None, None), &method, Vec::new()).0.unwrap();
    let mut clock = faulty(config(), None, None);
    run(&mut clock, &method);
    let end = trimbench_core::Target::now(&clock).since_start();
    for share in [10, 33, 50, 90] {
        let at = Some(Instant::from_start(Nanos(end.0 / 100 * share)));
        for (from, gone, expected) in [(at, None, Errno::EIO), (None, at, Errno::ENODEV)] {
            let (ended, kept) = run_with(&mut faulty(config(), from, gone), &method, Vec::new());
            let Err(MethodError::Broken { step, errno, count }) = ended else {
                panic!("the device broke: {ended:?}")
            };
            assert_eq!(errno, expected);
            // Those that were outstanding, or the one that is no command.
            assert!((1..=u64::from(method.queue_depth)).contains(&count), "{count}");
            assert_eq!(kept[..], whole.steps[..kept.len()], "those before are as without");
            assert_eq!(step, whole.steps[kept.len()].id, "the next one failed");
            assert!(share < 50 || kept.len() > 5, "{share} %: {}", kept.len());
        }
    }
}

#[test]
fn a_resumed_run_does_only_what_is_left_and_finds_the_same() {
    let method = method(&[]);
    let found = run(&mut device(config()), &method);
    let done: Vec<_> = found.steps.iter().take(7).cloned().collect();
    let (resumed, kept) = run_with(&mut device(config()), &method, done);
    let resumed = resumed.unwrap();
    assert_eq!(kept.len(), found.steps.len() - 7);
    assert_eq!(resumed.figures, found.figures);
    assert_eq!(resumed.steps, found.steps);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let method = method(&[]);
    let first = run(&mut device(config()), &method);
    assert_eq!(run(&mut device(config()), &method), first);
}

#[test]
fn discards_are_cut_to_what_the_device_takes() {
    let own = config();
    let most = Bytes::mib(1) + Bytes(512);
    let trim = trimbench_ssd::TrimConfig { range_max: Bytes(4_096), command_max: most, ..own.trim };
    let found = run(&mut device(SsdConfig { trim, ..own }), &method(&[]));
    assert_unharmed(&found);
    assert_eq!(blocks(&found, "whole").whole_blocks, 32_768, "cut at granules");
    assert_eq!(case(&found, "whole").discarded_bytes_device, Bytes::mib(16));
}

#[test]
fn a_request_to_stop_is_heard() {
    let mut keeper = KeptSteps::stopping_after(3);
    let ended = testing::run(&method(&[]), &mut device(config()), &mut keeper);
    assert!(matches!(
        ended,
        Err(MethodError::Run(trimbench_engine::runner::RunError::Interrupted))
    ));
    assert_eq!(keeper.steps.len(), 3);
}

#[test]
fn a_drive_that_reads_ones_as_it_promises_keeps_its_promise() {
    let spoil = |_, _, content| if content == Content::Zeroes { Content::Ones } else { content };
    let honest = with(TrimmedReads::Zeroes, TrimPromise::Ones);
    let found = run(&mut Spoilt::new(device(honest), spoil), &method(&[]));
    assert!(verdict(&found, "promise-violations").starts_with("kept: ones as promised"));
    assert!((value(&found, "trimmed-ones-share") - 100.0).abs() < 1e-9);
}

#[test]
fn a_flushed_trim_outlasts_a_power_cut_and_an_unflushed_one_may_be_undone() {
    let found = run(&mut device(config()), &method(&[]));
    assert_eq!(blocks(&found, "power-cut-after-flush").whole_blocks_zeroes, 16_384);
    let unflushed = |found: &MethodResult| {
        let blocks = blocks(found, "power-cut-before-flush");
        blocks.unflushed.map(|it| (it.unflushed_blocks, it.unflushed_blocks_undone))
    };
    assert_eq!(unflushed(&found), Some((16_384, 16_384)));
    assert_unharmed(&found);
    // With power-loss protection they hold at once.
    let protected = SsdConfig { power_loss_protection: true, ..config() };
    let found = run(&mut device(protected), &method(&[]));
    assert_eq!(unflushed(&found), Some((16_384, 0)));
    assert_unharmed(&found);
}

#[test]
fn a_drive_that_ignores_flushes_is_found_out_by_the_power_cut() {
    let mut spoilt = Spoilt::new(device(config()), |_, _, content| content);
    spoilt.ignores_flushes = true;
    let found = run(&mut spoilt, &method(&[]));
    let against = |id| blocks(&found, id).harm.trimmed_blocks_against_promise;
    assert_eq!(against("power-cut-after-flush"), Some(16_384));
    assert_eq!(against("aligned"), Some(0), "without a cut");
}

#[test]
fn a_target_that_cannot_be_cut_is_measured_without() {
    let mut spoilt = Spoilt::new(device(config()), |_, _, content| content);
    spoilt.never_cut = true;
    let found = run(&mut spoilt, &method(&[]));
    assert_eq!(found.steps.len(), 20);
    assert!(found.steps.iter().all(|step| !step.id.starts_with("power-cut")));
}

#[test]
fn granules_may_be_large_and_begin_anywhere() {
    for (granularity, alignment) in [(65_536, 0), (65_536, 16_384), (12_288, 4_096)] {
        let own = config();
        let trim = trimbench_ssd::TrimConfig {
            granularity: Bytes(granularity),
            alignment: Bytes(alignment),
            ..own.trim
        };
        let found = run(&mut device(SsdConfig { trim, ..own }), &method(&[]));
        assert_unharmed(&found);
        let verdict = verdict(&found, "promise-violations");
        assert!(verdict.starts_with("kept: zeroes as promised"), "{alignment}: {verdict}");
        assert!(value(&found, "edge-old-data-blocks") > 100.0);
        let whole = blocks(&found, "alternating-granules").whole_blocks;
        assert_eq!(whole % (granularity / 512), 0);
        assert!(whole > 0 && blocks(&found, "small").whole_blocks > 0);
    }
}

#[test]
fn a_cache_and_compression_change_nothing_in_what_is_found() {
    for name in trimbench_ssd::BUILT_IN.iter().map(|profile| profile.name) {
        let profile = trimbench_ssd::Profile::built_in(name).unwrap();
        let mut config = profile.config;
        config.capacity = config.capacity.min(Bytes::gib(4));
        let found = run(&mut device(config), &method(&[]));
        assert_unharmed(&found);
        assert!(value(&found, "promise-violations").abs() < 0.5, "{name}");
    }
}
