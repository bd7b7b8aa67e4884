//! The Storage Performance Council's.

#[cfg(test)]
mod tests;

use crate::format::fields::Fields;
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{ClockOrigin, Format};
use crate::record::Record;

use super::columns::{SECTOR, either, letter};

pub(crate) static FORMAT: Format = Format {
    id: "spc",
    title: "the Storage Performance Council's [SPC02]",
    timestamps: "as printed",
    grammar: "`unit,LBA,bytes,R|W,seconds`, blanks allowed, further fields ignored. The LBA is in \
              512 bytes, as in UMass's traces; the specification leaves the unit to the trace.",
    sample: "0,20941264,8192,W,0.551706\n0 , 20939840 ,0,w, 0.554041\n\
             0,8,512,r,1.5,more,fields\n",
    ..lines::format::<Spc>()
};

#[derive(Debug, Default)]
struct Spc;

impl LineFormat for Spc {
    const CLOCK: Option<ClockOrigin> = Some(ClockOrigin::Trace);
    const SHAPE: &'static str = "`unit,sector,bytes,R or W,seconds`";

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
        let mut fields = Fields::new(line);
        let device = fields.digits()?;
        comma(&mut fields)?;
        let sector = fields.number()?;
        comma(&mut fields)?;
        let length = fields.number()?;
        comma(&mut fields)?;
        let kind = letter(fields.until(b',').trim_ascii())?;
        fields.blanks();
        let stamp = fields.seconds()?;
        if fields.end().is_err() {
            comma(&mut fields)?;
        }
        devices.check(device)?;
        command(kind, stamp, units(sector, SECTOR)?, length)
    }

    fn example(record: &Record) -> Option<String> {
        let operation = either(record.kind, 'R', 'W')?;
        let (sector, length) = (record.offset.0 / SECTOR, record.length.0);
        let (seconds, micros) = (record.time.0 / 1_000_000_000, record.time.0 / 1_000 % 1_000_000);
        Some(format!("0,{sector},{length},{operation},{seconds}.{micros:06}"))
    }
}

/// Passes a comma with blanks around it.
fn comma(fields: &mut Fields<'_>) -> Result<(), Skip> {
    fields.blanks();
    fields.byte(b',')?;
    fields.blanks();
    Ok(())
}
