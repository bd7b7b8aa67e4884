//! The corpus: complete files of every format and compression, from which mutations start.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use trimbench_core::{Bytes, Nanos};
use trimbench_trace::{Format, Record, RecordKind, Writer};

/// Texts of the formats that are only read, and of what their readers pass.
const TEXTS: [&str; 9] = [
    " Write 8 16\r\n TRIMS 1024 8388616\r\nflush\r\n\tw\t0,\t1\r\nT 5 1\r\nRead 9 1 \n",
    "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
     8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
     8,0    0        3     1.500000001     0  m   N cfq697 insert\n\
     8,0    0        3     2.6     0  Q FWS [kworker/1:1H]\n\
     8,0  0  4  2.7 0  D DS 8 + 8388616 [a (b)]\n\
     CPU0 (sda):\n Reads Queued:         144,     1404KiB\n",
    "fio version 3 iolog\n21 /d add\n114 /d open\n119 /d read 503808 4096\n20101 /d write 1 2\n\
     20109 /d sync 3940352 0\n20111 /d trim 0 4294971392\n20112 /d close\n",
    "fio version 2 iolog\n/d add\n/d open\n/d write 0 512\n/d wait 2000 0\n/d wait 99 0\n\
     /d trim 512 512\n/d close\n",
    "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
     128166372003061629,hm,1,Read,383496192,32768,413\n\
     128166372016382155,hm,1,Write,2822144,4096,2110\n",
    "419,W,8792731648,16384,1577808144360767\n419,R,0,4096,1577808144360768\n",
    "1538323200,12910952,128,0,1063\n1538323201,8,8388616,1,1063\n",
    "0,20941264,8192,W,0.551706\n0 , 20939840 ,0,w, 0.554041\n0,8,512,r,1.5,more,fields\n",
    "0.146559796 1 0 4096 \n0.146609386 0 1 8182 0\n2 3 2 4096\n",
];

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
#[derive(Debug)]
pub(in crate::fuzz) struct Corpus {
    pub(super) files: Vec<Vec<u8>>,
}

impl Corpus {
    pub(in crate::fuzz) fn new() -> Result<Self> {
        let mut files: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
        for hexadecimal in PACKED {
            files.push(bytes(hexadecimal)?);
        }
        for big_endian in [false, true] {
            files.push(events(big_endian));
        }
        for (format, count) in [(Format::Trimbench, 3), (Format::Trimbench, 300)] {
            files.push(written(format, &records(count))?);
        }
        for format in [Format::Iolog, Format::Blkparse] {
            files.push(written(format, &records(12))?);
        }
        Ok(Self { files })
    }
}

fn bytes(hexadecimal: &str) -> Result<Vec<u8>> {
    let digits = |at: usize| hexadecimal.get(at..at + 2).context("an even number of digits");
    let byte = |at| u8::from_str_radix(digits(at)?, 16).context("a hexadecimal digit");
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

fn written(format: Format, records: &[Record]) -> Result<Vec<u8>> {
    let memory = Memory::default();
    let mut writer = Writer::new(format, Box::new(memory.clone()), true, false)?;
    writer.write(records)?;
    writer.finish()?;
    let file = std::mem::take(&mut *memory.0.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(file)
}
