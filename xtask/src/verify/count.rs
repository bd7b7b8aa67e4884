//! Counts what test programs print, whether cargo runs them one after the other (`--show-output`)
//! or nextest each test by itself (`--success-output immediate`).
//!
//! Each test program prints `running N tests`, a line a test, the output of those that passed
//! (after `successes:`), the output of those that failed (after `failures:`), and at the end
//! `test result: ...`. nextest indents all that, and has a line of its own before it: `PASS [...`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Skip, SkipSummary};

/// Reads the lines as they come.
#[derive(Debug, Default)]
pub struct TestCounter {
    passed: u64,
    failed: u64,
    /// Test programs that began, and that ended with a result.
    begun: u64,
    ended: u64,
    /// Within the output of tests that passed, as the harness lists it.
    in_successes: bool,
    /// Within what nextest prints of tests, and of one that passed. What their programs count does
    /// not count then, as some start others and end them.
    by_nextest: bool,
    has_passed: bool,
    /// Tests that passed: of the program that runs, and of those that ended with a result.
    passing: BTreeSet<String>,
    counted: BTreeSet<String>,
    /// Reasons by test program and name: two programs may have tests of one name.
    skips: BTreeMap<(u64, String), Vec<String>>,
    /// Switched off by an attribute: the harness counts them apart from those that passed.
    ignored: BTreeSet<(u64, String)>,
}

impl TestCounter {
    /// Another command begins, which may print in the other way.
    pub fn begin(&mut self) {
        (self.by_nextest, self.has_passed) = (false, false);
    }

    /// Takes a line of either stream; whether it is worth showing.
    pub fn line(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(skip) = parse_skip(line) {
            self.add(self.begun, skip);
            return false;
        }
        if let Some((outcome, rest)) = parse_outcome(line) {
            self.has_passed = outcome == "PASS";
            self.by_nextest = outcome != "Summary";
            if let Some((passed, failed)) = parse_summary(rest).filter(|_| !self.by_nextest) {
                self.ended += 1;
                self.passed += passed;
                self.failed += failed;
            }
            return !self.has_passed;
        }
        if is_nextest(line) {
            self.begun += 1;
            self.by_nextest = true;
            return true;
        }
        if self.by_nextest {
            return !(self.has_passed || line.is_empty());
        }
        if is_beginning(line) {
            self.begun += 1;
            self.passing.clear();
            return false;
        }
        if let Some((passed, failed)) = parse_result(line) {
            self.ended += 1;
            self.passed += passed;
            self.failed += failed;
            self.counted.append(&mut self.passing);
            self.in_successes = false;
            return true;
        }
        if let Some(name) = parse_ignored(line) {
            self.ignored.insert((self.begun, name.to_owned()));
        }
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ => {}
        }
        if let Some(name) = parse_passed(line) {
            self.passing.insert(name.to_owned());
            return false;
        }
        !(self.in_successes || line.is_empty())
    }

    /// The counts. `success` is cargo's own verdict: when it is not content although no test
    /// failed, a build broke or a test program crashed, and that counts as a failure.
    pub fn finish(self, success: bool) -> SkipSummary {
        let crashed = self.begun.saturating_sub(self.ended);
        // The harness counts a skipped test as passed, unless its program crashed before counting.
        let is_counted = |name: &str| {
            let suffix = format!("::{name}");
            self.counted.iter().any(|test| test == name || test.ends_with(&suffix))
        };
        let counted = self.skips.keys().filter(|(_, name)| crashed == 0 || is_counted(name));
        let passed = self.passed.saturating_sub(counted.count() as u64);
        let skips = self
            .skips
            .into_iter()
            .map(|((_, name), reasons)| Skip { name, reason: reasons.join("; ") });
        let mut failed = self.failed + crashed;
        if !success && failed == 0 {
            failed = 1;
        }
        let ignored = self.ignored.into_iter().map(|(_, name)| Skip {
            name,
            reason: "marked as ignored, which this repository does not do".to_owned(),
        });
        SkipSummary {
            passed,
            failed,
            skips: skips.chain(ignored).collect(),
            refused: Vec::new(),
            complete: success,
        }
    }

    fn add(&mut self, program: u64, skip: Skip) {
        let reasons = self.skips.entry((program, skip.name)).or_default();
        if !reasons.contains(&skip.reason) {
            reasons.push(skip.reason);
        }
    }
}

/// `SKIP <name>: <reason>`. Names may hold `::` but no space.
fn parse_skip(line: &str) -> Option<Skip> {
    let (name, reason) = line.strip_prefix("SKIP ")?.split_once(": ")?;
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then(|| Skip { name: name.to_owned(), reason: reason.trim().to_owned() })
}

/// `Starting 3 tests across 2 binaries`: the first that nextest says.
fn is_nextest(line: &str) -> bool {
    line.starts_with("Starting ") && line.contains(" tests across ")
}

/// `PASS [   0.004s] (1/3) package test`: how nextest says that a test ended, or all did; and what
/// follows the time.
fn parse_outcome(line: &str) -> Option<(&str, &str)> {
    let (outcome, rest) = line.split_once(" [")?;
    let is_outcome = matches!(outcome, "PASS" | "FAIL" | "SLOW" | "TIMEOUT" | "Summary")
        || outcome.starts_with("SIG");
    let (_, rest) = rest.split_once("] ")?;
    is_outcome.then_some((outcome, rest))
}

/// `3 tests run: 2 passed (1 slow), 1 failed, 0 skipped`: how many passed, and how many did not.
fn parse_summary(text: &str) -> Option<(u64, u64)> {
    let (run, rest) = text.split_once(" tests run: ").or_else(|| text.split_once(" test run: "))?;
    let (run, passed): (u64, u64) = (run.parse().ok()?, rest.split(' ').next()?.parse().ok()?);
    Some((passed, run.checked_sub(passed)?))
}

/// `running 12 tests`
fn is_beginning(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("running ") else { return false };
    let Some((count, word)) = rest.split_once(' ') else { return false };
    count.parse::<u64>().is_ok() && (word == "tests" || word == "test")
}

/// `test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; ...`: how many
/// passed and failed.
fn parse_result(line: &str) -> Option<(u64, u64)> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |word: &str| {
        let mut parts = counts.split(';').map(str::trim);
        parts.find_map(|part| part.strip_suffix(word)?.trim().parse().ok())
    };
    Some((count("passed")?, count("failed")?))
}

/// `test name ... ok`
fn parse_passed(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... ok")
}

/// `test name ... ignored` or `test name ... ignored, why`
fn parse_ignored(line: &str) -> Option<&str> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    (outcome == "ignored" || outcome.starts_with("ignored,")).then_some(name)
}
