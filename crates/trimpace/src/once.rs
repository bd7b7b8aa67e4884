//! `trimpace once`: each chosen filesystem in turn, as `fstrim` does it.

use std::sync::Arc;

use serde_json::{Value, json};
use trimbench_claim::mounts::Mount;
use trimbench_core::contract::Interrupt;
use trimbench_core::text::{to_text, visible};
use trimbench_core::{Bytes, Errno, Instant};
use trimbench_linux::{BorrowError, restore_abandoned};

use crate::args::{OnceArgs, PaceFormat};
use crate::exit::{ALL_FAILED, FAILED, TrimOutcome, TrimRequest, exit_code};
use crate::law::LawChoice;
use crate::pass::{Pass, PassEnd, PassError, PassOptions, PassOutcome, PassStop};
use crate::planner::{Leave, plan};
use crate::probe::now;
use crate::report::{Voice, account_line, document, dry_line, say, size, trimmed_line};
use crate::selection::{ChosenMount, Selection, select};

/// What was printed on stdout, and the exit code.
#[derive(Debug)]
pub struct OnceResult {
    /// For stdout.
    pub text: String,
    /// See [`crate::exit`].
    pub code: u8,
}

/// One call of `trimpace once`.
struct Once<'a> {
    args: &'a OnceArgs,
    law: LawChoice,
    interrupt: Interrupt,
}

/// What became of one filesystem.
struct Trimmed {
    outcome: TrimOutcome,
    line: Option<String>,
    document: Option<Value>,
}

/// Trims what is asked for. What goes wrong is said on stderr.
pub fn once(args: &OnceArgs, interrupt: &Interrupt) -> OnceResult {
    let nothing = |code| OnceResult { text: String::new(), code };
    let deadline = args.deadline.map(|deadline| {
        let left = deadline.remaining(&jiff::Zoned::now());
        Instant::from_start(now().since_start().saturating_add(left))
    });
    let law = match args.chosen_law(deadline) {
        Ok(law) => law,
        Err(error) => {
            say(&format!("trimpace: {error}"));
            return nothing(FAILED);
        }
    };
    put_back_what_was_left();
    let selection = match select(&args.which(), args.types.as_deref()) {
        Ok(selection) => selection,
        Err(error) => {
            say(&format!("trimpace: {error}"));
            let is_named = matches!(args.request(), TrimRequest::Named { .. });
            return nothing(if is_named { FAILED } else { ALL_FAILED });
        }
    };
    Once { args, law, interrupt: interrupt.clone() }.all(selection)
}

impl Once<'_> {
    fn all(&self, selection: Selection) -> OnceResult {
        if self.args.verbose {
            selection.skipped.iter().for_each(|skipped| say(&skipped.to_string()));
        }
        selection.failed.iter().for_each(|error| say(&format!("trimpace: {error}")));
        let mut outcomes = vec![TrimOutcome::Failed; selection.failed.len()];
        let (mut lines, mut documents) = (String::new(), Vec::new());
        for chosen in selection.chosen {
            if self.interrupt.requested() {
                break;
            }
            let trimmed = self.one(chosen);
            outcomes.push(trimmed.outcome);
            documents.extend(trimmed.document);
            lines.extend(trimmed.line.map(|line| line + "\n"));
        }
        let text = match self.args.output_format {
            PaceFormat::Human => lines,
            PaceFormat::Json => format!("{:#}\n", json!({ "filesystems": documents })),
        };
        let code = exit_code(self.args.request(), &outcomes, self.interrupt.requested());
        OnceResult { text, code }
    }

    fn one(&self, ChosenMount { mount, directory }: ChosenMount) -> Trimmed {
        let directory = Arc::new(directory);
        let name = visible(&to_text(&mount.mount_point)).into_owned();
        let leave = match self.args.cover {
            Some(share) => Leave::AllButCover(share),
            None => Leave::Below(self.args.minimum.unwrap_or(Bytes(0))),
        };
        let (planner, minimum) = match plan(&mount, &directory, leave) {
            Ok(planned) => planned,
            Err(error) => return Trimmed::failed(&name, &error),
        };
        if self.args.verbose && self.args.cover.is_some() {
            say(&format!("{name}: free ranges below {} are left alone", size(minimum)));
        }
        if self.args.dry_run {
            let line = Some(dry_line(&mount, self.args.request()));
            return Trimmed { outcome: TrimOutcome::Done, line, document: None };
        }
        let voice = Voice {
            subject: name.clone(),
            tells: self.args.verbose || self.args.deadline.is_some(),
        };
        let options = PassOptions {
            offset: self.args.offset.0,
            length: self.args.length.map_or(u64::MAX, |length| length.0),
            minimum,
            law: self.law,
            probe: self.args.probe.kind(),
            goes_on: false,
        };
        let stop = PassStop { soon: self.interrupt.clone(), at_once: self.interrupt.clone() };
        let pass = Pass::begin(&mount, &directory, planner, (&options, &voice, stop));
        match pass {
            Ok(pass) => self.ended(&name, &mount, &pass.run()),
            Err(PassError::Borrow(BorrowError::NoDiscards { .. })) => self.unsupported(&name),
            Err(error) => Trimmed::failed(&name, &error),
        }
    }

    fn ended(&self, name: &str, mount: &Mount, outcome: &PassOutcome) -> Trimmed {
        let result = match &outcome.end {
            PassEnd::Done => TrimOutcome::Done,
            PassEnd::Refused(errno) if is_unsupported(*errno) => {
                return self.unsupported(name);
            }
            PassEnd::Refused(errno) => {
                say(&format!("trimpace: {name}: FITRIM ioctl failed: {errno}"));
                TrimOutcome::Failed
            }
            PassEnd::Gone(why) => {
                say(&format!("trimpace: {name}: stopped: {why}"));
                TrimOutcome::Failed
            }
            PassEnd::Interrupted => TrimOutcome::Failed,
        };
        if self.args.verbose || outcome.end == PassEnd::Interrupted {
            say(&format!("{name}: {}", account_line(outcome)));
        }
        Trimmed {
            outcome: result,
            line: self.args.verbose.then(|| trimmed_line(mount, self.args.request(), outcome)),
            document: Some(document(mount, outcome)),
        }
    }

    fn unsupported(&self, name: &str) -> Trimmed {
        if !self.args.quiet_unsupported && matches!(self.args.request(), TrimRequest::Named { .. })
        {
            say(&format!("trimpace: {name}: the discard operation is not supported"));
        }
        Trimmed { outcome: TrimOutcome::Unsupported, line: None, document: None }
    }
}

impl Trimmed {
    fn failed(name: &str, error: &dyn std::error::Error) -> Self {
        say(&format!("trimpace: {name}: {error}"));
        Self { outcome: TrimOutcome::Failed, line: None, document: None }
    }
}

/// Puts settings back that a killed trimpace left; says what became of them.
pub fn put_back_what_was_left() {
    match restore_abandoned() {
        Ok(all) => all.iter().for_each(|restored| say(&restored.to_string())),
        // Without permission there is nothing of ours there either.
        Err(error) if rustix::process::geteuid().is_root() => say(&format!("trimpace: {error}")),
        Err(_) => {}
    }
}

/// What a filesystem or device answers that cannot discard.
pub(crate) fn is_unsupported(errno: Errno) -> bool {
    errno == Errno::EOPNOTSUPP || errno == Errno(libc::ENOTTY)
}
