//! Recordings on full disks, and cut off at any byte.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use crate::format::{Format, ReadOptions};
use crate::input::Input;
use crate::read::Reader;
use crate::record::{Record, RecordKind};
use crate::sink::Sink;
use crate::source::TraceSource;
use crate::tally::Flaw;
use crate::write::{Writer, Written};

use super::{named, record, written_formats};

/// A disk of so many bytes, with one file.
#[derive(Clone, Debug)]
struct Disk {
    file: Arc<Mutex<Vec<u8>>>,
    size: usize,
    /// Whether it can promise room.
    reserves: bool,
}

impl Disk {
    fn new(size: usize, reserves: bool) -> Self {
        Self { file: Arc::default(), size, reserves }
    }

    fn content(&self) -> Vec<u8> {
        self.file.lock().unwrap().clone()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap();
        let room = bytes.len().min(self.size - file.len());
        file.extend_from_slice(&bytes[..room]);
        if room == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(room) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Disk {
    fn reserve(&mut self, end: u64, bytes: u64) -> io::Result<()> {
        let fits = end + bytes <= self.size as u64;
        if fits || !self.reserves { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn cut(&mut self, end: u64) -> io::Result<()> {
        self.file.lock().unwrap().truncate(usize::try_from(end).unwrap());
        Ok(())
    }
}

/// Commands as every format holds them.
fn commands(count: u64) -> Vec<Record> {
    let kinds = RecordKind::ALL.into_iter().cycle();
    (0..count)
        .zip(kinds)
        .map(|(at, kind)| record(at * 1_000, kind, at * 7_919 % 1_000 * 512, 512 * (1 + at % 9)))
        .collect()
}

/// Records with a save after every ten; what was kept, and the file's length after each save.
fn recorded(
    format: &'static Format,
    disk: &Disk,
    records: &[Record],
) -> (Option<Written>, Vec<usize>) {
    let mut saves = Vec::new();
    let Ok(mut writer) = Writer::recording(format, Box::new(disk.clone())) else {
        return (None, saves);
    };
    for batch in records.chunks(10) {
        if writer.write(batch).and_then(|()| writer.save()).is_err() {
            return (writer.keep().ok(), saves);
        }
        saves.push(disk.content().len());
    }
    (writer.finish_or_keep().0.ok(), saves)
}

/// The records, and whether the end was missing.
fn read(
    format: &'static Format,
    bytes: &[u8],
    lenient: bool,
) -> Result<(Vec<Record>, bool), String> {
    let options = ReadOptions { format: Some(format), lenient, ..ReadOptions::default() };
    let input = Input::file("recording", Cursor::new(bytes.to_vec()));
    let text = |error: crate::TraceError| error.to_string();
    let mut reader = Reader::open(vec![input], &options).map_err(text)?;
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.read(&mut batch).map_err(text)?;
        if batch.is_empty() {
            let cut = reader.tally().flaws().any(|(flaw, _)| flaw == Flaw::Cut);
            return Ok((records, cut));
        }
        records.append(&mut batch);
    }
}

#[test]
fn a_full_disk_leaves_a_whole_trace_of_the_first_commands() {
    let records = commands(200);
    for format in written_formats() {
        let whole = Disk::new(1 << 20, true);
        let (written, _) = recorded(format, &whole, &records);
        assert_eq!(written.unwrap().records, 200);
        let length = whole.content().len();
        for reserves in [true, false] {
            let mut before = 0;
            for size in (0..length).step_by(97) {
                let disk = Disk::new(size, reserves);
                let (written, saves) = recorded(format, &disk, &records);
                let Some(written) = written else {
                    assert_eq!(before, 0, "{format:?} of {size}");
                    continue;
                };
                let content = disk.content();
                let kept = usize::try_from(written.records).unwrap();
                assert!(kept >= before, "{format:?}: a larger disk holds {kept}, not {before}");
                before = kept;
                // With room for the footer no save is lost.
                assert!(kept == 10 * saves.len() || !reserves, "{format:?} {size}: {saves:?}");
                if kept > 0 {
                    let found = read(format, &content, false);
                    assert_eq!(found, Ok((records[..kept].to_vec(), false)), "{format:?} {size}");
                }
            }
            // All but what a save that does not fit, and the room for the footer, take.
            assert!(before >= 160, "{format:?}: {before}");
        }
    }
}

#[test]
fn a_recording_that_was_killed_has_everything_up_to_the_last_save() {
    let records = commands(120);
    for format in written_formats() {
        let disk = Disk::new(1 << 20, true);
        let (_, saves) = recorded(format, &disk, &records);
        let content = disk.content();
        for length in (saves[0]..*saves.last().unwrap()).step_by(13).chain(saves.clone()) {
            let saved = 10 * saves.iter().filter(|end| **end <= length).count();
            let (found, cut) = read(format, &content[..length], true).unwrap();
            let text = format!("{format:?}, {length} bytes: {} of {saved}", found.len());
            assert!(found.len() >= saved && found.len() <= records.len(), "{text}");
            assert_eq!(found, records[..found.len()], "{text}");
            // A text that ends with a line is whole.
            assert!(cut || found.len() == saved || format != named("trimbench"), "{text}");
            if format == named("trimbench") {
                assert!(cut && found.len() == saved, "{text}");
                let strict = read(format, &content[..length], false).unwrap_err();
                assert!(strict.contains("`--lenient`"), "{strict}");
            }
        }
    }
}

#[test]
fn half_a_line_is_not_read_as_a_shorter_command() {
    let text = "fio version 3 iolog\n0 trace add\n0 trace open\n5 trace write 4096 4096\n\
                9 trace write 8192 40";
    let strict = read(named("iolog"), text.as_bytes(), false).unwrap_err();
    assert!(strict.contains("line 5") && strict.contains("cut off"), "{strict}");
    let (found, cut) = read(named("iolog"), text.as_bytes(), true).unwrap();
    assert_eq!((found, cut), (vec![record(5_000, RecordKind::Write, 4096, 4096)], true));
}

#[test]
fn what_no_frame_leads_to_is_no_recording() {
    let disk = Disk::new(1 << 20, true);
    recorded(named("trimbench"), &disk, &commands(60));
    let content = disk.content();
    // A frame in the middle is damaged: what comes before it cannot be found.
    let magics: Vec<usize> = memchr::memmem::find_iter(&content, b"TBG1").collect();
    assert_eq!(magics.len(), 6);
    let mut broken = content[..content.len() - 100].to_vec();
    broken[magics[2]] ^= 1;
    assert!(read(named("trimbench"), &broken, true).is_err());
    // One that leads to itself or forward, too.
    let mut first = content[..magics[0] + 4].to_vec();
    assert_eq!(read(named("trimbench"), &first, true).unwrap().0.len(), 10);
    let at = memchr::memmem::rfind(&first, b"trimbench.previous").unwrap();
    let digit = at + first[at..].iter().position(|byte| *byte == b'0').unwrap();
    first[digit] = b'9';
    assert!(read(named("trimbench"), &first, true).is_err());
}
