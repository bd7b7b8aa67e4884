//! Child processes: each in a process group of its own, run to a deadline, and ended together with
//! everything it started when the deadline passes or the user presses Ctrl-C.
//!
//! Only groups that were started here are ever signalled. A child is reaped after its group was
//! signalled, never before, so the group's number cannot have gone to somebody else.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, kill_process, kill_process_group};

pub use rustix::process::Signal;

use crate::steps::{Deadline, seconds};

/// How often a running child is polled: the largest error of a measured time.
const POLL: Duration = Duration::from_millis(5);
/// What a child gets between being asked to end and being ended: enough to save its results.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is awaited from what a child left running behind it.
const LINGER: Duration = Duration::from_secs(2);

/// How a program ends that the user interrupted: as shells say of SIGINT.
pub const INTERRUPTED_CODE: u8 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its exit status; `None` when its deadline passed and it was ended.
    pub status: Option<ExitStatus>,
    /// From its start to its end.
    pub elapsed: Duration,
}

impl Ended {
    /// Whether it ended by itself, with status 0.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// What happened, as the end of a sentence.
    pub fn describe(&self) -> String {
        match self.status {
            Some(status) => format!("ended with {status}"),
            None => format!("did not end within {}", seconds(self.elapsed)),
        }
    }
}

/// Makes Ctrl-C and SIGTERM end the running child, its group and then this program in good order.
/// A second one ends this program at once.
pub fn stop_children_on_interrupt() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED_CODE));
        }
    })
    .context("install the handler of Ctrl-C")
}

/// Whether the user asked for the end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Runs `command` on this program's own output, to `deadline` if there is one.
pub fn run(command: &mut Command, deadline: Option<Deadline>) -> Result<Ended> {
    let mut child = spawn(command)?;
    wait(&mut child, deadline, |_| {})
}

/// As [`run`], and sends the child `signal`, once, as soon as `when` holds. An error if it ended
/// before that.
pub fn run_signalled(
    command: &mut Command,
    deadline: Option<Deadline>,
    signal: Signal,
    when: impl Fn() -> bool,
) -> Result<Ended> {
    let shown = show(command);
    let mut child = spawn(command)?;
    let mut sent = false;
    let ended = wait(&mut child, deadline, |child| {
        if !sent && when() {
            // The child is not reaped yet, so its number is still its own, ended or not.
            sent = kill_process(Pid::from_child(child), signal).is_ok();
        }
    })?;
    if ended.status.is_some() && !sent {
        bail!("`{shown}` {} before it could be sent a signal", ended.describe());
    }
    Ok(ended)
}

/// As [`run`], and the most memory that was resident of the child itself, KiB, as its kernel counts
/// it. What it took in its last milliseconds, after the last look, is not in it.
pub fn run_weighed(
    command: &mut Command,
    deadline: Option<Deadline>,
) -> Result<(Ended, Option<u64>)> {
    let mut child = spawn(command)?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let ended = wait(&mut child, deadline, |_| {
        // A child that has ended and is not reaped yet has no memory any more.
        let read = fs::read_to_string(&status).ok().and_then(|text| peak_kib(&text).ok());
        peak = read.or(peak);
    })?;
    Ok((ended, peak))
}

/// As [`run`], and an error unless it ends well.
pub fn run_well(command: &mut Command, deadline: Option<Deadline>) -> Result<Ended> {
    let ended = run(command, deadline)?;
    if !ended.success() {
        bail!("`{}` {}", show(command), ended.describe());
    }
    Ok(ended)
}

/// Runs `command` and hands over each line that it prints on either stream, in the order of
/// arrival.
pub fn run_lines(
    command: &mut Command,
    deadline: Option<Deadline>,
    mut line: impl FnMut(&str),
) -> Result<Ended> {
    let mut child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (sender, lines) = channel();
    forward(child.stdout.take().expect("stdout is piped"), sender.clone());
    forward(child.stderr.take().expect("stderr is piped"), sender);
    let watch = thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(&mut child, deadline, |_| {}));
        while let Some(text) = next_line(&lines, || waiter.is_finished()) {
            line(&text);
        }
        waiter.join()
    });
    watch.expect("the waiting thread does not panic")
}

/// The standard output of a short command that must end well.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("run `{shown}`"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` ended with {}: {}", output.status, complaint.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("read the output of `{shown}`"))
}

/// Runs a program out of the way of Ctrl-C and without its output, to clean up; whether it ended
/// well.
pub fn quietly(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).status().is_ok_and(|status| status.success())
}

/// The most memory that a process took so far, KiB, out of its `/proc/PID/status`.
pub fn peak_kib(status: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let text = line.context("the kernel does not say how much memory was taken")?;
    text.trim().trim_end_matches(" kB").parse().context("read an amount of memory")
}

/// The command line, quoted as a shell would need it. The environment is not shown.
pub fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    show_words(words.map(|word| word.to_string_lossy()))
}

/// These words as a line for a shell.
pub fn show_words(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,%+@$".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    if interrupted() {
        bail!("interrupted");
    }
    let shown = show(command);
    let child = command.stdin(Stdio::null()).process_group(0).spawn();
    child.with_context(|| format!("start `{shown}`"))
}

/// Waits for the end; `look` is called with the running child every few milliseconds.
fn wait(
    child: &mut Child,
    deadline: Option<Deadline>,
    mut look: impl FnMut(&Child),
) -> Result<Ended> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("wait for a child process")? {
            return Ok(Ended { status: Some(status), elapsed: start.elapsed() });
        }
        if interrupted() {
            end_group(child)?;
            bail!("interrupted");
        }
        if deadline.is_some_and(|deadline| deadline.remaining().is_zero()) {
            end_group(child)?;
            return Ok(Ended { status: None, elapsed: start.elapsed() });
        }
        look(child);
        thread::sleep(POLL);
    }
}

/// Asks the child's group to end, and ends it after the grace time. The child itself is reaped
/// last: until then its number, and with it the group's, is taken.
fn end_group(child: &mut Child) -> Result<()> {
    let group = Pid::from_child(child);
    // A group whose members have all ended by now is no error.
    let _ = kill_process_group(group, Signal::TERM);
    thread::sleep(GRACE);
    let _ = kill_process_group(group, Signal::KILL);
    child.wait().context("wait for an ended child process")?;
    Ok(())
}

fn forward(from: impl Read + Send + 'static, to: Sender<String>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(from);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
            let text = String::from_utf8_lossy(&bytes);
            if to.send(text.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

/// The next line; `None` when both streams are closed, or when the child has ended and nothing
/// came for a while (something it left running may hold the streams open for ever).
fn next_line(lines: &Receiver<String>, ended: impl Fn() -> bool) -> Option<String> {
    loop {
        let was_over = ended();
        match lines.recv_timeout(LINGER) {
            Ok(line) => return Some(line),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if was_over => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests;
