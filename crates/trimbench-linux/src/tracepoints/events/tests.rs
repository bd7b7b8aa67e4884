use trimbench_core::OperationKind::{Discard, Flush, Read, Write};

use super::*;

/// As Linux 6.18 describes it.
const FORMAT: &str = "name: block_rq_issue
ID: 2104
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;
\tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;

print fmt: \"%d,%d\", REC->dev
";

fn data(id: u16, sector: u64, sectors: u32, class: &str) -> Vec<u8> {
    let mut data = vec![0; 60];
    data[0..2].copy_from_slice(&id.to_ne_bytes());
    data[4..8].copy_from_slice(&4321_u32.to_ne_bytes());
    data[44..48].copy_from_slice(b"jbd2");
    data[8..12].copy_from_slice(&(7_u32 << 20).to_ne_bytes());
    data[16..24].copy_from_slice(&sector.to_ne_bytes());
    data[24..28].copy_from_slice(&sectors.to_ne_bytes());
    data[34..34 + class.len()].copy_from_slice(class.as_bytes());
    data
}

#[test]
fn events_are_read_as_the_kernel_describes_them() {
    let layout = Layout::parse(Happened::Issued, FORMAT).expect("all fields are there");
    let expected = BlockEvent {
        at: Nanos(5),
        happened: Happened::Issued,
        device: 7 << 20,
        kind: Write,
        sector: 278_548,
        sectors: 2,
        task: EventTask { thread: 4321, name: *b"jbd2\0\0\0\0\0\0\0\0\0\0\0\0" },
    };
    assert_eq!(expected.task.name(), "jbd2");
    let read = |data: &[u8]| layout.read(Nanos(5), data);
    assert_eq!(read(&data(2104, 278_548, 2, "WSM")), Some(expected));
    assert_eq!(read(&data(2105, 278_548, 2, "WSM")), None, "another event");
    assert_eq!(read(&data(2104, 278_548, 2, "WSM")[..40]), None, "cut off");
    // The flush of the device tells no place, in one way or another.
    let flush = BlockEvent { kind: Flush, sector: 0, sectors: 0, ..expected };
    assert_eq!(read(&data(2104, u64::MAX, 0, "FF")), Some(flush));
    for missing in ["dev;", "sector;", "nr_sector;", "rwbs[10];", "ID: "] {
        let text = FORMAT.replace(missing, "other;");
        assert_eq!(Layout::parse(Happened::Issued, &text), None, "{missing}");
    }
    assert_eq!(Layout::parse(Happened::Issued, &FORMAT.replace("size:8", "size:4")), None);
}

#[test]
fn classes_are_told_by_the_operation() {
    for (text, sectors, expected) in [
        ("RA", 8, Some(Read)),
        ("W", 8, Some(Write)),
        ("FWFSM", 2, Some(Write)),
        ("FWS", 0, Some(Flush)),
        ("FF", 0, Some(Flush)),
        ("D", 8, Some(Discard)),
        ("DE", 8, Some(Discard)),
        // Zeroes to write; a command past the block layer; the end of a write that flushed.
        ("N", 8, Some(Write)),
        ("N", 0, None),
        ("WSM", 0, None),
        ("?", 8, None),
    ] {
        let padded = format!("{text}\0\0");
        assert_eq!(kind_of(padded.as_bytes(), sectors), expected, "{text}");
    }
}
