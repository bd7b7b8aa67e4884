use super::table::MISTAKES;
use super::{name, read};
use crate::acceptance::planted::{Planted, failing};

/// What a program prints that answers every mistake as wished, wrapped as on a narrow terminal.
fn planted(change: impl Fn(usize, String) -> (i32, String)) -> Planted {
    let planted = Planted::new();
    for (index, mistake) in MISTAKES.iter().enumerate() {
        let text = if mistake.exit == 0 {
            mistake.message.to_owned()
        } else {
            let hint = mistake.hint.replace(' ', "\n  ");
            format!("error: {}\n\nhint: {hint} and more\n", mistake.message)
        };
        let text = text.replace("$SCENE", "/somewhere/raw/answer.2/scene");
        let (exit, text) = change(index, text);
        let exit = if exit == 0 { mistake.exit.into() } else { exit };
        planted.capture(&name(index), exit, "");
        planted.file(&format!("{}.stderr", name(index)), text.as_bytes());
    }
    planted
}

fn failed(planted: &Planted) -> Vec<String> {
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn answers_as_wished_hold() {
    assert_eq!(failed(&planted(|_, text| (0, text))), Vec::<String>::new());
}

#[test]
fn another_exit_code_message_or_hint_is_found_and_the_mistake_named() {
    let only = |wanted: &'static str, other: fn(String) -> (i32, String)| {
        let planted = planted(|index, text| if index == 3 { other(text) } else { (0, text) });
        let failed = failed(&planted);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].contains(wanted), "{failed:?}");
        let findings = read(&planted.raw()).unwrap();
        let note = &findings.iter().find(|finding| !finding.holds()).unwrap().note;
        assert_eq!(*note, format!("not: {}", MISTAKES[3].arguments));
    };
    only("the exit code", |text| (101, text));
    only("the message", |text| (0, text.replacen("error: ", "error: oh, ", 1)));
    only("the hint", |text| (0, text.replacen("hint: ", "note: ", 1)));
}

#[test]
fn every_mistake_has_a_message_and_there_are_forty() {
    assert!(MISTAKES.len() >= 40);
    for mistake in MISTAKES {
        assert!(!mistake.message.is_empty() && mistake.arguments.len() > 2, "{mistake:?}");
    }
}
