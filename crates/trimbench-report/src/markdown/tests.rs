use trimbench_results::{Outcome, Verdict};

use super::*;
use crate::testing::{figure, record, three_drives};

#[test]
fn it_has_every_figure_as_shown_and_a_verdict_for_each_drive() {
    let record = three_drives();
    let text = markdown(&[("run", &record)]);
    assert!(text.starts_with(MARKDOWN_MARK));
    for session in &record.sessions {
        assert!(text.contains(&format!("### {}: ", session.target.name)));
        for figure in &session.figures {
            let row = format!("| {} | {} |", figure.title, figure.shown().text());
            assert!(text.contains(&row), "{row}: {text}");
        }
    }
    assert!(text.contains("**INVALID: do not use") && text.contains("(INVALID): "));
    // Every row has the columns of its header.
    let mut columns = 0;
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let bars = line.matches('|').count() - line.matches("\\|").count();
        columns = if line.starts_with("| method") || line.starts_with("| figure") {
            bars
        } else {
            columns
        };
        assert_eq!(bars, columns, "{line}");
    }
}

#[test]
fn text_of_others_ends_no_cell_and_begins_no_tag() {
    assert_eq!(escaped("a | b\n<script> <!-- < 0.001 s/GB"), {
        let line_end = visible("\n");
        format!("a \\| b{line_end}\\<script> \\<!-- < 0.001 s/GB")
    });
    let mut odd = three_drives();
    odd.sessions[0].figures[0].verdict = Some(Verdict::Other("a | <b>".to_owned()));
    assert!(markdown(&[("x", &odd)]).contains("a \\| \\<b>"));
}

#[test]
fn what_github_would_not_take_leaves_out_what_is_no_headline_and_says_so() {
    let mut many = three_drives();
    for index in 0..2_000 {
        let title = format!("one of very many figures, {index}");
        many.sessions[0].figures.push(figure(&format!("f-{index}"), &title, 1.0, "s"));
    }
    let text = markdown(&[("run", &many)]);
    assert!(text.chars().count() < LONGEST && text.contains("`trimbench report RUN --csv DIR`"));
    assert!(!text.contains("one of very many") && text.contains("## Headlines"));
}

#[test]
fn a_record_of_nothing_says_so() {
    let text = markdown(&[("empty", &record(Vec::new(), Outcome::Interrupted))]);
    assert!(text.contains("# empty") && text.contains("nterrupted"), "{text}");
}
