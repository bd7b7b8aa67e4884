//! Output files: predictable names, symbolic and hard links, exchanged directories.

use std::fs;
use std::os::unix::fs::symlink;

use tests::LoopDevice;
use tests::Need::{Loop, Root};

use super::runs::{Folder, LOG, is_zero};

/// The name that temporary files had in the past.
fn old_draft(name: &str) -> String {
    format!(".{name}.partial")
}

#[test]
fn nothing_of_a_run_is_written_through_a_link() {
    for name in ["run.json", "host.json", "report.html"] {
        for is_symbolic in [true, false] {
            let folder = Folder::new();
            let (run, precious) = (folder.finished(), folder.precious());
            let trap = run.join(old_draft(name));
            let linked =
                if is_symbolic { symlink(precious, trap) } else { fs::hard_link(precious, trap) };
            linked.expect("the folder is ours");
            folder.ends(&["run", "--resume", "run"], 0);
            folder.kept();
            assert!(run.join(name).is_file(), "there is no {name}");
        }
    }
}

#[test]
fn nothing_of_a_report_is_written_through_a_symbolic_link() {
    for (option, place, name) in [
        ("--html", "out.html", "out.html"),
        ("--context", "out.json", "out.json"),
        ("--csv", ".", "steps.csv"),
        ("--figures", ".", "delete-stall-headline.svg"),
    ] {
        let folder = Folder::new();
        folder.finished();
        symlink(folder.precious(), folder.at(&old_draft(name))).expect("the folder is ours");
        folder.ends(&["report", "run", option, place], 0);
        folder.kept();
        let there = fs::symlink_metadata(folder.at(name)).is_ok_and(|data| data.is_file());
        assert!(there, "{name} was not written as a file");
    }
}

#[test]
fn no_record_is_written_to_a_loop_device() {
    machine!(beside, &[Root, Loop]);
    let folder = Folder::new();
    let device = LoopDevice::new(1);
    let run = folder.finished();
    symlink(device.node(), run.join(old_draft("run.json"))).expect("the folder is ours");
    folder.ends(&["run", "--resume", "run", "--no-report"], 0);
    assert!(is_zero(device.node()), "the record lies on the device");
}

#[test]
fn no_file_is_made_at_the_end_of_a_dangling_link() {
    let folder = Folder::new();
    let run = folder.finished();
    symlink("../elsewhere", run.join(old_draft("host.json"))).expect("the folder is ours");
    fs::remove_file(run.join("host.json")).expect("a run has it");
    folder.ends(&["run", "--resume", "run", "--no-report"], 0);
    let (link, there) = (run.join("host.json").is_symlink(), folder.at("elsewhere").exists());
    assert!(!link && !there, "the host's part lies elsewhere");
}

#[test]
fn no_trace_is_written_through_a_symbolic_link() {
    let folder = Folder::new();
    fs::write(folder.at("log"), LOG).expect("the folder is ours");
    symlink(folder.precious(), folder.at("out")).expect("the folder is ours");
    let arguments = ["trace", "convert", "log", "out", "--to", "iolog", "--overwrite"];
    folder.ends(&arguments, 2);
    folder.kept();
}

#[test]
fn no_trace_is_made_at_the_end_of_a_dangling_link() {
    let folder = Folder::new();
    symlink("elsewhere", folder.at("out")).expect("the folder is ours");
    let arguments = ["trace", "generate", "out", "--to", "iolog", "--commands", "9", "--overwrite"];
    folder.ends(&arguments, 2);
    assert!(!folder.at("elsewhere").exists(), "a trace lies elsewhere");
}

/// Somebody moves the directory of a run at work and puts a link in its place.
#[test]
fn an_exchanged_run_directory_receives_nothing() {
    let folder = Folder::new();
    let run = folder.waiting(&[]);
    let victim = folder.at("victim");
    fs::create_dir(&victim).expect("the folder is ours");
    fs::rename(folder.at("run"), folder.at("moved")).expect("the folder is ours");
    symlink("victim", folder.at("run")).expect("the folder is ours");
    let (status, _, errors) = run.go_on();
    let received: Vec<_> = fs::read_dir(&victim).expect("the folder is ours").collect();
    assert!(received.is_empty(), "{} files lie elsewhere", received.len());
    assert!(status.success(), "{errors}");
    let record = fs::read_to_string(folder.at("moved/run.json")).unwrap_or_default();
    assert!(record.contains("\"complete\""), "the moved directory has no whole record");
}
