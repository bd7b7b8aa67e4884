use trimbench_results::{Direction, Figure, Metric, PlannedSession, Session};

use super::{in_junit, in_markdown, in_page, in_table, in_terminal};

fn figure() -> Figure {
    Metric::member("stutter", "stutter", "s", Direction::Neither).measured(1.0).unwrap()
}

#[test]
fn what_is_marked_is_found_and_what_is_not_is_missed() {
    let ids = ["no-discard"];
    assert!(in_terminal("1  INVALID,\n  no-discard: the filesystem", &ids));
    assert!(!in_terminal("1  no-discard: the filesystem", &ids));
    let link = "<a class=\"invalid\" href=\"#caveat-no-discard\">no-discard</a>";
    let meaning =
        "<dt id=\"caveat-no-discard\">no-discard</dt><dd><strong>Invalid: do not</strong>";
    assert!(in_page(&format!("{link}{meaning}"), &ids));
    assert!(!in_page(link, &ids) && !in_page(meaning, &ids));
    assert!(in_markdown("**INVALID: do not**\n- `no-discard` (INVALID): the", &ids));
    assert!(!in_markdown("**INVALID: do not**\n- `no-discard`: the", &ids));
}

#[test]
fn a_row_or_case_of_another_figure_marks_nothing() {
    let (figure, ids) = (figure(), ["no-discard"]);
    let table = |row: &str| format!("session,figure,verdict,caveats\r\n{row}\r\n");
    let marked = |row: &str| in_table(&table(row), (1, &figure), &ids).unwrap();
    assert!(marked("1,stutter,INVALID: stalls,noise;no-discard"));
    for row in [
        "1,stutter,stalls,no-discard",
        "1,stutter,INVALID: stalls,noise",
        "0,stutter,INVALID: stalls,no-discard",
        "1,overdue,INVALID: stalls,no-discard",
    ] {
        assert!(!marked(row), "{row}");
    }
    let plan = PlannedSession {
        method: "delete-stall".to_owned(),
        target: "vendor2".to_owned(),
        preset: "quick".to_owned(),
        options: std::collections::BTreeMap::new(),
    };
    let session = Session::planned(plan, 1);
    let case = |place: &str, end: &str| {
        format!("<s><testcase classname=\"{place}\" name=\"stutter\">{end}</testcase></s>")
    };
    let error = "<error message=\"invalid: no-discard\"/>";
    let found = |text: &str| in_junit(text, &session, &figure).unwrap();
    assert!(found(&case("delete-stall.vendor2", error)));
    assert!(!found(&case("delete-stall.vendor1", error)));
    assert!(!found(&case("delete-stall.vendor2", "")));
}
