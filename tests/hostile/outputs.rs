//! Output files: predictable names, symbolic and hard links, exchanged directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::runs::{Folder, LOG, is_zero};
use super::{Attack, Tool, attack, unless};
use crate::{LoopDevice, Need};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("no_record_is_written_through_a_symbolic_link", &[], |tool| {
        resumed(tool, "run.json", |trap, precious| symlink(precious, trap))
    }),
    attack("no_record_is_written_through_a_hard_link", &[], |tool| {
        resumed(tool, "run.json", |trap, precious| fs::hard_link(precious, trap))
    }),
    attack("no_host_file_is_written_through_a_symbolic_link", &[], |tool| {
        resumed(tool, "host.json", |trap, precious| symlink(precious, trap))
    }),
    attack("no_host_file_is_written_through_a_hard_link", &[], |tool| {
        resumed(tool, "host.json", |trap, precious| fs::hard_link(precious, trap))
    }),
    attack("no_page_of_a_run_is_written_through_a_symbolic_link", &[], |tool| {
        resumed(tool, "report.html", |trap, precious| symlink(precious, trap))
    }),
    attack("no_record_is_written_to_a_loop_device", &[Need::Root, Need::Loop], to_a_loop_device),
    attack("no_file_is_made_at_the_end_of_a_dangling_link", &[], at_the_end_of_a_dangling_link),
    attack("no_page_is_written_through_a_symbolic_link", &[], |tool| {
        reported(tool, &["--html", "out.html"], "out.html")
    }),
    attack("no_context_is_written_through_a_symbolic_link", &[], |tool| {
        reported(tool, &["--context", "out.json"], "out.json")
    }),
    attack("no_table_is_written_through_a_symbolic_link", &[], |tool| {
        reported(tool, &["--csv", "."], "steps.csv")
    }),
    attack("no_figure_is_written_through_a_symbolic_link", &[], |tool| {
        reported(tool, &["--figures", "."], "delete-stall-headline.svg")
    }),
    attack("no_trace_is_written_through_a_symbolic_link", &[], no_trace_through_a_link),
    attack("no_trace_is_made_at_the_end_of_a_dangling_link", &[], no_trace_at_a_dangling_link),
    attack("an_exchanged_run_directory_receives_nothing", &[], exchanged),
];

/// The name that temporary files had in the past.
fn old_draft(name: &str) -> String {
    format!(".{name}.partial")
}

fn resumed(
    tool: &Tool,
    name: &str,
    plant: fn(&Path, &Path) -> std::io::Result<()>,
) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.finished(tool);
    plant(&run.join(old_draft(name)), &folder.precious()).expect("the folder is ours");
    folder.ends(tool, &["run", "--resume", "run"], 0)?;
    folder.kept()?;
    unless(run.join(name).is_file(), || format!("there is no {name}"))
}

fn to_a_loop_device(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let device = LoopDevice::new(1);
    let run = folder.finished(tool);
    symlink(device.node(), run.join(old_draft("run.json"))).expect("the folder is ours");
    folder.ends(tool, &["run", "--resume", "run", "--no-report"], 0)?;
    unless(is_zero(device.node()), || "the record lies on the device".to_owned())
}

fn at_the_end_of_a_dangling_link(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.finished(tool);
    symlink("../elsewhere", run.join(old_draft("host.json"))).expect("the folder is ours");
    fs::remove_file(run.join("host.json")).expect("a run has it");
    folder.ends(tool, &["run", "--resume", "run", "--no-report"], 0)?;
    let (link, there) = (run.join("host.json").is_symlink(), folder.at("elsewhere").exists());
    unless(!link && !there, || "the host's part lies elsewhere".to_owned())
}

fn reported(tool: &Tool, what: &[&str], name: &str) -> Result<(), String> {
    let folder = Folder::new();
    folder.finished(tool);
    symlink(folder.precious(), folder.at(&old_draft(name))).expect("the folder is ours");
    folder.ends(tool, &[&["report", "run"], what].concat(), 0)?;
    folder.kept()?;
    let there = fs::symlink_metadata(folder.at(name)).is_ok_and(|data| data.is_file());
    unless(there, || format!("{name} was not written as a file"))
}

fn no_trace_through_a_link(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    fs::write(folder.at("log"), LOG).expect("the folder is ours");
    symlink(folder.precious(), folder.at("out")).expect("the folder is ours");
    let arguments = ["trace", "convert", "log", "out", "--to", "iolog", "--overwrite"];
    let ended = folder.ends(tool, &arguments, 2);
    folder.kept()?;
    ended
}

fn no_trace_at_a_dangling_link(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    symlink("elsewhere", folder.at("out")).expect("the folder is ours");
    let arguments = ["trace", "generate", "out", "--to", "iolog", "--commands", "9", "--overwrite"];
    let ended = folder.ends(tool, &arguments, 2);
    unless(!folder.at("elsewhere").exists(), || "a trace lies elsewhere".to_owned())?;
    ended
}

/// Somebody moves the directory of a run at work and puts a link in its place.
fn exchanged(tool: &Tool) -> Result<(), String> {
    let folder = Folder::new();
    let run = folder.waiting(tool, &[]);
    let victim = folder.at("victim");
    fs::create_dir(&victim).expect("the folder is ours");
    fs::rename(folder.at("run"), folder.at("moved")).expect("the folder is ours");
    symlink("victim", folder.at("run")).expect("the folder is ours");
    let (status, _, errors) = run.go_on();
    let received: Vec<_> = fs::read_dir(&victim).expect("the folder is ours").collect();
    unless(received.is_empty(), || format!("{} files lie elsewhere", received.len()))?;
    unless(status.success(), || errors)?;
    let record = fs::read_to_string(folder.at("moved/run.json")).unwrap_or_default();
    unless(record.contains("\"complete\""), || "the moved directory has no whole record".to_owned())
}
