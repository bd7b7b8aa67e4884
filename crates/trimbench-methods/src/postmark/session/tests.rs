//! Whole sessions in a directory in memory.

use trimbench_core::ForceDiscards;
use trimbench_core::{Capabilities, Errno, Medium, Payload, Virtual};
use trimbench_results::Step;

use super::*;
use trimbench_core::Nanos;
use trimbench_engine::testing::{
    DISCARDS_AFTER, KeptSteps, ToyFiles, close, figure, run_on_files, says, settings, taken,
};
use trimbench_engine::{MethodDefinition as _, MethodResult, Preset, RunError};

/// 40 files, 60 transactions, three times, with this beside.
fn method(set: &[(&str, &str)]) -> Postmark {
    let mut all = settings(&[("number", "40"), ("transactions", "60")]);
    all.extend(settings(set));
    Postmark::resolve(Preset::Quick, &all).unwrap()
}

fn session(method: &Postmark, files: ToyFiles) -> (MethodResult, Virtual<ToyFiles>) {
    let mut target = Virtual::new(files);
    let found = run_on_files(method, &mut target, &mut KeptSteps::default(), Vec::new()).unwrap();
    (found, target)
}

/// How many commands a repetition takes, all told.
fn commands_of_one(set: &[(&str, &str)]) -> usize {
    let once = method(&[set, &[("repetitions", "1")]].concat());
    session(&once, ToyFiles::new()).1.model().log.len()
}

fn read(step: &Step) -> PostmarkStep {
    step.read().unwrap()
}

#[test]
fn phases_are_timed_apart_and_directories_and_sync_beside_them() {
    let method = method(&[("subdirectories", "3")]);
    let (found, target) = session(&method, ToyFiles::new());
    let counts = method.forecast.counts;
    let seconds = |count: u32, each: u64| f64::from(count) * Nanos::from_millis(each).seconds();
    assert_eq!(found.steps.len(), 3);
    for step in &found.steps {
        let run = read(step);
        let phases = run.phases;
        close(phases.creation_s, seconds(40, 4));
        let transactions = seconds(counts.created_in_transactions, 4)
            + seconds(counts.appended, 3)
            + seconds(counts.read, 2)
            + seconds(counts.deleted_in_transactions, 1);
        close(phases.transactions_s, transactions);
        close(phases.deletion_s, seconds(counts.deleted_alone, 1));
        let total = seconds(40, 4) + transactions + seconds(counts.deleted_alone, 1);
        close(phases.total_s, total);
        close(phases.deletion_alone_per_s.unwrap(), 1_000.0);
        let gigabytes = counts.live_bytes_at_deletion as f64 / 1e9;
        let per_gigabyte = seconds(counts.deleted_alone, 1) / gigabytes;
        close(phases.deletion_s_per_gb.unwrap(), per_gigabyte);
        close(run.sync_s, taken(FileCommand::SyncFilesystem).seconds());
        // Discards are looked for every 50 ms.
        let late = run.drain_s - DISCARDS_AFTER.seconds();
        assert!((0.0..0.051).contains(&late), "{late}");
        assert_eq!(run.device_written_bytes, Bytes(counts.bytes_written));
        assert_eq!(run.discarded_bytes, Bytes(counts.bytes_written));
        assert_eq!(step.caveats, Vec::<String>::new());
    }
    let headline = figure(&found.figures, "total-duration");
    assert!(headline.headline && headline.n == 3 && headline.caveats.is_empty());
    let files = target.model();
    assert_eq!((files.present.len(), files.directories.len()), (0, 1), "nothing is left");
}

#[test]
fn files_are_spread_over_the_subdirectories_and_their_own_directory_without() {
    for (subdirectories, expected) in [("0", 0..1), ("1", 0..1), ("4", 1..5)] {
        let method = method(&[("subdirectories", subdirectories), ("repetitions", "1")]);
        let (_, target) = session(&method, ToyFiles::new());
        let mut used: Vec<u32> = (target.model().log.iter())
            .filter_map(|command| match command {
                FileCommand::Store { directory, .. } => Some(directory.0),
                _ => None,
            })
            .collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used, expected.collect::<Vec<_>>());
    }
}

#[test]
fn pieces_buffering_and_data_are_as_set() {
    let set = [("read-block", "700B"), ("write-block", "300B"), ("repetitions", "1")];
    for (buffering, data, buffered, payload) in
        [("true", "printable", true, Payload::Source), ("false", "random", false, Payload::Random)]
    {
        let more = [("buffering", buffering), ("data", data)];
        let method = method(&[&set[..], &more[..]].concat());
        let (_, target) = session(&method, ToyFiles::new());
        let (mut read, mut written) = (0, 0);
        for command in &target.model().log {
            match *command {
                FileCommand::Store { stream, .. } | FileCommand::Append { stream, .. } => {
                    assert_eq!(stream, Stream { piece: 300, buffered, payload });
                    written += 1;
                }
                FileCommand::Load { stream, .. } => {
                    assert_eq!((stream.piece, stream.buffered), (700, buffered));
                    read += 1;
                }
                _ => {}
            }
        }
        let counts = method.forecast.counts;
        assert_eq!((read, written), (counts.read, counts.created + counts.appended));
    }
}

#[test]
fn empty_files_are_made_read_and_deleted() {
    let set = [("size-low", "0B"), ("size-high", "3B"), ("repetitions", "1")];
    let (found, target) = session(&method(&set), ToyFiles::new());
    let is_empty = |command: &&FileCommand| match command {
        FileCommand::Store { length, .. } | FileCommand::Load { length, .. } => *length == Bytes(0),
        _ => false,
    };
    let empty: Vec<_> = target.model().log.iter().filter(is_empty).collect();
    assert!(empty.iter().any(|command| matches!(command, FileCommand::Store { .. })));
    assert!(empty.iter().any(|command| matches!(command, FileCommand::Load { .. })));
    assert_eq!(found.steps.len(), 1);
}

