use super::*;
use crate::acceptance::planted::{Planted, failing};

/// What a perfect drive would print, but for the cell of this number, which is off by a factor.
fn planted(wrong: Option<(usize, f64)>) -> Planted {
    let planted = Planted::new();
    let mut lines = String::new();
    for (number, cell) in cells(Form::Short).into_iter().enumerate() {
        let exported = cell.capacity_gib << 18;
        let physical = exported + exported * u64::from(cell.over_provisioning) / 1_000;
        let superblocks = physical.div_ceil(cell.units.into());
        let mut it = Measured { cell, exported, superblocks, parts: vec![1.0, 1.0] };
        if cell.traffic != Traffic::Sequential {
            // Between the two bars.
            it.parts = vec![expected(&it, 0.25)];
        }
        let factor = wrong.filter(|(wrong, _)| *wrong == number).map_or(1.0, |(_, factor)| factor);
        it.parts.iter_mut().for_each(|part| *part *= factor);
        lines += &serde_json::to_string(&it).unwrap();
        lines.push('\n');
    }
    planted.capture("uniform", 0, &lines);
    planted
}

#[test]
fn a_drive_as_the_formulas_say_holds() {
    let findings = read(&planted(None).raw()).unwrap();
    assert_eq!(failing(&findings), Vec::<&str>::new());
    let uniform = findings.iter().filter(|it| it.what.contains("Uniform")).count();
    // Greedy of three sizes, FIFO and two kinds of choices.
    assert_eq!((uniform, findings.len()), (6, 6 + 2 + 1 + 3));
    assert!(findings[0].note.contains("7 %: 7.78"), "{}", findings[0].note);
}

#[test]
fn every_cell_is_judged_either_way() {
    for number in 0..cells(Form::Short).len() {
        for factor in [0.993, 1.007] {
            let findings = read(&planted(Some((number, factor))).raw()).unwrap();
            assert!(!failing(&findings).is_empty(), "cell {number} off by {factor}");
        }
    }
}

#[test]
fn the_full_form_has_every_policy_ratio_capacity_and_size() {
    let cells = cells(Form::Full);
    for capacity_gib in [8, 32] {
        for policy in [Policy::Fifo, Policy::Greedy, Policy::DChoices(10)] {
            let of = cells.iter().filter(|cell| {
                (cell.capacity_gib, cell.policy, cell.traffic)
                    == (capacity_gib, policy, Traffic::Uniform)
            });
            assert_eq!(of.count(), 12, "{policy:?} on {capacity_gib} GiB");
        }
    }
    let enough = |cell: &Cell| (cell.capacity_gib << 18) / u64::from(cell.units) >= 2_000;
    assert!(cells.iter().all(enough), "at least 2000 superblocks");
}

#[test]
fn no_figure_without_output() {
    let empty = Planted::new();
    empty.capture("uniform", 0, "");
    assert!(read(&empty.raw()).is_err());
    let failed = Planted::new();
    failed.capture("uniform", 1, "");
    assert!(read(&failed.raw()).is_err());
}
