//! Ctrl-C: the first one asks the running command to stop, the second one ends the program.

use std::sync::{Mutex, OnceLock, PoisonError};

use trimbench_app::Failure;
use trimbench_core::{Interrupt, exit};

use crate::output::error_line;

/// What is answered to a Ctrl-C.
struct Answer {
    text: &'static str,
    at_once: Box<dyn Fn() + Send>,
}

static ANSWER: Mutex<Option<Answer>> = Mutex::new(None);
static FLAG: OnceLock<Interrupt> = OnceLock::new();

/// A flag that the first Ctrl-C sets, printing `answer`. A second Ctrl-C calls `at_once` and ends
/// the program. A command of several parts has one flag; each part has its answer.
pub(crate) fn interrupt(
    answer: &'static str,
    at_once: impl Fn() + Send + 'static,
) -> Result<Interrupt, Failure> {
    let answer = Answer { text: answer, at_once: Box::new(at_once) };
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    if let Some(flag) = FLAG.get() {
        return Ok(flag.clone());
    }
    let flag = FLAG.get_or_init(Interrupt::default).clone();
    let asked = flag.clone();
    let handler = move || {
        let answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(answer) = &*answer else { return };
        if asked.requested() {
            (answer.at_once)();
            #[expect(clippy::exit, reason = "the user insists")]
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        asked.request();
        error_line(answer.text);
    };
    ctrlc::set_handler(handler).map_err(Failure::usage)?;
    Ok(flag)
}
