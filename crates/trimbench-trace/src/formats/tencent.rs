//! Tencent's cloud block storage.

#[cfg(test)]
mod tests;

use crate::format::fields::Fields;
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{ClockOrigin, Format};
use crate::record::{Record, RecordKind};

use super::columns::{OPERATION, SECTOR, either};

/// A time of the day that the traces begin with, in seconds.
const START: u64 = 1_538_323_200;

pub(crate) static FORMAT: Format = Format {
    id: "tencent",
    title: "Tencent's block traces [OSCA20]",
    timestamps: "1 s",
    grammar: "`seconds,sector,sectors,0|1,volume`: sectors of 512 bytes, 0 is a read. All commands \
              of a second have one timestamp.",
    sample: "1538323200,12910952,128,0,1063\n1538323201,8,8388616,1,1063\n",
    ..lines::format::<Tencent>()
};

#[derive(Debug, Default)]
struct Tencent;

impl LineFormat for Tencent {
    const CLOCK: Option<ClockOrigin> = Some(ClockOrigin::Command);
    const SHAPE: &'static str = "`seconds,sector,sectors,0 or 1,volume`";

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
        let mut fields = Fields::new(line);
        let stamp = fields.number_before(b',')?;
        let sector = fields.number_before(b',')?;
        let sectors = fields.number_before(b',')?;
        let kind = match fields.until(b',') {
            b"0" => RecordKind::Read,
            b"1" => RecordKind::Write,
            _ => return Err(OPERATION),
        };
        let device = fields.rest();
        fields.number()?;
        fields.end()?;
        devices.check(device)?;
        let stamp = units(stamp, 1_000_000_000)?;
        command(kind, stamp, units(sector, SECTOR)?, units(sectors, SECTOR)?)
    }

    fn is_heading(line: &[u8]) -> bool {
        line.eq_ignore_ascii_case(b"timestamp,offset,size,iotype,volumeid")
    }

    fn example(record: &Record) -> Option<String> {
        let operation = either(record.kind, 0, 1)?;
        let (sector, sectors) = (record.offset.0 / SECTOR, record.length.0 / SECTOR);
        let seconds = START + record.time.0 / 1_000_000_000;
        Some(format!("{seconds},{sector},{sectors},{operation},1063"))
    }
}
