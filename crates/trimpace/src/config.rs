//! The configuration of the service, `/etc/trimpace.toml`: strict, so that a typing error is not a
//! setting that is missing.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::{Bytes, Nanos, Ppm, reason};

use crate::args::{CONFIG, ProbeName, fstrim_size, positive_time, share};
use crate::law::LawChoice;
use crate::planner::Leave;
use crate::schedule::{Hours, Rhythm, Slot};

#[cfg(test)]
mod tests;

/// Where the service remembers, unless told otherwise.
const STATE: &str = "/var/lib/trimpace";
const DAY: Nanos = Nanos::from_secs(86_400);
/// Once in this time, unless told otherwise: as `fstrim.timer`.
const WEEK: Nanos = Nanos::from_secs(7 * 86_400);
/// The longest period.
const YEAR: Nanos = Nanos::from_secs(366 * 86_400);
/// The shortest slot: a pass needs time to look and to find its pace.
const SLOT_MIN: u64 = 10 * 60;
/// What may be named as a unit that has processes.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

const MOUNT_KEYS: [&str; 8] =
    ["path", "every", "hours", "p99", "share", "cover", "minimum", "probe"];
const TOP_KEYS: [&str; 12] = [
    "every", "hours", "p99", "share", "cover", "minimum", "probe", "state", "metrics", "fleet",
    "pause", "mount",
];
const FLEET_KEYS: [&str; 4] = ["host", "hosts", "at-once", "slots"];
const PAUSE_KEYS: [&str; 4] = ["md", "btrfs", "while-active", "while-exists"];

/// What the service does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where it remembers what it has done.
    pub state: PathBuf,
    /// The file of metrics for Prometheus' node exporter; `None` for none.
    pub metrics: Option<PathBuf>,
    /// Hosts that share a storage.
    pub fleet: Option<Fleet>,
    /// When it pauses.
    pub pause: PauseRules,
    /// What it trims; none for all that `fstrim.timer` would.
    pub mounts: Vec<MountConfig>,
    /// How it trims what is not named.
    pub defaults: MountSettings,
}

/// A mount that is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountConfig {
    /// Where it is mounted.
    pub path: PathBuf,
    /// How it is trimmed.
    pub settings: MountSettings,
}

/// How a mount is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountSettings {
    /// At least once in this time.
    pub every: Nanos,
    /// Only in these hours.
    pub hours: Option<Hours>,
    /// What is kept.
    pub keep: Keep,
    /// `cover` or `minimum`.
    pub leave: Leave,
    /// What measures the latency.
    pub probe: ProbeName,
}

/// What a pass keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// `p99`; `None` for a target by the first probes.
    Latency(Option<Nanos>),
    /// `share`.
    Share(Ppm),
}

/// Hosts that share a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fleet {
    /// All of them, of which so many may trim at once.
    Listed {
        /// This one, as the list has it; `None` for its host name.
        host: Option<String>,
        /// All.
        hosts: Vec<String>,
        /// How many at once.
        at_once: u32,
    },
    /// So many that nobody lists them: each draws one of so many slots.
    Drawn {
        /// As above.
        host: Option<String>,
        /// Slots.
        slots: u32,
    },
}

/// When the service pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseRules {
    /// While an md array below the filesystem resyncs, recovers, reshapes or is checked.
    pub md: bool,
    /// While btrfs balances, replaces or removes a device, or scrubs.
    pub btrfs: bool,
    /// While one of these units of systemd has a process.
    pub while_active: Vec<String>,
    /// While one of these files is there.
    pub while_exists: Vec<PathBuf>,
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Something in it is wrong.
    #[error("`{}`, line {line}: {what}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl Default for PauseRules {
    fn default() -> Self {
        Self { md: true, btrfs: true, while_active: Vec::new(), while_exists: Vec::new() }
    }
}

impl Default for MountSettings {
    fn default() -> Self {
        Self {
            every: WEEK,
            hours: None,
            keep: Keep::Latency(None),
            leave: Leave::Below(Bytes(0)),
            probe: ProbeName::Reads,
        }
    }
}

