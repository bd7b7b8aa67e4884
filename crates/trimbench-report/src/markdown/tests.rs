use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
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

/// The parts of a report that a renderer takes for HTML, code blocks, links or images.
fn parsed(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut html, mut blocks) = (Vec::new(), Vec::new());
    let mut in_block = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(part) | Event::InlineHtml(part) => html.push(part.trim().to_owned()),
            Event::Start(Tag::CodeBlock(_)) => {
                in_block = true;
                blocks.push(String::new());
            }
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(part) if in_block => blocks.last_mut().unwrap().push_str(&part),
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("{text}"),
            _ => {}
        }
    }
    (html, blocks)
}

#[test]
fn the_lines_to_type_are_those_of_the_rules_and_not_those_of_the_record() {
    let record = three_drives();
    let lied = crate::testing::with_hostile_advice(&record);
    assert_eq!(markdown(&[("x", &lied)]), markdown(&[("x", &record)]));
}

#[test]
fn text_of_others_is_text_wherever_it_stands() {
    let hostile =
        "| `a\n```\n<img src=x onerror=y> </summary> ![a](b) @octocat www.evil.test\u{1b}";
    let mut odd = three_drives();
    let (names, blocks) = parsed(&markdown(&[("x", &odd)]));
    for session in &mut odd.sessions {
        let hostile = || hostile.to_owned();
        session.plan.method = hostile();
        session.plan.preset = hostile();
        session.plan.target = hostile();
        session.plan.options = [(hostile(), hostile())].into();
        session.target.clock = hostile();
        session.target.name = hostile();
        session.state = hostile();
        session.caveats.push(hostile());
        for figure in &mut session.figures {
            (figure.title, figure.unit) = (hostile(), hostile());
            figure.verdict = Some(Verdict::Other(hostile()));
        }
    }
    odd.outcome = Outcome::Failed { message: hostile.to_owned() };
    (odd.program.name, odd.program.version) = (hostile.to_owned(), hostile.to_owned());
    odd.program.commit = hostile.to_owned();
    let text = markdown(&[(hostile, &odd)]);
    let (html, hostile_blocks) = parsed(&text);
    assert_eq!(html.len(), names.len(), "{html:#?}");
    assert_eq!(hostile_blocks, blocks[..hostile_blocks.len()]);
    assert!(html.iter().all(|part| !part.contains("<img")), "{html:#?}");
    assert!(!text.contains('\u{1b}'), "{text}");
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
