use super::*;
use crate::acceptance::planted::{Planted as Raws, failing};

/// What is printed of comparisons, so many of which differ.
fn printed(what: &str, count: usize, different: usize) -> String {
    let line = |number: usize| {
        let differences = if number < different { "[\"at: 1 -> 2\"]" } else { "[]" };
        format!(
            "{{\"what\":\"{what} {number}\",\"bytes\":9,\"differences\":{differences},\
             \"rows\":[]}}\n"
        )
    };
    (0..count).map(line).collect::<String>() + "the last line\n"
}

fn failed(status: i32, count: usize, different: usize, planted: [usize; 3]) -> Vec<String> {
    let raws = Raws::new();
    raws.capture(NOW, status, &printed("case", count, different));
    for ((name, _), noticed) in PLANTED.iter().zip(planted) {
        raws.capture(name, 1, &printed(CASE, 6, noticed));
    }
    failing(&read(&raws.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn nothing_may_differ_and_what_is_planted_must() {
    let differ = "comparisons that differ beyond what was reviewed";
    let exit = "exit code, which tells rows that nothing needs, too";
    let method = "comparisons that notice what is planted in the method";
    assert!(failed(0, 120, 0, [1, 6, 6]).is_empty());
    assert_eq!(failed(1, 120, 2, [1, 6, 6]), [differ, exit]);
    assert_eq!(failed(1, 120, 0, [1, 6, 6]), [exit]);
    assert_eq!(failed(0, 99, 0, [1, 6, 6]), ["comparisons"]);
    assert_eq!(failed(0, 120, 0, [1, 0, 6]), [method]);
}

#[test]
fn the_short_form_has_one_case_and_plants_nothing() {
    let raws = Raws::new();
    raws.capture(NOW, 0, &printed(CASE, 6, 0));
    assert!(failing(&read(&raws.raw()).unwrap()).is_empty());
}

#[test]
fn what_is_planted_has_its_place() {
    for (_, fault) in &PLANTED {
        fault.assert_possible();
    }
}