impl Fleet {
    /// What this host calls itself here; `None` for its host name.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Listed { host, .. } | Self::Drawn { host, .. } => host.as_deref(),
        }
    }

    /// How many slots it has.
    fn slots(&self) -> u32 {
        match self {
            Self::Listed { hosts, at_once, .. } => {
                u32::try_from(hosts.len()).unwrap_or(u32::MAX).div_ceil(*at_once)
            }
            Self::Drawn { slots, .. } => *slots,
        }
    }

    /// Why it cannot share out the hours of a mount.
    fn problem(&self, settings: &MountSettings) -> Option<String> {
        let Some(hours) = settings.hours else {
            let what = "a `[fleet]` shares out `hours`, as `hours = \"01:00-05:00\"`, which each \
                        mount needs";
            return Some(what.to_owned());
        };
        let slots = self.slots();
        let each = hours.seconds() / u64::from(slots);
        (each < SLOT_MIN).then(|| {
            format!(
                "each of {slots} slots of the hours {hours} would be {} min long: 10 min is the \
                 least; allow more hours, or more hosts at once",
                each / 60
            )
        })
    }

    /// The slot of this host for a volume; `None` if it is not one of the list.
    pub fn slot(&self, own_name: &str, volume: &str) -> Option<Slot> {
        let host = self.host().unwrap_or(own_name);
        match self {
            Self::Listed { hosts, at_once, .. } => Slot::ranked(host, hosts, *at_once),
            Self::Drawn { slots, .. } => Some(Slot::drawn(host, volume, *slots)),
        }
    }
}

impl MountSettings {
    /// How it is paced.
    pub fn law(&self) -> LawChoice {
        match self.keep {
            Keep::Latency(target) => LawChoice::Tail { target, deadline: None },
            Keep::Share(share) => LawChoice::Share { share, deadline: None },
        }
    }

    /// When it is trimmed, in this slot.
    pub fn rhythm(&self, slot: Slot) -> Rhythm {
        Rhythm { every: self.every, hours: self.hours, slot }
    }
}

impl Config {
    /// Reads a file. Where [`CONFIG`] is not there, everything is as it is by default.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && path == Path::new(CONFIG) => {
                Ok(String::new())
            }
            read => read,
        };
        let unread = |error| ConfigError::Unread { path: path.to_owned(), why: reason(&error) };
        Self::parse(&text.map_err(unread)?, path)
    }

    /// Reads the text of a file, whose name is for messages.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let reader = Reader { text, path };
        let tree = DeTable::parse(text).map_err(|error| {
            reader.wrong(error.span().unwrap_or_default(), error.message().to_owned())
        })?;
        let top = Section { reader, name: "the top level", table: tree.get_ref() };
        top.check(&TOP_KEYS)?;
        let defaults = top.settings(MountSettings::default())?;
        let mut mounts = Vec::<MountConfig>::new();
        for (table, span) in top.tables("mount")? {
            let section = Section { reader, name: "`[[mount]]`", table };
            section.check(&MOUNT_KEYS)?;
            let path = section.path("path")?.ok_or_else(|| {
                reader.wrong(span.clone(), "a `[[mount]]` needs a `path`".to_owned())
            })?;
            if mounts.iter().any(|other| other.path == path) {
                let what = format!("`{}` is named twice", path.display());
                return Err(reader.wrong(span, what));
            }
            mounts.push(MountConfig { path, settings: section.settings(defaults)? });
        }
        let fleet = top.table("fleet")?.map(|(section, span)| section.fleet(span)).transpose()?;
        if let Some(fleet) = &fleet {
            let all = mounts.iter().map(|mount| &mount.settings);
            let default = mounts.is_empty().then_some(&defaults);
            let problem = all.chain(default).find_map(|settings| fleet.problem(settings));
            let span = top.value("fleet").map(|(_, span)| span).unwrap_or_default();
            problem.map_or(Ok(()), |what| Err(reader.wrong(span, what)))?;
        }
        let pause = top.table("pause")?.map(|(section, _)| section.pause()).transpose()?;
        Ok(Self {
            state: top.path("state")?.unwrap_or_else(|| STATE.into()),
            metrics: top.path("metrics")?,
            fleet,
            pause: pause.unwrap_or_default(),
            mounts,
            defaults,
        })
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

/// A table of the file.
struct Section<'a> {
    reader: Reader<'a>,
    /// For messages.
    name: &'static str,
    table: &'a DeTable<'a>,
}

type Value<'a> = (&'a DeValue<'a>, Range<usize>);

impl Reader<'_> {
    fn wrong(&self, place: Range<usize>, what: String) -> ConfigError {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        ConfigError::Wrong { path: self.path.to_owned(), line, what }
    }
}

