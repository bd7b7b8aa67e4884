//! The figures of the sessions, and whether TRIM reaches the drive.

use trimbench_core::{Bytes, Caveat};

use super::Reason;
use crate::metric::Direction;
use crate::record::{Figure, RunRecord, Session};
use crate::role::Role;

/// Which figures count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The valid ones.
    Valid,
    /// All: gives the answer as if all were valid.
    All,
}

/// The method whose deletions are of stated sizes, and its option for the one that the verdict
/// speaks of.
const ASKED_METHOD: &str = "delete-stall";
const ASKED_OPTION: &str = "deletes";

/// Has the verdict speak of deletions of this size. Whether a session measured any.
pub fn ask_about(record: &mut RunRecord, deletes: Bytes) -> bool {
    let asked = record.sessions.iter_mut().filter(|it| it.plan.method == ASKED_METHOD);
    asked.fold(false, |_, session| {
        session.plan.options.insert(ASKED_OPTION.to_owned(), deletes.to_string());
        true
    })
}

/// The sessions of one target.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// Those that have results.
    sessions: Vec<(usize, &'a Session)>,
    all: Vec<(usize, &'a Session)>,
    trust: Trust,
}

/// The deletions of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deletions {
    /// The largest that was measured.
    pub(super) largest: Bytes,
    /// The one that its cost is stated for.
    pub(super) stated: Bytes,
}

/// A figure, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    pub(super) session: usize,
    pub(super) figure: &'a Figure,
}

impl Found<'_> {
    pub(super) fn value(&self) -> f64 {
        self.figure.value
    }

    /// The value with its unit and interval, as it is shown everywhere.
    pub(super) fn shown(&self) -> String {
        self.figure.shown().text()
    }

    /// The same without the interval.
    pub(super) fn quantity(&self) -> String {
        self.figure.shown().quantity()
    }
}

/// Whether a figure rests on what its model was not fitted to.
fn is_outside(session: &Session, figure: &Figure) -> bool {
    session.caveats.iter().chain(&figure.caveats).any(|id| id == Caveat::OutsideCalibration.id())
}

/// Methods all of whose figures with a role rest outside their model's calibration.
pub(super) fn outside(sessions: &[&Session]) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for session in sessions.iter().filter(|session| says_something(session)) {
        let mut figures = session.figures.iter().filter(|figure| figure.role.is_some()).peekable();
        let method = &session.plan.method;
        if figures.peek().is_some()
            && figures.all(|figure| is_outside(session, figure))
            && !methods.contains(method)
        {
            methods.push(method.clone());
        }
    }
    methods
}

/// The drive that a session was on: of a filesystem on it the drive below. What was set of an
/// emulated drive makes it another. A pool of drives, and a directory, stand for themselves.
pub fn drive_of(session: &Session) -> String {
    let name = drive_name(session);
    match session.target.identity.get("set-by-the-user") {
        Some(set) => format!("{name}, {set}"),
        None => name.to_owned(),
    }
}

/// The name of that drive, without what was set.
pub fn drive_name(session: &Session) -> &str {
    let target = &session.target;
    if target.identity.contains_key("drives") || target.kind != "filesystem" {
        return &target.name;
    }
    // `ext4 on NAME`: so filesystems that are made for a run are called.
    target.name.split_once(" on ").map_or(&target.name, |(_, below)| below)
}

/// A session that finished and measured what its method is for.
fn says_something(session: &Session) -> bool {
    let placebo = session.caveats.iter().any(|id| id == Caveat::PlaceboOnly.id());
    session.finished && session.left_out.is_none() && !placebo
}

/// The invalid figures, in words.
pub(super) fn doubtful(sessions: &[&Session]) -> Vec<String> {
    let sessions = sessions.iter().filter(|session| says_something(session));
    let of = sessions.filter_map(|session| {
        let all = session.figures.len();
        let counts = |it: &&Figure| !session.believes(it) && !is_outside(session, it);
        let invalid = session.figures.iter().filter(counts).count();
        let method = &session.plan.method;
        match invalid {
            0 => None,
            _ if invalid == all => Some(format!("`{method}` is invalid")),
            1 => Some(format!("one figure of `{method}` is invalid")),
            _ => Some(format!("{invalid} figures of `{method}` are invalid")),
        }
    });
    of.collect()
}

