//! The observer in the kernel: compiled, loaded, and queried for everything that a program did,
//! from its first instruction to the exit of the last process that it started.

use std::collections::{BTreeSet, VecDeque};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use xtask::process;

use super::event::{Deed, Event};

/// What runs in the kernel, by its path in the repository.
pub(super) const SOURCE: &str = "lab/src/safety/watched/observer.bpf.c";
/// The program of each hook, and its tracepoint.
const HOOKS: [(&str, &str); 4] = [
    ("system_call", "sys_enter"),
    ("ring_request", "io_uring_submit_req"),
    ("block_request", "block_bio_queue"),
    ("process_fork", "sched_process_fork"),
];
const POLL: Duration = Duration::from_millis(1);
/// What a run may take after it was interrupted.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long processes may outlive the one that started them.
const LINGER: Duration = Duration::from_secs(2);

/// The observer. One watches one program at a time.
pub(super) struct Observer {
    watched: HashMap<MapData, u32, u32>,
    points: HashMap<MapData, u32, [u64; 3]>,
    guarded: HashMap<MapData, u32, u32>,
    lost: Array<MapData, u64>,
    events: RingBuf<MapData>,
    attempt: u32,
    _loaded: Ebpf,
}

/// What happens to a program while it runs.
pub(super) struct Fate<'a> {
    /// Signals, each sent at a system call of this number, counted from the last signal on.
    pub signals: VecDeque<(u64, Signal)>,
    /// What happens while it is stopped.
    pub meanwhile: &'a mut dyn FnMut() -> Result<()>,
    /// When it gets Ctrl-C.
    pub interrupt: Duration,
    /// Block devices whose every change is reported, whichever process makes it.
    pub guarded: &'a [u32],
}

/// What it did.
#[derive(Debug)]
pub(super) struct Observed {
    /// How it ended; `None` if it did not after Ctrl-C and had to be killed.
    pub status: Option<ExitStatus>,
    /// What it asked the kernel for.
    pub events: Vec<Event>,
    /// Events for which there was no room.
    pub lost: u64,
    /// How often it was stopped.
    pub stops: u64,
    /// Its process and those that it started.
    pub processes: BTreeSet<u32>,
}

/// Compiles [`SOURCE`] into `folder`.
pub(super) fn compile(source: &Path, folder: &Path) -> Result<PathBuf> {
    let object = folder.join("observer.bpf.o");
    // The kernel's headers for programs lie in a folder by the machine in Debian.
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new("clang");
    command.args(["-O2", "-g", "-mcpu=v3", "-target", "bpf", "-Wall", "-Werror", &headers]);
    command.arg("-D__TARGET_ARCH_x86").arg("-c").arg(source).arg("-o").arg(&object);
    process::output(&mut command).context("compile the observer")?;
    Ok(object)
}

impl Observer {
    /// Loads what was compiled.
    pub(super) fn load(object: &Path) -> Result<Self> {
        let bytes = std::fs::read(object).context("read the observer")?;
        let mut loaded = Ebpf::load(&bytes).context("load the observer (it takes root)")?;
        let kernel = Btf::from_sys_fs().context("read the kernel's BTF")?;
        for (name, tracepoint) in HOOKS {
            let program = loaded.program_mut(name).context("a program is missing")?;
            let program: &mut BtfTracePoint = program.try_into()?;
            program.load(tracepoint, &kernel).with_context(|| format!("load `{name}`"))?;
            program.attach().with_context(|| format!("attach `{name}`"))?;
        }
        let mut map = |name: &str| {
            loaded.take_map(name).with_context(|| format!("the map `{name}` is missing"))
        };
        Ok(Self {
            watched: HashMap::try_from(map("watched")?)?,
            points: HashMap::try_from(map("points")?)?,
            guarded: HashMap::try_from(map("guarded")?)?,
            lost: Array::try_from(map("lost")?)?,
            events: RingBuf::try_from(map("events")?)?,
            attempt: 0,
            _loaded: loaded,
        })
    }

    /// Runs a program and watches all that it does. What it prints goes where `command` says.
    pub(super) fn watch(&mut self, command: &Command, fate: Fate<'_>) -> Result<Observed> {
        self.attempt += 1;
        let lost = self.lost.get(&0, 0)?;
        for device in fate.guarded {
            self.guarded.insert(device, self.attempt, 0)?;
        }
        let mut child = self.begin(command)?;
        let seen = self.follow(&mut child, fate);
        // Whatever went wrong: nothing of it goes on.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait();
        let mut observed = seen?;
        observed.lost = self.lost.get(&0, 0)? - lost;
        Ok(observed)
    }

