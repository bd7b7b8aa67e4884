//! Damaged pages: whatever the bytes, an answer or an error, and no more values than the table has.
//!
//! `cargo xtask lab doctor.log_pages` does the same with a million.

use trimbench_core::rng::Rng;

use super::all_pages;
use crate::ata::statistics::{ATA_STATISTICS, supported_pages};
use crate::ocp::telemetry;
use crate::{DriveSummary, LogPage};

const ROUNDS: u64 = 3_000;

/// Random bytes of a random length, mostly with the GUID and a version that is known.
fn damaged(page: &LogPage, rng: &mut Rng) -> Vec<u8> {
    let short = rng.below(4) == 0;
    let length = if short { rng.below(page.length as u64 + 64) } else { page.length as u64 };
    let sparse = rng.below(2) == 0;
    let mut bytes: Vec<u8> = (0..length)
        .map(|_| if sparse && rng.below(8) != 0 { 0 } else { rng.below(256).try_into().unwrap() })
        .collect();
    let mut put = |at: usize, part: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
    };
    if let Some((at, guid)) = page.guid {
        put(at, &guid.to_le_bytes());
    }
    if let Some(version) = page.version {
        let layout = page.layouts[usize::try_from(rng.below(page.layouts.len() as u64)).unwrap()];
        let known = layout.versions.1 + u32::try_from(rng.below(2)).unwrap();
        put(version.at, &known.to_le_bytes()[..version.width]);
    }
    bytes
}

#[test]
fn no_damaged_page_is_a_panic() {
    let mut rng = Rng::new(45);
    let mut understood = 0;
    for page in all_pages() {
        for _ in 0..ROUNDS {
            let bytes = damaged(page, &mut rng);
            let Ok(read) = page.read(&bytes) else { continue };
            understood += 1;
            let most = page.fields().count();
            assert!(read.values.len() <= most, "{}", page.id);
            drop(DriveSummary::of(std::slice::from_ref(&read)));
            assert_eq!(read.growth_since(&read).filter(|(_, growth)| *growth != 0).count(), 0);
        }
    }
    // Not all damage is noticed, so the values were read as well.
    assert!(understood > ROUNDS, "{understood}");
}

#[test]
fn no_damaged_telemetry_or_statistic_is_a_panic() {
    let mut rng = Rng::new(46);
    for _ in 0..ROUNDS * 5 {
        let mut header = damaged(&telemetry::OCP_TELEMETRY, &mut rng);
        if header.len() >= 640 {
            // Places that are near the truth.
            header[616..640].fill(0);
            header[608 + 2..616].fill(0);
            header[617] = rng.below(3).try_into().unwrap();
        }
        let Ok(range) = telemetry::statistics_range(&header) else { continue };
        assert!(range.len() <= telemetry::STATISTICS_MAX);
        let length = rng.below(range.len() as u64 + 1);
        let bytes: Vec<u8> = (0..length).map(|_| rng.below(5).try_into().unwrap()).collect();
        let most = telemetry::OCP_TELEMETRY.fields().count() + 18;
        assert!(telemetry::read(&header, &bytes).map_or(0, |page| page.values.len()) <= most);
    }
    for _ in 0..ROUNDS {
        for table in &ATA_STATISTICS {
            let mut bytes = damaged(table.page, &mut rng);
            if let Some(byte) = bytes.get_mut(2) {
                *byte = table.number;
            }
            let _ = table.statistics(&bytes);
            let _ = supported_pages(&bytes);
        }
    }
}
