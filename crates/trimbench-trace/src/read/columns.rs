//! Column formats: MSR Cambridge, Alibaba, Tencent, SPC and `MiDAS`.

use crate::record::{Record, RecordKind};
use crate::tally::Flaw;

use super::fields::{Fields, SHAPE};
use super::strictness::{Devices, Skip, command, units};
use super::text::Parser;

/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Bytes of a block of `MiDAS`.
const FOUR_KIB: u64 = 4096;
/// Nanoseconds of a tick of Windows' file times.
const TICK: u64 = 100;

const OPERATION: Skip = Skip::Flaw(Flaw::Operation);

/// `FILETIME,host,disk,Read|Write,offset,bytes,response`.
#[derive(Debug)]
pub(super) struct Msr;

/// `device,R|W,offset,bytes,microseconds`.
#[derive(Debug)]
pub(super) struct Alibaba;

/// `seconds,sector,sectors,0|1,volume`.
#[derive(Debug)]
pub(super) struct Tencent;

/// `unit,sector,bytes,R|W,seconds`, blanks allowed, more fields allowed behind.
#[derive(Debug)]
pub(super) struct Spc;

/// `seconds 0|1|3 block bytes [stream]`.
#[derive(Debug)]
pub(super) struct Midas;

impl Parser for Msr {
    const FROM_ZERO: bool = false;
    const SHAPE: &'static str = "`FILETIME,host,disk,Read or Write,offset,bytes,response`";

    fn line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
        let mut fields = Fields::new(line);
        let stamp = fields.number_before(b',')?;
        let from = fields.rest();
        let host = fields.until(b',');
        let disk = fields.until(b',');
        let device = &from[..(host.len() + 1 + disk.len()).min(from.len())];
        let operation = fields.until(b',');
        let offset = fields.number_before(b',')?;
        let length = fields.number_before(b',')?;
        fields.number()?;
        fields.end()?;
        let kind = if operation.eq_ignore_ascii_case(b"write") {
            RecordKind::Write
        } else if operation.eq_ignore_ascii_case(b"read") {
            RecordKind::Read
        } else {
            return Err(OPERATION);
        };
        devices.check(device)?;
        command(kind, units(stamp, TICK)?, offset, length)
    }

    fn heading(line: &[u8]) -> bool {
        line.to_ascii_lowercase().starts_with(b"timestamp,hostname,")
    }
}

impl Parser for Alibaba {
    const FROM_ZERO: bool = false;
    const SHAPE: &'static str = "`device,R or W,offset,bytes,microseconds`";

    fn line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
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

    fn heading(line: &[u8]) -> bool {
        line.eq_ignore_ascii_case(b"device_id,opcode,offset,length,timestamp")
    }
}

impl Parser for Tencent {
    const FROM_ZERO: bool = false;
    const SHAPE: &'static str = "`seconds,sector,sectors,0 or 1,volume`";

    fn line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
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

    fn heading(line: &[u8]) -> bool {
        line.eq_ignore_ascii_case(b"timestamp,offset,size,iotype,volumeid")
    }
}

impl Parser for Spc {
    const FROM_ZERO: bool = true;
    const SHAPE: &'static str = "`unit,sector,bytes,R or W,seconds`";

    fn line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
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
}

impl Parser for Midas {
    const FROM_ZERO: bool = true;
    const SHAPE: &'static str = "`seconds 0, 1 or 3 block bytes [stream]`";

    fn line(&mut self, line: &[u8], _: &mut Devices) -> Result<Record, Skip> {
        let mut fields = Fields::new(line);
        let stamp = fields.seconds()?;
        if !matches!(fields.rest(), [b' ' | b'\t', ..]) {
            return Err(SHAPE);
        }
        fields.blanks();
        let kind = match fields.word() {
            b"0" => RecordKind::Read,
            b"1" => RecordKind::Write,
            b"3" => RecordKind::Discard,
            _ => return Err(OPERATION),
        };
        let start = fields.number_word()?;
        let length = fields.number_word()?;
        if !fields.rest().is_empty() {
            fields.number_word()?;
            fields.end()?;
        }
        command(kind, stamp, units(start, FOUR_KIB)?, length)
    }
}

/// Passes a comma with blanks around it.
fn comma(fields: &mut Fields<'_>) -> Result<(), Skip> {
    fields.blanks();
    fields.byte(b',')?;
    fields.blanks();
    Ok(())
}

fn letter(field: &[u8]) -> Result<RecordKind, Skip> {
    match field {
        b"R" | b"r" => Ok(RecordKind::Read),
        b"W" | b"w" => Ok(RecordKind::Write),
        _ => Err(OPERATION),
    }
}
