//! The trim policies that the standard preset compares, on three drives: response time of the
//! foreground load, bytes left untrimmed, and write amplification. A test asserts the same of one
//! drive.

use anyhow::Result;
use tests::policies::{compared, expectations, is_slow_to_trim};
use tests::program::Run;

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// What each policy costs.
pub(crate) const ENTRY: Entry = Entry {
    name: "policies",
    title: "`policy` charges ten trim policies with both costs, on three drives",
    needs: &[],
    sources: EMULATED,
    run,
};

/// A drive that \[S0\] found slow to trim, one that works TRIMs off later, and another.
const DRIVES: [&str; 3] = ["vendor2", "generic-nvme-tlc", "vendor6"];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (capacity, seeds): (_, &[&str]) = lab.form(("2GiB", &["1"]), ("4GiB", &["1", "2", "3"]));
    let (mut figures, mut slow) = (Vec::new(), 0_u32);
    for drive in DRIVES {
        let target = format!("ext4:sim:{drive},capacity={capacity}");
        let mut is_slow = false;
        for seed in seeds {
            let place = lab.folder().join(format!("{drive}-{seed}"));
            let mut command =
                lab.program()?.run_command("policy", (&target, &[&compared()]), &place);
            let run = Run::read(lab.call_well(command.args(["--seed", seed]))?, &place)?;
            is_slow |= is_slow_to_trim(&run)?;
            figures.extend(expectations(&run)?.into_iter().map(|it| {
                let what = format!("{drive}, seed {seed}: {}", it.what);
                Figure { what, ..it.into() }
            }));
        }
        slow += u32::from(is_slow);
    }
    // Both cases occur.
    let what = "drives on which one TRIM takes longer than the target of `paced`";
    let bar = Bar::Within(1.0, (DRIVES.len() - 1) as f64);
    figures.push(Figure::new(what, (f64::from(slow), ""), bar));
    Ok(figures)
}
