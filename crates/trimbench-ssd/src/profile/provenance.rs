//! Where the values of a profile come from, and how many of each kind there are.
//!
//! Read from the untyped tree of the file, so that a value is shown as it was written and none is
//! left out of the counts.

use std::fmt;

use super::ProfileError;

/// How a value of a profile is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Taken from a published source.
    Sourced,
    /// Set so that the model reproduces a published figure.
    Fitted,
    /// Taken to be typical.
    Assumed,
}

/// One value of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileValue {
    /// Table and key, as `nand.read`.
    pub key: String,
    /// As the file has it, with its unit.
    pub value: String,
    /// How it is known.
    pub origin: Origin,
    /// The source, what it was fitted to, or why it was assumed.
    pub source: String,
}

/// How many values of a profile are of which origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Values taken from a published source.
    pub sourced: u32,
    /// Values fitted so that the model reproduces a published figure.
    pub fitted: u32,
    /// Values assumed to be typical.
    pub assumed: u32,
}

impl Origin {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 3] = [Self::Sourced, Self::Fitted, Self::Assumed];

    /// The key in a profile.
    pub fn id(self) -> &'static str {
        match self {
            Self::Sourced => "sourced",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
        }
    }
}

impl ProfileValue {
    /// The value in the unit that its key completes: `200MB` of `channel_bytes_per_second` are
    /// `200MB/s`.
    pub fn with_unit(&self) -> String {
        let per = match self.key.as_str() {
            key if key.ends_with("_bytes_per_second") => "/s",
            key if key.contains(".per_gib_") => "/GiB",
            _ => "",
        };
        format!("{}{per}", self.value)
    }
}

impl Provenance {
    /// Counts.
    pub(super) fn of(values: &[ProfileValue]) -> Self {
        let mut counts = Self::default();
        for value in values {
            *match value.origin {
                Origin::Sourced => &mut counts.sourced,
                Origin::Fitted => &mut counts.fitted,
                Origin::Assumed => &mut counts.assumed,
            } += 1;
        }
        counts
    }

    /// Values of all origins.
    pub fn total(self) -> u32 {
        self.sourced + self.fitted + self.assumed
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sourced, fitted, assumed } = self;
        let all = self.total();
        write!(formatter, "{assumed} of {all} values assumed, {fitted} fitted, {sourced} sourced")
    }
}

/// All values of a profile, sorted by key.
pub(super) fn values(tree: &toml::Table) -> Result<Vec<ProfileValue>, ProfileError> {
    let mut values = Vec::new();
    collect("", tree, &mut values)?;
    values.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(values)
}

fn collect(
    prefix: &str,
    table: &toml::Table,
    values: &mut Vec<ProfileValue>,
) -> Result<(), ProfileError> {
    for (key, entry) in table {
        let toml::Value::Table(inner) = entry else { continue };
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let Some(value) = inner.get("value") else {
            collect(&key, inner, values)?;
            continue;
        };
        let mut given =
            Origin::ALL.into_iter().filter_map(|origin| Some((origin, inner.get(origin.id())?)));
        let (Some((origin, source)), None) = (given.next(), given.next()) else {
            return Err(ProfileError::Source { key });
        };
        let source = source.as_str().unwrap_or_default().to_owned();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        values.push(ProfileValue { key, value, origin, source });
    }
    Ok(())
}
