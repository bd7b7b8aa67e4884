//! A page: its identity, its layout in each version, and the reader that follows both.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::error::LogPageError;
use crate::field::{FieldKind, LogField, LogValue, number, unsigned};

/// A log page of a drive.
#[derive(Clone, Copy, Debug)]
pub struct LogPage {
    /// Its name, in kebab-case. It never changes.
    pub id: &'static str,
    /// Its title, as its source has it.
    pub title: &'static str,
    /// The log identifier of Get Log Page; the log address of ATA.
    pub lid: u8,
    /// Bytes to ask the drive for. A multiple of 4.
    pub length: usize,
    /// Whether the log belongs to OCP, so that drives with a list of UUIDs want OCP's index.
    pub is_ocp: bool,
    /// What its last 16 bytes (of a header: the bytes at this offset) must be.
    pub guid: Option<(usize, u128)>,
    /// Where its version is; `None` if it has none.
    pub version: Option<VersionAt>,
    /// Its layouts, each for some versions. In ascending order, and never empty.
    pub layouts: &'static [LogLayout],
    /// A further check where neither GUID nor version say much: what contradicts the layout.
    pub contradiction: fn(&[u8]) -> Option<&'static str>,
    /// Where its layout is documented: keys of `docs/references.md`.
    pub sources: &'static [&'static str],
}

/// Where the version of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionAt {
    /// Its first byte.
    pub at: usize,
    /// Its bytes. In [1, 4].
    pub width: usize,
}

/// The layout of a page in some of its versions.
#[derive(Clone, Copy, Debug)]
pub struct LogLayout {
    /// First and last version. Without a version in the page both are 0.
    pub versions: (u32, u32),
    /// Fields at fixed offsets, in parts so that layouts can share them.
    pub fields: &'static [&'static [LogField]],
    /// Items that each say what they are.
    pub attributes: Option<AttributeArea>,
}

/// A part of a page that holds items, each with its id.
#[derive(Clone, Copy, Debug)]
pub struct AttributeArea {
    /// Bytes of the area, from the start of the page.
    pub length: usize,
    /// Bytes of an item. The first is its id; 0 marks an unused item.
    pub item: usize,
    /// What is known. Unknown items are passed over.
    pub known: &'static [LogAttribute],
}

/// An item of an [`AttributeArea`].
#[derive(Clone, Copy, Debug)]
pub struct LogAttribute {
    /// Its id.
    pub id: u8,
    /// Its fields, with offsets from the start of the item.
    pub fields: &'static [LogField],
}

/// What a page says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedPage {
    /// The id of the page.
    pub page: &'static str,
    /// Its version, if it has one.
    pub version: Option<u32>,
    /// Its values, in the order of the table.
    pub values: Vec<NamedValue>,
}

/// A value and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// The key of the field.
    pub name: &'static str,
    /// Whether it only grows.
    pub is_counter: bool,
    /// What it holds.
    pub value: LogValue,
}

impl LogPage {
    /// A page without GUID, version and further checks, to be completed.
    pub(crate) const fn plain(id: &'static str, lid: u8, layouts: &'static [LogLayout]) -> Self {
        Self {
            id,
            title: "",
            lid,
            length: 512,
            is_ocp: false,
            guid: None,
            version: None,
            layouts,
            contradiction: |_| None,
            sources: &["NVMECLI"],
        }
    }

