//! Nothing is destroyed, lost or misstated by the attempts of `tests::hostile`.

use std::path::Path;

use tests::hostile::{Tool, attacks};
use tests::requires;

/// One row at a time: loop devices, mounts and tracefs are the machine's. `TRIMBENCH_ATTACK` names
/// a row to run alone, `TRIMBENCH_PROGRAM` another build of the program, to see what it loses.
#[test]
#[expect(clippy::disallowed_methods, reason = "what to run is asked of the environment")]
fn no_attack_destroys_loses_or_misstates_anything() {
    let other = std::env::var("TRIMBENCH_PROGRAM").ok();
    let program = other.as_deref().unwrap_or(env!("CARGO_BIN_EXE_trimbench"));
    let tool = Tool::new(Path::new(program));
    let only = std::env::var("TRIMBENCH_ATTACK").ok();
    let rows = attacks().filter(|row| only.as_ref().is_none_or(|only| only == row.name));
    let mut faults = Vec::new();
    let mut attempted = 0;
    for row in rows {
        if !requires(row.name, row.needs) {
            continue;
        }
        attempted += 1;
        faults.extend((row.run)(&tool).err().map(|lost| format!("{}: {lost}", row.name)));
    }
    println!("{attempted} attacks");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