impl<'a> Facts<'a> {
    pub(super) fn new(sessions: &[&'a Session], trust: Trust) -> Self {
        let all: Vec<(usize, &Session)> = sessions.iter().copied().enumerate().collect();
        let sessions = all.iter().copied().filter(|(_, it)| says_something(it)).collect();
        Self { sessions, all, trust }
    }

    /// The deletions of a session, whose cost is stated for what the user asks about, and else for
    /// the largest. `None` if it deletes nothing of a stated size.
    pub(super) fn deletions(session: &Session) -> Option<Deletions> {
        let key = match session.plan.method.as_str() {
            ASKED_METHOD => "sizes",
            "policy" | "kernels" => "file-sizes",
            _ => return None,
        };
        let options = &session.plan.options;
        let sizes = options.get(key)?.split(',');
        let largest = sizes.filter_map(|size| size.trim().parse().ok()).max()?;
        let stated = options.get(ASKED_OPTION).and_then(|text| text.parse().ok());
        Some(Deletions { largest, stated: stated.unwrap_or(largest) })
    }

    /// Whether a session of this method ran here, whatever became of its figures.
    pub(super) fn ran(&self, method: &str) -> bool {
        self.sessions.iter().any(|(_, session)| session.plan.method == method)
    }

    /// Whether a figure has this role, valid or not.
    pub(super) fn has(&self, role: &Role) -> bool {
        self.sessions.iter().any(|(_, session)| {
            let inside = |figure: &&Figure| !is_outside(session, figure);
            session.figures.iter().filter(inside).any(|it| it.role.as_ref() == Some(role))
        })
    }

    /// The sessions, with their index.
    pub(super) fn sessions(&self) -> impl Iterator<Item = (usize, &'a Session)> {
        self.sessions.iter().copied()
    }

    /// The same with those that did not finish: only for what speaks against TRIM.
    pub(super) fn all_sessions(&self) -> impl Iterator<Item = (usize, &'a Session)> {
        self.all.iter().copied()
    }

    /// All figures of a session that count.
    pub(super) fn figures(
        &self,
        (index, session): (usize, &'a Session),
    ) -> impl Iterator<Item = Found<'a>> {
        let counts = |figure: &&Figure| {
            (self.trust == Trust::All || session.believes(figure)) && !is_outside(session, figure)
        };
        let figures = session.figures.iter().filter(counts).collect::<Vec<_>>().into_iter();
        figures.map(move |figure| Found { session: index, figure })
    }

    /// The figure of this role in one session.
    pub(super) fn within(&self, session: (usize, &'a Session), role: &Role) -> Option<Found<'a>> {
        self.figures(session).find(|found| found.figure.role.as_ref() == Some(role))
    }

    /// The figure of this role; of several sessions that have one the worst.
    pub(super) fn worst(&self, role: &Role) -> Option<Found<'a>> {
        let found = self.sessions().filter_map(|session| self.within(session, role));
        found.reduce(|worst, other| {
            let worse = match worst.figure.direction {
                Direction::Higher => other.value() < worst.value(),
                _ => other.value() > worst.value(),
            };
            if worse { other } else { worst }
        })
    }

    /// Figures that a rule needs and a record lacks, because its version did not measure them, or
    /// because the load was another: in words.
    pub(super) fn lacking(&self) -> Vec<String> {
        let lacks = |method: &str, has: &[Role], needs: &Role| {
            self.sessions.iter().any(|(_, session)| {
                let any =
                    |role: &Role| session.figures.iter().any(|it| it.role.as_ref() == Some(role));
                session.plan.method == method && has.iter().any(any) && !any(needs)
            })
        };
        let named = |name: &str| Role::PolicyWear { policy: name.to_owned() };
        let worst = |name: &str| Role::PolicyWorst { policy: name.to_owned() };
        let table = [
            (
                lacks("delete-stall", &[Role::StutterPerGb], &Role::TailAfterPlacebo),
                "the p99.9 of responses after placebos, which the record of `delete-stall` lacks: \
                 without it no response is too long for the TRIM's sake",
            ),
            (
                lacks("policy", &[named("ext4"), named("none")], &worst("none")),
                "the longest response under each policy, which the record of `policy` lacks",
            ),
            (
                lacks("policy", &[named("ext4"), named("fstrim-weekly")], &named("none")),
                "the policy `none`, which `policy` was run without: the settings are compared \
                 with it",
            ),
        ];
        table.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what.to_owned()).collect()
    }

    /// Why deletions say nothing of TRIM: the filesystem that was measured is mounted without it.
    pub(super) fn without_discard(&self) -> Option<Reason> {
        let without = |session: &Session| {
            let options = session.target.identity.get("mount-options");
            let none = |options: &String| !options.split(',').any(|it| it.starts_with("discard"));
            let steps = session.steps.iter().flat_map(|step| &step.caveats);
            let sent_none =
                session.caveats.iter().chain(steps).any(|id| id == Caveat::NoDiscard.id());
            session.target.kind == "directory" && options.is_some_and(none) && sent_none
        };
        let found = self.sessions().any(|(_, session)| without(session));
        found.then(|| {
            let text = "the filesystem is mounted without `discard`, so that deletions sent none";
            Reason::new(text, &[]).in_short("mounted without `discard`: nothing was trimmed")
        })
    }
}
