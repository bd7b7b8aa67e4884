//! Raw output made up by tests, in the format in which claims store it.

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;
use trimbench_results::{
    Direction, Figure, Interval, Metric, Outcome, PlannedSession, Program, RunRecord, SCHEMA,
    Session, Step, Verdict,
};

use crate::acceptance::{Capture, Finding, Form, Raw};

/// A folder of raw output.
pub(in crate::acceptance) struct Planted {
    folder: TempDir,
}

impl Planted {
    pub(in crate::acceptance) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// The captures of a claim's parts, which print `outputs`, but for what `change` replaces: the
    /// first place in each.
    pub(in crate::acceptance) fn changed<const N: usize>(
        parts: [&str; N],
        outputs: [String; N],
        (from, to): (&str, &str),
    ) -> Self {
        let planted = Self::new();
        for (part, output) in parts.into_iter().zip(outputs) {
            planted.capture(part, 0, &output.replacen(from, to, 1));
        }
        planted
    }

    /// As of the full form.
    pub(in crate::acceptance) fn raw(&self) -> Raw {
        self.raw_of(Form::Full)
    }

    pub(in crate::acceptance) fn raw_of(&self, form: Form) -> Raw {
        Raw::new(self.folder.path(), form)
    }

    /// A program that ended with `status` after a second and printed `output`.
    pub(in crate::acceptance) fn capture(
        &self,
        name: &str,
        status: impl Into<Option<i32>>,
        output: &str,
    ) {
        self.timed_capture((name, 1.0), status, output);
    }

    pub(in crate::acceptance) fn timed_capture(
        &self,
        (name, elapsed_seconds): (&str, f64),
        status: impl Into<Option<i32>>,
        output: &str,
    ) {
        let command = format!("{name} it");
        self.capture_of((name, &command, elapsed_seconds), status, output);
    }

    /// A program with its command line.
    pub(in crate::acceptance) fn capture_of(
        &self,
        (name, command, elapsed_seconds): (&str, &str, f64),
        status: impl Into<Option<i32>>,
        output: &str,
    ) {
        let capture = Capture {
            name: name.to_owned(),
            command: command.to_owned(),
            status: status.into(),
            elapsed_seconds,
            output: format!("{name}.stdout"),
            errors: format!("{name}.stderr"),
        };
        let path = self.folder.path().join("captures.ndjson");
        let mut lines = fs::read_to_string(&path).unwrap_or_default();
        lines += &serde_json::to_string(&capture).unwrap();
        lines.push('\n');
        fs::write(path, lines).unwrap();
        self.file(&capture.output, output.as_bytes());
    }

    /// A file, in a folder of its own if its name says so.
    pub(in crate::acceptance) fn file(&self, name: &str, content: &[u8]) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(in crate::acceptance) fn record(&self, name: &str, record: &RunRecord) {
        self.file(name, &record.to_json());
    }
}

/// A complete record with these sessions and as many planned.
pub(in crate::acceptance) fn record(sessions: Vec<Session>) -> RunRecord {
    let version = "0.0.0".to_owned();
    RunRecord {
        schema: SCHEMA,
        program: Program {
            name: "trimbench".to_owned(),
            version,
            commit: "abc".to_owned(),
            model_version: 1,
        },
        run_id: None,
        seed: 1,
        outcome: Outcome::Complete,
        advice: Vec::new(),
        plan: sessions.iter().map(|session| session.plan.clone()).collect(),
        sessions,
    }
}

fn measured(id: &str, value: f64) -> Figure {
    Metric::member(id, id, "s", Direction::Lower).measured(value).expect("it is a number")
}

/// A finished session on a target of this name, with these figures.
pub(in crate::acceptance) fn session(target: &str, figures: &[(&str, f64)]) -> Session {
    let figures = figures.iter().map(|(id, value)| measured(id, *value));
    let plan = PlannedSession {
        method: "delete-stall".to_owned(),
        target: target.to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    Session {
        state: "fresh".to_owned(),
        figures: figures.collect(),
        trace_hash: Some("00".to_owned()),
        finished: true,
        ..Session::planned(plan, 1)
    }
}

/// A session whose stutter has this interval and verdict.
pub(in crate::acceptance) fn with_interval(
    (low, high): (f64, f64),
    n: u64,
    steps: Vec<Step>,
) -> Session {
    let mut session = session("here", &[("stutter", f64::midpoint(low, high))]);
    session.figures[0].interval = Interval::new(low, high, 0.95);
    session.figures[0].verdict = Some(Verdict::Noise);
    session.figures[0].n = n;
    session.steps = steps;
    session
}

/// A deletion of a GB of which a share was discarded within the window.
pub(in crate::acceptance) fn deletion(id: &str, share: f64) -> Step {
    let mut step = Step::new(id, "delete");
    step.set("size_bytes", 1e9);
    step.measure("discarded_bytes_window", share * 1e9);
    step
}

/// Which findings hold, by subject.
pub(crate) fn failing(findings: &[Finding]) -> Vec<&str> {
    findings.iter().filter(|finding| !finding.holds()).map(|it| it.what.as_str()).collect()
}
