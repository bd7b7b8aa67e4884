//! MSR Cambridge.

#[cfg(test)]
mod tests;

use trimbench_core::Nanos;

use crate::format::fields::Fields;
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{ClockOrigin, Format};
use crate::latency::LatencyEvent;
use crate::record::{Record, RecordKind};

use super::columns::{OPERATION, either};

/// Nanoseconds of a tick of Windows' file times.
const TICK: u64 = 100;
/// A time of the day that the traces begin with, in ticks.
const START: u64 = 128_166_372_000_000_000;

pub(crate) static FORMAT: Format = Format {
    id: "msr",
    title: "MSR Cambridge [MSR08]",
    timestamps: "100 ns",
    grammar: "`FILETIME,host,disk,Read|Write,offset,bytes,response`: ticks of 100 ns, bytes. The \
              device is `host,disk`; the response time is read by `trace stat` alone.",
    sample: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
             128166372003061629,hm,1,Read,383496192,32768,413\n\
             128166372016382155,hm,1,Write,2822144,4096,2110\n",
    ..lines::format::<Msr>()
};

#[derive(Debug, Default)]
struct Msr {
    told: Option<LatencyEvent>,
}

impl LineFormat for Msr {
    const CLOCK: Option<ClockOrigin> = Some(ClockOrigin::Command);
    const SHAPE: &'static str = "`FILETIME,host,disk,Read or Write,offset,bytes,response`";

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
        self.told = None;
        let mut fields = Fields::new(line);
        let stamp = fields.number_before(b',')?;
        let from = fields.rest();
        let host = fields.until(b',');
        let disk = fields.until(b',');
        let device = &from[..(host.len() + 1 + disk.len()).min(from.len())];
        let operation = fields.until(b',');
        let offset = fields.number_before(b',')?;
        let length = fields.number_before(b',')?;
        let response = fields.number()?;
        fields.end()?;
        let kind = if operation.eq_ignore_ascii_case(b"write") {
            RecordKind::Write
        } else if operation.eq_ignore_ascii_case(b"read") {
            RecordKind::Read
        } else {
            return Err(OPERATION);
        };
        devices.check(device)?;
        let record = command(kind, units(stamp, TICK)?, offset, length)?;
        // A response beyond 584 years is none.
        self.told = units(response, TICK).ok().map(|took| LatencyEvent::Took(kind, Nanos(took)));
        Ok(record)
    }

    fn latency(&mut self) -> Option<LatencyEvent> {
        self.told.take()
    }

    fn is_heading(line: &[u8]) -> bool {
        line.to_ascii_lowercase().starts_with(b"timestamp,hostname,")
    }

    fn example(record: &Record) -> Option<String> {
        let operation = either(record.kind, "Read", "Write")?;
        let (offset, length) = (record.offset.0, record.length.0);
        let ticks = START + record.time.0 / TICK;
        Some(format!("{ticks},hm,1,{operation},{offset},{length},413"))
    }
}
