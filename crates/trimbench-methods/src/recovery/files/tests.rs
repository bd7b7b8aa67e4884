use std::collections::BTreeMap;

use trimbench_core::{Errno, Virtual};
use trimbench_results::Figure;

use super::*;
use trimbench_engine::testing::{
    KeptSteps, ToyFiles, assert_defined, close, figure, modelled, run_on, run_on_files, settings,
};
use trimbench_engine::{MethodDefinition as _, MethodResult, Preset};

/// The toy takes one command at a time.
const SERIAL: [(&str, &str); 2] = [("pass-depth", "1"), ("queue-depth", "1")];

fn method(set: &[(&str, &str)]) -> Recovery {
    let mut all = settings(&[("free-space", "90%")]);
    all.extend(settings(set));
    Recovery::resolve(Preset::Quick, &all).unwrap()
}

fn on_model(method: &Recovery, target: &str) -> MethodResult {
    let mut filesystems = modelled(target);
    let on = Opened::Filesystems(&mut filesystems);
    run_on(method, on, &mut KeptSteps::default(), Vec::new()).unwrap()
}

fn steps(found: &MethodResult) -> Vec<&str> {
    found.steps.iter().map(|step| step.id.as_str()).collect()
}

fn values(figures: &[Figure]) -> BTreeMap<&str, f64> {
    figures.iter().map(|figure| (figure.id.as_str(), figure.value)).collect()
}

#[test]
fn a_large_file_that_is_copied_and_deleted_cures_as_fstrim_does_and_takes_longer() {
    let method = method(&[]);
    for target in ["ext4", "xfs", "btrfs", "f2fs"] {
        let found = on_model(&method, &format!("{target}:sim:like-m4-256,capacity=1GiB"));
        let expected =
            ["fresh", "torture-1", "fragmented", "copied", "torture-2", "trim", "trimmed"];
        assert_eq!(steps(&found), expected, "{target}");
        assert_defined(&method.metrics(), &found.figures);
        let value = |id: &str| figure(&found.figures, id).value;
        assert!(value("fragmented-of-fresh") < 0.75, "{target}: {}", value("fragmented-of-fresh"));
        assert!(value("copied-of-fresh") > 0.95, "{target}: {}", value("copied-of-fresh"));
        assert!(value("trimmed-of-fresh") > 0.98, "{target}: {}", value("trimmed-of-fresh"));
        assert!(value("write-amplification-fragmented") > 1.3, "{target}");
        assert!(value("write-amplification-copied") < 1.1, "{target}");
        close(value("copied-over-fragmented"), value("copied") / value("fragmented"));
        // The copy takes as long as the slow pass, and the TRIM of the same space a fraction.
        let pass = found.steps[2].read::<RecoveryFileStep>().unwrap().elapsed_s;
        assert!((pass..pass * 1.1).contains(&value("copy-time")), "{target}");
        assert!(value("fstrim-time") < value("copy-time") / 20.0, "{target}");
        let trimmed = found.steps[5].read::<RecoveryFitrimStep>().unwrap().discarded_bytes;
        let written = found.steps[4].read::<RecoveryFileStep>().unwrap().written_bytes;
        assert!(trimmed >= written, "{target}: {trimmed} of {written}");
        assert!(figure(&found.figures, "trimmed-of-fresh").headline);
    }
}

#[test]
fn a_drive_that_ignores_trim_is_cured_by_the_copy_alone() {
    let target = "ext4:sim:like-m4-256,capacity=1GiB,trim.mode=ignored";
    let found = on_model(&method(&[]), target);
    let words = |id: &str| figure(&found.figures, id).words().unwrap();
    assert_eq!(words("copied-of-fresh"), "healed");
    // The TRIM came after a torture, and nothing was copied since.
    assert_ne!(words("trimmed-of-fresh"), "back to new");
}

#[test]
fn without_fitrim_there_is_a_gain_and_nothing_that_is_fresh() {
    let mut files = ToyFiles::new();
    files.capabilities.discard = Support::None;
    let mut directory = Virtual::new(files);
    let method = method(&SERIAL);
    let found =
        run_on_files(&method, &mut directory, &mut KeptSteps::default(), Vec::new()).unwrap();
    assert_eq!(steps(&found), ["torture-1", "fragmented", "copied"]);
    let model = directory.model();
    assert!(model.present.is_empty(), "everything is deleted");
    // Nine tenths of the room: two files written in order, and one written twice over.
    let span = Bytes(Bytes::gib(1).0 * 9 / 10 / (1 << 17) * (1 << 17));
    let written = |command: &FileCommand| match command {
        FileCommand::Write { length, .. } => length.0,
        _ => 0,
    };
    assert_eq!(model.log.iter().map(written).sum::<u64>(), 4 * span.0);
    // The toy takes no time for writes, hence no rates.
    assert_eq!(values(&found.figures), BTreeMap::new());
}

#[test]
fn a_directory_that_is_fit_for_nothing_of_it_is_refused() {
    let refusal = |set: &[(&str, &str)], change: fn(&mut ToyFiles)| {
        let mut files = ToyFiles::new();
        files.capabilities.discard = Support::None;
        change(&mut files);
        let mut directory = Virtual::new(files);
        let mut kept = KeptSteps::default();
        let error = run_on_files(&method(set), &mut directory, &mut kept, Vec::new());
        assert!(kept.kept().is_empty());
        assert_eq!(directory.model().log, [], "untouched");
        error.unwrap_err().to_string()
    };
    let none: fn(&mut ToyFiles) = |_| {};
    let words = refusal(&[], |files| files.capabilities.discard = Support::Native);
    assert!(words.contains("mount it with `nodiscard`"), "{words}");
    let words = refusal(&[("free-space", "1%")], none);
    assert!(words.contains("is less than 16MiB"), "{words}");
    let words = refusal(&[("torture", "steady")], none);
    assert!(words.contains("`--set torture=100%`"), "{words}");
    let words = refusal(&[("data", "compressible-25%")], none);
    assert!(words.contains("leave out `data`"), "{words}");
    let words = refusal(&[("free-space", "none")], none);
    assert!(words.contains("`--set free-space=90%`"), "{words}");
    for wrong in ["100%", "96%", "0"] {
        let set = settings(&[("free-space", wrong)]);
        assert!(Recovery::resolve(Preset::Quick, &set).is_err(), "{wrong}: a reserve stays");
    }
}

#[test]
fn a_filesystem_that_others_fill_meanwhile_ends_the_session_with_its_step() {
    let mut files = ToyFiles::new();
    (files.capabilities.discard, files.full_from) = (Support::None, 2_000);
    let mut directory = Virtual::new(files);
    let mut kept = KeptSteps::default();
    let failed = run_on_files(&method(&SERIAL), &mut directory, &mut kept, Vec::new()).unwrap_err();
    let MethodError::File { step, errno, .. } = failed else { panic!("{failed}") };
    assert_eq!((step.as_str(), errno), ("torture-1", Errno::ENOSPC));
}
