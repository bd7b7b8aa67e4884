use std::fs;
use std::process::Command;
use std::time::Duration;

use super::{Context, Form, Raw};
use crate::Repository;
use crate::process::Signal;
use crate::steps::Deadline;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Runs `test` with a context of two seconds in a repository of its own.
fn with_context(test: impl FnOnce(&Context<'_>, &Raw)) {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::at(folder.path());
    let raw = folder.path().join("raw");
    fs::create_dir(&raw).unwrap();
    let deadline = Deadline::after(Duration::from_secs(2));
    test(
        &Context::new(&repository, "planted.1", (&raw, Form::Short), deadline),
        &Raw::new(&raw, Form::Short),
    );
}

#[test]
fn what_a_program_prints_is_kept_with_its_status_and_time() {
    with_context(|context, raw| {
        let captured =
            context.capture("try", &mut shell("echo out; echo err >&2; exit 4")).unwrap();
        assert_eq!(captured.status, Some(4));
        assert_eq!(raw.capture("try").unwrap(), captured);
        assert_eq!(raw.text(&captured.output).unwrap(), "out\n");
        assert_eq!(raw.text(&captured.errors).unwrap(), "err\n");
        assert!(captured.expect_status(4).is_ok());
        let error = captured.expect_status(0).unwrap_err().to_string();
        assert!(error.contains("exit code 4"), "{error}");
    });
}

#[test]
fn a_failure_carries_the_complaint_of_the_program() {
    with_context(|context, _| {
        for (script, complaint) in [
            ("echo error: no room >&2; echo hint: make some >&2; exit 3", ": error: no room"),
            ("echo trying >&2; echo no room >&2; exit 3", ": no room"),
            ("exit 3", ": it said nothing"),
        ] {
            let error = context.capture_well("try", &mut shell(script)).unwrap_err().to_string();
            assert!(error.contains("exit code 3"), "{error}");
            assert!(error.ends_with(complaint), "{error}");
        }
    });
}

#[test]
fn a_program_that_takes_too_long_is_an_error_and_no_capture() {
    with_context(|context, raw| {
        let error = context.capture("slow", &mut shell("sleep 30")).unwrap_err().to_string();
        assert!(error.contains("did not end"), "{error}");
        assert!(raw.capture("slow").is_err());
        let error = context.capture("late", &mut shell("true")).unwrap_err().to_string();
        assert!(error.contains("no time is left"), "{error}");
    });
}

#[test]
fn command_lines_name_no_folder_of_this_machine() {
    with_context(|context, _| {
        let root = context.repository().root().to_owned();
        context.alias(&root.join("clone-Xy1"), "clone");
        let mut command = Command::new(root.join("clone-Xy1/target/release/trimbench"));
        command.arg("run").arg(root.join("profiles")).arg(context.folder().join("out")).arg(&root);
        assert_eq!(
            context.shown(&command),
            "clone/target/release/trimbench run profiles $RAW/out ."
        );
    });
}

#[test]
fn numbers_are_read_by_their_pointer() {
    with_context(|context, raw| {
        fs::write(context.folder().join("run.json"), r#"{"steps":[{"x":0.25},{"x":"y"}]}"#)
            .unwrap();
        assert_eq!(raw.number("run.json", "/steps/0/x").unwrap().to_bits(), 0.25_f64.to_bits());
        let missing = raw.number("run.json", "/steps/7/x").unwrap_err().to_string();
        assert!(missing.contains("/steps/7/x"), "{missing}");
        let text = raw.number("run.json", "/steps/1/x").unwrap_err().to_string();
        assert!(text.contains("no number"), "{text}");
        assert!(raw.number("other.json", "/x").is_err());
    });
}

#[test]
fn a_program_that_a_signal_ended_has_no_exit_code() {
    with_context(|context, raw| {
        context.capture_signalled("killed", &mut shell("sleep 30"), Signal::KILL, || true).unwrap();
        let captured = raw.capture("killed").unwrap();
        assert_eq!(captured.status, None);
        assert!(captured.expect_status(0).unwrap_err().to_string().contains("signal"));
        let early = context.capture_signalled("early", &mut shell("true"), Signal::INT, || false);
        assert!(early.is_err() && raw.capture("early").is_err());
    });
}

#[test]
fn what_is_no_run_record_is_an_error() {
    with_context(|context, raw| {
        fs::write(context.folder().join("cut.json"), r#"{"schema": 1, "prog"#).unwrap();
        assert!(format!("{:#}", raw.record("cut.json").unwrap_err()).contains("cut.json"));
    });
}
