//! Ctrl-C: the first one asks the running command to stop, the second one ends the program.

use trimbench_core::{Interrupt, exit};

use crate::failure::Failure;
use crate::output::error_line;

/// A flag that the first Ctrl-C sets, printing `answer`. A second Ctrl-C calls `at_once` and ends
/// the program.
pub(crate) fn interrupt(
    answer: &'static str,
    at_once: impl Fn() + Send + 'static,
) -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::default();
    let flag = interrupt.clone();
    let handler = move || {
        if flag.requested() {
            at_once();
            #[expect(clippy::exit, reason = "the user insists")]
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        flag.request();
        error_line(answer);
    };
    ctrlc::set_handler(handler).map_err(Failure::usage)?;
    Ok(interrupt)
}
