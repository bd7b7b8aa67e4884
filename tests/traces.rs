//! Traces that the kernel and fio wrote hold what blkparse and fio say, and are written without
//! loss.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs::File;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tests::Need::{Loop, Program, Root, Tracing};
use tests::blk_tracer::BlkTracer;
use tests::{LoopDevice, machine, requires, run};
use trimbench_trace::{
    Format, Input, ReadOptions, Reader, Record, RecordKind, TraceSource, Writer,
};

/// Commands and bytes of each kind, in the order of [`RecordKind::ALL`].
type Counts = [(u64, u64); RecordKind::ALL.len()];

/// All records of a file.
fn records(path: &Path) -> Vec<Record> {
    let input = Input::file("trace", File::open(path).unwrap());
    let mut reader = Reader::open(vec![input], &ReadOptions::default()).unwrap();
    assert!(reader.is_timed());
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            return records;
        }
        records.append(&mut batch);
    }
}

fn counts(records: &[Record]) -> Counts {
    let mut counts = Counts::default();
    for record in records {
        let (commands, bytes) = &mut counts[record.kind as usize];
        *commands += 1;
        *bytes += record.length.0;
    }
    counts
}

/// What blkparse printed of events `Q`. Of an event without sectors it prints none.
fn printed_by_blkparse(text: &str) -> Counts {
    let mut counts = Counts::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.get(5) != Some(&"Q") {
            continue;
        }
        let sectors: u64 = match fields.get(8..10) {
            Some(["+", sectors]) => sectors.parse().unwrap(),
            _ => 0,
        };
        let kind = match fields[6] {
            operation if operation.contains('D') => RecordKind::Discard,
            operation if operation.contains('F') && sectors == 0 => RecordKind::Flush,
            operation if operation.contains('W') => RecordKind::Write,
            _ => RecordKind::Read,
        };
        let (commands, bytes) = &mut counts[kind as usize];
        *commands += 1;
        *bytes += 512 * sectors;
    }
    counts
}

/// A recording of a filesystem being made and of reads, writes and TRIMs.
#[test]
fn a_recording_holds_what_blkparse_prints_of_it_and_is_written_without_loss() {
    let test = "a_recording_holds_what_blkparse_prints_of_it_and_is_written_without_loss";
    if !requires(test, &[Root, Loop, Tracing, Program("mkfs.ext4"), Program("blkparse")]) {
        return;
    }
    let _machine = machine::beside();
    let folder = tempfile::tempdir().unwrap();
    let recorded = folder.path().join("recorded");
    let device = LoopDevice::within(Path::new("/dev/shm"), 256);
    let tracer = BlkTracer::of(device.node(), &recorded).unwrap();
    let script = "mkfs.ext4 -q $0 && \
         dd if=/dev/urandom of=$0 bs=64k count=200 oflag=direct seek=100 && \
         dd if=$0 of=/dev/null bs=4k count=500 iflag=direct && \
         for start in 1 5 9; do \
         blkdiscard --force --offset $((start << 20)) --length 1048576 $0; done && \
         dd if=/dev/urandom of=$0 bs=4k count=300 oflag=direct,sync seek=1000";
    run("sh", &["-c", script, device.node()]);
    tracer.end();
    // It decodes events of all processors in one file only if they come from a pipe.
    let mut blkparse = Command::new("sh");
    let output = blkparse.args(["-c", "blkparse -i - < \"$0\""]).arg(&recorded).output().unwrap();
    let printed = printed_by_blkparse(&String::from_utf8_lossy(&output.stdout));
    let records = records(&recorded);
    assert_eq!(counts(&records), printed);
    assert!(printed.iter().all(|(commands, _)| *commands > 0), "{printed:?}");

    for id in ["trimbench", "blkparse"] {
        let path = folder.path().join(id);
        let out = Box::new(File::create(&path).unwrap());
        let mut writer = Writer::new(Format::from_id(id).unwrap(), out, true, false).unwrap();
        writer.write(&records).unwrap();
        writer.finish().unwrap();
        assert!(self::records(&path) == records, "`{id}` is read as another trace");
    }
}

/// Runs fio on a device of nothing; how many reads, writes, TRIMs and syncs it says that it did.
fn fio(folder: &Path, arguments: &[&str]) -> [u64; 4] {
    let mut command = Command::new("fio");
    command.args(["--ioengine=null", "--output-format=json", "--name=job"]).args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "fio {arguments:?}: {text}");
    // What it says of its doings may stand before its JSON.
    let start = text.find('{').expect("fio prints JSON");
    let document: Value = serde_json::from_str(&text[start..]).unwrap();
    let count = |kind: &str| document["jobs"][0][kind]["total_ios"].as_u64().unwrap_or(0);
    ["read", "write", "trim", "sync"].map(count)
}

#[test]
fn iologs_that_fio_writes_hold_what_it_says_that_it_did() {
    let test = "iologs_that_fio_writes_hold_what_it_says_that_it_did";
    if !requires(test, &[Program("fio")]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = ["--size=1g", "--bs=4k", "--number_ios=20000"];
    let commands = |name: &str| counts(&records(&folder.path().join(name))).map(|(count, _)| count);

    let mixed = ["--rw=randrw", "--fsync=10", "--write_iolog=mixed.log"];
    let [reads, writes, _, syncs] = fio(folder.path(), &[&made[..], &mixed].concat());
    assert!(reads > 0 && writes > 0 && syncs > 0);
    assert_eq!(commands("mixed.log"), [reads, writes, 0, syncs]);
    let replayed = fio(folder.path(), &["--read_iolog=mixed.log", "--replay_no_stall=1"]);
    assert_eq!(commands("mixed.log"), replayed);

    // fio 3.33 writes TRIMs and does not replay them.
    let trims = ["--rw=randtrimwrite", "--write_iolog=trims.log"];
    let [_, writes, trims, _] = fio(folder.path(), &[&made[..], &trims].concat());
    assert!(writes > 0 && trims > 0);
    let [_, found_writes, found_trims, _] = commands("trims.log");
    assert_eq!((found_writes, found_trims), (writes, trims));
}
