//! Alibaba's elastic block service.

#[cfg(test)]
mod tests;

use crate::format::fields::Fields;
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{ClockOrigin, Format};
use crate::record::Record;

use super::columns::{either, letter};

/// A time of the day that the traces begin with, in microseconds.
const START: u64 = 1_577_808_144_000_000;

pub(crate) static FORMAT: Format = Format {
    id: "alibaba",
    title: "Alibaba's block traces [ALI20]",
    timestamps: "1 us",
    grammar: "`device,R|W,offset,bytes,microseconds`.",
    sample: "419,W,8792731648,16384,1577808144360767\n419,R,0,4096,1577808144360768\n",
    ..lines::format::<Alibaba>()
};

#[derive(Debug, Default)]
struct Alibaba;

impl LineFormat for Alibaba {
    const CLOCK: Option<ClockOrigin> = Some(ClockOrigin::Command);
    const SHAPE: &'static str = "`device,R or W,offset,bytes,microseconds`";

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
        let mut fields = Fields::new(line);
        let device = fields.digits()?;
        fields.byte(b',')?;
        let kind = letter(fields.until(b','))?;
        let offset = fields.number_before(b',')?;
        let length = fields.number_before(b',')?;
        let stamp = fields.number()?;
        fields.end()?;
        devices.check(device)?;
        command(kind, units(stamp, 1_000)?, offset, length)
    }

    fn is_heading(line: &[u8]) -> bool {
        line.eq_ignore_ascii_case(b"device_id,opcode,offset,length,timestamp")
    }

    fn example(record: &Record) -> Option<String> {
        let operation = either(record.kind, 'R', 'W')?;
        let (offset, length) = (record.offset.0, record.length.0);
        let micros = START + record.time.0 / 1_000;
        Some(format!("419,{operation},{offset},{length},{micros}"))
    }
}
