use super::*;
use crate::acceptance::planted::{Planted, failing};

const LINE: &str = "1 1 5.00 7.00 5.00 2.00 2.00 2.00 7.00 5.00 2.00 14307.00 46620.00";

/// What the programs print: our line, and for each column whether it is old, and its true rate.
fn found(ours: &str, old_formula: bool, rate: f64) -> Vec<Finding> {
    let planted = Planted::new();
    planted.capture("peer", 0, &format!("Deleting files...Done\n{LINE}"));
    planted.capture("compat", 4, &format!("{ours}\n"));
    let column = |printed: f64| {
        serde_json::json!({
            "old_formula": old_formula,
            "printed": { "Deletion_alone/s": printed },
            "deletion_alone_per_s": rate,
        })
    };
    let mut columns = vec![column(1.0); COLUMNS - 1];
    columns.push(column(VENDOR2));
    planted.capture("import", 0, &Value::Array(columns).to_string());
    read(&planted.raw()).unwrap()
}

#[test]
fn a_wrong_field_formula_or_rate_is_seen() {
    assert_eq!(failing(&found(LINE, true, 507.2)), Vec::<&str>::new());
    assert_eq!(
        failing(&found(&LINE.replace("7.00 5.00 2.00 1", "7.00 5.01 2.00 1"), true, 507.2)).len(),
        1
    );
    assert_eq!(failing(&found(LINE, false, 507.2)).len(), 1);
    assert_eq!(failing(&found(LINE, true, 971.77)).len(), 1);
}

#[test]
fn the_published_table_makes_24_lines_of_13_numbers() {
    let lines = published_lines();
    assert_eq!(lines.lines().count(), COLUMNS);
    assert!(lines.lines().all(|line| super::super::numbers(line).is_ok()));
    let vendor2 = lines.lines().find(|line| line.contains("971.77")).unwrap();
    assert!(vendor2.starts_with("2628.50 2479.90 20.16"), "{vendor2}");
}