#[test]
fn a_filesystem_that_others_fill_ends_the_session_and_keeps_earlier_repetitions() {
    let once = commands_of_one(&[]);
    for beyond in [1, 60] {
        let mut files = ToyFiles::new();
        files.full_from = once + beyond;
        let (mut target, mut keeper) = (Virtual::new(files), KeptSteps::default());
        let error = run_on_files(&method(&[]), &mut target, &mut keeper, Vec::new()).unwrap_err();
        let text = error.to_string();
        let MethodError::File { step, operation, errno, .. } = error else { panic!("{error:?}") };
        assert_eq!((step.as_str(), errno), ("repetition-2", Errno::ENOSPC));
        // Whether anything is kept is for those to say who keep it.
        assert!(text.contains("`repetition-2`") && !text.contains("kept"), "{text}");
        assert_eq!(keeper.kept(), ["repetition-1"]);
        // It names the operation that failed, and nothing more is tried.
        let expected = match target.model().log.last().unwrap() {
            FileCommand::Store { .. } => "creation",
            FileCommand::Append { .. } => "extension",
            other => panic!("{other:?} came after the failure"),
        };
        assert_eq!(operation, expected);
    }
}

#[test]
fn ctrl_c_midway_ends_at_once_and_what_is_done_is_not_done_again() {
    let once = commands_of_one(&[]);
    let (mut files, mut keeper) = (ToyFiles::new(), KeptSteps::default());
    files.interrupt_at = Some((once + 50, keeper.interrupt.clone()));
    let mut target = Virtual::new(files);
    let error = run_on_files(&method(&[]), &mut target, &mut keeper, Vec::new()).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Interrupted)), "{error}");
    assert_eq!(target.model().log.len(), once + 51, "the operation under way is the last");
    assert_eq!(keeper.kept(), ["repetition-1"]);

    let (mut target, mut later) = (Virtual::new(ToyFiles::new()), KeptSteps::default());
    let found = run_on_files(&method(&[]), &mut target, &mut later, keeper.steps).unwrap();
    assert_eq!(later.kept(), ["repetition-2", "repetition-3"]);
    assert_eq!((found.steps.len(), target.model().log.len()), (3, 2 * once));
}

#[test]
fn what_the_page_cache_swallowed_is_invalid() {
    for (percent, expected) in [(49, true), (51, false)] {
        let mut files = ToyFiles::new();
        files.percent_reaching = percent;
        let (found, _) = session(&method(&[]), files);
        let caveat = Caveat::CacheSwallowed;
        for step in &found.steps {
            let has = step.caveats.iter().any(|id| id == caveat.id());
            assert_eq!(has, expected, "{percent} % of what was written");
        }
        let headline = figure(&found.figures, "total-duration");
        assert_eq!(headline.caveats.iter().any(|id| id == caveat.id()), expected);
        assert!(caveat.invalidates());
    }
}

#[test]
fn transactions_that_run_out_of_files_end_early_and_say_so() {
    let set = [("bias-create", "0"), ("bias-read", "10"), ("repetitions", "1")];
    let (found, _) = session(&method(&set), ToyFiles::new());
    let step = &found.steps[0];
    assert_eq!(step.caveats, [Caveat::OutOfFiles.id()]);
    // Each of the 40 was read once, as another went.
    let PostmarkStep { phases, .. } = read(step);
    assert_eq!((phases.transactions_count, phases.deleted_in_transactions_count), (40, 40));
    assert_eq!(phases.deleted_alone_count, 0);
    close(phases.deletion_s, 0.0);
    let rates = (phases.deletion_s_per_gb, phases.deletion_alone_per_s);
    assert_eq!(rates, (None, None), "of nothing there is no rate");
}

#[test]
fn the_log_is_forced_where_the_filesystem_needs_it() {
    let once = method(&[("repetitions", "1")]);
    for (force, expected) in [(ForceDiscards::Sync, 0), (ForceDiscards::FsyncDirtyFile, 1)] {
        let mut files = ToyFiles::new();
        files.capabilities.drain.force = force;
        let (_, target) = session(&once, files);
        let log = &target.model().log;
        let is_fsync = |command: &&FileCommand| matches!(command, FileCommand::Fsync { .. });
        assert_eq!(log.iter().filter(is_fsync).count(), expected);
        assert_eq!(target.model().present.len(), 0, "its file is gone too");
    }
}

#[test]
fn nothing_is_touched_where_the_files_do_not_fit() {
    let once = method(&[("repetitions", "1")]);
    let with = |available: Bytes| {
        let medium = Medium::Directory { available, fs_block: Bytes(4_096) };
        Capabilities { medium, ..ToyFiles::new().capabilities }
    };
    assert_eq!(once.fits(&with(once.space())), Ok(()));
    let less = with(Bytes(once.space().0 - 1));
    assert!(once.fits(&less).unwrap_err().to_string().contains("its files grow to"));
    let device = says(Bytes::gib(9), Bytes(4_096), Bytes::gib(1));
    assert!(once.fits(&device).unwrap_err().to_string().contains("name a directory"));

    let mut files = ToyFiles::new();
    files.capabilities = less;
    let mut target = Virtual::new(files);
    let error =
        run_on_files(&once, &mut target, &mut KeptSteps::default(), Vec::new()).unwrap_err();
    assert!(matches!(error, MethodError::Unfit { .. }));
    assert_eq!(target.model().log, []);
}