    /// Starts a shell that stops itself, has it watched, and lets it become the program: so that
    /// nothing happens unwatched.
    fn begin(&mut self, command: &Command) -> Result<Child> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]);
        shell.arg(command.get_program()).args(command.get_args()).process_group(0);
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = shell.spawn().context("start a shell")?;
        let process = Pid::from_child(&child);
        let (_, state) = waitpid(Some(process), WaitOptions::UNTRACED)
            .context("wait for a shell")?
            .context("the shell did not stop")?;
        ensure!(state.stopped(), "the shell ended before the program began");
        self.watched.insert(child.id(), self.attempt, 0)?;
        Ok(child)
    }

    fn follow(&mut self, child: &mut Child, mut fate: Fate<'_>) -> Result<Observed> {
        let mut events = Vec::new();
        let mut stops = 0;
        self.aim(&mut fate)?;
        kill_process(Pid::from_child(child), Signal::CONT).context("let the program begin")?;
        let start = Instant::now();
        let mut interrupted = false;
        let status = loop {
            for signal in self.drain(&mut events)? {
                if signal.command == Signal::STOP.as_raw().unsigned_abs() {
                    stops += 1;
                    wait_until_stopped(signal.process);
                    (fate.meanwhile)()?;
                    self.aim(&mut fate)?;
                    let stopped = i32::try_from(signal.process).ok().and_then(Pid::from_raw);
                    let _ = kill_process(stopped.context("a process has a number")?, Signal::CONT);
                }
            }
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if process::interrupted() {
                bail!("interrupted");
            }
            if start.elapsed() > fate.interrupt && !interrupted {
                interrupted = true;
                kill_process(Pid::from_child(child), Signal::INT).context("interrupt it")?;
            }
            if start.elapsed() > fate.interrupt + PATIENCE {
                break None;
            }
            thread::sleep(POLL);
        };
        let processes = self.end(&mut events)?;
        Ok(Observed { status, events, lost: 0, stops, processes })
    }

    /// Has the next signal sent.
    fn aim(&mut self, fate: &mut Fate<'_>) -> Result<()> {
        let next = fate.signals.pop_front();
        let (at, signal) = next.unwrap_or((0, Signal::CONT));
        let point = [0, at, u64::from(signal.as_raw().unsigned_abs())];
        self.points.insert(self.attempt, point, 0).context("aim a signal")
    }

    /// Reads what is there; the signals among it.
    fn drain(&mut self, events: &mut Vec<Event>) -> Result<Vec<Event>> {
        let mut signals = Vec::new();
        while let Some(bytes) = self.events.next() {
            let event = Event::parse(&bytes).context("the observer speaks another language")?;
            if event.attempt != self.attempt {
                continue;
            }
            match event.deed {
                Deed::Signal => signals.push(event),
                _ => events.push(event),
            }
        }
        Ok(signals)
    }

    /// Waits for the end of what the program started, and forgets all of it.
    fn end(&mut self, events: &mut Vec<Event>) -> Result<BTreeSet<u32>> {
        let start = Instant::now();
        let processes = loop {
            let keys: BTreeSet<u32> = self.watched.keys().collect::<Result<_, _>>()?;
            let alive = |process: &&u32| !matches!(state(**process), None | Some('Z'));
            let Some(left) = keys.iter().find(alive) else { break keys };
            if start.elapsed() > LINGER {
                let left = i32::try_from(*left).ok().and_then(Pid::from_raw);
                let _ = kill_process(left.context("a process has a number")?, Signal::KILL);
            }
            thread::sleep(POLL);
        };
        self.drain(events)?;
        for process in &processes {
            self.watched.remove(process)?;
        }
        self.points.remove(&self.attempt)?;
        let guarded: Vec<u32> = self.guarded.keys().collect::<Result<_, _>>()?;
        for device in &guarded {
            self.guarded.remove(device)?;
        }
        Ok(processes)
    }
}

impl Observed {
    /// How it ended, in a word.
    pub(super) fn ending(&self) -> String {
        match self.status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("exit {code}"),
            Some((None, Some(signal))) => format!("signal {signal}"),
            _ => "hung".to_owned(),
        }
    }
}

/// Returns when the process has stopped: the signal was sent, and takes effect at the end of its
/// system call. One that was killed meanwhile is not awaited.
fn wait_until_stopped(process: u32) {
    let start = Instant::now();
    while !matches!(state(process), None | Some('T' | 't' | 'Z')) && start.elapsed() < LINGER {
        thread::sleep(POLL / 4);
    }
}

/// The letter that the kernel shows for what a process is doing.
fn state(process: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}
