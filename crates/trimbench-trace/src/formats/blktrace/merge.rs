//! Merges blktrace's files, one for each processor, by time. Of the same time, that of the file
//! which was named first comes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::format::buffer::Buffer;
use crate::format::shared::Shared;
use crate::format::{BATCH, BatchReader, ReadOptions};
use crate::record::Record;
use crate::source::{TraceError, TracePosition};
use crate::tally::Flaw;

use super::{Blktrace, since};

/// Files of one trace.
pub(super) struct Merge {
    files: Vec<File>,
    /// The stamp of each file's next record, and the file; set once all have begun.
    next: Option<BinaryHeap<Reverse<(u64, usize)>>>,
    /// The stamp of the trace's first event.
    zero: u64,
}

struct File {
    reader: Blktrace,
    batch: Vec<Record>,
    at: usize,
}

impl Merge {
    pub(super) fn new(buffers: Vec<Buffer>, options: &ReadOptions) -> Self {
        let latencies = options.latencies && buffers.len() == 1;
        let open = |buffer| {
            let reader = Blktrace::new(buffer, options.event, latencies);
            File { reader, batch: Vec::new(), at: 0 }
        };
        Self { files: buffers.into_iter().map(open).collect(), next: None, zero: 0 }
    }

    /// Reads the beginning of each file.
    fn begin(&mut self, shared: &mut Shared) -> Result<(), TraceError> {
        let mut next = BinaryHeap::new();
        let mut order = None;
        for (index, file) in self.files.iter_mut().enumerate() {
            if let Some(time) = file.peek(shared)? {
                next.push(Reverse((time, index)));
            }
            let Some(big_endian) = file.reader.big_endian() else { continue };
            if *order.get_or_insert(big_endian) == big_endian {
                continue;
            }
            if !shared.lenient {
                return Err(TraceError::Broken {
                    name: file.reader.name().to_owned(),
                    place: TracePosition::Byte(0),
                    found: "events of the other byte order".to_owned(),
                    expected: "the byte order of the files before",
                });
            }
            shared.tally.flaw(Flaw::ByteOrder);
        }
        let firsts = self.files.iter().filter_map(|file| file.reader.first());
        self.zero = firsts.min().unwrap_or(0);
        self.next = Some(next);
        Ok(())
    }
}

impl BatchReader for Merge {
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        if self.next.is_none() {
            self.begin(shared)?;
        }
        let next = self.next.as_mut().expect("it has begun");
        while batch.len() < BATCH {
            let Some(Reverse((_, index))) = next.pop() else { break };
            // As long as this file comes first, the others need no look.
            let until = next.peek().map_or((u64::MAX, usize::MAX), |Reverse(other)| *other);
            let file = &mut self.files[index];
            while let Some(time) = file.peek(shared)? {
                if (time, index) > until || batch.len() >= BATCH {
                    next.push(Reverse((time, index)));
                    break;
                }
                batch.push(since(file.batch[file.at], self.zero));
                file.at += 1;
            }
        }
        Ok(())
    }
}

impl File {
    /// The stamp of its next record.
    #[inline]
    fn peek(&mut self, shared: &mut Shared) -> Result<Option<u64>, TraceError> {
        if self.at == self.batch.len() {
            self.batch.clear();
            self.at = 0;
            self.reader.read(&mut self.batch, shared)?;
        }
        Ok(self.batch.get(self.at).map(|record| record.time.0))
    }
}
