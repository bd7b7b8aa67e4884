//! An exact event simulation of an array of dies, as an oracle for the emulated drive.
//!
//! It shares no code with the drive, and none of its method: nothing is reserved ahead. Every
//! resource has a queue and takes the next task when it is free, each end is an event, and all that
//! happens is decided at the instant at which it happens. Slow and simple.
//!
//! ```text
//! read:   controller -> die (sense) -> channel -> [all parts] -> link -> + latency
//! write:  controller -> link -> place in the buffer -> + latency
//!         and from there on: erase of the die -> channel -> die (program) -> place is free
//! ```
//!
//! A write is one whole program group, and erases its die first. Where dies
//! may be suspended, a read goes before the first erase or program that has not yet let too many
//! reads by; an operation at work is interrupted for it unless it would be over sooner.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use trimbench_core::Bytes;
use trimbench_core::units::index;
use trimbench_ssd::{LinkDuplex, SsdConfig};

use super::load::{Completions, GROUP_UNITS, Load, Reads, UNIT, WRITE_GROUPS, Writes};

/// When something happens, and what; equal instants in the order of the second number.
type Event = Reverse<(u64, u64, Happening)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A line finished its task.
    Passed(usize),
    /// A die finished what it began at this change of its mind: another one makes it void.
    Worked { die: usize, mind: u64 },
    /// A command is over.
    Over(usize),
    /// The next write of a paced load.
    WriteDue,
}

/// What waits for a line: the controller, the link or a channel.
#[derive(Clone, Copy, Debug)]
struct Task {
    command: usize,
    stage: Stage,
    span: u64,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Accept,
    WriteLink,
    ReadLink,
    ReadTransfer,
    ProgramTransfer { die: usize },
}

/// A resource that serves in the order of arrival.
#[derive(Debug, Default)]
struct Line {
    current: Option<Task>,
    queue: VecDeque<Task>,
}

/// An erase or a program at a die.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// The write that it belongs to; of an erase too.
    command: usize,
    is_erase: bool,
    /// What is left of it.
    left: u64,
    /// Its data have arrived.
    ready: bool,
    /// Reads that went before it.
    passed: u32,
}

/// A part of a read at a die.
#[derive(Clone, Copy, Debug)]
struct Sense {
    command: usize,
    units: u64,
    /// Works of this die that must be over first, counted from its beginning.
    after: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    /// The first work, since then.
    Work {
        since: u64,
    },
    Sensing,
}

#[derive(Debug)]
struct Die {
    works: VecDeque<Work>,
    /// Works that are over.
    over: u64,
    senses: VecDeque<Sense>,
    doing: Doing,
    mind: u64,
}

#[derive(Clone, Copy, Debug)]
struct Command {
    is_read: bool,
    submitted: u64,
    /// Of the unit space: where, and how long.
    first: u64,
    units: u64,
    parts_left: u64,
}

/// The state of everything.
#[derive(Debug)]
struct Simulation<'a> {
    config: &'a SsdConfig,
    channels: usize,
    load: &'a Load,
    now: u64,
    sequence: u64,
    events: BinaryHeap<Event>,
    /// Controller, link in, link out (not used where the link is half duplex), channels.
    lines: Vec<Line>,
    dies: Vec<Die>,
    commands: Vec<Command>,
    vacant: Vec<usize>,
    reads: Reads,
    writes_begun: u64,
    /// Places of the buffer that are taken, and the writes that wait for one.
    taken: Vec<bool>,
    next_place: usize,
    /// By the command.
    places: Vec<usize>,
    no_place: VecDeque<usize>,
    completed: Completions,
}

const CONTROLLER: usize = 0;
const LINK_IN: usize = 1;
const LINK_OUT: usize = 2;
const FIRST_CHANNEL: usize = 3;

/// Runs a load to its end.
pub(super) fn run(config: &SsdConfig, load: &Load) -> Completions {
    let channels = index(config.geometry.channels.into());
    let die = || Die {
        works: VecDeque::new(),
        over: 0,
        senses: VecDeque::new(),
        doing: Doing::Nothing,
        mind: 0,
    };
    let mut simulation = Simulation {
        config,
        channels,
        load,
        now: 0,
        sequence: 0,
        events: BinaryHeap::new(),
        lines: (0..FIRST_CHANNEL + channels).map(|_| Line::default()).collect(),
        dies: (0..config.geometry.dies).map(|_| die()).collect(),
        commands: Vec::new(),
        vacant: Vec::new(),
        reads: Reads::new(load),
        writes_begun: 0,
        taken: vec![false; index(config.write_buffer.0 / (GROUP_UNITS * UNIT))],
        next_place: 0,
        places: Vec::new(),
        no_place: VecDeque::new(),
        completed: Completions::new(),
    };
    simulation.begin();
    while simulation.completed.len() < load.reads {
        let Reverse((at, _, happening)) = simulation.events.pop().unwrap();
        simulation.now = at;
        simulation.happen(happening);
    }
    simulation.completed
}