impl<'a> Section<'a> {
    /// Only these keys.
    fn check(&self, known: &[&str]) -> Result<(), ConfigError> {
        for key in self.table.keys() {
            let name: &Cow<'_, str> = key.get_ref();
            if !known.contains(&name.as_ref()) {
                let meant = did_you_mean(nearest(name, known.iter().copied()));
                let what = format!(
                    "there is no key `{name}` in {}{meant} (keys: {})",
                    self.name,
                    known.join(", ")
                );
                return Err(self.reader.wrong(key.span(), what));
            }
        }
        Ok(())
    }

    fn value(&self, key: &str) -> Option<Value<'a>> {
        let value: &Spanned<DeValue<'a>> = self.table.get(key)?;
        Some((value.get_ref(), value.span()))
    }

    fn text(&self, key: &str) -> Result<Option<(&'a str, Range<usize>)>, ConfigError> {
        match self.value(key) {
            None => Ok(None),
            Some((DeValue::String(text), span)) => Ok(Some((text.as_ref(), span))),
            Some((_, span)) => {
                Err(self.reader.wrong(span, format!("`{key}` must be a text: `{key} = \"...\"`")))
            }
        }
    }

    /// A text that is read further.
    fn parsed<T>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let Some((text, span)) = self.text(key)? else { return Ok(None) };
        let wrong = |why: String| self.reader.wrong(span, format!("`{key}`: {why}"));
        read(text).map(Some).map_err(wrong)
    }

    fn path(&self, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        self.parsed(key, |text| {
            let path = PathBuf::from(text);
            let is_absolute = path.is_absolute();
            is_absolute.then_some(path).ok_or_else(|| format!("`{text}` does not begin with `/`"))
        })
    }

    fn number(&self, key: &str, least: u32) -> Result<Option<u32>, ConfigError> {
        let Some((value, span)) = self.value(key) else { return Ok(None) };
        let number = match value {
            DeValue::Integer(number) if number.radix() == 10 => {
                number.as_str().parse().ok().filter(|it| *it >= least)
            }
            _ => None,
        };
        let what = format!("`{key}` must be a whole number of at least {least}");
        number.map(Some).ok_or_else(|| self.reader.wrong(span, what))
    }

    fn switch(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        match self.value(key) {
            None => Ok(None),
            Some((DeValue::Boolean(it), _)) => Ok(Some(*it)),
            Some((_, span)) => {
                Err(self.reader.wrong(span, format!("`{key}` must be `true` or `false`")))
            }
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        let wrong = |span| {
            self.reader.wrong(span, format!("`{key}` must be a list of texts: `{key} = [\"...\"]`"))
        };
        match self.value(key) {
            None => Ok(Vec::new()),
            Some((DeValue::Array(items), _)) => {
                let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
                    DeValue::String(text) => Ok(text.to_string()),
                    _ => Err(wrong(item.span())),
                };
                items.iter().map(text).collect()
            }
            Some((_, span)) => Err(wrong(span)),
        }
    }

    fn table(&self, key: &'static str) -> Result<Option<(Self, Range<usize>)>, ConfigError> {
        let reader = self.reader;
        let (name, known): (_, &[&str]) = match key {
            "fleet" => ("`[fleet]`", &FLEET_KEYS),
            _ => ("`[pause]`", &PAUSE_KEYS),
        };
        match self.value(key) {
            None => Ok(None),
            Some((DeValue::Table(table), span)) => {
                let section = Self { reader, name, table };
                section.check(known)?;
                Ok(Some((section, span)))
            }
            Some((_, span)) => {
                Err(reader.wrong(span, format!("`{key}` must be a table: `[{key}]`")))
            }
        }
    }

    fn tables(&self, key: &str) -> Result<Vec<(&'a DeTable<'a>, Range<usize>)>, ConfigError> {
        let wrong = |span| {
            self.reader.wrong(span, format!("each `{key}` must be a table of its own: `[[{key}]]`"))
        };
        match self.value(key) {
            None => Ok(Vec::new()),
            Some((DeValue::Array(items), _)) => {
                let table = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
                    DeValue::Table(table) => Ok((table, item.span())),
                    _ => Err(wrong(item.span())),
                };
                items.iter().map(table).collect()
            }
            Some((_, span)) => Err(wrong(span)),
        }
    }

    /// What is set here, and the rest as there.
    fn settings(&self, rest: MountSettings) -> Result<MountSettings, ConfigError> {
        let hours =
            self.parsed("hours", |text| text.parse::<Hours>().map_err(|error| error.to_string()))?;
        let every = self.parsed("every", period)?;
        let p99 =
            self.parsed("p99", |text| positive_time(text).map_err(|error| error.to_string()))?;
        let part = |text: &str| share(text).map_err(|error| error.to_string());
        let (share, cover) = (self.parsed("share", part)?, self.parsed("cover", part)?);
        let minimum =
            self.parsed("minimum", |text| fstrim_size(text).map_err(|error| error.to_string()))?;
        let probe = self.parsed("probe", |text| match text {
            "reads" => Ok(ProbeName::Reads),
            "flushes" => Ok(ProbeName::Flushes),
            "none" => Ok(ProbeName::None),
            _ => Err(format!("`{text}` is none of reads, flushes, none")),
        })?;
        self.one_of("p99", "share")?;
        self.one_of("cover", "minimum")?;
        let settings = MountSettings {
            every: every.unwrap_or(rest.every),
            hours: hours.or(rest.hours),
            keep: match (p99, share) {
                (Some(p99), _) => Keep::Latency(Some(p99)),
                (None, Some(share)) => Keep::Share(share),
                (None, None) => rest.keep,
            },
            leave: match (cover, minimum) {
                (Some(cover), _) => Leave::AllButCover(cover),
                (None, Some(minimum)) => Leave::Below(minimum),
                (None, None) => rest.leave,
            },
            probe: probe.unwrap_or(rest.probe),
        };
        if settings.hours.is_some() && settings.every < DAY {
            let span = ["every", "hours"].iter().find_map(|key| Some(self.value(key)?.1));
            let what = "`hours` come once a day: `every` must be `1d` or more beside them";
            return Err(self.reader.wrong(span.unwrap_or_default(), what.to_owned()));
        }
        Ok(settings)
    }

    fn one_of(&self, one: &str, other: &str) -> Result<(), ConfigError> {
        match (self.value(one), self.value(other)) {
            (Some(_), Some((_, span))) => {
                let what = format!("`{one}` and `{other}` exclude each other");
                Err(self.reader.wrong(span, what))
            }
            _ => Ok(()),
        }
    }

    fn fleet(&self, span: Range<usize>) -> Result<Fleet, ConfigError> {
        let host = self.text("host")?.map(|(text, _)| text.to_owned());
        let hosts = self.texts("hosts")?;
        let at_once = self.number("at-once", 1)?;
        match self.number("slots", 1)? {
            Some(slots) if hosts.is_empty() && at_once.is_none() => {
                Ok(Fleet::Drawn { host, slots })
            }
            None if !hosts.is_empty() => {
                Ok(Fleet::Listed { host, hosts, at_once: at_once.unwrap_or(1) })
            }
            _ => {
                let what = "a `[fleet]` has either `hosts`, all that share the storage, with \
                            `at-once`; or `slots`, of which each host draws one";
                Err(self.reader.wrong(span, what.to_owned()))
            }
        }
    }

    fn pause(&self) -> Result<PauseRules, ConfigError> {
        let rest = PauseRules::default();
        let wrong = |key: &str, what: String| {
            let span = self.value(key).map(|(_, span)| span).unwrap_or_default();
            self.reader.wrong(span, format!("`{key}`: {what}"))
        };
        let files: Vec<PathBuf> =
            self.texts("while-exists")?.into_iter().map(PathBuf::from).collect();
        if let Some(file) = files.iter().find(|file| file.is_relative()) {
            let what = format!("`{}` does not begin with `/`", file.display());
            return Err(wrong("while-exists", what));
        }
        let units = self.texts("while-active")?;
        let is_unit = |unit: &String| UNITS.iter().any(|end| unit.ends_with(end));
        if let Some(unit) = units.iter().find(|unit| !is_unit(unit)) {
            let what = format!("`{unit}` does not end in {}", UNITS.join(", "));
            return Err(wrong("while-active", what));
        }
        Ok(PauseRules {
            md: self.switch("md")?.unwrap_or(rest.md),
            btrfs: self.switch("btrfs")?.unwrap_or(rest.btrfs),
            while_active: units,
            while_exists: files,
        })
    }
}

/// `7d`, `2w`, or a shorter time as elsewhere.
fn period(text: &str) -> Result<Nanos, String> {
    let days = |unit: &str, days: u64| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(days).filter(|days| *days <= 366).map(|days| DAY.times(days))
    };
    let span = days("d", 1).or_else(|| days("w", 7)).or_else(|| Nanos::from_str(text).ok());
    let is_period = |span: &Nanos| (Nanos::from_secs(60)..=YEAR).contains(span);
    span.filter(is_period).ok_or_else(|| {
        format!("`{text}` is no time between a minute and a year, as `7d`, `2w` or `12h`")
    })
}
