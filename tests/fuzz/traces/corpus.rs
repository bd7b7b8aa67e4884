//! The corpus: complete files of every format and compression, from which mutations start.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use trimbench_core::{Bytes, Nanos};
use trimbench_trace::{FORMATS, Format, Record, RecordKind, Writer};

/// What readers pass beside the samples of the formats.
const TEXTS: [&str; 1] =
    ["fio version 2 iolog\n/d add\n/d open\n/d write 0 512\n/d wait 2000 0\n/d wait 99 0\n\
     /d trim 512 512\n/d close\n"];

/// A text of JESD219A packed by gzip, zstd (two frames), xz, and zip (piped, and stored).
const PACKED: [&str; 5] = [
    "1f8b08000000000000030b2fca2c49553050b0e00a29cacc0533dc724a8b33b8004617674a19000000",
    "28b52ffd04589900005772697465203020380a5472696d203020380a3fa6d3ec28b52ffd0458310000466c7573680a\
     22276902",
    "fd377a585a000004e6d6b4460200210116000000742fe5a30100185772697465203020380a5472696d203020380a46\
     6c7573680a000000005d92071eaa1479f700013119591ab0821fb6f37d010000000004595a",
    "504b03041400080008007354765d00000000000000000000000005000000612e7478740b2fca2c49553050b0e00a29\
     cacc0533dc724a8b33b800504b07084617674a1700000019000000504b0102",
    "504b03041400000000007354765d4617674a190000001900000005000000612e7478745772697465203020380a5472\
     696d203020380a466c7573680a504b0102",
];

/// Whole files.
pub(super) fn files() -> Vec<Vec<u8>> {
    let samples = FORMATS.iter().map(|format| format.sample).filter(|text| !text.is_empty());
    let texts = samples.chain(TEXTS).map(|text| text.as_bytes().to_vec());
    let mut files: Vec<Vec<u8>> = texts.chain(PACKED.map(bytes)).collect();
    files.extend([events(false), events(true)]);
    for format in FORMATS.iter().filter(|format| format.is_written()) {
        files.extend([3, 12, 300].map(|count| written(format, &records(count))));
    }
    files
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).expect("two digits");
    (0..hexadecimal.len()).step_by(2).map(byte).collect()
}

/// Some records of every kind.
fn records(count: u64) -> Vec<Record> {
    let record = |n: u64| {
        let kind = RecordKind::ALL[usize::try_from(n % 4).expect("below 4")];
        let is_flush = kind == RecordKind::Flush;
        let length = if n == 2 { (4 << 30) + 4096 } else { (1 + n % 7) * 4096 };
        Record {
            time: Nanos(n * n * 1_000),
            kind,
            offset: Bytes(if is_flush { 0 } else { n * 7919 % 1000 * 512 }),
            length: Bytes(if is_flush { 0 } else { length }),
        }
    };
    (0..count).map(record).collect()
}

/// Events of blktrace: those that are commands, and those that are not.
fn events(big: bool) -> Vec<u8> {
    const ACTIONS: [u32; 7] = [
        1 << 26 | 1, // A notice, with what follows it.
        1 << 16 | 1, // A read, a write, a TRIM and a flush that are queued.
        2 << 16 | 1,
        1 << 29 | 1,
        4 << 16 | 1,
        2 << 16 | 7, // A write that is issued.
        1 << 25 | 1, // A command that is passed through.
    ];
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let double = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = Vec::new();
    for (number, action) in (0_u32..).zip(ACTIONS) {
        let behind: &[u8] = if number == 0 { b"name." } else { b"" };
        file.extend([word(0x6561_7407), word(number)].concat());
        file.extend([double(1000 * u64::from(number)), double(8 * u64::from(number))].concat());
        let bytes = if number == 4 { 0 } else { 4096 };
        file.extend([bytes, action, 42, 8 << 20, 0].map(word).concat());
        file.extend([half(0), half(u16::try_from(behind.len()).unwrap_or(0))].concat());
        file.extend(behind);
    }
    file
}

/// A file that outlives its writer.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(format: &'static Format, records: &[Record]) -> Vec<u8> {
    let memory = Memory::default();
    let mut writer = Writer::new(format, Box::new(memory.clone()), true, false).unwrap();
    writer.write(records).unwrap();
    writer.finish().unwrap();
    std::mem::take(&mut *memory.0.lock().unwrap_or_else(PoisonError::into_inner))
}