impl Simulation<'_> {
    fn begin(&mut self) {
        for _ in 0..self.load.read_depth {
            self.submit_read();
        }
        match self.load.writes {
            Writes::None => {}
            Writes::Every(pace) => self.schedule(pace, Happening::WriteDue),
            Writes::Depth(depth) => (0..depth).for_each(|_| self.submit_write()),
        }
    }

    fn schedule(&mut self, after: u64, happening: Happening) {
        self.sequence += 1;
        self.events.push(Reverse((self.now + after, self.sequence, happening)));
    }

    fn submit_read(&mut self) {
        let first = self.reads.next_unit();
        self.submit(true, first, self.load.read_units);
    }

    fn submit_write(&mut self) {
        let group = self.writes_begun % WRITE_GROUPS;
        self.writes_begun += 1;
        self.submit(false, group * GROUP_UNITS, GROUP_UNITS);
    }

    fn submit(&mut self, is_read: bool, first: u64, units: u64) {
        let command = Command { is_read, submitted: self.now, first, units, parts_left: 0 };
        let index = if let Some(index) = self.vacant.pop() {
            self.commands[index] = command;
            index
        } else {
            self.commands.push(command);
            self.places.push(0);
            self.commands.len() - 1
        };
        let span = self.config.host.command.0;
        self.queue(CONTROLLER, Task { command: index, stage: Stage::Accept, span });
    }

    fn queue(&mut self, line: usize, task: Task) {
        self.lines[line].queue.push_back(task);
        if self.lines[line].current.is_none() {
            self.serve(line);
        }
    }

    fn serve(&mut self, line: usize) {
        let next = self.lines[line].queue.pop_front();
        self.lines[line].current = next;
        if let Some(task) = next {
            self.schedule(task.span, Happening::Passed(line));
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Passed(line) => {
                let task = self.lines[line].current.take();
                self.serve(line);
                if let Some(task) = task {
                    self.passed(task);
                }
            }
            Happening::Worked { die, mind } if self.dies[die].mind == mind => self.worked(die),
            Happening::Worked { .. } => {}
            Happening::Over(command) => self.over(command),
            Happening::WriteDue => {
                self.submit_write();
                if let Writes::Every(pace) = self.load.writes {
                    self.schedule(pace, Happening::WriteDue);
                }
            }
        }
    }

    fn passed(&mut self, Task { command, stage, .. }: Task) {
        let Command { is_read, first, units, .. } = self.commands[command];
        match stage {
            Stage::Accept if is_read => self.sense(command, first, units),
            Stage::Accept => {
                let span = span_of(units, self.config.host.link_rate);
                self.queue(LINK_IN, Task { command, stage: Stage::WriteLink, span });
            }
            Stage::WriteLink => {
                self.no_place.push_back(command);
                self.place();
            }
            Stage::ReadTransfer => {
                self.commands[command].parts_left -= 1;
                if self.commands[command].parts_left == 0 {
                    let is_half = self.config.host.duplex == LinkDuplex::Half;
                    let line = if is_half { LINK_IN } else { LINK_OUT };
                    let span = span_of(units, self.config.host.link_rate);
                    self.queue(line, Task { command, stage: Stage::ReadLink, span });
                }
            }
            Stage::ReadLink => self.schedule(self.config.host.latency.0, Happening::Over(command)),
            Stage::ProgramTransfer { die } => {
                let mut works = self.dies[die].works.iter_mut();
                let work = works.find(|work| work.command == command && !work.is_erase);
                if let Some(work) = work {
                    work.ready = true;
                }
                self.decide(die);
            }
        }
    }

    /// A read's parts go to their dies.
    fn sense(&mut self, command: usize, first: u64, units: u64) {
        let groups = first / GROUP_UNITS..=(first + units - 1) / GROUP_UNITS;
        self.commands[command].parts_left = groups.clone().count() as u64;
        for group in groups {
            let begin = first.max(group * GROUP_UNITS);
            let end = (first + units).min((group + 1) * GROUP_UNITS);
            let die = self.die_of(group);
            self.sense_part(command, die, end - begin);
        }
    }

    fn sense_part(&mut self, command: usize, index: usize, units: u64) {
        let now = self.now;
        let die = &mut self.dies[index];
        let mut behind = die.works.len();
        if let Some(suspend) = self.config.nand.suspend {
            for (position, work) in die.works.iter_mut().enumerate() {
                let interrupts = match die.doing {
                    Doing::Work { since } if position == 0 => {
                        let pause = if work.is_erase { suspend.erase.0 } else { suspend.program.0 };
                        if work.left <= now - since + pause {
                            continue;
                        }
                        Some((since, pause))
                    }
                    _ => None,
                };
                if work.passed == suspend.reads_max {
                    continue;
                }
                work.passed += 1;
                behind = position;
                if let Some((since, pause)) = interrupts {
                    work.left = work.left - (now - since) + suspend.resume.0;
                    die.senses.push_back(Sense { command, units, after: die.over });
                    self.begin_sensing(index, pause);
                    return;
                }
                break;
            }
        }
        let die = &mut self.dies[index];
        let after = die.over + behind as u64;
        die.senses.push_back(Sense { command, units, after });
        self.decide(index);
    }

    /// Where a group lies, of a drive that was filled in order once.
    fn die_of(&self, group: u64) -> usize {
        index(group % u64::from(self.config.geometry.dies))
    }

    fn begin_sensing(&mut self, index: usize, pause: u64) {
        self.dies[index].doing = Doing::Sensing;
        self.change_mind(index, pause + self.config.nand.read.0);
    }

    /// The die does something else from now on, for so long.
    fn change_mind(&mut self, die: usize, span: u64) {
        self.dies[die].mind += 1;
        let mind = self.dies[die].mind;
        self.schedule(span, Happening::Worked { die, mind });
    }

    /// A die that does nothing takes what is next.
    fn decide(&mut self, index: usize) {
        let die = &mut self.dies[index];
        if die.doing != Doing::Nothing {
            return;
        }
        if die.senses.front().is_some_and(|sense| sense.after <= die.over) {
            self.begin_sensing(index, 0);
        } else if let Some(work) = die.works.front()
            && work.ready
        {
            let left = work.left;
            die.doing = Doing::Work { since: self.now };
            self.change_mind(index, left);
        }
    }

    fn worked(&mut self, index: usize) {
        let die = &mut self.dies[index];
        match std::mem::replace(&mut die.doing, Doing::Nothing) {
            Doing::Sensing => {
                if let Some(Sense { command, units, .. }) = die.senses.pop_front() {
                    let span = span_of(units, self.config.nand.channel_rate);
                    let line = FIRST_CHANNEL + index % self.channels;
                    self.queue(line, Task { command, stage: Stage::ReadTransfer, span });
                }
            }
            Doing::Work { .. } => {
                die.over += 1;
                if let Some(work) = die.works.pop_front()
                    && !work.is_erase
                {
                    self.taken[self.places[work.command]] = false;
                    self.vacant.push(work.command);
                    self.place();
                }
            }
            Doing::Nothing => {}
        }
        self.decide(index);
    }

    /// The first write that waits takes the next place, if that is free. Places go round.
    fn place(&mut self) {
        while let Some(&command) = self.no_place.front()
            && !self.taken[self.next_place]
        {
            self.no_place.pop_front();
            self.taken[self.next_place] = true;
            self.places[command] = self.next_place;
            self.next_place = (self.next_place + 1) % self.taken.len();
            self.schedule(self.config.host.latency.0, Happening::Over(command));
            self.program(command);
        }
    }

    fn program(&mut self, command: usize) {
        let index = self.die_of(self.commands[command].first / GROUP_UNITS);
        let mut add = |is_erase, left| {
            let work = Work { command, is_erase, left, ready: is_erase, passed: 0 };
            self.dies[index].works.push_back(work);
        };
        add(true, self.config.nand.erase.0);
        add(false, self.config.nand.program.0);
        let span = span_of(GROUP_UNITS, self.config.nand.channel_rate);
        let line = FIRST_CHANNEL + index % self.channels;
        let stage = Stage::ProgramTransfer { die: index };
        self.queue(line, Task { command, stage, span });
        self.decide(index);
    }

    fn over(&mut self, index: usize) {
        let Command { is_read, submitted, .. } = self.commands[index];
        if is_read {
            self.completed.push((self.now, self.now - submitted));
            self.vacant.push(index);
            self.submit_read();
        } else if matches!(self.load.writes, Writes::Depth(_)) {
            self.submit_write();
        }
    }
}

/// Time for so many units, to the nearest ns.
fn span_of(units: u64, rate: Bytes) -> u64 {
    (units * UNIT * 1_000_000_000 + rate.0 / 2) / rate.0
}
