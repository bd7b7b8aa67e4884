//! Options of a method: its settings, resolved from a preset and the user's values.

use std::collections::BTreeMap;

use trimbench_core::settings::{FromSettings, SettingError, Values};

use crate::method::Preset;

/// The parameters of a method, read from its options.
pub trait Parameters: FromSettings {
    /// Stable id of the method.
    const ID: &'static str;

    /// The parameters of a preset, with the user's settings on top.
    fn resolve(preset: Preset, set: &BTreeMap<String, String>) -> Result<Self, SettingError> {
        let rows = Self::rows();
        let method = format!("`{}`", Self::ID);
        let mut values = Values::new("option", method).in_preset(&rows, preset as usize);
        for (key, text) in set {
            values.set(&rows, key, text)?;
        }
        Self::read(&values)
    }
}
