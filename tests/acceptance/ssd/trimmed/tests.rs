use super::*;
use crate::acceptance::planted::{Planted, failing};

const HEALED: [f64; 20] = [
    7.3, 6.7, 6.0, 5.4, 4.7, 4.0, 3.4, 2.7, 2.0, 1.3, // The second pass.
    1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
];

fn planted(factor: f64, healed: &[f64]) -> Planted {
    let planted = Planted::new();
    let mut lines = String::new();
    for cell in cells(Form::Short) {
        let parts = match cell.traffic {
            Traffic::Healing => healed.to_vec(),
            // 1.0703 of which 8/9, 3/4, 4/7 and 87 % are in use.
            Traffic::Deallocating(10) => vec![3.1294 * factor],
            Traffic::Deallocating(20) => vec![1.8773 * factor],
            Traffic::Deallocating(_) => vec![1.3174 * factor],
            _ => vec![2.8554 * factor],
        };
        let it = Measured { cell, exported: 1 << 21, superblocks: 2192, parts };
        lines += &serde_json::to_string(&it).unwrap();
        lines.push('\n');
    }
    planted.capture("trimmed", 0, &lines);
    planted
}

#[test]
fn trimmed_drives_as_the_formulas_say_hold() {
    let findings = read(&planted(1.0, &HEALED).raw()).unwrap();
    assert_eq!(failing(&findings), Vec::<&str>::new());
    assert_eq!(findings.len(), 4 + 3);
}

#[test]
fn each_share_is_judged_either_way() {
    for factor in [0.992, 1.008] {
        let findings = read(&planted(factor, &HEALED).raw()).unwrap();
        assert_eq!(failing(&findings).len(), 4, "off by {factor}");
    }
}

#[test]
fn a_drive_heals_from_tenth_to_tenth_and_wholly() {
    let failed = |change: fn(&mut [f64; 20])| -> Vec<String> {
        let mut healed = HEALED;
        change(&mut healed);
        let findings = read(&planted(1.0, &healed).raw()).unwrap();
        failing(&findings).into_iter().map(str::to_owned).collect()
    };
    assert!(failed(|healed| healed[5] = 4.7)[0].starts_with("tenths of the first pass"));
    assert!(failed(|healed| healed[17] = 1.001)[0].starts_with("highest tenth of the second"));
    // A drive that was never tortured.
    let fresh = failed(|healed| {
        for (part, number) in healed[..10].iter_mut().zip(0_u8..) {
            *part = 1.1 - f64::from(number) / 100.0;
        }
    });
    assert!(fresh[0].starts_with("first tenth of it"), "{fresh:?}");
}