    /// Whether these bytes are this page, whatever its version.
    pub fn identify(&self, bytes: &[u8]) -> Result<(), LogPageError> {
        let page = self.id;
        if bytes.len() < self.length {
            return Err(LogPageError::TooShort { page, needed: self.length, found: bytes.len() });
        }
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(LogPageError::Empty { page });
        }
        if let Some((at, known)) = self.guid {
            let found = bytes.get(at..at + 16).map_or(0, unsigned);
            if found != known {
                return Err(LogPageError::WrongGuid { page, found, known });
            }
        }
        match (self.contradiction)(bytes) {
            Some(why) => Err(LogPageError::Foreign { page, why }),
            None => Ok(()),
        }
    }

    /// What the page says.
    pub fn read(&self, bytes: &[u8]) -> Result<DecodedPage, LogPageError> {
        self.identify(bytes)?;
        let version = self.version.and_then(|VersionAt { at, width }| number(bytes, at, width));
        let version = version.map(|version| u32::try_from(version).unwrap_or(u32::MAX));
        let layout = self.layout(version.unwrap_or(0))?;
        let mut values = Vec::new();
        for field in layout.fields.iter().copied().flatten() {
            if field.since <= version.unwrap_or(0) {
                values.extend(NamedValue::read(field, bytes));
            }
        }
        if let Some(area) = &layout.attributes {
            let found = area.read(bytes);
            if found.is_empty() {
                let why = "none of its attributes is known";
                return Err(LogPageError::Foreign { page: self.id, why });
            }
            values.extend(found);
        }
        Ok(DecodedPage { page: self.id, version, values })
    }

    fn layout(&self, version: u32) -> Result<&'static LogLayout, LogPageError> {
        let fits = |layout: &&LogLayout| (layout.versions.0..=layout.versions.1).contains(&version);
        self.layouts.iter().find(fits).ok_or_else(|| {
            let ranges = self.layouts.iter().map(|layout| match layout.versions {
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("{first} to {last}"),
            });
            let known = ranges.collect::<Vec<_>>().join(", ");
            LogPageError::UnknownVersion { page: self.id, found: version, known }
        })
    }

    /// Every field of every layout, those of attributes with the id of the attribute.
    pub fn fields(&self) -> impl Iterator<Item = (Option<u8>, &'static LogField)> {
        self.layouts.iter().flat_map(|layout| {
            let fixed = layout.fields.iter().copied().flatten().map(|field| (None, field));
            let known = layout.attributes.map_or(&[][..], |area| area.known);
            let items = known.iter().flat_map(|attribute| {
                attribute.fields.iter().map(|field| (Some(attribute.id), field))
            });
            fixed.chain(items)
        })
    }
}

impl LogLayout {
    /// Fields only, for these versions.
    pub(crate) const fn fields(
        versions: (u32, u32),
        fields: &'static [&'static [LogField]],
    ) -> Self {
        Self { versions, fields, attributes: None }
    }
}

impl AttributeArea {
    /// The values of the known items; the first of several with one id.
    fn read(&self, bytes: &[u8]) -> Vec<NamedValue> {
        let area = &bytes[..self.length.min(bytes.len())];
        let mut values = Vec::new();
        for attribute in self.known {
            let items = area.chunks_exact(self.item);
            let item = items.into_iter().find(|item| item[0] == attribute.id);
            let fields = item.into_iter().flat_map(|item| {
                attribute.fields.iter().filter_map(|field| NamedValue::read(field, item))
            });
            values.extend(fields);
        }
        values
    }
}

impl NamedValue {
    pub(crate) fn read(field: &LogField, bytes: &[u8]) -> Option<Self> {
        let is_counter = field.kind == FieldKind::Counter;
        Some(Self { name: field.name, is_counter, value: field.read(bytes)? })
    }
}

impl DecodedPage {
    /// The value of this key.
    pub fn get(&self, name: &str) -> Option<&LogValue> {
        self.values.iter().find(|value| value.name == name).map(|value| &value.value)
    }

    /// The number of this key, where 64 bits hold it.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.number()
    }

    /// How far each counter grew from an earlier reading of the same page to this one. A counter
    /// that fell (a reset, another drive) or is saturated is left out.
    pub fn growth_since<'a>(
        &'a self,
        earlier: &'a Self,
    ) -> impl Iterator<Item = (&'static str, u64)> + 'a {
        let same = self.page == earlier.page && self.version == earlier.version;
        let counters = self.values.iter().filter(move |value| same && value.is_counter);
        counters.filter_map(|value| {
            let before = earlier.number(value.name)?;
            Some((value.name, value.value.number()?.checked_sub(before)?))
        })
    }
}

impl Serialize for DecodedPage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("page", self.page)?;
        if let Some(version) = self.version {
            map.serialize_entry("version", &version)?;
        }
        map.serialize_entry("values", &ValuesOf(&self.values))?;
        map.end()
    }
}

/// Values as a map from key to value.
struct ValuesOf<'a>(&'a [NamedValue]);

impl Serialize for ValuesOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|value| (value.name, &value.value)))
    }
}
